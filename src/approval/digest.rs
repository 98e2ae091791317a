//! What ties an answer to one question.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toolfall_layers::{ApprovalRequest, Digest, Scope, printable};

/// A SHA-256 over what a question asks about: the scope's name, the call's id,
/// the tool's name and the exact text of the arguments; where something of them
/// is hidden ([`redaction`](crate::redaction)), over what is shown of them as
/// well.
///
/// Whoever answers sends back the digest of what was shown, so that an answer
/// cannot release a call that was not. It is written as 64 hexadecimal digits.
///
/// ```
/// use toolfall::approval::QuestionDigest;
///
/// let digest = QuestionDigest::of(Some("agent"), "call_1", "write", "{}");
/// assert_ne!(digest, QuestionDigest::of(Some("agent"), "call_1", "write", "{ }"));
/// assert_ne!(digest, QuestionDigest::of(Some("agent"), "call_2", "write", "{}"));
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QuestionDigest([u8; 32]);

impl QuestionDigest {
    /// The digest of a question about a call.
    pub fn of(scope: Option<&str>, call_id: &str, tool: &str, arguments: &str) -> Self {
        let arguments = Digest::of(arguments).to_string();
        Self::over("question 1", scope, call_id, tool, &[&arguments])
    }

    /// The digest of a question that shows less than what was sent, of which
    /// `sent` is the SHA-256 in hexadecimal digits. It binds both: neither can
    /// be exchanged for another.
    pub(super) fn of_shown(
        scope: Option<&str>,
        call_id: &str,
        tool: &str,
        shown: &str,
        sent: &str,
    ) -> Self {
        let shown = Digest::of(shown).to_string();
        Self::over("question 2", scope, call_id, tool, &[&shown, sent])
    }

    fn over(
        kind: &str,
        scope: Option<&str>,
        call_id: &str,
        tool: &str,
        arguments: &[&str],
    ) -> Self {
        // Lengths go before the parts, so that no two ways to cut one text
        // into parts come to the same.
        let mut whole = String::from(kind);
        for part in [scope, Some(call_id), Some(tool)] {
            match part {
                Some(part) => {
                    whole.push('\n');
                    whole.push_str(&part.len().to_string());
                    whole.push(':');
                    whole.push_str(part);
                }
                None => whole.push_str("\n-"),
            }
        }
        for digest in arguments {
            whole.push('\n');
            whole.push_str(digest);
        }
        Self(*Digest::of(&whole).as_bytes())
    }

    /// The digest of the question that `request` asks.
    pub fn of_request(request: &ApprovalRequest) -> Self {
        let (scope, id) = (request.scope().map(Scope::name), request.call_id().as_str());
        match sent_digest(request) {
            None => Self::of(scope, id, request.tool(), request.call().raw_arguments()),
            Some(sent) => {
                Self::of_shown(scope, id, request.tool(), &request.shown_arguments(), &sent)
            }
        }
    }
}

/// The SHA-256 of the arguments as they were sent, where they are not shown so.
pub(super) fn sent_digest(request: &ApprovalRequest) -> Option<String> {
    let sent = request.call().raw_arguments();
    let differs = matches!(request.shown_arguments(), Cow::Owned(shown) if shown != sent);
    differs.then(|| Digest::of(sent).to_string())
}

impl fmt::Display for QuestionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for QuestionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QuestionDigest({self})")
    }
}

/// A text that is no [`QuestionDigest`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 hexadecimal digits, found \"{found}\"")]
pub struct BadDigest {
    /// The beginning of the text.
    pub found: String,
}

impl FromStr for QuestionDigest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let bad = || BadDigest {
            found: printable(text, 64),
        };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        if text.len() != 64 {
            return Err(bad());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let value = match (digit(pair[0]), digit(pair[1])) {
                (Some(high), Some(low)) => high * 16 + low,
                _ => return Err(bad()),
            };
            *byte = u8::try_from(value).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for QuestionDigest {
    type Error = BadDigest;

    fn try_from(text: String) -> Result<Self, BadDigest> {
        text.parse()
    }
}

impl From<QuestionDigest> for String {
    fn from(digest: QuestionDigest) -> Self {
        digest.to_string()
    }
}
