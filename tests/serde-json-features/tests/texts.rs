//! One list of texts, the same answers under every feature of `serde_json`.

use serde::Deserialize;
use serde_json::Value;
use toolfall_layers::{
    Arguments, ArgumentsErrorKind, CheckError, check_json, check_value, to_value,
};

/// What a text becomes: its tree, printed with the names in order.
const KEPT: &[(&str, &str)] = &[
    ("", "{}"),
    ("null", "{}"),
    (r#"{"b":1,"a":[true,null]}"#, r#"{"a":[true,null],"b":1}"#),
    (r#"{"x":-0}"#, r#"{"x":-0.0}"#),
    (r#"{"x":-0.0}"#, r#"{"x":-0.0}"#),
    (
        "[1.0,1e2,1E+2,0.1,1e22,5e-324]",
        "[1.0,100.0,100.0,0.1,1e+22,5e-324]",
    ),
    (
        "[18446744073709551615,-9223372036854775808]",
        "[18446744073709551615,-9223372036854775808]",
    ),
    ("9007199254740993", "9007199254740993"),
    ("0.30000000000000004", "0.30000000000000004"),
    ("1.7976931348623157e308", "1.7976931348623157e+308"),
    (
        r#"{"$serde_json":{"\u0061\n":"\ud83d\ude00"}}"#,
        r#"{"$serde_json":{"a\n":"😀"}}"#,
    ),
];

/// What is JSON and refused.
const LOSSY: &[(&str, ArgumentsErrorKind)] = &[
    ("1e400", ArgumentsErrorKind::NumberRange),
    ("1e-400", ArgumentsErrorKind::NumberRange),
    ("18446744073709551616", ArgumentsErrorKind::NumberRange),
    ("-9223372036854775809", ArgumentsErrorKind::NumberRange),
    ("9007199254740993.0", ArgumentsErrorKind::NumberRange),
    ("2.2250738585072011e-308", ArgumentsErrorKind::NumberRange),
    (r#"{"a":1,"\u0061":1}"#, ArgumentsErrorKind::DuplicateName),
    (
        r#"{"$serde_json::private::Number":"1"}"#,
        ArgumentsErrorKind::PrivateKey,
    ),
    (
        r#"{"$serde_json::private::RawValue":"1"}"#,
        ArgumentsErrorKind::PrivateKey,
    ),
];

const MALFORMED: &[&str] = &[
    "NaN",
    "Infinity",
    "01",
    "+1",
    "1.",
    ".5",
    "\u{feff}{}",
    "[1,]",
    "{}{}",
    r#""\ud800""#,
];

/// Prints with sorted names and one spelling of exponents, because both
/// differ between the features.
fn print(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(print).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members
                .iter()
                .map(|(name, member)| format!("{}:{}", Value::from(name.as_str()), print(member)))
                .collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

#[test]
fn kept_texts_become_the_same_trees() {
    for (text, printed) in KEPT {
        let arguments = Arguments::from_text(*text).unwrap();
        assert_eq!(print(arguments.value()), *printed, "{text}");
        assert_eq!(arguments.text(), *text);
        assert_eq!(arguments.decode::<Value>().unwrap(), *arguments.value());
        // A tree that bodies return goes the same way.
        assert_eq!(print(&to_value(arguments.value()).unwrap()), *printed);
        assert_eq!(check_value(arguments.value()), Ok(()), "{text}");
        let again = Arguments::from_serialize(arguments.value()).unwrap();
        assert_eq!(again.value(), arguments.value(), "{text}");
    }
}

#[test]
fn deep_texts_stop_at_the_same_depth() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let deepest = Arguments::from_text(nested(128)).unwrap();
    assert_eq!(print(deepest.value()), nested(128));
    assert_eq!(
        Arguments::from_text(nested(129)).unwrap_err().kind(),
        ArgumentsErrorKind::TooDeep
    );
}

#[test]
fn refusals_are_the_same() {
    for (text, kind) in LOSSY {
        match check_json(text) {
            Err(CheckError::Lossy(error)) => assert_eq!(error.kind(), *kind, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    for text in MALFORMED {
        assert!(
            matches!(check_json(text), Err(CheckError::Malformed(_))),
            "{text}"
        );
    }
    assert_eq!(
        to_value(&[f64::NAN]).unwrap_err().kind(),
        ArgumentsErrorKind::NotFinite
    );
}

#[test]
fn types_are_read_the_same() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Call {
        limit: u64,
        ratio: f64,
        tags: Vec<i8>,
        kind: Kind,
        either: Either,
        any: Value,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "type")]
    enum Kind {
        A { x: f64, n: i32 },
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Either {
        Whole(u32),
        Real(f64),
    }
    let text = r#"{"limit":1e3,"ratio":0.5,"tags":[1.0,-2],"either":2.5,"any":1,
        "kind":{"x":1.5,"type":"A","n":3}}"#;
    let call: Call = Arguments::from_text(text).unwrap().decode().unwrap();
    let expected = Call {
        limit: 1000,
        ratio: 0.5,
        tags: vec![1, -2],
        kind: Kind::A { x: 1.5, n: 3 },
        either: Either::Real(2.5),
        any: Value::from(1),
    };
    assert_eq!(call, expected);
}

/// Only there can a tree hold numbers past 64 bits at all.
#[cfg(feature = "arbitrary_precision")]
#[test]
fn trees_with_long_numbers_are_refused() {
    for text in [
        "1e400",
        "123456789012345678901234567890",
        "0.10000000000000000001",
    ] {
        let value: Value = serde_json::from_str(&format!("[{text}]")).unwrap();
        let error = check_value(&value).unwrap_err();
        assert_eq!(error.kind(), ArgumentsErrorKind::NumberRange);
        assert_eq!(error.pointer(), "/0");
        assert_eq!(
            to_value(&value).unwrap_err().kind(),
            ArgumentsErrorKind::NumberRange
        );
    }
}

#[cfg(feature = "raw_value")]
#[test]
fn raw_values_pass_in_and_out() {
    use serde_json::value::RawValue;

    let arguments = Arguments::from_text(r#"{"a": [1.0, "\u0061"] }"#).unwrap();
    let members: std::collections::BTreeMap<String, Box<RawValue>> = arguments.decode().unwrap();
    assert_eq!(members["a"].get(), r#"[1.0, "\u0061"]"#);
    assert_eq!(to_value(&members).unwrap(), *arguments.value());
    let twice = RawValue::from_string(r#"{"a":1,"a":2}"#.to_owned()).unwrap();
    assert_eq!(
        to_value(&twice).unwrap_err().kind(),
        ArgumentsErrorKind::DuplicateName
    );
}
