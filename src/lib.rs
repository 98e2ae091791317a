//! Tool calls through a tower stack.
