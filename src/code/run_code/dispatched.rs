//! The copy of a result that the log keeps.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::policy::{Subject, Waterfall};
use crate::{CallView, ContentBlock};

/// A call that a program made and that has its result: what listeners of
/// [`CodeMode::log_copies`](crate::code::CodeMode::log_copies) are asked about.
#[derive(Clone, Debug)]
pub struct Dispatched {
    call: CallView,
    content: Arc<[ContentBlock]>,
    outer: CancellationToken,
}

impl Dispatched {
    pub(super) fn new(call: CallView, content: &[ContentBlock], outer: CancellationToken) -> Self {
        Self {
            call,
            content: content.into(),
            outer,
        }
    }

    /// The call.
    pub const fn call(&self) -> &CallView {
        &self.call
    }

    /// What a model would have read of the result.
    pub fn content(&self) -> &[ContentBlock] {
        &self.content
    }

    /// The token of the call that ran the program. The call's own is
    /// cancelled as soon as the program is over.
    pub const fn outer_cancellation(&self) -> &CancellationToken {
        &self.outer
    }
}

impl Subject for Dispatched {
    fn call(&self) -> &CallView {
        &self.call
    }
}

/// Listeners that say what the log shows of a program's calls: `None` for
/// what the result shows.
pub type LogCopies = Waterfall<Dispatched, Option<Vec<ContentBlock>>>;
