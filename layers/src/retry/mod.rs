//! Dispatches a call again when it failed, if its tool is repeatable.
//!
//! Only tools that declare themselves repeatable are tried again, and never a
//! call that is cancelled. Every layer inside this one runs on every attempt.
//! An attempt begins only once all bodies of the one before have settled.
//!
//! # Example
//!
//! ```
//! # use std::num::NonZeroU32;
//! # use std::time::Duration;
//! # use toolfall_layers::RetryLayer;
//! let layer = RetryLayer::new(NonZeroU32::new(3).unwrap())
//!     .with_backoff(|attempt| Duration::from_millis(100 * u64::from(attempt)));
//! assert_eq!(layer.attempts().get(), 3);
//! ```

mod future;
mod layer;
mod service;

pub use self::future::ResponseFuture;
pub use self::layer::RetryLayer;
pub use self::service::Retry;
