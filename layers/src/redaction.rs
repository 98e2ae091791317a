//! What people and records do not see of a call.
//!
//! A [`Redaction`] hides parts of a call's arguments and of its result from
//! whoever looks on: the person who is asked, the session log, `Debug`.
//! What runs is untouched: policies, guards and the body get the original.
//!
//! A tool declares one ([`Definition::redaction`](crate::Definition::redaction)),
//! a stack may have one for all calls
//! ([`ResultNotifyLayer::redact`](crate::ResultNotifyLayer::redact)), and a
//! caller may add one to a request
//! ([`CallRequest::with_redaction`](crate::CallRequest::with_redaction)).
//! They are gathered when the call is minted and stay with it, whatever
//! becomes of the tool's registration meanwhile.
//!
//! ```
//! use std::sync::Arc;
//! use tokio_util::sync::CancellationToken;
//! use toolfall_layers::{CallRequest, Redaction};
//!
//! struct Everything;
//! impl Redaction for Everything {
//!     fn arguments(&self, _: &str) -> Option<String> {
//!         Some(r#""[redacted]""#.to_owned())
//!     }
//! }
//!
//! let request = CallRequest::new("1", "log_in", r#"{"pin":1234}"#, CancellationToken::new())
//!     .with_redaction(Arc::new(Everything));
//! assert_eq!(request.shown_arguments(), r#""[redacted]""#);
//! assert_eq!(request.raw_arguments(), r#"{"pin":1234}"#);
//! assert!(!format!("{request:?}").contains("1234"));
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::content::ContentBlock;
use crate::outcome::{Parts, ToolResult};
use crate::panic::catch;

/// What stands in the place of what is hidden.
pub const REDACTED: &str = "[redacted]";

/// Says what of a call people and records may see.
///
/// Pure and deterministic: one call is shown in several places, and they must
/// agree. Every method answers `None` where it hides nothing. A panic hides
/// everything that was asked about.
pub trait Redaction: Send + Sync + 'static {
    /// The text of the arguments as it may be seen. Where `text` is JSON the
    /// answer is JSON as well.
    ///
    /// Of several redactions each gets what the one before made.
    fn arguments(&self, text: &str) -> Option<String>;

    /// A text about the call as it may be seen: a reason, an error's message.
    /// `arguments` is their text as it was sent.
    fn text(&self, arguments: &str, text: &str) -> Option<String> {
        let _ = (arguments, text);
        None
    }

    /// Hides what may not be seen of a result. `value` is the canonical value
    /// of a success where it is known, `arguments` their text as it was sent.
    fn result(&self, arguments: &str, value: Option<&Value>, shown: &mut ShownResult) {
        let _ = (arguments, value, shown);
    }
}

/// A result as people and records see it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ShownResult {
    /// What the model sees.
    pub content: Vec<ContentBlock>,
    /// The message of a failure.
    pub message: Option<String>,
    /// Metadata for presentation.
    pub meta: Option<Value>,
}

impl ShownResult {
    /// All of `result`, nothing hidden.
    pub fn of(result: &ToolResult) -> Self {
        Self {
            content: result.content().to_vec(),
            message: result.message().map(ToOwned::to_owned),
            meta: result.meta().cloned(),
        }
    }

    /// As [`of`](Self::of), from the parts of a result or an outcome.
    pub(crate) fn of_parts(parts: &Parts) -> Self {
        Self {
            content: parts.content.clone(),
            message: parts
                .failure
                .as_ref()
                .map(|failure| failure.message.clone().into_owned()),
            meta: parts.meta.clone(),
        }
    }

    /// Nothing but that there was something.
    fn hidden(&self) -> Self {
        Self {
            content: vec![ContentBlock::text(REDACTED)],
            message: self.message.as_ref().map(|_| REDACTED.to_owned()),
            meta: None,
        }
    }
}

/// What stands for a redaction that could not be had: nothing is shown.
pub(crate) struct HideAll;

impl Redaction for HideAll {
    fn arguments(&self, _: &str) -> Option<String> {
        Some(format!("\"{REDACTED}\""))
    }

    fn text(&self, _: &str, _: &str) -> Option<String> {
        Some(REDACTED.to_owned())
    }

    fn result(&self, _: &str, _: Option<&Value>, shown: &mut ShownResult) {
        *shown = shown.hidden();
    }
}

/// The redactions of one call, in the order in which they apply.
#[derive(Clone, Default)]
pub(crate) struct Redactions(Vec<Arc<dyn Redaction>>);

impl Redactions {
    /// Adds `redaction` unless it is there.
    pub(crate) fn add(&mut self, redaction: Arc<dyn Redaction>) {
        let there = |known: &Arc<dyn Redaction>| {
            std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(&redaction))
        };
        if !self.0.iter().any(there) {
            self.0.push(redaction);
        }
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = Arc<dyn Redaction>> {
        self.0.into_iter()
    }

    pub(crate) fn arguments<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        for redaction in &self.0 {
            match catch(|| redaction.arguments(&shown)) {
                Ok(None) => {}
                Ok(Some(text)) => shown = Cow::Owned(text),
                Err(_) => return Cow::Owned(format!("\"{REDACTED}\"")),
            }
        }
        shown
    }

    pub(crate) fn text<'a>(&self, arguments: &str, text: &'a str) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        for redaction in &self.0 {
            match catch(|| redaction.text(arguments, &shown)) {
                Ok(None) => {}
                Ok(Some(text)) => shown = Cow::Owned(text),
                // Owned: whoever gets a borrowed text takes it for the one given.
                Err(_) => return Cow::Owned(REDACTED.to_owned()),
            }
        }
        shown
    }

    pub(crate) fn result(
        &self,
        arguments: &str,
        value: Option<&Value>,
        mut shown: ShownResult,
    ) -> ShownResult {
        for redaction in &self.0 {
            if catch(|| redaction.result(arguments, value, &mut shown)).is_err() {
                return shown.hidden();
            }
        }
        shown
    }
}
