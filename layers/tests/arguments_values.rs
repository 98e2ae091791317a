//! Values on their way out: what becomes JSON, what is refused.

use std::collections::{BTreeMap, HashMap};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};
use toolfall_layers::{
    Arguments, ArgumentsError, ArgumentsErrorKind, MAX_DEPTH, MAX_TEXT, check_value, discard_value,
    to_value,
};

fn refusal<T: Serialize + ?Sized>(value: &T) -> (ArgumentsErrorKind, String) {
    let error = to_value(value).unwrap_err();
    assert_eq!(Arguments::from_serialize(value).unwrap_err(), error);
    (error.kind(), error.pointer().to_owned())
}

#[derive(Serialize)]
struct Everything<'a> {
    text: &'a str,
    letter: char,
    numbers: (i8, u64, i64, f64, f32, i128),
    nothing: Option<u8>,
    unit: (),
    bytes: &'a [u8],
    shapes: Vec<Shape>,
    keyed: BTreeMap<i32, bool>,
    lettered: HashMap<char, Shape>,
}

#[derive(Serialize)]
enum Shape {
    Point,
    Circle(u32),
    Line(i32, i32),
    Box { width: u32 },
}

#[test]
fn everything_serde_has_becomes_what_serde_json_makes_of_it() {
    let value = Everything {
        text: "a\"\\\n\u{1}é\u{2028}",
        letter: '"',
        numbers: (-1, u64::MAX, i64::MIN, -0.5, 0.25, -7),
        nothing: None,
        unit: (),
        bytes: b"ab",
        shapes: vec![
            Shape::Point,
            Shape::Circle(1),
            Shape::Line(1, 2),
            Shape::Box { width: 3 },
        ],
        keyed: BTreeMap::from([(-1, true)]),
        lettered: HashMap::from([('x', Shape::Point)]),
    };
    let expected = serde_json::to_value(&value).unwrap();
    assert_eq!(to_value(&value).unwrap(), expected);
    assert_eq!(to_value(&expected).unwrap(), expected);
    let arguments = Arguments::from_serialize(&value).unwrap();
    assert_eq!(*arguments.value(), expected);
    assert_eq!(arguments.text(), serde_json::to_string(&value).unwrap());
    assert_eq!(to_value(&0.1_f32).unwrap(), json!(0.1));
}

/// conformance: EXEC-19, EXEC-20
#[test]
fn floats_that_are_not_finite_are_refused_never_null() {
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(
            refusal(&HashMap::from([("a", vec![1.0, float])])),
            (ArgumentsErrorKind::NotFinite, "/a/1".into())
        );
    }
    assert_eq!(refusal(&f32::NAN).0, ArgumentsErrorKind::NotFinite);
}

/// conformance: EXEC-17
#[test]
fn a_failing_serializer_is_quoted() {
    struct Failing;
    impl Serialize for Failing {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("the disk is on fire"))
        }
    }
    let error = Arguments::from_serialize(&json!({})).and(Arguments::from_serialize(&[Failing]));
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ArgumentsErrorKind::Serialize);
    assert_eq!(error.to_string(), "at /0: the disk is on fire");

    let by_pair = Arguments::from_serialize(&BTreeMap::from([((1, 2), 3)])).unwrap_err();
    assert_eq!(by_pair.kind(), ArgumentsErrorKind::Serialize);
    assert_eq!(by_pair.to_string(), "key must be a string");
    assert!(to_value(&BTreeMap::from([(None::<u8>, 3)])).is_err());
}

struct Pairs(Vec<(&'static str, u8)>);

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[test]
fn names_and_numbers_are_checked_on_the_way_out_too() {
    assert_eq!(
        refusal(&[Pairs(vec![("a", 1), ("b", 2), ("a", 3)])]),
        (ArgumentsErrorKind::DuplicateName, "/0/a".into())
    );
    assert_eq!(
        refusal(&Pairs(vec![("$serde_json::private::Number", 1)])).0,
        ArgumentsErrorKind::PrivateKey
    );
    assert_eq!(
        refusal(&[u128::MAX]),
        (ArgumentsErrorKind::NumberRange, "/0".into())
    );
    assert_eq!(refusal(&i128::MIN).0, ArgumentsErrorKind::NumberRange);
}

fn list(levels_below: usize) -> Value {
    (0..levels_below).fold(json!([]), |inner, _| Value::Array(vec![inner]))
}

struct Endless;

impl Serialize for Endless {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq([Endless])
    }
}

struct Huge;

impl Serialize for Huge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(std::iter::repeat("a text without an end"))
    }
}

/// conformance: EXEC-27
#[test]
fn depth_and_size_end_with_a_refusal() {
    let deepest = list(MAX_DEPTH);
    assert_eq!(to_value(&deepest).unwrap(), deepest);
    assert!(check_value(&deepest).is_ok());
    let deeper = list(MAX_DEPTH + 1);
    assert_eq!(refusal(&deeper).0, ArgumentsErrorKind::TooDeep);
    assert_eq!(
        check_value(&deeper).unwrap_err().kind(),
        ArgumentsErrorKind::TooDeep
    );
    assert_eq!(refusal(&Endless).0, ArgumentsErrorKind::TooDeep);
    assert_eq!(refusal(&Huge).0, ArgumentsErrorKind::TooLarge);
    assert_eq!(
        refusal(&"x".repeat(MAX_TEXT)).0,
        ArgumentsErrorKind::TooLarge
    );
    let deep = list(1_000_000);
    let error: ArgumentsError = check_value(&deep).unwrap_err();
    assert!(error.to_string().chars().count() < 700);
    assert_eq!(
        to_value(&deep).unwrap_err().kind(),
        ArgumentsErrorKind::TooDeep
    );
    discard_value(deep);
}

#[test]
fn a_ready_value_is_checked_where_it_lies() {
    assert!(check_value(&json!({"a": [1, -1, 1.5, null, "x", true]})).is_ok());
    let error = check_value(&json!({"a/b": [{"$serde_json::private::RawValue": "1"}]}));
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ArgumentsErrorKind::PrivateKey);
    assert_eq!(error.pointer(), "/a~1b/0/$serde_json::private::RawValue");
}
