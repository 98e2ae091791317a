//! What [`published`](super::published) is made of; `tests/models` builds the
//! same file with the instrumented counterparts of a model checker.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
pub(super) use std::sync::{Arc, Mutex, PoisonError};

pub(super) use arc_swap::{ArcSwap, Guard};
pub(super) use tokio::sync::watch;
