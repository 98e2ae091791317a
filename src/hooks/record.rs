//! What is written down of a hook.

use serde::Serialize;

use super::run::HookRun;
use super::{Dialect, HookPoint};

/// A hook began, or ended; for a log, and never for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum HookRecord {
    /// A hook is about to be started.
    #[serde(rename = "hook/invoked")]
    Invoked {
        /// The session's turn.
        turn: u64,
        /// Where it runs.
        point: HookPoint,
        /// In whose conventions.
        dialect: Dialect,
        /// Its name.
        handler_id: String,
        /// Its matcher, unless it is for everything.
        #[serde(skip_serializing_if = "Option::is_none")]
        matcher: Option<String>,
    },
    /// It has ended.
    #[serde(rename = "hook/result")]
    Result {
        /// As in its `Invoked`.
        turn: u64,
        /// As in its `Invoked`.
        point: HookPoint,
        /// As in its `Invoked`.
        dialect: Dialect,
        /// As in its `Invoked`.
        handler_id: String,
        /// See [`decision_word`].
        decision: &'static str,
        /// The exit code, if there was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The beginning of standard error; see [`stderr_summary`].
        #[serde(skip_serializing_if = "Option::is_none")]
        stderr_summary: Option<String>,
        /// How long it ran, in milliseconds of tokio's clock.
        duration_ms: u64,
    },
}

/// The word for a hook's answer: its decision, else `stop` if it wants the
/// host to stop, else `pass`.
pub fn decision_word(output: &super::HookOutput) -> &'static str {
    match (output.decision, output.proceed) {
        (Some(decision), _) => decision.as_str(),
        (None, Some(false)) => "stop",
        (None, _) => "pass",
    }
}

/// Standard error, trimmed and cut to `most` characters with `…` behind;
/// nothing if it is blank.
pub fn stderr_summary(stderr: &str, most: usize) -> Option<String> {
    let text = stderr.trim();
    match text.char_indices().nth(most) {
        _ if text.is_empty() => None,
        Some((end, _)) => Some(format!("{}…", &text[..end])),
        None => Some(text.to_owned()),
    }
}

impl HookRecord {
    pub(super) fn result(turn: u64, dialect: Dialect, run: &HookRun, most: usize) -> Self {
        Self::Result {
            turn,
            point: run.point,
            dialect,
            handler_id: run.id.clone(),
            decision: decision_word(&run.output),
            exit_code: run.output.exit_code,
            stderr_summary: stderr_summary(&run.output.stderr, most),
            duration_ms: u64::try_from(run.duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}
