//! Blocks that are over a budget: stored one after another, and noted.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use tokio::time::sleep;

use super::blocks::{Form, TooBig, TooMuch, mime_type};
use super::content::Blocks;
use super::media::{extension, media_type};
use super::note::{block_note, rest_note};
use super::saving::{AFTER_CANCELLATION, Kept, described};
use super::{SpillBytes, SpillContent, SpillPolicy, SpillSource, SpillStore, Spilled};
use crate::policy::Contained;
use crate::{ContentBlock, PostDecision, PostRequest};

/// What was stored: for each block that is too big, and for the rest last.
type Stored = Vec<Option<Spilled>>;

impl SpillPolicy {
    /// Stores what of `decision` is too much and puts notes in its place; what
    /// cannot be stored is left out all the same, and the log says why. Never
    /// fails and never panics.
    pub(super) async fn omit(
        self,
        post: PostRequest,
        decision: PostDecision,
        too_much: TooMuch,
    ) -> PostDecision {
        let content = decision
            .content()
            .unwrap_or_else(|| post.outcome().content());
        let rest = content.len() - too_much.shown;
        let wanted = too_much.too_big.len() + usize::from(rest > 0);
        let mut stored: Stored = Vec::with_capacity(wanted);
        // Above all a runtime without a clock may panic here.
        let went = Contained::new(self.store_all(&post, &decision, &too_much, &mut stored)).await;
        let reason = match went {
            Ok(reason) => reason,
            Err(panic) => Some(Kept::Panicked(panic)),
        };
        stored.resize(wanted, None);
        if let Some(reason) = reason {
            let (tool, call) = described(&post);
            let blocks = stored.iter().filter(|stored| stored.is_none()).count();
            let reason = reason.to_string();
            tracing::warn!(
                tool,
                call,
                blocks,
                reason,
                "blocks over a budget are left out and not stored"
            );
        }
        let mut notes = too_much.too_big.iter().zip(&stored).peekable();
        let mut shown = Vec::with_capacity(too_much.shown + 1);
        for (place, block) in content.iter().take(too_much.shown).enumerate() {
            let note = notes.next_if(|(big, _)| big.place == place);
            shown.push(match note {
                Some((big, stored)) => ContentBlock::text(block_note(block, big, stored.as_ref())),
                None => block.clone(),
            });
        }
        if rest > 0 {
            let stored = stored.last().and_then(Option::as_ref);
            shown.push(ContentBlock::text(rest_note(too_much.shown, rest, stored)));
        }
        decision.showing(shown)
    }

    /// Stores one after the other, all within one deadline. Gives back why
    /// the first was not stored that was not.
    async fn store_all(
        &self,
        post: &PostRequest,
        decision: &PostDecision,
        too_much: &TooMuch,
        stored: &mut Stored,
    ) -> Option<Kept> {
        let call = post.call();
        let Some(owner) = (self.owner)(call) else {
            return Some(Kept::NoOwner);
        };
        let Some(store) = self.slot.current() else {
            return Some(Kept::NoStore);
        };
        let mut deadline = pin!(sleep(self.deadline));
        let mut cancelled = pin!(async {
            call.cancellation().cancelled().await;
            sleep(AFTER_CANCELLATION).await;
        });
        let mut first = None;
        let big = too_much.too_big.iter().map(Some);
        let content = decision
            .content()
            .unwrap_or_else(|| post.outcome().content());
        let rest = (too_much.shown < content.len()).then_some(None);
        for big in big.chain(rest) {
            let bytes = match big {
                Some(big) => one_block(&owner, post, decision, &content[big.place], big),
                None => the_rest(&owner, post, decision, too_much.shown),
            };
            let ended = select(deadline.as_mut(), cancelled.as_mut());
            match select(pin!(save(&*store, bytes)), ended).await {
                Either::Left((Ok(saved), _)) => stored.push(Some(saved)),
                Either::Left((Err(reason), _)) => {
                    first.get_or_insert(reason);
                    stored.push(None);
                }
                Either::Right((Either::Left(_), _)) => {
                    return Some(first.unwrap_or(Kept::TooSlow(self.deadline)));
                }
                Either::Right((Either::Right(_), _)) => {
                    return Some(first.unwrap_or(Kept::Cancelled));
                }
            }
        }
        first
    }
}

/// One save; a store that panics has failed.
async fn save(store: &dyn SpillStore, bytes: SpillBytes) -> Result<Spilled, Kept> {
    let saving = Contained::new(async { store.save_bytes(bytes).await });
    match saving.await {
        Ok(saved) => saved.map_err(Kept::Failed),
        Err(panic) => Err(Kept::Panicked(panic)),
    }
}

fn one_block(
    owner: &str,
    post: &PostRequest,
    decision: &PostDecision,
    block: &ContentBlock,
    big: &TooBig,
) -> SpillBytes {
    // The outcome is shared with the store. What a policy put in its place is
    // not, and is copied, one block at a time.
    let (blocks, place) = match decision.content() {
        None => (Blocks::Of(post.outcome().clone()), big.place),
        Some(_) => (Blocks::Own(Arc::from([block.clone()])), 0),
    };
    let content = SpillContent::of_block(blocks, place, big.form == Form::Base64);
    let mime = mime_type(block).and_then(media_type);
    let is_link = matches!(block, ContentBlock::ResourceLink { .. });
    let known = mime.filter(|_| !is_link).and_then(extension);
    let ending = match big.form {
        Form::Base64 => known.unwrap_or("bin"),
        Form::Text => known.unwrap_or("txt"),
        Form::NoBase64 => "txt",
    };
    let number = big.place + 1;
    let (tool, call) = (post.call().name(), post.call().id().as_str());
    let mut bytes = SpillBytes::new(
        owner,
        SpillSource::new(tool, call, format!("block-{number}")),
        format!("{tool}-{number}.{ending}"),
        content,
    );
    bytes.mime_type = match big.form {
        Form::NoBase64 => Some("text/plain".to_owned()),
        _ if is_link => Some("text/plain".to_owned()),
        _ => mime.map(ToOwned::to_owned),
    };
    bytes
}

fn the_rest(owner: &str, post: &PostRequest, decision: &PostDecision, from: usize) -> SpillBytes {
    let (blocks, from) = match decision.content() {
        None => (Blocks::Of(post.outcome().clone()), from),
        Some(content) => (Blocks::Own(Arc::from(&content[from..])), 0),
    };
    let (tool, call) = (post.call().name(), post.call().id().as_str());
    let mut bytes = SpillBytes::new(
        owner,
        SpillSource::new(tool, call, "blocks"),
        format!("{tool}-blocks.jsonl"),
        SpillContent::of_lines(blocks, from),
    );
    bytes.mime_type = Some("application/jsonl".to_owned());
    bytes
}
