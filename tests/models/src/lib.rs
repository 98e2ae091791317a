//! Nothing: see the tests, and `Cargo.toml` for what they are.
