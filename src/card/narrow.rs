//! Metadata of a log, read back.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::DiffEntry;

/// Reads metadata into a part of a card: whole, or not at all.
///
/// A log may be old, or written by somebody else. One entry that is not what
/// it should be, or a `null` where something is to be left out, makes all of
/// it worth nothing: half a card would look like a whole one.
///
/// ```
/// use serde_json::json;
/// use toolfall::card::{PathResults, narrow};
///
/// let whole = json!({"paths": [], "truncated": false, "total": 0});
/// assert_eq!(narrow::<PathResults>(&whole), Some(PathResults::default()));
/// let bad = json!({"paths": ["a", 1], "truncated": false, "total": 2});
/// assert_eq!(narrow::<PathResults>(&bad), None);
/// ```
pub fn narrow<T: DeserializeOwned>(meta: &Value) -> Option<T> {
    // A struct is never meant by a list of its fields' values.
    if !meta.is_object() {
        return None;
    }
    T::deserialize(meta).ok()
}

/// Metadata of a call that changed files: `{"diffs": [..]}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Diffs {
    /// The changes.
    pub diffs: Vec<DiffEntry>,
}

impl Diffs {
    /// The changes that the metadata holds, if it is well formed and holds
    /// any.
    pub fn of(meta: Option<&Value>) -> Option<Vec<DiffEntry>> {
        let Self { diffs } = narrow(meta?)?;
        (!diffs.is_empty()).then_some(diffs)
    }
}

/// A field that may be absent but not `null`.
pub(super) fn some<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A field that may be `null` but not absent.
pub(super) fn there<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}
