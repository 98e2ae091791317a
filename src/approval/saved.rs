//! Questions as data: to be listed, shown elsewhere, and kept.

use serde::{Deserialize, Serialize};
use toolfall_layers::ApprovalRequest;

use super::QuestionDigest;
use super::digest::sent_digest;
use crate::session::{AskedRecord, OpenCall};

/// A question as data: everything a person needs to answer it.
///
/// It can be written as JSON and read by another process. The digest is
/// computed again when it is read: a question in which the call was changed is
/// refused, so nobody is shown one call and answers for another. Its id and
/// its reason are not part of the digest.
///
/// ```
/// use toolfall::approval::SavedQuestion;
///
/// let text = r#"{"id":"ask-1","call_id":"c1","tool":"write","arguments":"{}",
///     "digest":"0000000000000000000000000000000000000000000000000000000000000000"}"#;
/// assert!(serde_json::from_str::<SavedQuestion>(text).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct SavedQuestion {
    id: String,
    call_id: String,
    tool: String,
    arguments: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    digest: QuestionDigest,
    /// The digest of the arguments as they were sent, if they are shown with
    /// something hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<String>,
}

impl SavedQuestion {
    /// The question that `request` asks.
    pub fn of(request: &ApprovalRequest) -> Self {
        Self::with_digest(request, QuestionDigest::of_request(request))
    }

    /// As [`of`](Self::of), where the digest is known.
    pub(super) fn with_digest(request: &ApprovalRequest, digest: QuestionDigest) -> Self {
        Self {
            id: request.id(),
            call_id: request.call_id().as_str().to_owned(),
            tool: request.tool().to_owned(),
            arguments: request.shown_arguments().into_owned(),
            reason: request.reason().map(ToOwned::to_owned),
            scope: request.scope().map(|scope| scope.name().to_owned()),
            digest,
            sent: sent_digest(request),
        }
    }

    /// The question that a session log left open; `None` if its record has no
    /// digest, because its call has no id, or one of another call.
    pub(crate) fn recorded(asked: &AskedRecord, call: &OpenCall) -> Option<Self> {
        let expected = asked.digest?;
        let question = Self {
            id: asked.id.clone(),
            call_id: call.id.clone(),
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            reason: asked.reason.clone(),
            scope: call.agent.clone(),
            digest: expected,
            sent: asked.sent.clone(),
        };
        (question.computed() == expected).then_some(question)
    }

    fn computed(&self) -> QuestionDigest {
        let scope = self.scope.as_deref();
        let (id, tool, arguments) = (&self.call_id, &self.tool, &self.arguments);
        match &self.sent {
            None => QuestionDigest::of(scope, id, tool, arguments),
            Some(sent) => QuestionDigest::of_shown(scope, id, tool, arguments, sent),
        }
    }

    /// The question's own id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The model's id for the call; may be empty.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The text of the arguments: exactly as the model sent them, or, if
    /// [something is hidden](Self::is_redacted), as people may see it.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// Whether something of the arguments is hidden. Digest and answer are
    /// bound to what was sent all the same.
    pub const fn is_redacted(&self) -> bool {
        self.sent.is_some()
    }

    /// Why the policies ask.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The name of the scope that the call comes from.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// What an answer must name.
    pub const fn digest(&self) -> QuestionDigest {
        self.digest
    }
}

/// A question as it was written, not yet believed.
#[derive(Deserialize)]
struct Written {
    id: String,
    call_id: String,
    tool: String,
    arguments: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    scope: Option<String>,
    digest: QuestionDigest,
    #[serde(default)]
    sent: Option<String>,
}

/// A question whose digest is not that of what it shows.
#[derive(Debug, thiserror::Error)]
#[error("expected the digest {expected} of the question, found {found}")]
struct Altered {
    expected: QuestionDigest,
    found: QuestionDigest,
}

impl TryFrom<Written> for SavedQuestion {
    type Error = Altered;

    fn try_from(written: Written) -> Result<Self, Altered> {
        let question = Self {
            id: written.id,
            call_id: written.call_id,
            tool: written.tool,
            arguments: written.arguments,
            reason: written.reason,
            scope: written.scope,
            digest: written.digest,
            sent: written.sent,
        };
        let expected = question.computed();
        if question.digest == expected {
            Ok(question)
        } else {
            Err(Altered {
                expected,
                found: question.digest,
            })
        }
    }
}
