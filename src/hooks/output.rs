//! What a hook's exit code and output mean.

use serde_json::{Map, Value};

use super::{HookFault, HookPoint};
use crate::Arguments;

/// Words of the hook's own in a fault are cut here, in characters.
const SHOWN: usize = 80;

/// What a hook decided, in the word it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HookDecision {
    /// Nothing against it, at the top level.
    Approve,
    /// Nothing against it.
    Allow,
    /// A person must be asked.
    Ask,
    /// Refused, at the top level or by exit code 2.
    Block,
    /// Refused.
    Deny,
}

impl HookDecision {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Block => "block",
            Self::Deny => "deny",
        }
    }

    /// `allow`, `ask` or `deny`, whatever the word was.
    pub const fn plain(self) -> Self {
        match self {
            Self::Approve | Self::Allow => Self::Allow,
            Self::Ask => Self::Ask,
            Self::Block | Self::Deny => Self::Deny,
        }
    }

    /// Its place in the order allow < ask < deny.
    pub(super) const fn strictness(self) -> u8 {
        match self.plain() {
            Self::Ask => 1,
            Self::Deny => 2,
            _ => 0,
        }
    }
}

/// A hook's answer, read.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HookOutput {
    /// The exit code; absent if a signal ended it or it never ran.
    pub exit_code: Option<i32>,
    /// Standard output, trimmed.
    pub stdout: String,
    /// Standard error as it is, or what was wrong with the run.
    pub stderr: String,
    /// What it decided.
    pub decision: Option<HookDecision>,
    /// Why.
    pub reason: Option<String>,
    /// `continue`: whether the host shall go on at all.
    pub proceed: Option<bool>,
    /// Why not.
    pub stop_reason: Option<String>,
    /// A message for the user.
    pub system_message: Option<String>,
    /// A message for the model.
    pub additional_context: Option<String>,
    /// Other arguments for the tool. Kept and never used: what runs is what
    /// was decided on.
    pub updated_input: Option<Value>,
    /// The event that `hookSpecificOutput` names.
    pub event: Option<String>,
    /// Why the answer cannot be relied on.
    pub fault: Option<HookFault>,
}

impl HookOutput {
    /// Reads an answer. Exit code 0 with a JSON object says what the object
    /// says, 2 blocks with standard error as the reason, everything else
    /// decides nothing. With `expected`, `hookSpecificOutput` must name that
    /// event.
    ///
    /// Nothing makes this fail; what is wrong is the
    /// [`fault`](Self::fault), the first one if there are several.
    ///
    /// ```
    /// use toolfall::hooks::{HookDecision, HookOutput};
    ///
    /// let output = HookOutput::decode(Some(2), "", "not on Fridays\n", None);
    /// assert_eq!(output.decision, Some(HookDecision::Block));
    /// assert_eq!(output.reason.as_deref(), Some("not on Fridays"));
    /// ```
    pub fn decode(
        exit_code: Option<i32>,
        stdout: &str,
        stderr: &str,
        expected: Option<HookPoint>,
    ) -> Self {
        let mut output = Self {
            exit_code,
            stdout: stdout.trim().to_owned(),
            stderr: stderr.to_owned(),
            ..Self::default()
        };
        match exit_code {
            Some(0) => output.read(expected),
            Some(2) => {
                output.decision = Some(HookDecision::Block);
                output.reason = said(stderr);
            }
            Some(code) => output.fault = Some(HookFault::ExitCode(code)),
            None => output.fault = Some(HookFault::NoExitCode),
        }
        output
    }

    /// The answer of a hook that gave none.
    pub(super) fn failed(fault: HookFault, stderr: &str) -> Self {
        let stderr = if stderr.trim().is_empty() {
            fault.to_string()
        } else {
            stderr.to_owned()
        };
        Self {
            stderr,
            fault: Some(fault),
            ..Self::default()
        }
    }

