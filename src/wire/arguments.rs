//! Arguments that a provider can be sent again.

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use toolfall_layers::printable;

use super::{CallKind, RawArguments};

/// How many characters of a malformed text are shown.
const ECHO_CHARS: usize = 200;

/// The name under which a stand-in shows what it stands for.
pub const STAND_IN_MEMBER: &str = "malformed_arguments";

/// The beginning of `text`, fit for a message.
pub(super) fn echo(text: &str) -> String {
    printable(text, ECHO_CHARS)
}

/// The object that takes the place of arguments that are not one.
pub(super) fn stand_in(text: &str) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert(STAND_IN_MEMBER.to_owned(), Value::String(echo(text)));
    object
}

/// The text to send again, and whether a stand-in had to take its place.
pub(super) fn safe_text(arguments: &RawArguments, kind: CallKind) -> (String, bool) {
    if kind == CallKind::Custom {
        return (arguments.as_text().unwrap_or_default().to_owned(), false);
    }
    let text = arguments.or_empty_object();
    if serde_json::from_str::<Map<String, Value>>(text).is_ok() {
        (text.to_owned(), false)
    } else {
        (Value::Object(stand_in(text)).to_string(), true)
    }
}

/// The object to send again, and whether a stand-in had to take its place.
/// What an object in memory cannot carry unchanged (a name twice, an integer
/// past 64 bits) was refused as arguments, and is stood in for as well.
pub(super) fn safe_object(arguments: &RawArguments, kind: CallKind) -> (Map<String, Value>, bool) {
    let text = arguments.or_empty_object();
    if kind == CallKind::Custom {
        // Messages knows no free text: its object carries it whole.
        let free = json!({ "input": arguments.as_text().unwrap_or_default() });
        return (free.as_object().cloned().unwrap_or_default(), false);
    }
    match exact_object(text) {
        Some(object) => (object, false),
        None => (stand_in(text), true),
    }
}

fn exact_object(text: &str) -> Option<Map<String, Value>> {
    if !integers_fit(text) {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Exact.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Whether every integer outside strings fits 64 bits; JSON is assumed.
fn integers_fit(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut quoted = false;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'-' | b'0'..=b'9' if !quoted => {
                let start = at;
                while matches!(
                    bytes.get(at),
                    Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
                ) {
                    at += 1;
                }
                let number = &text[start..at];
                if !number.contains(['.', 'e', 'E'])
                    && number.parse::<i64>().is_err()
                    && number.parse::<u64>().is_err()
                {
                    return false;
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    true
}

/// Reads a value and refuses a name that comes twice. `serde_json` bounds the
/// depth.
struct Exact;

impl<'de> DeserializeSeed<'de> for Exact {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Exact {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without a name twice in one object")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(Exact)? {
            list.push(element);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(Exact)?;
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a name twice"));
            }
        }
        Ok(object.into())
    }
}
