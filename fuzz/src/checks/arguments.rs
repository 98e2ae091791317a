//! The front door: text to `Arguments`, held against a plain reader and
//! against `serde_json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolfall_layers::{
    Arguments, ArgumentsError, ArgumentsErrorKind, CheckError, DecodeError, Malformed, check_json,
    check_value, printable, to_value,
};

use super::decimal::Decimal;
use super::reference::{self, Node, Read};

/// Takes `data` as the argument text of a call.
pub fn check(data: &[u8]) {
    let from_bytes = Arguments::from_bytes(data.to_vec());
    let Ok(text) = std::str::from_utf8(data) else {
        let arguments = from_bytes.expect("text that is no UTF-8 is kept");
        assert_eq!(arguments.text(), String::from_utf8_lossy(data));
        malformed(arguments.malformed().expect("it is malformed"), data.len());
        return;
    };
    let read = reference::read(text);
    let from_text = Arguments::from_text(text);
    assert_eq!(from_bytes, from_text, "bytes and text are the same door");
    scanned(text, &read);
    match from_text {
        Err(error) => refused(text, &read, &error),
        Ok(arguments) => {
            assert_eq!(arguments.text(), text, "the text is kept");
            assert_eq!(arguments.clone().digest(), arguments.digest());
            let again = Arguments::from_text(text).expect("it was accepted before");
            assert_eq!(again.digest(), arguments.digest(), "the digest is stable");
            assert_eq!(again.value(), arguments.value());
            clean(&arguments.echo(), 300);
            taken(text, &read, &arguments);
        }
    }
}

/// The scanner says of `text` what `read` and `serde_json` say.
fn scanned(text: &str, read: &Read) {
    match check_json(text) {
        Ok(()) => assert!(read.node.is_some() && read.losses.is_empty(), "{read:?}"),
        Err(CheckError::Malformed(fault)) => {
            assert!(read.node.is_none() && !read.too_deep, "{fault}");
            assert!(serde_json::from_str::<Value>(text).is_err(), "{fault}");
            malformed(&fault, text.len());
            assert!(text.is_char_boundary(fault.offset()), "{fault}");
            let before = &text[..fault.offset()];
            let line = before.rsplit('\n').next().unwrap_or_default();
            assert_eq!(fault.line(), before.split('\n').count());
            assert_eq!(fault.column(), line.chars().count() + 1);
        }
        Err(CheckError::Lossy(error)) => refused(text, read, &error),
    }
}

fn malformed(fault: &Malformed, length: usize) {
    assert!(fault.offset() <= length && fault.line() > 0 && fault.column() > 0);
    clean(&fault.to_string(), 200);
}

/// Text of a message: short, and nothing in it moves a cursor.
fn clean(message: &str, most: usize) {
    assert!(message.chars().count() <= most, "{message}");
    assert!(!message.chars().any(char::is_control), "{message:?}");
}

/// A refusal names one of the losses that are there.
fn refused(text: &str, read: &Read, error: &ArgumentsError) {
    clean(&error.to_string(), 800);
    let offset = error.offset().expect("there was a text");
    assert!(text.is_char_boundary(offset));
    let is_there = read.losses.iter().any(|loss| {
        loss.kind == error.kind()
            && loss.offset == offset
            && printable(&loss.pointer, 256) == error.pointer()
    });
    assert!(is_there, "{error}: {:?}", read.losses);
    let deep = error.kind() == ArgumentsErrorKind::TooDeep;
    assert!(deep || read.node.is_some(), "{error} of what is no JSON");
}

