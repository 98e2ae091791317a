//! The tool that runs a program, and the calls that the program makes.

mod arguments;
mod dispatched;
mod gate;
mod lane;
mod mode;
mod render;
mod run;
mod sub_calls;
mod tool;

pub use self::dispatched::{Dispatched, LogCopies};
pub(in crate::code) use self::mode::Inner;
pub use self::mode::{AttachError, CodeMode};
pub use self::render::rendered;
pub(in crate::code) use self::tool::entry;
