//! Tests of arguments: what holds, what does not, and what cannot be told.

#[path = "support/verdicts.rs"]
mod verdicts;

use serde_json::{Value, json};
use toolfall::policy::{Rule, RuleList, Test, Verdict};
use verdicts::Says::{CannotTell, No, Yes};
use verdicts::{at, says, says_of_nothing};

#[test]
fn equal_values_are_equal_in_every_format() {
    let one = Test::equals(1);
    for text in ["1", "1.0", "1e0", "10E-1", "0.1e1"] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(says(&one, value), Yes, "{text}");
    }
    assert_eq!(says(&Test::equals(1.0), 1), Yes);
    for value in [
        json!(2),
        json!(false),
        json!(null),
        json!("2"),
        json!([]),
        json!("one"),
    ] {
        assert_eq!(says(&one, value.clone()), No, "{value}");
    }
    for value in ["1", "1.0", " 1e0", "１"] {
        assert_eq!(says(&one, value), CannotTell, "{value}");
    }
    assert_eq!(says(&Test::equals("1"), 1), CannotTell);
    assert_eq!(says(&Test::equals(true), "True"), CannotTell);
    assert_eq!(says(&Test::equals(true), true), Yes);
    assert_eq!(says(&Test::equals(Value::Null), json!(null)), Yes);
    assert_eq!(says(&Test::equals(0), -0.0), Yes);
    // Beyond 2^53 a double is not the number that was written.
    let large = Test::equals(9_007_199_254_740_993_u64);
    assert_eq!(says(&large, 9_007_199_254_740_992.0), CannotTell);
    assert_eq!(says(&large, 9_007_199_254_740_992_u64), No);
    let nested = Test::equals(json!({"a": [1, {"b": "x"}]}));
    assert_eq!(says(&nested, json!({"a": [1.0, {"b": "x"}]})), Yes);
    assert_eq!(says(&nested, json!({"a": [1, {"b": "ｘ"}]})), CannotTell);
    assert_eq!(says(&nested, json!({"a": [1, {"b": "x", "c": 1}]})), No);
    let some = Test::one_of([json!("a"), json!(5)]);
    for (value, wanted) in [(json!("a"), Yes), (json!(5.0), Yes), (json!("b"), No)] {
        assert_eq!(says(&some, value), wanted);
    }
}

#[test]
fn a_text_must_match_in_every_way_it_may_be_read() {
    for test in [
        Test::equals("prod"),
        Test::glob("pr[o]?"),
        Test::regex("prod|live"),
        Test::glob("{prod,live}"),
    ] {
        assert_eq!(says(&test, "prod"), Yes);
        for text in ["PROD", "pro", "prodx", "xprod", "prod ", "prod/", ""] {
            assert_eq!(says(&test, text), No, "{text}");
        }
        for text in [
            "ｐｒｏｄ",
            "prоd",
            "рrod",
            "pr\u{200b}od",
            "prod\u{feff}",
            "prod\0",
            "\u{202e}prod",
            "p\u{ad}rod",
            "𝐩𝐫𝐨𝐝",
        ] {
            assert_eq!(says(&test, text), CannotTell, "{text:?} {test:?}");
        }
        for value in [json!(1), json!(true), json!(["prod"]), json!({"a": "prod"})] {
            assert_ne!(says(&test, value.clone()), Yes, "{value} {test:?}");
        }
    }
    // What is matched either way is no riddle, whatever is in it.
    for text in ["👩\u{200d}💻 joins", "ﬁne", "e\u{301}", "Привет", "x\ny"] {
        assert_eq!(says(&Test::glob("*"), text), Yes, "{text}");
        assert_eq!(says(&Test::regex(".*"), text), Yes, "{text}");
        assert_eq!(says(&Test::glob("prod*"), text), No, "{text}");
    }
    assert_eq!(says(&Test::glob("??"), "é"), CannotTell, "two bytes");
    assert_eq!(says(&Test::glob("[!x]"), "é"), CannotTell);
    // A pattern in other letters means them.
    assert_eq!(says(&Test::glob("отчёт*"), "отчёт 1"), Yes);
    assert_eq!(says(&Test::equals("оса"), "оса"), Yes);
    // A part that only shows when it is normalised.
    assert_eq!(says(&Test::glob("a*"), "a／b"), Yes);
    assert_eq!(says(&Test::regex("[^/]*"), "a／b"), CannotTell);
}

