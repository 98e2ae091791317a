//! What a tool declares to be secret.

use std::ops::Range;

use serde_json::Value;
use toolfall_layers::redaction::REDACTED;
use toolfall_layers::{ContentBlock, Redaction, ShownResult, check_json};

use super::known::Known;
use super::pointer::{Pointer, PointerError};
use super::{for_each_text, walk};

/// Places in a tool's arguments and in its results that nobody sees but the
/// tool, the policies and the model.
///
/// [`ToolDef::secret_arguments`](crate::ToolDef::secret_arguments) and
/// [`ToolDef::secret_results`](crate::ToolDef::secret_results) make one for a
/// tool; this is the same for hosts with a catalog of their own.
///
/// ```
/// use toolfall::layers::Redaction as _;
/// use toolfall::redaction::SecretPlaces;
///
/// let places = SecretPlaces::new(["/headers/*", "/a~1b"], []).unwrap();
/// assert_eq!(
///     places.arguments(r#"{"a/b": 1.0,  "headers": {"x": "y"}, "url": "u"}"#).unwrap(),
///     r#"{"a/b": "[redacted]",  "headers": {"x": "[redacted]"}, "url": "u"}"#
/// );
/// assert!(SecretPlaces::new(["token"], []).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretPlaces {
    arguments: Vec<Pointer>,
    results: Vec<Pointer>,
}

impl SecretPlaces {
    /// The places that the pointers name. In them, a segment `*` stands for
    /// every member and every item.
    ///
    /// # Errors
    ///
    /// The first pointer that is none.
    pub fn new<'a>(
        arguments: impl IntoIterator<Item = &'a str>,
        results: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, PointerError> {
        let parse = Pointer::parse;
        Ok(Self {
            arguments: arguments.into_iter().map(parse).collect::<Result<_, _>>()?,
            results: results.into_iter().map(parse).collect::<Result<_, _>>()?,
        })
    }

    /// Whether no place is named.
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty() && self.results.is_empty()
    }

    /// The secrets in the arguments, by their value.
    fn known(&self, arguments: &str) -> Known {
        let mut known = Known::default();
        if self.arguments.is_empty() {
            return known;
        }
        if check_json(arguments).is_err() {
            known.add_words(arguments);
            return known;
        }
        for place in walk::places(arguments, &self.arguments) {
            known.add_json(&arguments[place]);
        }
        known
    }

    /// Hides the results' places in `shown`, and every repetition of what is
    /// secret in the call. Of a success whose `value` is not known, a content
    /// that is JSON is taken for it.
    pub(crate) fn hide(
        &self,
        arguments: &str,
        value: Option<&Value>,
        is_error: bool,
        shown: &mut ShownResult,
    ) {
        let mut known = self.known(arguments);
        if !self.results.is_empty() && !is_error {
            if self.results.iter().any(|pointer| pointer.ends_at(0)) {
                shown.content = vec![ContentBlock::text(REDACTED)];
                shown.meta = None;
                return;
            }
            if let Some(value) = value {
                let value = value.to_string();
                for place in walk::places(&value, &self.results) {
                    known.add_json(&value[place]);
                }
            }
            for_each_text(&mut shown.content, |text| {
                let places = self.in_result(text);
                for place in &places {
                    known.add_json(&text[place.clone()]);
                }
                (!places.is_empty()).then(|| walk::splice(text, &places, QUOTED))
            });
        }
        if known.is_empty() {
            return;
        }
        for_each_text(&mut shown.content, |text| known.mask(text));
        if let Some(message) = &mut shown.message
            && let Some(masked) = known.mask(message)
        {
            *message = masked;
        }
        if let Some(meta) = &mut shown.meta {
            known.mask_value(meta);
        }
    }

    /// The places in a text that is an object or a list.
    fn in_result(&self, text: &str) -> Vec<Range<usize>> {
        let json = text.trim_start().starts_with(['{', '[']) && check_json(text).is_ok();
        if json {
            walk::places(text, &self.results)
        } else {
            Vec::new()
        }
    }
}

/// What stands in JSON for what is hidden.
const QUOTED: &str = "\"[redacted]\"";

impl Redaction for SecretPlaces {
    fn arguments(&self, text: &str) -> Option<String> {
        if self.arguments.is_empty() || is_placeholder(text) {
            return None;
        }
        if text.trim().is_empty() {
            return None;
        }
        if check_json(text).is_err() {
            return Some(format!("\"[redacted: {} bytes]\"", text.len()));
        }
        let places = walk::places(text, &self.arguments);
        (!places.is_empty()).then(|| walk::splice(text, &places, QUOTED))
    }

    fn text(&self, arguments: &str, text: &str) -> Option<String> {
        self.known(arguments).mask(text)
    }

    fn result(&self, arguments: &str, value: Option<&Value>, shown: &mut ShownResult) {
        let is_error = shown.message.is_some();
        self.hide(arguments, value, is_error, shown);
    }
}

/// Whether the text is one that was put in the place of arguments before, as
/// in a log.
fn is_placeholder(text: &str) -> bool {
    let bytes = text
        .strip_prefix("\"[redacted: ")
        .and_then(|rest| rest.strip_suffix(" bytes]\""));
    text == QUOTED
        || bytes.is_some_and(|bytes| {
            !bytes.is_empty() && bytes.bytes().all(|byte| byte.is_ascii_digit())
        })
}
