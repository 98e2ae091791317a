//! What [`slots`](super::slots) are made of; `tests/models` builds the same
//! file with the instrumented counterparts of a model checker.

pub(super) use std::sync::atomic::{AtomicBool, Ordering};
pub(super) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use futures_util::task::AtomicWaker;
pub(super) use toolfall_layers::panic::catch;