    fn read(&mut self, expected: Option<HookPoint>) {
        if self.stdout.is_empty() {
            return;
        }
        let mut object = match object(&self.stdout) {
            Ok(object) => object,
            Err(found) => return self.wrong(HookFault::NotAnObject(found)),
        };
        self.proceed = match object.remove("continue") {
            None => None,
            Some(Value::Bool(proceed)) => Some(proceed),
            Some(_) => {
                self.wrong(HookFault::WrongType {
                    pointer: "/continue",
                    expected: "a boolean",
                });
                None
            }
        };
        self.stop_reason = self.text(&mut object, "stopReason", "/stopReason");
        self.system_message = self.text(&mut object, "systemMessage", "/systemMessage");
        self.reason = self.text(&mut object, "reason", "/reason");
        if let Some(word) = self.text(&mut object, "decision", "/decision") {
            self.decision = match &*word {
                "block" => Some(HookDecision::Block),
                "approve" => Some(HookDecision::Approve),
                _ => {
                    self.unknown("/decision", &word);
                    None
                }
            };
        }
        match object.remove("hookSpecificOutput") {
            None => {}
            Some(Value::Object(specific)) => self.read_specific(specific, expected),
            Some(_) => self.wrong(HookFault::WrongType {
                pointer: "/hookSpecificOutput",
                expected: "an object",
            }),
        }
    }

    fn read_specific(&mut self, mut specific: Map<String, Value>, expected: Option<HookPoint>) {
        let pointer = "/hookSpecificOutput/hookEventName";
        self.event = self.text(&mut specific, "hookEventName", pointer);
        if let Some(expected) = expected
            && self.event.as_deref() != Some(expected.as_str())
        {
            return self.wrong(HookFault::OtherEvent {
                expected: expected.as_str(),
                found: self.event.as_deref().map(cut),
            });
        }
        let pointer = "/hookSpecificOutput/permissionDecisionReason";
        let reason = self.text(&mut specific, "permissionDecisionReason", pointer);
        let pointer = "/hookSpecificOutput/permissionDecision";
        if let Some(word) = self.text(&mut specific, "permissionDecision", pointer) {
            let decision = match &*word {
                "deny" => Some(HookDecision::Deny),
                "allow" => Some(HookDecision::Allow),
                "ask" => Some(HookDecision::Ask),
                _ => {
                    self.unknown(pointer, &word);
                    None
                }
            };
            if decision.is_some() {
                self.decision = decision;
                self.reason = reason.or_else(|| self.reason.take());
            }
        }
        let pointer = "/hookSpecificOutput/additionalContext";
        self.additional_context = self.text(&mut specific, "additionalContext", pointer);
        self.updated_input = specific.remove("updatedInput");
    }

    fn text(
        &mut self,
        object: &mut Map<String, Value>,
        name: &str,
        pointer: &'static str,
    ) -> Option<String> {
        match object.remove(name) {
            None => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.wrong(HookFault::WrongType {
                    pointer,
                    expected: "a string",
                });
                None
            }
        }
    }

    fn unknown(&mut self, pointer: &'static str, word: &str) {
        let word = cut(word);
        self.wrong(HookFault::UnknownDecision { pointer, word });
    }

    fn wrong(&mut self, fault: HookFault) {
        self.fault.get_or_insert(fault);
    }
}

/// The object in `text`, under the rules that arguments are read by: nothing
/// is named twice, nothing is rounded, nothing nests without a bound.
fn object(text: &str) -> Result<Map<String, Value>, String> {
    let read =
        Arguments::from_text(text).map_err(|error| format!("found {}", cut(&error.to_string())))?;
    if read.malformed().is_some() {
        return Err("found other text".to_owned());
    }
    match read.value() {
        // `null` reads as no arguments, and here it is no object.
        Value::Object(object) if text.starts_with('{') => Ok(object.clone()),
        _ => Err("found another value".to_owned()),
    }
}

fn said(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