fn taken(text: &str, read: &Read, arguments: &Arguments) {
    let blank = text.trim_matches([' ', '\t', '\n', '\r']).is_empty();
    let node = match &read.node {
        None if blank => &Node::Object(Vec::new()),
        None => {
            let fault = arguments.malformed().expect("it is no JSON");
            malformed(fault, text.len());
            assert_eq!(arguments.value(), text);
            assert!(arguments.decode::<Value>().is_err());
            return;
        }
        Some(Node::Null) => &Node::Object(Vec::new()),
        Some(node) => node,
    };
    assert!(arguments.malformed().is_none() && read.losses.is_empty());
    let value = arguments.value();
    same(node, value);
    if let Ok(parsed) = serde_json::from_str::<Value>(arguments.json()) {
        assert_eq!(*value, parsed, "serde_json reads the same");
    }
    check_value(value).expect("what was accepted is right");
    assert_eq!(to_value(value).expect("and can be written"), *value);
    let written = Arguments::from_serialize(value).expect("and is accepted again");
    // An object that counts for nothing is written as what counts.
    assert_eq!(written.value(), value, "the same value comes back");
    let twice = Arguments::from_serialize(written.value()).expect("and again");
    assert_eq!(twice.digest(), written.digest(), "in the same letters");
    decoded(arguments, &read.places);
}

/// The tree is what was written, every number digit by digit.
fn same(node: &Node, value: &Value) {
    match (node, value) {
        (Node::Null, Value::Null) => {}
        (Node::Bool(written), Value::Bool(found)) => assert_eq!(written, found),
        (Node::Text(written), Value::String(found)) => assert_eq!(written, found),
        (Node::Number(written), Value::Number(found)) => number(written, found),
        (Node::List(written), Value::Array(found)) => {
            assert_eq!(written.len(), found.len());
            written.iter().zip(found).for_each(|(a, b)| same(a, b));
        }
        (Node::Object(written), Value::Object(found)) => {
            assert_eq!(written.len(), found.len());
            for (name, node) in written {
                same(node, found.get(name).expect("a member of that name"));
            }
        }
        _ => panic!("{node:?} became {value}"),
    }
}

fn number(written: &str, found: &serde_json::Number) {
    let printed = found.to_string();
    let (exact, back) = (Decimal::of(written), Decimal::of(&printed));
    if exact == back {
        return;
    }
    // Two decimals as short as each other may lead to one float.
    let same = written.parse::<f64>().ok() == found.as_f64();
    assert!(
        found.is_f64() && same && exact.digits.len() == back.digits.len(),
        "{written} became {printed}"
    );
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "only decoded")]
struct Typed {
    a: Option<u8>,
    b: Option<Vec<i64>>,
    #[serde(default)]
    c: Choice,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
#[allow(dead_code, reason = "only decoded")]
enum Choice {
    Flag(bool),
    Number(f64),
    Named {
        a: String,
    },
    #[default]
    Nothing,
}

/// What no longer fits a type is told with a place that is there.
fn decoded(arguments: &Arguments, places: &[String]) {
    let value: Value = arguments.decode().expect("every value is a value");
    assert_eq!(value, *arguments.value());
    let told = [
        error::<Typed>(arguments),
        error::<Choice>(arguments),
        error::<BTreeMap<String, Vec<u8>>>(arguments),
        error::<BTreeMap<String, BTreeMap<String, f32>>>(arguments),
        error::<Vec<(String, Option<i64>)>>(arguments),
        error::<Vec<Typed>>(arguments),
        error::<BTreeMap<char, bool>>(arguments),
    ];
    for error in told.into_iter().flatten() {
        clean(&error.to_string(), 800);
        if let Some(offset) = error.offset() {
            assert!(arguments.json().is_char_boundary(offset), "{error}");
        }
        let is_there = places
            .iter()
            .any(|place| printable(place, 256) == error.pointer());
        assert!(is_there, "{error}: {places:?}");
    }
    if let (Ok(integer), Some(exact)) = (arguments.decode::<i64>(), arguments.value().as_i64()) {
        assert_eq!(integer, exact);
    }
}

fn error<T: DeserializeOwned>(arguments: &Arguments) -> Option<DecodeError> {
    arguments.decode::<T>().err()
}
