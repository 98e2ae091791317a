//! Programs in JavaScript.

mod convert;
mod engine;
mod render;
#[cfg(feature = "code-ts")]
mod strip;
