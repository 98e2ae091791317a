//! Tool calls through a tower stack.

pub mod session;
