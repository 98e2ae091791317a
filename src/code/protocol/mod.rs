//! The line protocol between a host and the process that runs a program.
//!
//! One JSON object a line, UTF-8, ended by a line feed, each way. The host
//! sends [`boot`](HostFrame::Boot), is answered with
//! [`boot-ack`](GuestFrame::BootAck), sends [`run`](HostFrame::Run), and then
//! takes [calls](GuestFrame::Call), each of which it answers with a
//! [reply](HostFrame::Reply) in any order, and [logs](GuestFrame::Log), until
//! [`done`](GuestFrame::Done). A guest has at most [`IN_FLIGHT`] calls
//! unanswered, so that neither side waits for the other to read.
//!
//! | frame | members |
//! |---|---|
//! | `boot` | `type`, `cpuSeconds`, `addressSpaceBytes`, `maxLogBytes`, `maxValueBytes`, `namespaces` of `global`, `names` and perhaps `errorClass` of `name`, `memberNameProperty` |
//! | `run` | `type`, `program` |
//! | `reply` | `type`, `id`, `ok` true and `value`, or `ok` false and `message` |
//! | `boot-ack` | `type` |
//! | `call` | `type`, `id`, `global`, `name`, `args` |
//! | `log` | `type`, `text`, perhaps `truncated` |
//! | `done` | `type`, perhaps `value`, perhaps `error` of `kind` and `message` |
//!
//! The guest is hostile: [`GuestFrame::read`] takes a line for what the table
//! says or not at all, needs a bounded stack, and rebuilds what it takes.
//!
//! ```
//! use toolfall::code::protocol::GuestFrame;
//!
//! let line = r#"{"type":"log","text":"hello","truncated":"yes","more":1}"#;
//! let Some(GuestFrame::Log(log)) = GuestFrame::read(line.as_bytes()) else {
//!     panic!("it is a log");
//! };
//! assert_eq!((log.text.as_str(), log.truncated), ("hello", false));
//! assert!(GuestFrame::read(b"null").is_none());
//! ```

mod encode;
mod guest;
mod host;
mod lines;
mod members;

pub use self::encode::encode;
pub use self::guest::{Call, CallId, Done, GuestFrame, Log, truncation_marker};
pub use self::host::{Boot, BootNamespace, HostFrame, Reply};
pub use self::lines::{Lines, TooLong};

/// So many calls of a program may be unanswered at once on the wire.
pub const IN_FLIGHT: usize = 256;
