//! Messages that carry values.

use serde_json::json;
use toolfall_layers::{ArgumentsErrorKind, CheckError, MAX_TEXT, json_members, read_json};

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn an_object_is_split_into_the_texts_of_its_members() {
    let text = " { \"a\" : [1, {\"b\": \"}\"}] ,\"\\u0063\":1e400, \"d\\n\":\"x\\\"y\" } ";
    let members = json_members(text).unwrap();
    let split: Vec<(&str, &str)> = members
        .iter()
        .map(|member| (&*member.name, *member.value.as_ref().unwrap()))
        .collect();
    // What the values hold is not judged.
    assert_eq!(
        split,
        [
            ("a", "[1, {\"b\": \"}\"}]"),
            ("c", "1e400"),
            ("d\n", "\"x\\\"y\"")
        ]
    );
    assert!(json_members("{}").unwrap().is_empty());
    assert!(json_members(" { } ").unwrap().is_empty());
}

#[test]
fn what_is_no_object_of_few_names_is_refused() {
    for text in [
        "",
        "1",
        "[]",
        "{",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1}x",
        "{a:1}",
        "{\"a\":1}{}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"a\":[}",
        "{\"a\":nul}",
    ] {
        let refused = json_members(text);
        assert!(matches!(refused, Err(CheckError::Malformed(_))), "{text}");
    }
    let many = |count: usize| {
        let members: Vec<String> = (0..count).map(|n| format!("\"{n}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert_eq!(json_members(&many(64)).unwrap().len(), 64);
    assert!(json_members(&many(65)).is_err());
}

#[test]
fn a_value_too_deep_is_the_last_member() {
    let text = format!("{{\"id\":1,\"args\":{},\"more\":2}}", nested(100_000));
    let members = json_members(&text).unwrap();
    assert_eq!(members.len(), 2);
    assert_eq!(members[0].value.as_ref().unwrap(), &"1");
    let Err(CheckError::Lossy(error)) = &members[1].value else {
        panic!("{:?}", members[1]);
    };
    assert_eq!(error.kind(), ArgumentsErrorKind::TooDeep);
    // As deep as a value may be anywhere.
    let text = format!("{{\"args\":{}}}", nested(128));
    let members = json_members(&text).unwrap();
    assert!(read_json(members[0].value.as_ref().unwrap(), 1_000).is_ok());
}

#[test]
fn a_value_is_read_up_to_a_length_of_the_callers() {
    assert_eq!(read_json(" [1, \"a\"] ", 10).unwrap(), json!([1, "a"]));
    let Err(CheckError::Lossy(error)) = read_json(" [1, \"a\"] ", 9) else {
        panic!("it is too long");
    };
    assert_eq!(error.kind(), ArgumentsErrorKind::TooLarge);
    assert!(error.to_string().contains("at most 9"), "{error}");
    let long = format!("\"{}\"", "x".repeat(MAX_TEXT));
    assert!(read_json(&long, usize::MAX).is_ok());
    for lossy in ["1e400", "{\"a\":1,\"a\":1}", "18446744073709551616"] {
        assert!(read_json(lossy, usize::MAX).is_err(), "{lossy}");
    }
}
