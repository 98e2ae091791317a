//! The copy that the log keeps of a program's calls, within the same length.

use std::sync::Arc;

use toolfall_layers::printable;

use super::SpillPolicy;
use super::saving::{Kept, SHOWN};
use crate::ContentBlock;
use crate::code::{Dispatched, LogCopies};
use crate::policy::{Contained, ListenerRegistration, Next};

type Shown = Option<Vec<ContentBlock>>;

impl SpillPolicy {
    /// Keeps what the log shows of a program's calls as short as what a model
    /// is shown of its own: the text that is longer is stored, with the label
    /// `dispatch`, and both of its ends are logged. The program gets all of
    /// it.
    ///
    /// No tool is exempt, for nobody reads the log to go on reading. What
    /// cannot be stored is logged whole, with a warning. Registered outside
    /// the listeners that are there; nothing is registered where the
    /// configuration gives no length.
    ///
    /// ```
    /// use toolfall::code::{CodeConfig, CodeMode, RuntimeSlot};
    /// use toolfall::spill::{SpillConfig, SpillPolicy, SpillSlot};
    ///
    /// let code = CodeMode::new(RuntimeSlot::new(), CodeConfig::default());
    /// let spill = SpillPolicy::new(SpillSlot::new(), &SpillConfig::max_inline_bytes(50_000));
    /// let registered = spill.register_log(code.log_copies());
    /// assert!(registered.is_some());
    /// ```
    pub fn register_log(&self, listeners: &LogCopies) -> Option<ListenerRegistration> {
        let cap = self.cap?;
        let policy = self.clone();
        let listener = move |copy: Dispatched, next: Next<Dispatched, Shown>| {
            let policy = policy.clone();
            async move {
                // What others make of the copy is what is measured.
                let shown = next.run().await?;
                let content = shown.as_deref().unwrap_or_else(|| copy.content());
                Ok::<Shown, crate::BoxError>(match too_long(content, cap) {
                    Some(text) => policy.log(&copy, text, cap).await.or(shown),
                    None => shown,
                })
            }
        };
        Some(listeners.register_outermost(listener))
    }

    /// What is logged for `text`, or nothing if it could not be stored.
    async fn log(&self, copy: &Dispatched, text: Arc<str>, cap: usize) -> Shown {
        let bytes = text.len();
        let reason = match Contained::new(self.logged(copy, text, cap)).await {
            Ok(Ok(shown)) => return Some(vec![ContentBlock::text(shown)]),
            Ok(Err(reason)) => reason,
            Err(panic) => Kept::Panicked(panic),
        };
        let tool = printable(copy.call().name(), SHOWN);
        let call = printable(copy.call().id().as_str(), SHOWN);
        let reason = reason.to_string();
        tracing::warn!(tool, call, bytes, reason, "a long result stays in the log");
        None
    }

    async fn logged(&self, copy: &Dispatched, text: Arc<str>, cap: usize) -> Result<String, Kept> {
        // Not the call's own token: that one ends with the program.
        let cancelled = copy.outer_cancellation();
        self.stored(copy.call(), "dispatch", text, cap, cancelled)
            .await
    }
}

/// The text of `content`, if it is nothing but text and longer than `cap`.
fn too_long(content: &[ContentBlock], cap: usize) -> Option<Arc<str>> {
    let texts = || content.iter().map_while(ContentBlock::as_text);
    let bytes = texts().map(str::len).sum::<usize>();
    let long = bytes > cap && texts().count() == content.len();
    long.then(|| texts().collect::<String>().into())
}