#[test]
fn case_is_ignored_where_that_is_asked_for() {
    let wanted = |test: Test| test.ignore_case();
    for test in [
        wanted(Test::equals("Straße é")),
        wanted(Test::glob("S*ße é")),
        wanted(Test::regex("straße é")),
        wanted(Test::argv(["straße", "é"])),
    ] {
        for text in ["straße é", "STRAßE É", "Straße é"] {
            assert_eq!(says(&test, text), Yes, "{text} {test:?}");
        }
        assert_eq!(says(&test, "stra é"), No, "{test:?}");
    }
    assert_eq!(says(&wanted(Test::path("Secrets/**")), "sEcrets/x"), Yes);
    assert_eq!(says(&Test::path("Secrets/**"), "secrets/x"), No);
}

#[test]
fn a_regex_speaks_of_the_whole_text() {
    let ab = Test::regex("a|ab");
    assert_eq!((says(&ab, "a"), says(&ab, "ab")), (Yes, Yes));
    assert_eq!((says(&ab, "abc"), says(&ab, "xa")), (No, No));
    assert_eq!(says(&ab, "ab\n"), No, "no line end at the end");
    assert_eq!(says(&Test::regex("(?i)A"), "a"), Yes);
    // Linear time, whatever the text is.
    let slow = Test::regex("(a+)+b");
    assert_eq!(says(&slow, "a".repeat(100_000)), No);
}

#[test]
fn sums_are_compared_as_numbers() {
    let most = Test::at_most(100);
    let least = Test::at_least(0.5);
    for (value, small, large) in [
        (json!(100), Yes, Yes),
        (json!(1e2), Yes, Yes),
        (json!(100.01), No, Yes),
        (json!(-5), Yes, No),
        (json!(0.5), Yes, Yes),
        (json!(u64::MAX), No, Yes),
        (json!(null), No, No),
    ] {
        assert_eq!(says(&most, value.clone()), small, "{value}");
        assert_eq!(says(&least, value.clone()), large, "{value}");
    }
    for value in [json!("5"), json!("1e9"), json!([5]), json!(true), json!({})] {
        assert_eq!(says(&most, value.clone()), CannotTell, "{value}");
    }
}

#[test]
fn nothing_passes_no_test_but_those_for_it() {
    for test in [
        Test::equals(1),
        Test::one_of(["a"]),
        Test::glob("*"),
        Test::regex(".*"),
        Test::path("**"),
        Test::below("/"),
        Test::outside("/nowhere"),
        Test::at_least(0),
        Test::argv(["**"]),
        Test::present(),
        Test::filled(),
    ] {
        assert_eq!(says_of_nothing(&test), No, "{test:?}");
    }
    for test in [Test::absent(), Test::empty()] {
        assert_eq!(says_of_nothing(&test), Yes, "{test:?}");
    }
    for (value, empty) in [
        (json!(null), Yes),
        (json!(""), Yes),
        (json!([]), Yes),
        (json!({}), Yes),
        (json!(0), No),
        (json!(false), No),
        (json!([null]), No),
        (json!(" "), No),
    ] {
        assert_eq!(says(&Test::empty(), value.clone()), empty, "{value}");
        let filled = if empty == Yes { No } else { Yes };
        assert_eq!(says(&Test::filled(), value.clone()), filled, "{value}");
        assert_eq!(says(&Test::present(), value.clone()), Yes, "{value}");
        assert_eq!(says(&Test::absent(), value.clone()), No, "{value}");
    }
}

