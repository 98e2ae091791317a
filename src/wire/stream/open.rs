//! A call whose pieces are still coming.

use serde_json::Value;

use crate::wire::{CallKind, RawArguments, WireCall};

/// One call as far as it has come.
#[derive(Debug, Default)]
pub(super) struct OpenCall {
    /// Its place among the reply's blocks or items, as the provider counts.
    pub(super) place: Option<u64>,
    /// The item's own id, by which some events name it.
    pub(super) item: Option<String>,
    /// What came when it was opened; its text holds until a piece comes.
    pub(super) start: WireCall,
    /// The pieces so far; `None` before the first.
    pub(super) joined: Option<String>,
    /// The whole text, said once more at the call's end.
    pub(super) last: Option<String>,
    /// The provider said that the call is at its end.
    pub(super) closed: bool,
    /// The dialect says when a call is at its end.
    pub(super) closes: bool,
}

impl OpenCall {
    pub(super) fn append(&mut self, piece: &str) {
        self.joined.get_or_insert_default().push_str(piece);
    }

    /// The bytes that it keeps.
    pub(super) fn size(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let extras = &self.start.extras;
        let extras = if extras.is_empty() {
            0
        } else {
            Value::Object(extras.clone()).to_string().len()
        };
        text(&self.item)
            + text(&self.start.id)
            + self.start.name.len()
            + self.start.arguments.as_text().map_or(0, str::len)
            + text(&self.joined)
            + extras
    }

    /// The text as far as it has come.
    pub(super) fn text(&self) -> Option<&str> {
        let pieces = self.joined.as_deref();
        self.last
            .as_deref()
            .or_else(|| pieces.filter(|text| !text.is_empty()))
            .or_else(|| self.start.arguments.as_text())
            .or(pieces)
    }

    /// Whether the text so far is one whole object. No proof that it is at
    /// its end, but anything else is proof that it is not.
    pub(super) fn is_object(&self) -> bool {
        self.text().is_some_and(|text| {
            text.trim_ascii_start().starts_with('{')
                && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
        })
    }

    /// The call, of a reply that is whole or not.
    ///
    /// In one that is not, every call is cut that is not known to be at its
    /// end. A `last` call is cut as well, even if its end was told, where the
    /// provider itself says that it stopped early (`ended`): it closes what it
    /// cuts.
    pub(super) fn into_call(self, whole_reply: bool, ended: bool, last: bool) -> WireCall {
        let known_whole = if self.closes {
            self.closed && !(ended && last)
        } else {
            !last && (self.start.kind == CallKind::Custom || self.is_object())
        };
        let cut = self.start.cut || !(whole_reply || known_whole);
        let arguments = self.text().map_or(RawArguments::Absent, RawArguments::from);
        WireCall {
            arguments,
            cut,
            ..self.start
        }
    }
}
