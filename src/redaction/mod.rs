//! What people, logs and traces do not get to see.
//!
//! Two rules, which know different things:
//!
//! - A tool says where its secrets are: [`ToolDef::secret_arguments`] and
//!   [`ToolDef::secret_results`] name places by JSON pointer (RFC 6901; a
//!   segment `*` stands for every member and every item).
//! - [`SecretShapes`] (feature `redaction`) knows what well-known secrets look
//!   like, wherever they stand. As a post-execute policy it masks them for the
//!   model, too.
//!
//! # Who sees what
//!
//! | who | sees |
//! |---|---|
//! | the body, guards, policies, [hooks](crate::hooks) and retries | the original: a rule must be able to match, and a program that decides must know what about |
//! | the model | its own arguments, and results as the post-execute policies leave them |
//! | whoever is asked for approval, over channels and in saved questions, too | the redacted view |
//! | the session log, and all cards | the redacted view |
//! | spans and events of this crate, `Debug` of a call in all its forms | the redacted view |
//! | a result's `Debug`, `Display` of an error in the host's hands | as it is: a result does not know its tool |
//!
//! An approver that shows a question takes
//! [`ApprovalRequest::shown_arguments`](crate::ApprovalRequest::shown_arguments);
//! `arguments()` is what will run. Reasons are masked before anybody gets them.
//!
//! # The view
//!
//! `"[redacted]"` takes the place of a hidden value; every other byte of the
//! arguments stays, and JSON stays JSON. Beyond the places themselves:
//!
//! - A value of another kind than the pointer expects, a text where an object
//!   should be for instance, is hidden as well.
//! - Arguments that are no JSON, or none that can be kept, are told by their
//!   length alone: `"[redacted: 42 bytes]"`. So is free text of a tool with
//!   secret arguments.
//! - Texts and numbers that are secret by their place are masked wherever else
//!   the call shows them: in its result, an error's message, a reason. They must have 8 characters, or
//!   4 where they stand as a word; shorter ones would be found everywhere. Other spellings (base64,
//!   percent signs), and the rest of a secret that something cut in the middle,
//!   are not recognised.
//! - What a tool says of arguments that break its schema does not quote a
//!   secret, to the model neither.
//! - A call of an unknown tool has no annotation, and its arguments are shown
//!   as they are. A request does not know its tool yet, nor does its `Debug`.
//!
//! # What a log loses
//!
//! A log with redacted records shows cards and history with the redacted text.
//! Its calls cannot be made again from it: [`CallRecord::redacted`] says so.
//! Questions are still bound to the original by its digest, which is in the
//! log; a secret with few possibilities, a PIN for instance, can be guessed
//! from it by trying.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use tokio_util::sync::CancellationToken;
//! use toolfall::session::{SessionLog, SessionRecorder};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let deploy = raw_tool("deploy", "Deploys", json!({"type": "object"}), |args: Arguments, _| async move {
//!     Ok::<_, BoxError>(json!(format!("used {}", args.value()["token"])))
//! })
//! .secret_arguments(["/token"]);
//! let registry = Registry::new();
//! registry.register(deploy)?.keep();
//!
//! let log = SessionLog::in_memory();
//! let pipeline = Pipeline::builder(registry)
//!     .recorder(Arc::new(SessionRecorder::new(log.clone())))
//!     .build();
//! let arguments = r#"{"to":"production","token":"correct-horse"}"#;
//! let result = pipeline.call("1", "deploy", arguments, CancellationToken::new()).await;
//! assert_eq!(result.text(), r#"used "correct-horse""#);
//!
//! let lines = serde_json::to_string(&log.records()?)?;
//! assert!(lines.contains(r#"{\"to\":\"production\",\"token\":\"[redacted]\"}"#));
//! assert!(!lines.contains("correct-horse"));
//! # Ok(()) }
//! ```
//!
//! [`ToolDef::secret_arguments`]: crate::ToolDef::secret_arguments
//! [`ToolDef::secret_results`]: crate::ToolDef::secret_results
//! [`CallRecord::redacted`]: crate::session::CallRecord::redacted

mod known;
mod places;
mod pointer;
#[cfg(feature = "redaction")]
mod shapes;
mod walk;

use serde_json::Value;
use toolfall_layers::{ContentBlock, ResourceContents};

pub use self::places::SecretPlaces;
pub use self::pointer::PointerError;
#[cfg(feature = "redaction")]
pub use self::shapes::{SecretShapes, ShapeError};
pub use toolfall_layers::redaction::{REDACTED, Redaction, ShownResult};

/// Replaces the texts of content, where `replace` has something else for one.
/// Pictures, sounds and binary contents stay.
fn for_each_text(content: &mut [ContentBlock], mut replace: impl FnMut(&str) -> Option<String>) {
    let mut put = |text: &mut String| {
        if let Some(other) = replace(text) {
            *text = other;
        }
    };
    for block in content {
        match block {
            ContentBlock::Text { text } | ContentBlock::Reasoning { text } => put(text),
            ContentBlock::ResourceLink { uri, name, .. } => {
                put(uri);
                put(name);
            }
            ContentBlock::Resource { resource } => {
                put(&mut resource.uri);
                if let ResourceContents::Text(text) = &mut resource.contents {
                    put(text);
                }
            }
            _ => {}
        }
    }
}

/// The texts that [`for_each_text`] goes over.
#[cfg(feature = "redaction")]
fn texts(content: &[ContentBlock]) -> impl Iterator<Item = &str> {
    content.iter().flat_map(|block| {
        let (first, second): (Option<&str>, Option<&str>) = match block {
            ContentBlock::Text { text } | ContentBlock::Reasoning { text } => (Some(text), None),
            ContentBlock::ResourceLink { uri, name, .. } => (Some(uri), Some(name)),
            ContentBlock::Resource { resource } => match &resource.contents {
                ResourceContents::Text(text) => (Some(&resource.uri), Some(text)),
                ResourceContents::Blob(_) => (Some(&resource.uri), None),
            },
            _ => (None, None),
        };
        first.into_iter().chain(second)
    })
}

/// Visits the leaves of a value, each with the name of the member that it is
/// the value of. Not recursive: a host's metadata may be of any depth.
fn for_each_leaf(value: &mut Value, mut visit: impl FnMut(&mut Value, Option<&str>)) {
    let mut open: Vec<(Option<&str>, &mut Value)> = vec![(None, value)];
    while let Some((name, value)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter_mut().map(|item| (None, item))),
            Value::Object(members) => open.extend(
                members
                    .iter_mut()
                    .map(|(name, member)| (Some(name.as_str()), member)),
            ),
            leaf => visit(leaf, name),
        }
    }
}
