//! Ways around permission rules: spellings that a rule does not understand and
//! a tool may.

// Real work takes real time.
#![allow(clippy::disallowed_methods)]

#[path = "support/verdicts.rs"]
mod verdicts;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolfall::policy::{Rule, RuleList, Test, Verdict};
use verdicts::Says::{CannotTell, No, Yes};
use verdicts::{at, says};

/// A relative pattern and an absolute path, or one that leaves the folder and
/// comes back: nobody says where the tool begins.
#[test]
fn a_path_written_from_elsewhere_is_no_way_around_a_denial() {
    let secrets = Test::path("secrets/**");
    for path in [
        "/secrets/key",
        "/srv/project/secrets/key",
        "../secrets/key",
        "../project/secrets/key",
        "./../project/secrets/key",
        "/proc/self/cwd/secrets/key",
        "..",
    ] {
        assert_eq!(says(&secrets, path), CannotTell, "{path}");
    }
    for path in ["public/key", "a/b/secrets2", "...", "..a/secrets/key"] {
        assert_eq!(says(&secrets, path), No, "{path}");
    }
    let etc = Test::path("/etc/**");
    assert_eq!(says(&etc, "../../../etc/passwd"), CannotTell);
    assert_eq!(says(&etc, "/usr/lib"), No);
    assert_eq!(says(&etc, "notes/a.txt"), No);
    let anywhere = Test::path("**/secrets/**");
    assert_eq!(says(&anywhere, "/srv/project/secrets/key"), Yes);
    assert_eq!(says(&anywhere, "../project/secrets/key"), Yes);
    assert_eq!(says(&anywhere, "/srv/project/public/key"), No);
    for (glob, wanted) in [
        ("{/etc/**,/usr/**}", No),
        ("{**/secrets/**,**/b}", No),
        ("{/etc/**,secrets/**}", CannotTell),
        ("{secrets/**,/etc/**}", CannotTell),
        ("{/etc/{a,b}/**,/usr}", CannotTell),
        ("[s]ecrets/**", CannotTell),
    ] {
        assert_eq!(says(&Test::path(glob), "/home/a/x"), wanted, "{glob}");
    }
    // Braces by the thousand are read in one go.
    let braces = format!("{}x{}", "{,".repeat(2_000), "}".repeat(2_000));
    let _ = RuleList::new([Rule::deny("it").argument("/p", Test::path(braces))]);
}

