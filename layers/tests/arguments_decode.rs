//! Reading typed values from argument texts.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use toolfall_layers::{Arguments, DecodeError};

fn decode<T: DeserializeOwned>(text: &str) -> Result<T, DecodeError> {
    Arguments::from_text(text).unwrap().decode()
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Everything {
    small: u8,
    big: i64,
    wide: u128,
    many: Vec<Option<u32>>,
    pair: (i8, f64),
    keyed: BTreeMap<i16, Wrapped>,
    shape: Vec<Shape>,
    letter: char,
    any: Value,
    #[serde(default)]
    missing: Option<String>,
    unit: (),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Wrapped(u64);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Point,
    Circle(u32),
    Line(i32, i32),
    Box { width: u32 },
}

#[test]
fn integers_may_be_written_as_floats_at_any_depth() {
    let text = r#" { "small": 2.55e2, "big": -1e3, "wide": 1e1, "many": [1.0, null, 2],
        "pair": [-0.0, 3], "keyed": {"-7": 1.8446744073709551615e19},
        "shape": ["point", {"circle": 1.0}, {"line": [1e0, -2.0]}, {"box": {"width": 30e-1}},
            {"point": null}],
        "letter": "\u00e9", "any": {"x": 1.0, "y": [1e2]}, "unit": null } "#;
    // One digit more than a float can tell apart is refused when it is sent.
    assert!(Arguments::from_text(text).is_err());
    let text = text.replace("1.8446744073709551615e19", "1.8e19");
    assert_eq!(
        decode::<Everything>(&text).unwrap(),
        Everything {
            small: 255,
            big: -1000,
            wide: 10,
            many: vec![Some(1), None, Some(2)],
            pair: (0, 3.0),
            keyed: BTreeMap::from([(-7, Wrapped(18_000_000_000_000_000_000))]),
            shape: vec![
                Shape::Point,
                Shape::Circle(1),
                Shape::Line(1, -2),
                Shape::Box { width: 3 },
                Shape::Point,
            ],
            letter: 'é',
            any: json!({"x": 1.0, "y": [100.0]}),
            missing: None,
            unit: (),
        }
    );
}

#[test]
fn an_integer_comes_from_the_digits_not_from_the_float() {
    // The nearest f64 is 12345678901234567168.
    assert_eq!(
        decode::<u64>("1.2345678901234567e19").unwrap(),
        12_345_678_901_234_567_000
    );
    assert_eq!(
        decode::<i64>("-9.223372036854775e18").unwrap(),
        -9_223_372_036_854_775_000
    );
    assert_eq!(decode::<u8>("0.0").unwrap(), 0);
    assert_eq!(decode::<i8>("-0").unwrap(), 0);
    for text in ["1.5", "1e-1", "1e20", "-1.0", "256.0"] {
        assert!(decode::<u8>(text).is_err(), "{text}");
    }
    assert!(decode::<i64>("1e19").is_err());
    assert_eq!(decode::<f64>("1e2").unwrap().to_bits(), 100_f64.to_bits());
    assert!(decode::<String>("1").is_err());
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Read {
        #[allow(dead_code, reason = "only read by Debug")]
        path: String,
        #[allow(dead_code, reason = "only read by Debug")]
        limit: Option<u8>,
    }
    let error = |text| decode::<HashMap<String, Vec<Read>>>(text).unwrap_err();
    let wrong = error(r#"{"all": [{"path": "a"}, {"path": "a", "limit": 300}]}"#);
    assert_eq!(
        wrong.to_string(),
        "at /all/1/limit: invalid value: integer `300`, expected u8"
    );
    assert_eq!(wrong.offset(), Some(47));
    let missing = error(r#"{"all": [{"limit": 1}]}"#);
    assert_eq!(missing.to_string(), "at /all/0: missing field `path`");
    let unknown = error(r#"{"all": [{"paht": "a"}]}"#);
    assert_eq!(unknown.pointer(), "/all/0/paht");
    assert!(unknown.detail().contains("unknown field `paht`"));
    let list = error(r#"{"all": [["a", 1]]}"#);
    assert_eq!(list.pointer(), "/all/0");
    assert!(list.detail().starts_with("invalid type: sequence"));
    let long = error(&format!("{{\"all\": \"{}\"}}", "x\\n".repeat(10_000)));
    assert!(long.to_string().chars().count() < 500);
    assert!(!long.to_string().contains(char::is_control));
}

#[test]
fn lengths_and_variants_are_checked() {
    assert!(decode::<(u8, u8)>("[1]").is_err());
    assert!(decode::<(u8, u8)>("[1,2,3]").is_err());
    assert!(decode::<Shape>(r#"{"point": null, "circle": 1}"#).is_err());
    assert!(decode::<Shape>("{}").is_err());
    assert!(decode::<Shape>("\"square\"").is_err());
    assert!(decode::<Shape>("1").is_err());
    assert!(decode::<HashMap<u8, u8>>(r#"{"x": 1}"#).is_err());
    assert_eq!(
        decode::<HashMap<bool, u8>>(r#"{"true": 1.0}"#).unwrap()[&true],
        1
    );
}

#[test]
fn what_serde_buffers_reads_floats_as_floats() {
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Either {
        Whole(u32),
        Text(String),
        Real(f64),
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Flat {
        own: u32,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "type")]
    enum Tagged {
        A { n: u32 },
    }
    assert_eq!(decode::<Either>("1").unwrap(), Either::Whole(1));
    assert_eq!(decode::<Either>("1.0").unwrap(), Either::Real(1.0));
    assert_eq!(decode::<Either>("\"x\"").unwrap(), Either::Text("x".into()));
    assert_eq!(
        decode::<Flat>(r#"{"own": 1.0, "x": 2.0}"#).unwrap(),
        Flat {
            own: 1,
            rest: BTreeMap::from([("x".to_owned(), json!(2.0))]),
        }
    );
    assert_eq!(
        decode::<Tagged>(r#"{"n": 1, "type": "A"}"#).unwrap(),
        Tagged::A { n: 1 }
    );
    assert!(decode::<Tagged>(r#"{"n": 1.0, "type": "A"}"#).is_err());
}

#[test]
fn escapes_are_decoded_in_names_and_values() {
    let text = r#"{"\u0061\n\"\/\\": "\b\f\t\r\ud83d\ude00 plain é"}"#;
    let expected = HashMap::from([("a\n\"/\\".to_owned(), "\u{8}\u{c}\t\r😀 plain é".to_owned())]);
    assert_eq!(decode::<HashMap<String, String>>(text).unwrap(), expected);
}
