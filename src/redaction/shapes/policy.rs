//! The shapes as a post-execute policy.

use std::future::Ready;

use toolfall_layers::panic::catch;
use toolfall_layers::policy::{Answer, Asked, Policy};

use super::super::{for_each_text, texts};
use super::SecretShapes;
use crate::{BoxError, ContentBlock, PostDecision, PostRequest};

/// The rule that a record names where a result was masked.
const RULE: &str = "secret-shapes";

impl SecretShapes {
    /// The content with masks; `None` where it needs none, and then nothing
    /// was copied.
    fn masked(&self, content: &[ContentBlock]) -> Option<Vec<ContentBlock>> {
        if !texts(content).any(|text| self.occurs_in(text)) {
            return None;
        }
        let mut masked = content.to_vec();
        let mut changed = false;
        for_each_text(&mut masked, |text| {
            let other = self.mask(text);
            changed |= other.is_some();
            other
        });
        changed.then_some(masked)
    }

    /// What becomes of a result: masked, if it has a secret. For policies that
    /// mask under conditions of their own.
    pub fn review(&self, post: &PostRequest) -> PostDecision {
        let (call, outcome) = (post.call(), post.outcome());
        if call.parent().is_some() {
            return PostDecision::accept();
        }
        let content = self.masked(outcome.content());
        let value = outcome.value().and_then(|value| {
            if !self.occurs_in_value(value) {
                return None;
            }
            let mut masked = value.clone();
            self.mask_value(&mut masked).then_some((value, masked))
        });
        let value = value.and_then(|(original, masked)| {
            let tool = call.definition()?;
            let render = |value| catch(|| tool.render(call, value)).ok()?.ok();
            // What another policy shows instead of the value is not undone,
            // and what the tool makes of the masked value is looked at, too.
            let own = render(original.clone())?.content == outcome.content();
            let fits = own && self.masked(&render(masked.clone())?.content).is_none();
            fits.then_some(masked)
        });
        match (value, content) {
            (Some(value), _) => PostDecision::replace_value(value).by_rule(RULE),
            (None, Some(content)) => PostDecision::replace_content(content).by_rule(RULE),
            (None, None) => PostDecision::accept(),
        }
    }
}

impl Policy<PostRequest, PostDecision> for SecretShapes {
    type Future = Ready<Result<PostDecision, BoxError>>;

    fn ask(&self, post: &PostRequest) -> Asked<PostDecision, Self::Future> {
        Answer::Now(Ok(self.review(post)))
    }
}
