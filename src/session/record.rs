//! What one line of the log says.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::approval::{AskedRecord, DecidedRecord, PolicyRecord};
use super::bodies::{
    CallRecord, ContextRecord, ResultRecord, StartedRecord, TornRecord, TurnRecord,
};
use super::dispatch::{DispatchRecord, DispatchStartRecord};
use super::encode::check_numbers;
use super::fields::Fields;
use super::permission::{EffectiveRecord, PresetRecord, SandboxRecord};

/// The greatest number a record may carry as `seq` or as a call's ordinal.
///
/// Beyond 2^53 - 1 many readers of JSON round silently.
pub const MAX_NUMBER: u64 = (1 << 53) - 1;

/// One line of the log: its place, its time and what it says.
///
/// Serialised as one JSON object, `seq` first:
/// `{"seq":3,"at":1700000000000,"type":"tool/started","call":1}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The record's place, counted from 1. In a whole log it is the line number.
    pub seq: u64,
    /// When it was written, in milliseconds since the Unix epoch. Only data:
    /// nothing here orders or decides by it.
    pub at: Option<u64>,
    /// What the record says.
    pub body: Body,
}

/// What a record says, by its `type`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// `tool/call`: a call was made and will get exactly one result.
    Call(CallRecord),
    /// `tool/started`: a body of the call is about to be entered.
    Started(StartedRecord),
    /// `tool/result`: the call ended.
    Result(ResultRecord),
    /// `tool/code-dispatch-start`: a program called a tool; in place of
    /// `tool/call`.
    DispatchStart(DispatchStartRecord),
    /// `tool/code-dispatch`: the call of a program ended; in place of
    /// `tool/result`.
    Dispatch(DispatchRecord),
    /// `approval/asked`: somebody is being asked for permission.
    Asked(AskedRecord),
    /// `approval/decided`: the question is settled.
    Decided(DecidedRecord),
    /// `approval/policy`: whether questions may be asked was switched.
    Policy(PolicyRecord),
    /// `permission/preset`: a preset was selected.
    Preset(PresetRecord),
    /// `sandbox/mode`: how far tools may reach was switched.
    Sandbox(SandboxRecord),
    /// `permission/effective`: the approval policy that decides from here on.
    Effective(EffectiveRecord),
    /// `context/message`: a message that a call left for the model.
    Context(ContextRecord),
    /// `turn/start`: a turn of the agent began.
    TurnStart(TurnRecord),
    /// `turn/end`: a turn of the agent ended.
    TurnEnd(TurnRecord),
    /// `log/torn`: opening the log cut off a line that was never finished.
    Torn(TornRecord),
    /// Any other type, kept as it is.
    Other(OtherRecord),
}

/// A record of a type that this version does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherRecord {
    /// The record's `type`.
    pub kind: String,
    /// Every field but `seq`, `at` and `type`; those three are dropped when written.
    pub fields: Map<String, Value>,
}

macro_rules! bodies {
    ($($variant:ident($record:ty) = $kind:literal,)*) => {
        impl Body {
            /// The record's `type`.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                    Self::Other(other) => &other.kind,
                }
            }

            /// Decodes the fields of a record of type `kind`.
            fn decode(kind: String, fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
                match kind.as_str() {
                    $($kind => <$record>::deserialize(Value::Object(fields)).map(Self::$variant),)*
                    _ => Ok(Self::Other(OtherRecord { kind, fields })),
                }
            }
        }

        impl Serialize for Body {
            /// Writes `type` and the record's fields, without `seq` and `at`.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let kind = self.kind();
                match self {
                    $(Self::$variant(fields) => Tagged { kind, fields }.serialize(serializer),)*
                    Self::Other(other) => {
                        let mut fields = other.fields.clone();
                        for name in ["seq", "at", "type"] {
                            fields.remove(name);
                        }
                        Tagged { kind, fields: &fields }.serialize(serializer)
                    }
                }
            }
        }
    };
}

