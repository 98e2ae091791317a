//! Who a call is: the model's id for it, and the pipeline's own token.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The id that a model or a provider gave a call, exactly as sent.
///
/// Ids may be empty, repeated or reused; nothing in the pipeline pairs by
/// them. See [`ExecutionToken`] for the identity that is unique.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Cow<'static, str>);

impl CallId {
    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for CallId {
    fn from(id: T) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The identity of one execution: minted by the result stage, unique in the
/// process, comparable and nothing else.
///
/// It has no public constructor, no text form and no serialisation, so it
/// never reaches a model or a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExecutionToken(u64);

impl ExecutionToken {
    pub(crate) fn mint() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Debug for ExecutionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExecutionToken(..)")
    }
}
