//! What a program's process sends.

use std::fmt::Write as _;

use serde_json::{Number, Value};
use toolfall_layers::{Arguments, ArgumentsError, ArgumentsErrorKind, CheckError};

use super::encode::{encode, quote};
use super::members::Members;
use crate::code::ledger::{CompletionFault, check_completion};
use crate::code::{RunFailure, RunFailureKind};

/// A line of a program's process.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GuestFrame {
    /// The boot frame was understood.
    BootAck,
    /// A function is called.
    Call(Call),
    /// Something was printed.
    Log(Log),
    /// The program has ended.
    Done(Done),
}

/// What names a call on the wire: any finite number but a negative zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallId(Number);

impl CallId {
    /// The id, as it stands in the reply.
    pub fn number(&self) -> &Number {
        &self.0
    }

    fn of(value: Value) -> Option<Self> {
        let Value::Number(number) = value else {
            return None;
        };
        let float = number.as_f64()?;
        if float == 0.0 && float.is_sign_negative() {
            return None;
        }
        Some(Self(number))
    }
}

impl From<u64> for CallId {
    fn from(id: u64) -> Self {
        Self(id.into())
    }
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Names the call in its reply.
    pub id: CallId,
    /// The namespace's global.
    pub global: String,
    /// The function.
    pub name: String,
    /// What it is called with; an error if that cannot be kept.
    pub args: Result<Arguments, ArgumentsError>,
}

/// One log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The text.
    pub text: String,
    /// Whether it was cut, and no log will follow.
    pub truncated: bool,
}

/// How a program ended, as its process says.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    /// It returned this, or nothing.
    Completed(Option<Value>),
    /// It returned what JSON does not keep, and its process did not see it.
    Lossy,
    /// It failed: as an exception, an invalid output or an output limit, and
    /// no other way, which only a host can tell.
    Failed(RunFailure),
}

/// What stands at the end of logs that were cut after `bytes` bytes.
///
/// ```
/// use toolfall::code::protocol::truncation_marker;
///
/// let marker = "[dsh-code-runtime-python] log capture truncated at 65536 bytes";
/// assert_eq!(truncation_marker(65_536), marker);
/// ```
pub fn truncation_marker(bytes: usize) -> String {
    format!("[dsh-code-runtime-python] log capture truncated at {bytes} bytes")
}

impl GuestFrame {
    /// Reads a line. Nothing for a line that is no frame: it is dropped.
    ///
    /// Members that a frame does not have are left out. A call whose
    /// arguments hold a number that would change is no frame; one whose
    /// arguments cannot be kept for another reason says so.
    pub fn read(line: &[u8]) -> Option<Self> {
        let members = Members::of(line)?;
        match members.text("type")?.as_str() {
            "boot-ack" => Some(Self::BootAck),
            "call" => Some(Self::Call(Call {
                id: CallId::of(members.value("id")?)?,
                global: members.text("global")?,
                name: members.text("name")?,
                args: arguments(members.raw("args")?)?,
            })),
            "log" => Some(Self::Log(Log {
                text: members.text("text")?,
                truncated: members.value("truncated") == Some(Value::Bool(true)),
            })),
            "done" => Done::of(&members).map(Self::Done),
            _ => None,
        }
    }

    /// The frame's line, ended.
    pub fn write(&self) -> String {
        let mut out = String::from(r#"{"type":"#);
        match self {
            Self::BootAck => out.push_str(r#""boot-ack""#),
            Self::Call(call) => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, r#""call","id":{},"global":"#, call.id.0);
                quote(&call.global, &mut out);
                out.push_str(r#","name":"#);
                quote(&call.name, &mut out);
                out.push_str(r#","args":"#);
                match &call.args {
                    // The text may have line feeds between its tokens.
                    Ok(args) if !args.text().contains('\n') => out.push_str(args.text()),
                    Ok(args) => encode(args.value(), &mut out),
                    Err(_) => out.push_str("null"),
                }
            }
            Self::Log(log) => {
                out.push_str(r#""log","text":"#);
                quote(&log.text, &mut out);
                if log.truncated {
                    out.push_str(r#","truncated":true"#);
                }
            }
            Self::Done(done) => done.write(&mut out),
        }
        out.push_str("}\n");
        out
    }
}

/// Nothing if the frame is to be dropped.
fn arguments(raw: Result<&str, CheckError>) -> Option<Result<Arguments, ArgumentsError>> {
    let raw = match raw {
        Ok(raw) => raw,
        Err(CheckError::Lossy(error)) => return Some(Err(error)),
        Err(_) => return None,
    };
    match Arguments::from_text(raw) {
        Err(error) if error.kind() == ArgumentsErrorKind::NumberRange => None,
        Err(error) => Some(Err(error)),
        // The tree is built only where a zero may be negative.
        Ok(kept) if raw.contains("-0") && holds_negative_zero(kept.value()) => None,
        Ok(kept) => Some(Ok(kept)),
    }
}

fn holds_negative_zero(value: &Value) -> bool {
    check_completion(value, usize::MAX) == Err(CompletionFault::Lossy)
}

impl Done {
    fn of(members: &Members<'_>) -> Option<Self> {
        if let Some(error) = members.raw("error") {
            let error = Members::of(error.ok()?.as_bytes())?;
            let kind = match error.text("kind")?.as_str() {
                "exception" => RunFailureKind::Exception,
                "invalid-output" => RunFailureKind::InvalidOutput,
                "output-limit" => RunFailureKind::OutputLimit,
                _ => return None,
            };
            let message = error.text("message")?;
            return Some(Self::Failed(RunFailure { kind, message }));
        }
        if members.raw("value").is_none() {
            return Some(Self::Completed(None));
        }
        Some(match members.value("value") {
            Some(value) => Self::Completed(Some(value)),
            None => Self::Lossy,
        })
    }

    fn write(&self, out: &mut String) {
        out.push_str(r#""done""#);
        let failed = |kind: &str, message: &str, out: &mut String| {
            out.push_str(r#","error":{"kind":"#);
            quote(kind, out);
            out.push_str(r#","message":"#);
            quote(message, out);
            out.push('}');
        };
        match self {
            Self::Completed(None) => {}
            Self::Completed(Some(value)) => {
                out.push_str(r#","value":"#);
                encode(value, out);
            }
            Self::Lossy => failed(RunFailureKind::InvalidOutput.as_str(), "", out),
            Self::Failed(failure) => failed(failure.kind.as_str(), &failure.message, out),
        }
    }
}
