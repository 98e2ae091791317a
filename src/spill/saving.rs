//! One save: best effort, within its time, contained.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use toolfall_layers::panic::{PanicError, display};
use toolfall_layers::printable;

use super::replacement::replacement;
use super::{Spill, SpillPolicy, SpillSource};
use crate::policy::Contained;
use crate::{BoxError, CallView, ContentBlock, PostDecision, PostRequest};

/// So long a save may go on after its call was cancelled.
pub(super) const AFTER_CANCELLATION: Duration = Duration::from_secs(1);

/// So much of a store's error and of a call's own words is logged, in
/// characters.
pub(super) const SHOWN: usize = 500;

/// Why something was not stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum Kept {
    #[error("the session of the call is not known")]
    NoOwner,
    #[error("no spill store is mounted")]
    NoStore,
    #[error("the spill store failed: {}", printable(&display(.0), SHOWN))]
    Failed(BoxError),
    #[error("the spill store took longer than {0:?}")]
    TooSlow(Duration),
    #[error("the call was cancelled while its result was being saved")]
    Cancelled,
    #[error("storing it panicked: {}", printable(&display(.0), SHOWN))]
    Panicked(PanicError),
    #[error("not even the notice of where it is stored fits in {0} bytes")]
    TooSmall(usize),
}

impl SpillPolicy {
    /// Stores `text` and shows its ends, or leaves `decision` as it is and
    /// says why in the log. Never fails and never panics.
    pub(super) async fn spill(
        self,
        post: PostRequest,
        decision: PostDecision,
        text: Arc<str>,
        cap: usize,
    ) -> PostDecision {
        let bytes = text.len();
        // The host's function, the store and a runtime without a clock may
        // panic; none of it is a reason to lose a result.
        let reason = match Contained::new(self.replaced(&post, text, cap)).await {
            Ok(Ok(shown)) => return decision.showing(vec![ContentBlock::text(shown)]),
            Ok(Err(reason)) => reason,
            Err(panic) => Kept::Panicked(panic),
        };
        let (tool, call) = described(&post);
        let reason = reason.to_string();
        tracing::warn!(
            tool,
            call,
            bytes,
            reason,
            "a long result stays in the context"
        );
        // A flood of blocks is cut off all the same.
        match self.too_many(&post, &decision) {
            Some(too_much) => self.omit(post, decision, too_much).await,
            None => decision,
        }
    }

    async fn replaced(
        &self,
        post: &PostRequest,
        text: Arc<str>,
        cap: usize,
    ) -> Result<String, Kept> {
        let call = post.call();
        self.stored(call, "result", text, cap, call.cancellation())
            .await
    }

    /// Stores `text`, which belongs to `call`, and gives what is shown of it.
    /// Given up a while after `cancelled`.
    pub(super) async fn stored(
        &self,
        call: &CallView,
        label: &'static str,
        text: Arc<str>,
        cap: usize,
        cancelled: &CancellationToken,
    ) -> Result<String, Kept> {
        let owner = (self.owner)(call).ok_or(Kept::NoOwner)?;
        let store = self.slot.current().ok_or(Kept::NoStore)?;
        let source = SpillSource::new(call.name(), call.id().as_str(), label);
        let name = format!("{}.txt", call.name());
        let save = store.save(Spill::new(owner, source, name, text.clone()));
        let cancelled = pin!(async {
            cancelled.cancelled().await;
            sleep(AFTER_CANCELLATION).await;
        });
        let stored = match timeout(self.deadline, select(save, cancelled)).await {
            Ok(Either::Left((stored, _))) => stored.map_err(Kept::Failed)?,
            Ok(Either::Right(_)) => return Err(Kept::Cancelled),
            Err(_) => return Err(Kept::TooSlow(self.deadline)),
        };
        replacement(&text, &stored, cap).ok_or(Kept::TooSmall(cap))
    }
}

/// The tool and the id of a call, for the log.
pub(super) fn described(post: &PostRequest) -> (String, String) {
    let call = post.call();
    let shown = |text: &str| printable(text, SHOWN);
    (shown(call.name()), shown(call.id().as_str()))
}
