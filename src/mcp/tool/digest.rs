//! Digests over definitions: the same for every way of writing the same one.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of the canonical text of `value`, in hexadecimal. `value` must
/// be of bounded depth.
pub(super) fn digest(value: &Value) -> String {
    hex(&Sha256::digest(canonical(value)))
}

/// Lower case, two digits a byte.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Compact JSON with the names of every object in order, whatever order they
/// came in.
fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| name.as_str());
            text.push('{');
            for (place, (name, item)) in entries.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                let _ = write!(text, "{}:", Value::from(name.as_str()));
                write_canonical(item, text);
            }
            text.push('}');
        }
        leaf => {
            let _ = write!(text, "{leaf}");
        }
    }
}

/// The parts of a definition that count, as they are named in it.
const PARTS: [&str; 6] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "execution",
];

/// The digests of a definition and of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Digests {
    whole: String,
    /// In the order of [`PARTS`].
    parts: [String; PARTS.len()],
}

impl Digests {
    /// Those of `definition`, which must be of bounded depth. Everything that
    /// is none of the parts that count is left out: metadata and icons change
    /// without the tool's being another.
    pub(super) fn of(definition: &Value) -> Self {
        let name = definition.get("name").unwrap_or(&Value::Null);
        let parts = PARTS.map(|part| digest(definition.get(part).unwrap_or(&Value::Null)));
        let name = digest(name);
        let whole: Value = [&name]
            .into_iter()
            .chain(&parts)
            .map(String::as_str)
            .collect();
        Self {
            whole: digest(&whole),
            parts,
        }
    }

    pub(super) fn whole(&self) -> &str {
        &self.whole
    }

    /// Those of the parts, in one order.
    pub(super) const fn parts(&self) -> &[String; PARTS.len()] {
        &self.parts
    }
}
