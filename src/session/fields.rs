//! An object whose field names are all different.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The fields of one line.
///
/// A repeated name is refused: two readers of one audit log must not be able
/// to read different values.
pub(super) struct Fields(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Map::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the field {name:?} twice")));
            }
            fields.insert(name, value);
        }
        Ok(Fields(fields))
    }
}

/// How deep arrays and objects may lie inside a value that is recorded.
///
/// Under the limit of the JSON reader, with room for the record around them.
pub(super) const MAX_DEPTH: usize = 100;

/// Whether `value` can be read back from a line. Nothing here recurses.
pub(super) fn shallow(value: &Value) -> bool {
    let mut waiting = vec![(value, 0)];
    while let Some((value, depth)) = waiting.pop() {
        if depth > MAX_DEPTH {
            return false;
        }
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => {
                waiting.extend(fields.values().map(|field| (field, depth + 1)));
            }
            _ => {}
        }
    }
    true
}
