//! What a host sends.

use std::fmt::Write as _;

use serde_json::Value;

use super::encode::{encode, quote};
use super::guest::CallId;
use super::members::Members;
use crate::code::ErrorClass;

/// A line of the host's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HostFrame {
    /// What a program will find; answered with a `boot-ack`.
    Boot(Boot),
    /// The program.
    Run {
        /// Its text.
        program: String,
    },
    /// How a call ended.
    Reply(Reply),
}

/// What a program's process is told before it is given a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Boot {
    /// So many seconds the process may compute.
    pub cpu_seconds: u64,
    /// So much memory it may have, in bytes.
    pub address_space_bytes: u64,
    /// So many bytes of logs, as JSON, are kept.
    pub max_log_bytes: u64,
    /// So many bytes of logs and a value, as JSON, are kept.
    pub max_value_bytes: u64,
    /// What is bound.
    pub namespaces: Vec<BootNamespace>,
}

/// The functions under one global.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootNamespace {
    /// The global.
    pub global: String,
    /// The functions.
    pub names: Vec<String>,
    /// The class of their errors.
    pub error_class: Option<ErrorClass>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The call's id.
    pub id: CallId,
    /// Its value, or the message of its failure.
    pub result: Result<Value, String>,
}

impl HostFrame {
    /// The frame's line, ended.
    pub fn write(&self) -> String {
        match self {
            Self::Boot(boot) => boot.write(),
            Self::Run { program } => {
                let mut out = String::from(r#"{"type":"run","program":"#);
                quote(program, &mut out);
                out.push_str("}\n");
                out
            }
            Self::Reply(Reply { id, result }) => {
                let mut out = String::new();
                // Writing to a `String` cannot fail.
                let _ = write!(out, r#"{{"type":"reply","id":{},"ok":"#, id.number());
                match result {
                    Ok(value) => {
                        out.push_str(r#"true,"value":"#);
                        encode(value, &mut out);
                    }
                    Err(message) => {
                        out.push_str(r#"false,"message":"#);
                        quote(message, &mut out);
                    }
                }
                out.push_str("}\n");
                out
            }
        }
    }

    /// Reads a line, as a guest does. Nothing for a line that is no frame.
    pub fn read(line: &[u8]) -> Option<Self> {
        let members = Members::of(line)?;
        match members.text("type")?.as_str() {
            "boot" => Boot::of(&members).map(Self::Boot),
            "run" => Some(Self::Run {
                program: members.text("program")?,
            }),
            "reply" => {
                let id = members.value("id")?.as_u64()?.into();
                let result = match members.value("ok")? {
                    Value::Bool(true) => Ok(members.value("value")?),
                    Value::Bool(false) => Err(members.text("message")?),
                    _ => return None,
                };
                Some(Self::Reply(Reply { id, result }))
            }
            _ => None,
        }
    }
}

impl Boot {
    fn write(&self) -> String {
        let mut out = String::new();
        // Writing to a `String` cannot fail.
        let _ = write!(
            out,
            r#"{{"type":"boot","cpuSeconds":{},"addressSpaceBytes":{},"maxLogBytes":{},"maxValueBytes":{},"namespaces":["#,
            self.cpu_seconds, self.address_space_bytes, self.max_log_bytes, self.max_value_bytes
        );
        for (at, namespace) in self.namespaces.iter().enumerate() {
            out.push_str(if at == 0 {
                r#"{"global":"#
            } else {
                r#",{"global":"#
            });
            quote(&namespace.global, &mut out);
            out.push_str(r#","names":["#);
            for (at, name) in namespace.names.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                quote(name, &mut out);
            }
            out.push(']');
            if let Some(class) = &namespace.error_class {
                out.push_str(r#","errorClass":{"name":"#);
                quote(&class.name, &mut out);
                out.push_str(r#","memberNameProperty":"#);
                quote(&class.member_property, &mut out);
                out.push('}');
            }
            out.push('}');
        }
        out.push_str("]}\n");
        out
    }

    fn of(members: &Members<'_>) -> Option<Self> {
        let Value::Array(namespaces) = members.value("namespaces")? else {
            return None;
        };
        Some(Self {
            cpu_seconds: members.count("cpuSeconds")?,
            address_space_bytes: members.count("addressSpaceBytes")?,
            max_log_bytes: members.count("maxLogBytes")?,
            max_value_bytes: members.count("maxValueBytes")?,
            namespaces: namespaces
                .iter()
                .map(BootNamespace::of)
                .collect::<Option<_>>()?,
        })
    }
}

impl BootNamespace {
    fn of(value: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let names = value.get("names")?.as_array()?;
        let error_class = match value.get("errorClass") {
            None => None,
            Some(class) => Some(ErrorClass {
                name: text(class.get("name")?)?,
                member_property: text(class.get("memberNameProperty")?)?,
            }),
        };
        Some(Self {
            global: text(value.get("global")?)?,
            names: names.iter().map(text).collect::<Option<_>>()?,
            error_class,
        })
    }
}