#[test]
fn a_url_a_variable_or_an_escape_is_no_plain_path() {
    for path in [
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        " file:/etc/passwd",
        "ftp+x://host/key",
        "%2e%2e/key",
        "a%2Fb",
        "secret%73/key",
        "$HOME/key",
        "${HOME}/key",
    ] {
        for test in [
            Test::path("**"),
            Test::path("secrets/**"),
            Test::below("/"),
            Test::outside("/"),
        ] {
            assert_eq!(says(&test, path), CannotTell, "{path} {test:?}");
        }
    }
    for path in ["a%b", "100%", "a:b", "12:30/x", "routes/$id.tsx", "a%zz"] {
        assert_eq!(says(&Test::path("**"), path), Yes, "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_root_in_other_letters_and_a_process_of_its_own_cannot_be_told() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("Root/deep")).unwrap();
    let root = place.path().canonicalize().unwrap().join("Root");
    let other = root.parent().unwrap().join("rOOT/deep/x");
    let other = other.to_str().unwrap();
    assert_eq!(says(&Test::below(&root), other), No);
    assert_eq!(says(&Test::below(&root).ignore_case(), other), CannotTell);
    assert_eq!(says(&Test::outside(&root).ignore_case(), other), CannotTell);
    assert_eq!(says(&Test::below(&root).ignore_case(), "/etc"), No);
    if cfg!(target_os = "linux") {
        for path in [
            "/proc/self/cwd/x",
            "/proc/self/root/etc/passwd",
            "/proc/thread-self/cwd/x",
        ] {
            assert_eq!(says(&Test::below(&root), path), CannotTell, "{path}");
            assert_eq!(says(&Test::outside(&root), path), CannotTell, "{path}");
        }
    }
    // What a link leads to is read as carefully as what was written.
    std::fs::create_dir(root.join("nоtes")).unwrap();
    std::os::unix::fs::symlink("nоtes", root.join("plain")).unwrap();
    let notes = Test::path_below(&root, "notes/**");
    assert_eq!(says(&notes, "plain/x"), CannotTell);
    for (glob, wanted) in [(".", Yes), ("?", Yes), ("", Yes), ("x", No)] {
        assert_eq!(says(&Test::path_below(&root, glob), "deep/.."), wanted);
    }
    // As many links as the system follows, and one more.
    std::fs::create_dir(root.join("end")).unwrap();
    for step in 0..=40 {
        let target = match step {
            0 => "end".to_owned(),
            step => format!("l{}", step - 1),
        };
        std::os::unix::fs::symlink(target, root.join(format!("l{step}"))).unwrap();
    }
    assert_eq!(says(&Test::below(&root), "l39/x"), Yes);
    assert_eq!(says(&Test::below(&root), "l40/x"), CannotTell);
}

/// A pointer with `*` says "all of them": a member that is called so must not
/// stand in for the others.
#[test]
fn a_member_called_star_does_not_speak_for_the_others() {
    let inside = Test::glob("*@corp.example");
    let of = |to: Value| at("/to/*", &inside, &json!({ "to": to }));
    assert_eq!(
        of(json!({"*": "a@corp.example", "0": "b@rival.example"})),
        CannotTell
    );
    assert_eq!(
        of(json!({"*": "b@rival.example", "0": "a@corp.example"})),
        CannotTell
    );
    assert_eq!(of(json!({"*": "a@corp.example"})), Yes);
    // Names without letters resemble none.
    let signs = json!({"_": 1, "-": 2, "": 3});
    assert_eq!(at("/_", &Test::equals(1), &signs), Yes);
    // Escaped, it is a name like any other.
    let literal = |value: Value| at("/to/~02a", &Test::present(), &json!({ "to": value }));
    assert_eq!(literal(json!({"~2a": 1})), Yes);
}

#[test]
fn a_list_of_one_and_words_for_truth_are_no_way_around_a_denial() {
    let prod = Test::equals("prod");
    for value in [json!(["prod"]), json!(["x", "prod"]), json!(["prоd"])] {
        assert_eq!(says(&prod, value.clone()), CannotTell, "{value}");
    }
    for value in [json!(["dev"]), json!([]), json!([["prod"]]), json!([1])] {
        assert_eq!(says(&prod, value.clone()), No, "{value}");
    }
    // Lists are as long as they are.
    let list = Test::equals(json!(["a", "b"]));
    for value in [json!(["a"]), json!(["a", "b", "c"]), json!([]), json!("a")] {
        assert_eq!(says(&list, value.clone()), No, "{value}");
    }
    assert_eq!(says(&Test::equals(json!(["a"])), json!(["a", "b"])), No);
    let force = Test::equals(true);
    for value in [
        json!(1),
        json!(1.0),
        json!("1"),
        json!("YES"),
        json!("on"),
        json!("t"),
        json!([true]),
        json!([1]),
    ] {
        assert_eq!(says(&force, value.clone()), CannotTell, "{value}");
    }
    for value in [json!(0), json!("no"), json!("off"), json!(2), json!([])] {
        assert_eq!(says(&force, value.clone()), No, "{value}");
    }
    // Doubles are told apart as doubles, and from whole numbers on both sides.
    assert_eq!(says(&Test::equals(1e300), 1e300), Yes);
    let below = Test::equals(-9_007_199_254_740_993_i64);
    assert_eq!(says(&below, -9_007_199_254_740_992.0), CannotTell);
    assert_eq!(says(&Test::equals(false), "off"), CannotTell);
    assert_eq!(says(&Test::equals(false), 0), CannotTell);
    assert_eq!(says(&Test::equals(0), json!(false)), CannotTell);
    assert_eq!(
        says(&Test::equals(json!(["a"])), json!([["a"]])),
        CannotTell
    );
    assert_eq!(says(&Test::equals(json!(["a"])), json!("a")), CannotTell);
    assert_eq!(says(&Test::equals(json!(["a"])), json!("b")), No);
    assert_eq!(says(&Test::equals(json!([["a"]])), json!(["b"])), No);
}

/// Lines that a shell makes `rm` of, and a naive reader does not.
#[test]
fn no_spelling_of_a_line_gets_an_allow_that_is_not_its_own() {
    let rules = RuleList::new([
        Rule::allow("status").argument("/line", Test::argv(["git", "status", "**"])),
        Rule::deny("rm").argument("/line", Test::argv(["rm", "**"])),
    ])
    .unwrap();
    let verdict = |line: &str| rules.verdict("run", &json!({ "line": line })).0;
    assert_eq!(verdict("git status -s"), Verdict::Allow);
    assert_eq!(verdict("'git' \"status\" '-s'"), Verdict::Allow);
    for line in [
        "git status\nrm -r x",
        "git status\rrm -r x",
        "git status\u{85}rm",
        "git status\u{2028}rm",
        "git status; rm x",
        "git status & rm x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status \"$(rm x)\"",
        "git status >x",
        "git status {a,b}",
        "git status # rm",
        "git status ~",
        "git status x\\",
        "git status 'x",
        "git status\0",
        "git\u{a0}status",
        "git\u{3000}status",
        "X=1 git status",
        "ｇit status",
        "./git status",
        "git status !!",
    ] {
        assert_ne!(verdict(line), Verdict::Allow, "{line:?}");
    }
    // A word without letters is a word: it moves those behind it.
    let moved = Test::argv(["git", "*", "status"]);
    assert_eq!(says(&moved, "git '' status"), Yes);
    assert_eq!(says(&Test::argv(["git", "status"]), "git '' status"), No);
    for line in [
        "r'm' -r x",
        "\"rm\" x",
        "r\\m x",
        "$'rm' x",
        "$'\\x72m' x",
        "X=1 rm x",
        "/bin/rm x",
        "r{m,} x",
        "rm x\n",
        "\trm x",
        "гm x",
        "r\u{200b}m x",
    ] {
        assert_eq!(verdict(line), Verdict::Deny, "{line:?}");
    }
}

/// Whatever the model sends, a decision takes no longer than reading it does.
#[test]
fn large_arguments_are_judged_in_bounded_time() {
    let tests = [
        Test::regex("(a|b|ab)*c"),
        Test::glob("*a*b*c*d*"),
        Test::path("**/a/**/b/**"),
        Test::below("/"),
        Test::equals("a"),
        Test::argv(["a*", "**"]),
        Test::at_most(5),
    ];
    let rules = tests
        .iter()
        .enumerate()
        .map(|(index, test)| Rule::deny(format!("rule {index}")).argument("/list/*", test.clone()));
    let wide = RuleList::new(rules).unwrap();
    let rules = tests
        .iter()
        .enumerate()
        .map(|(index, test)| Rule::deny(format!("rule {index}")).argument("/text", test.clone()));
    let long = RuleList::new(rules).unwrap();
    let began = Instant::now();
    let list: Vec<String> = (0..10_000).map(|n| format!("ab/{n}/é")).collect();
    wide.verdict("t", &json!({ "list": list }));
    for text in ["ab".repeat(500_000), "\u{fdfa}".repeat(100_000)] {
        long.verdict("t", &json!({ "text": text }));
    }
    let many: serde_json::Map<String, Value> =
        (0..20_000).map(|n| (format!("k{n}"), json!(n))).collect();
    long.verdict("t", &Value::Object(many));
    assert!(began.elapsed() < Duration::from_secs(120), "{began:?}");
}
