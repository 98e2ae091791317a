//! What [`turn`](crate::turn) is made of; `tests/models` builds the same file
//! with the instrumented counterparts of a model checker.

pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

pub(crate) use futures_util::task::AtomicWaker;
