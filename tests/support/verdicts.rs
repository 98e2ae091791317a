//! One test of one argument, seen from both sides.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use serde_json::{Value, json};
use toolfall::policy::{Rule, RuleList, Test, Verdict};

/// What a test says of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    Yes,
    No,
    /// An allow does not match, and a deny does.
    CannotTell,
}

/// What `test` says of `arguments` at `pointer`, found out by a rule that
/// allows and one that denies; an ask must go with the deny.
pub fn at(pointer: &str, test: &Test, arguments: &Value) -> Says {
    let matches = |rule: Rule| {
        let rules = RuleList::new([rule.argument(pointer, test.clone())]).expect("a good rule");
        rules.verdict("tool", arguments).1.is_some()
    };
    let (allows, denies) = (matches(Rule::allow("it")), matches(Rule::deny("it")));
    assert_eq!(matches(Rule::ask("it")), denies, "{arguments}");
    match (allows, denies) {
        (true, true) => Says::Yes,
        (false, false) => Says::No,
        (false, true) => Says::CannotTell,
        (true, false) => panic!("{arguments} is allowed by a test that would not deny it"),
    }
}

/// What `test` says of the argument `value`.
pub fn says(test: &Test, value: impl Into<Value>) -> Says {
    at("/it", test, &json!({"it": value.into()}))
}

/// What `test` says where nothing is.
pub fn says_of_nothing(test: &Test) -> Says {
    at("/it", test, &json!({}))
}

/// The verdict of `rules`.
pub fn verdict(rules: &RuleList, arguments: Value) -> Verdict {
    rules.verdict("tool", &arguments).0
}
