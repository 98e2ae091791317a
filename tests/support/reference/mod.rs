//! An interpreter for the reference traces.

mod around;
mod batch;
pub(crate) mod compare;
mod guards;
mod listeners;
pub(crate) mod play;
pub(crate) mod scenario;
mod stack;
mod tools;
mod world;