#[test]
fn a_star_means_every_element_for_an_allow_and_any_for_a_denial() {
    let inside = Test::glob("*@corp.example");
    let of = |to: Value| at("/to/*", &inside, &json!({"to": to}));
    assert_eq!(of(json!(["a@corp.example"])), Yes);
    assert_eq!(of(json!(["a@corp.example", "b@corp.example"])), Yes);
    assert_eq!(of(json!(["a@corp.example", "b@other.example"])), CannotTell);
    assert_eq!(of(json!(["b@other.example"])), No);
    assert_eq!(of(json!([])), No, "an allow needs one at least");
    assert_eq!(of(json!(null)), No);
    assert_eq!(of(json!("a@corp.example")), CannotTell, "no list");
    assert_eq!(of(json!({"0": "a@corp.example"})), CannotTell);
    assert_eq!(of(json!(["a@corp.example", 5])), CannotTell);
    let deep = |value: Value| at("/a/*/b/*", &Test::equals(1), &value);
    assert_eq!(deep(json!({"a": [{"b": [1, 1]}, {"b": [1]}]})), Yes);
    assert_eq!(deep(json!({"a": [{"b": [1]}, {"c": 1}]})), CannotTell);
    assert_eq!(deep(json!({"a": [{"b": []}]})), No);
    assert_eq!(at("/a/*", &Test::absent(), &json!({"a": []})), Yes);
    assert_eq!(at("/a", &Test::empty(), &json!({"A": [1]})), CannotTell);
    assert_eq!(at("/*/x", &Test::present(), &json!({"*": {"x": 1}})), Yes);
    assert_eq!(at("/*", &Test::present(), &json!({"x": 1})), CannotTell);
}

#[test]
fn pointers_lead_through_objects_and_arrays() {
    let one = Test::equals(1);
    for (pointer, arguments, wanted) in [
        ("", json!(1), Yes),
        ("/a/b", json!({"a": {"b": 1}}), Yes),
        ("/a/0", json!({"a": [1]}), Yes),
        ("/a/1", json!({"a": [1]}), No),
        ("/a/00", json!({"a": [1]}), CannotTell),
        ("/a/b", json!({"a": [1]}), CannotTell),
        ("/a/b", json!({"a": "{\"b\":1}"}), CannotTell),
        ("/a/b", json!({"a": null}), No),
        ("/a/b", json!({}), No),
        ("/a/b", json!("free text"), CannotTell),
        ("/a", json!({"A": 1}), CannotTell),
        ("/a", json!({"a": 1, "ａ": 2}), CannotTell),
        ("/a", json!({"b": 1, "а": 2}), CannotTell),
        ("/a", json!({"a": 2, "A": 2}), CannotTell),
        ("/file_id", json!({"fileId": 1}), CannotTell),
        ("/file_id", json!({"file_ids": 1}), No),
        ("/x~1y~0z", json!({"x/y~z": 1}), Yes),
        ("/", json!({"": 1}), Yes),
        ("/99999999999999999999", json!([1]), No),
    ] {
        assert_eq!(
            at(pointer, &one, &arguments),
            wanted,
            "{pointer} {arguments}"
        );
    }
}

#[test]
fn all_tests_of_a_rule_must_hold() {
    let both = || {
        [
            ("/env", Test::equals("prod")),
            ("/force", Test::equals(true)),
        ]
    };
    let list = |rule: Rule| {
        let rule = both()
            .into_iter()
            .fold(rule, |rule, (at, test)| rule.argument(at, test));
        RuleList::new([rule]).unwrap()
    };
    let (deny, allow) = (list(Rule::deny("it")), list(Rule::allow("it")));
    for (arguments, denied, allowed) in [
        (json!({"env": "prod", "force": true}), true, true),
        (json!({"env": "prod", "force": false}), false, false),
        (json!({"env": "prod"}), false, false),
        (json!({"env": "prоd", "force": true}), true, false),
        (json!({"env": "prоd", "force": false}), false, false),
        (json!({"env": "prоd", "force": "true"}), true, false),
    ] {
        assert_eq!(
            verdicts::verdict(&deny, arguments.clone()) == Verdict::Deny,
            denied,
            "{arguments}"
        );
        assert_eq!(
            verdicts::verdict(&allow, arguments.clone()) == Verdict::Allow,
            allowed,
            "{arguments}"
        );
    }
}