bodies! {
    Call(CallRecord) = "tool/call",
    Started(StartedRecord) = "tool/started",
    Result(ResultRecord) = "tool/result",
    DispatchStart(DispatchStartRecord) = "tool/code-dispatch-start",
    Dispatch(DispatchRecord) = "tool/code-dispatch",
    Asked(AskedRecord) = "approval/asked",
    Decided(DecidedRecord) = "approval/decided",
    Policy(PolicyRecord) = "approval/policy",
    Preset(PresetRecord) = "permission/preset",
    Sandbox(SandboxRecord) = "sandbox/mode",
    Effective(EffectiveRecord) = "permission/effective",
    Context(ContextRecord) = "context/message",
    TurnStart(TurnRecord) = "turn/start",
    TurnEnd(TurnRecord) = "turn/end",
    Torn(TornRecord) = "log/torn",
}

macro_rules! into_body {
    ($($variant:ident($record:ty),)*) => {
        $(impl From<$record> for Body {
            fn from(record: $record) -> Self {
                Self::$variant(record)
            }
        })*
    };
}

into_body! {
    Call(CallRecord),
    Started(StartedRecord),
    Result(ResultRecord),
    DispatchStart(DispatchStartRecord),
    Dispatch(DispatchRecord),
    Asked(AskedRecord),
    Decided(DecidedRecord),
    Policy(PolicyRecord),
    Preset(PresetRecord),
    Sandbox(SandboxRecord),
    Effective(EffectiveRecord),
    Context(ContextRecord),
    Torn(TornRecord),
    Other(OtherRecord),
}

/// A record's fields behind its `type`.
#[derive(Serialize)]
struct Tagged<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(flatten)]
    fields: &'a T,
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            seq: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            at: Option<u64>,
            #[serde(flatten)]
            body: &'a Body,
        }
        Line {
            seq: self.seq,
            at: self.at,
            body: &self.body,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        Self::from_fields(fields).map_err(|bad| {
            D::Error::custom(format_args!(
                "expected {}, found {}",
                bad.expected, bad.found
            ))
        })
    }
}

/// Why an object is no record.
pub(super) struct BadRecord {
    pub(super) expected: String,
    pub(super) found: String,
}

impl Record {
    /// Reads the envelope, then the body that its `type` names.
    pub(super) fn from_fields(fields: Fields) -> Result<Self, BadRecord> {
        let mut fields = fields.0;
        let seq = match number(fields.remove("seq")) {
            Ok(Some(seq)) if seq > 0 => seq,
            Ok(found) => return Err(bad_number("seq", found.map(Value::from))),
            Err(found) => return Err(bad_number("seq", Some(found))),
        };
        let at = number(fields.remove("at")).map_err(|found| bad_number("at", Some(found)))?;
        let kind = match fields.remove("type") {
            Some(Value::String(kind)) => kind,
            found => {
                return Err(BadRecord {
                    expected: "`type` to be a string".to_owned(),
                    found: shape(found.as_ref()),
                });
            }
        };
        let known = kind.clone();
        let body = Body::decode(kind, fields).map_err(|error| BadRecord {
            expected: format!("the fields of a `{known}` record"),
            found: error.to_string(),
        })?;
        // What could not be written is not read: a log that holds it could
        // never be closed.
        check_numbers(&body).map_err(|found| BadRecord {
            expected: format!("the numbers of calls to be at most {MAX_NUMBER}"),
            found,
        })?;
        Ok(Self { seq, at, body })
    }
}

/// A number within bounds, nothing, or the value that is neither.
fn number(value: Option<Value>) -> Result<Option<u64>, Value> {
    match value {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) if number <= MAX_NUMBER => Ok(Some(number)),
            _ => Err(value),
        },
    }
}

fn bad_number(name: &str, found: Option<Value>) -> BadRecord {
    let least = u8::from(name == "seq");
    BadRecord {
        expected: format!("`{name}` to be a whole number from {least} to {MAX_NUMBER}"),
        found: shape(found.as_ref()),
    }
}

/// A value's shape in words; numbers are short enough to be shown.
fn shape(value: Option<&Value>) -> String {
    match value {
        None => "none".to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Null) => "null".to_owned(),
        Some(Value::Bool(_)) => "a boolean".to_owned(),
        Some(Value::String(_)) => "a string".to_owned(),
        Some(Value::Array(_)) => "an array".to_owned(),
        Some(Value::Object(_)) => "an object".to_owned(),
    }
}
