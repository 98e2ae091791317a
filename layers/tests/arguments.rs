//! What argument texts become, and what stays as it was sent.

use serde_json::{Value, json};
use toolfall_layers::{Arguments, ArgumentsErrorKind, CheckError, MAX_DEPTH, MAX_TEXT, check_json};

fn refusal(text: &str) -> (ArgumentsErrorKind, String) {
    let error = Arguments::from_text(text).unwrap_err();
    (error.kind(), error.pointer().to_owned())
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

/// conformance: EXEC-29
#[test]
fn nothing_counts_as_an_empty_object_and_is_kept_as_sent() {
    for text in ["", " ", "\t\r\n ", "null", " null\n"] {
        let arguments = Arguments::from_model(Some(text.to_owned())).unwrap();
        assert_eq!(arguments.text(), text);
        assert_eq!(arguments.json(), "{}");
        assert_eq!(*arguments.value(), json!({}));
        assert!(arguments.malformed().is_none());
        assert!(arguments.decode::<NoParameters>().is_ok());
    }
    assert_eq!(Arguments::from_model(None).unwrap(), Arguments::empty());
    for text in ["nul", "nulls", "\u{a0}", "\u{c}"] {
        assert!(Arguments::from_text(text).unwrap().malformed().is_some());
    }
}

#[derive(serde::Deserialize)]
struct NoParameters {}

/// conformance: EXEC-06, EXEC-08
#[test]
fn clones_share_one_text_and_one_tree() {
    let mut mine = json!({"path": "a"});
    let arguments = Arguments::from_serialize(&mine).unwrap();
    let clone = arguments.clone();
    mine["path"] = json!("b");
    assert_eq!(clone.value()["path"], "a");
    assert!(std::ptr::eq(arguments.value(), clone.value()));
    assert!(std::ptr::eq(arguments.text(), clone.text()));
    assert_eq!(clone.text(), r#"{"path":"a"}"#);
}

#[test]
fn the_tree_is_built_when_somebody_looks() {
    #[derive(serde::Deserialize)]
    struct Path {
        path: String,
    }
    let arguments = Arguments::from_text(r#"{"path":"a"}"#).unwrap();
    assert_eq!(arguments.decode::<Path>().unwrap().path, "a");
    arguments.digest();
    assert!(!arguments.is_value_built());
    arguments.value();
    assert!(arguments.clone().is_value_built());
}

#[test]
fn malformed_text_is_kept_and_explained() {
    let arguments = Arguments::from_text("{\"a\":1,\n 'b': 2}").unwrap();
    let malformed = arguments.malformed().unwrap();
    assert_eq!(
        (malformed.offset(), malformed.line(), malformed.column()),
        (9, 2, 2)
    );
    assert_eq!(
        malformed.to_string(),
        "not JSON at line 2 column 2: expected a name in double quotes after the comma, found `'`"
    );
    assert_eq!(*arguments.value(), Value::from("{\"a\":1,\n 'b': 2}"));
    let error = arguments.decode::<Value>().unwrap_err();
    assert_eq!(error.to_string(), malformed.to_string());
}

#[test]
fn bytes_that_are_not_utf8_say_where() {
    let arguments = Arguments::from_bytes(b"{\"path\":\"caf\xe9\"}".to_vec()).unwrap();
    let malformed = arguments.malformed().unwrap();
    assert_eq!(malformed.offset(), 12);
    assert!(malformed.found().contains("invalid UTF-8 at byte 12"));
    assert_eq!(arguments.text(), "{\"path\":\"caf\u{fffd}\"}");
    // Valid JSON once lossy, still not what was sent.
    assert!(arguments.decode::<Value>().is_err());
}

#[test]
fn a_name_twice_in_one_object_is_refused() {
    use ArgumentsErrorKind::DuplicateName;
    assert_eq!(refusal(r#"{"a":1,"a":1}"#), (DuplicateName, "/a".into()));
    assert_eq!(
        refusal(r#"{"path":1,"p\u0061th":2}"#),
        (DuplicateName, "/path".into())
    );
    assert_eq!(
        refusal(r#"{"x":[0,{"a/b":1,"~":0,"a\/b":2}]}"#),
        (DuplicateName, "/x/1/a~1b".into())
    );
    assert_eq!(refusal(r#"{"":1,"":1}"#), (DuplicateName, "/".into()));
    for apart in [
        r#"{"a":{"a":1},"b":{"a":1}}"#,
        r#"[{"a":1},{"a":1}]"#,
        r#"{"a":1,"A":2,"a ":3,"\u0041\u0041":4}"#,
        r#"{"caf\u00e9":1,"cafe\u0301":2}"#,
    ] {
        assert!(Arguments::from_text(apart).is_ok(), "{apart}");
    }
}

#[test]
fn a_name_twice_is_found_in_objects_of_any_size() {
    for size in [1, 2, 15, 16, 17, 18, 40, 5_000] {
        for escaped in [false, true] {
            for repeated in [0, size / 2, size - 1] {
                let mut members: Vec<String> = (0..size)
                    .map(|n| format!("\"n{n}\":{{\"n0\":{n}}}"))
                    .collect();
                let plain = format!("{{{}}}", members.join(","));
                assert!(check_json(&plain).is_ok(), "{size}");
                let letter = if escaped { "\\u006e" } else { "n" };
                members.push(format!("\"{letter}{repeated}\":0"));
                let twice = format!("{{\"x\":{{{}}}}}", members.join(","));
                assert_eq!(
                    refusal(&twice),
                    (ArgumentsErrorKind::DuplicateName, format!("/x/n{repeated}"))
                );
            }
        }
    }
}

/// conformance: EXEC-22, EXEC-23
#[test]
fn numbers_are_kept_or_refused_never_changed() {
    for kept in [
        "0",
        "-0",
        "-0.0",
        "0e999999999999",
        "1.0",
        "1e2",
        "1E+2",
        "0.1",
        "1e22",
        "5e-324",
        "18446744073709551615",
        "-9223372036854775808",
        "9007199254740993",
        "1.7976931348623157e308",
        "0.30000000000000004",
        "123456789012345.0",
        "100000000000000000000000.0",
        "0.000000000000000000000000000000000000000000001",
        "10.00000000000000000000000000000000",
    ] {
        assert_eq!(check_json(kept), Ok(()), "{kept}");
    }
    for changed in [
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "1e400",
        "-1e400",
        "1e-400",
        "4e-324",
        "9007199254740993.0",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "0.1000000000000000055511151231257827",
        "2.2250738585072011e-308",
        "10000000000000000000000",
    ] {
        let text = format!("[{changed},0]");
        assert_eq!(
            refusal(&text),
            (ArgumentsErrorKind::NumberRange, "/0".into()),
            "{changed}"
        );
    }
    let zero = Arguments::from_text(r#"{"x":-0}"#).unwrap();
    let zero = zero.value()["x"].as_f64().unwrap();
    assert!(zero == 0.0 && zero.is_sign_negative());
}

/// conformance: EXEC-27
#[test]
fn depth_is_bounded_for_every_text() {
    let deepest = nested(MAX_DEPTH + 1);
    let arguments = Arguments::from_text(deepest.clone()).unwrap();
    assert_eq!(arguments.value().to_string(), deepest);
    assert_eq!(arguments.decode::<Value>().unwrap(), *arguments.value());
    for text in [
        nested(MAX_DEPTH + 2),
        nested(5_000),
        nested(1_000_000),
        "[".repeat(200_000),
        "{\"a\":".repeat(200_000),
    ] {
        assert_eq!(refusal(&text).0, ArgumentsErrorKind::TooDeep);
    }
    let mixed = |levels: usize| format!("{}1{}", "[{\"a\":".repeat(levels), "}]".repeat(levels));
    assert!(check_json(&mixed(64)).is_ok());
    assert_eq!(refusal(&mixed(65)).0, ArgumentsErrorKind::TooDeep);
    // Depth is open brackets, not brackets.
    assert!(check_json(&format!("[{}0]", "[[]],{},".repeat(1_000))).is_ok());
}

#[test]
fn names_that_serde_json_keeps_for_itself_are_refused() {
    for name in [
        "$serde_json::private::RawValue",
        "$serde_json::private::Number",
        "\\u0024serde_json::private::Number",
    ] {
        let text = format!("{{\"a\":{{\"{name}\":\"1\"}}}}");
        assert_eq!(refusal(&text).0, ArgumentsErrorKind::PrivateKey, "{name}");
    }
    assert!(check_json(r#"{"$serde_json":"$serde_json::private::Number"}"#).is_ok());
}

/// conformance: EXEC-25
#[test]
fn names_of_other_languages_are_ordinary() {
    let text = r#"{"__proto__":{"admin":true},"constructor":1}"#;
    let arguments = Arguments::from_text(text).unwrap();
    assert_eq!(arguments.value()["__proto__"]["admin"], true);
    assert_eq!(arguments.value()["constructor"], 1);
}

#[test]
fn not_json_comes_before_not_lossless() {
    for text in [r#"{"a":1,"a":"#, "[1e400", "[18446744073709551616,]"] {
        assert!(matches!(check_json(text), Err(CheckError::Malformed(_))));
    }
}

#[test]
fn a_text_past_the_limit_is_refused() {
    let fits = format!("\"{}\"", "x".repeat(MAX_TEXT - 2));
    assert_eq!(check_json(&fits), Ok(()));
    let error = Arguments::from_text(fits + " ").unwrap_err();
    assert_eq!(error.kind(), ArgumentsErrorKind::TooLarge);
    let bytes = vec![0xff; MAX_TEXT + 1];
    assert!(Arguments::from_bytes(bytes).is_err());
}

#[test]
fn any_root_is_taken() {
    for (text, value) in [
        ("1", json!(1)),
        ("\"a\"", json!("a")),
        ("[]", json!([])),
        ("true", json!(true)),
    ] {
        let arguments = Arguments::from_text(text).unwrap();
        assert_eq!(*arguments.value(), value);
    }
}

#[test]
fn echoes_are_short_and_harmless() {
    let text = "\u{1b}[2J\u{202e}\u{9b}é".to_owned() + &"\n".repeat(1_000);
    let echo = Arguments::from_text(text).unwrap().echo();
    assert!(echo.starts_with("\\u{1b}[2J\\u{202e}\\u{9b}é\\n"), "{echo}");
    assert!(echo.ends_with(" more chars)") && echo.chars().count() < 230);
    let exact = Arguments::from_text("é".repeat(200)).unwrap();
    assert_eq!(exact.echo(), "é".repeat(200));
    assert!(format!("{exact:?}").starts_with("Arguments(é"));
}

#[test]
fn a_pointer_that_is_cut_says_how_much_is_missing() {
    let text = format!(r#"{{"{}": {{"x": 1e999}}}}"#, "n".repeat(300));
    let error = Arguments::from_text(text).unwrap_err();
    let shown = "n".repeat(255);
    assert_eq!(error.pointer(), format!("/{shown}… (+47 more chars)"));
}

#[test]
fn digests_follow_the_exact_text() {
    let digest = |text: &str| *Arguments::from_text(text).unwrap().digest();
    assert_eq!(digest("{\"a\":1}"), digest("{\"a\":1}"));
    assert_ne!(digest("{\"a\":1}"), digest("{\"a\": 1}"));
    assert_ne!(digest(""), digest("{}"));
    assert_eq!(
        digest("").to_string(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

/// Two decimals of sixteen digits lead back to this float; each is as good.
#[test]
fn either_of_two_shortest_decimals_is_kept() {
    for text in ["-991482764462220.2", "-991482764462220.3"] {
        let arguments = Arguments::from_text(text).unwrap();
        assert_eq!(arguments.value().as_f64(), Some(text.parse().unwrap()));
    }
    assert!(
        Arguments::from_text("-991482764462220.25").is_err(),
        "a longer one is not"
    );
}
