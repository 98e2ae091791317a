//! The members of one line.

use serde_json::Value;
use toolfall_layers::{CheckError, Member, json_members, read_json};

/// A frame that is being read.
pub(super) struct Members<'a>(Vec<Member<'a>>);

impl<'a> Members<'a> {
    /// Nothing where the line is no JSON object.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        json_members(std::str::from_utf8(line).ok()?).ok().map(Self)
    }

    /// The text of a member; an error where it is nested too deep.
    pub(super) fn raw(&self, name: &str) -> Option<Result<&'a str, CheckError>> {
        let member = self.0.iter().find(|member| member.name == name)?;
        Some(member.value.clone())
    }

    /// A member that is there and can be kept exactly.
    pub(super) fn value(&self, name: &str) -> Option<Value> {
        read_json(self.raw(name)?.ok()?, usize::MAX).ok()
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn count(&self, name: &str) -> Option<u64> {
        self.value(name)?.as_u64()
    }
}
