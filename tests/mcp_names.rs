//! Names of servers' tools, as models call them.

use proptest::prelude::*;
use toolfall::mcp::tool::public_name;

/// conformance: MCP-01
#[test]
fn clean_short_names_stay_as_they_are() {
    assert_eq!(
        public_name("github", "create_issue"),
        "mcp__github__create_issue"
    );
    assert_eq!(
        public_name("everything", "get-sum"),
        "mcp__everything__get-sum"
    );
}

/// conformance: MCP-02
#[test]
fn other_letters_are_replaced_and_a_digest_tells_the_names_apart() {
    for (server, tool, name) in [
        ("srv", "admin.reset", "mcp__srv__admin_reset_3b185f786768"),
        (
            "fixture",
            "admin.reset",
            "mcp__fixture__admin_reset_2d9bb2dfe9aa",
        ),
        ("srv", "搜索", "mcp__srv_____55df05a78f11"),
    ] {
        assert_eq!(public_name(server, tool), name);
    }
}

/// conformance: MCP-03
#[test]
fn long_names_are_cut_to_64_characters() {
    let long = public_name("srv", &"a".repeat(80));
    assert_eq!(long.len(), 64);
    assert!(long.ends_with("_3b75b5cc78d8"), "{long}");
    let letters = "a".repeat(54);
    assert_eq!(public_name("srv", &letters), format!("mcp__srv__{letters}"));
    let longer = public_name("srv", &"a".repeat(55));
    assert_eq!(longer.len(), 64);
    assert_eq!(longer, format!("mcp__srv__{}_cae0c391e7b4", "a".repeat(41)));
}

/// conformance: MCP-04
#[test]
fn names_that_look_alike_stay_different() {
    let dotted = public_name("srv", "admin.reset");
    assert_ne!(dotted, public_name("srv", "admin_reset"));
    assert_eq!(dotted, public_name("srv", "admin.reset"));
}

/// A tool may be called like the public name of another, and servers may share
/// the letters between their names and their tools'.
#[test]
fn nobody_gets_another_tools_name_by_choosing_ones_own() {
    let dotted = public_name("srv", "admin.reset");
    let forged = dotted.strip_prefix("mcp__srv__").unwrap();
    assert_ne!(public_name("srv", forged), dotted);
    assert_ne!(public_name("a", "b__c"), public_name("a__b", "c"));
    assert_ne!(public_name("a", "_b"), public_name("a_", "b"));
    assert_ne!(public_name("", "a"), public_name("", "__a"));
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a_]{0,6}",
        "[a-zA-Z0-9_.-]{0,70}",
        "[ab]_[0-9a-f]{12}",
        "\\PC{0,12}",
        "[a搜]{0,60}",
    ]
}

proptest! {
    #[test]
    fn every_pair_of_names_has_a_valid_name_of_its_own(
        one in (name(), name()),
        other in (name(), name()),
    ) {
        let names = [&one, &other].map(|(server, tool)| public_name(server, tool));
        for name in &names {
            prop_assert!(name.len() <= 64);
            let clean = |letter: u8| letter.is_ascii_alphanumeric() || b"_-".contains(&letter);
            prop_assert!(name.bytes().all(clean), "{}", name);
        }
        prop_assert_eq!(one == other, names[0] == names[1]);
    }

    /// The same letters, split between server and tool in two ways.
    #[test]
    fn where_the_servers_name_ends_makes_a_difference(
        letters in "[a_]{2,12}",
        first in 0..12_usize,
        second in 0..12_usize,
    ) {
        let at = |place: usize| letters.split_at(place % letters.len());
        let (one, other) = (at(first), at(second));
        let (one_name, other_name) = (public_name(one.0, one.1), public_name(other.0, other.1));
        prop_assert_eq!(one == other, one_name == other_name);
    }

    /// Whatever is hashed, nobody can be called like it.
    #[test]
    fn made_names_are_taken_by_nobody_else(server in "[a-z_]{1,8}", tool in "\\PC{1,20}") {
        let made = public_name(&server, &tool);
        for (at, _) in made.match_indices("__") {
            let Some(start) = made.get(5..at).filter(|_| at > 5) else { continue };
            let rest = &made[at + 2..];
            if (start, rest) != (&server, &tool) {
                prop_assert_ne!(public_name(start, rest), made.clone());
            }
        }
    }
}
