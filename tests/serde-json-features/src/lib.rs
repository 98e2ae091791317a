//! Nothing of its own: see `tests/texts.rs`.
