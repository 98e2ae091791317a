//! Tool calls through a tower stack.

pub mod pairing;
pub mod wire;
