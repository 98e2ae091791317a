//! Hooks as policies of the pipeline.

use futures_util::future::BoxFuture;
use toolfall_layers::policy::{Answer, Asked, Policy};

use super::{HookDecision, HookPoint, HookReport, HookSet};
use crate::policy::Next;
use crate::{
    BoxError, CallView, ContextMessage, Decision, MonotonicGuard, PostDecision, PostRequest, Reason,
};

type Answering<T> = BoxFuture<'static, Result<T, BoxError>>;

/// The hooks before tools, as a pre-decision policy.
///
/// A denial refuses the call, an `ask` has a person asked. A hook's allow is
/// no bypass: whoever else is asked still decides. A call that no hook is for
/// costs no future.
///
/// When the call is cancelled the running hook is ended and waited for, and
/// the call goes on to the guard stage, which refuses it as cancelled.
#[derive(Clone, Debug)]
pub struct PreHooks(pub(super) HookSet);

impl PreHooks {
    /// The same as a listener of a [`Waterfall`](crate::policy::Waterfall): a
    /// denial is final, everything else is tightened by what is inside.
    pub fn listener(
        &self,
    ) -> impl Fn(CallView, Next<CallView, Decision>) -> Answering<Decision> + Clone + Send + Sync + 'static
    {
        let hooks = self.clone();
        move |call, next| {
            let hooks = hooks.clone();
            Box::pin(async move {
                let own = hooks.judge(call).await;
                if matches!(own, Decision::Deny(_)) {
                    return Ok(own);
                }
                let mut both = MonotonicGuard::new();
                both.tighten(own);
                both.tighten(next.run().await?);
                Ok(both.decision().clone())
            })
        }
    }

    async fn judge(self, call: CallView) -> Decision {
        let point = HookPoint::PreToolUse;
        let HookReport {
            merged, cancelled, ..
        } = self.0.run_call(point, &call, None).await;
        let rule = Some(self.0.dialect().bridge().into());
        match merged.decision {
            Some(HookDecision::Deny) => Decision::Deny(Reason {
                text: Some(reason(merged.reason, point).into()),
                rule,
            }),
            // The caller's token is cancelled, so nothing runs: let the
            // guard stage say so.
            _ if cancelled => Decision::Allow,
            Some(HookDecision::Ask) => Decision::Ask(Reason {
                text: merged.reason.map(Into::into),
                rule,
            }),
            _ => Decision::Allow,
        }
    }
}

impl Policy<CallView, Decision> for PreHooks {
    type Future = Answering<Decision>;

    fn ask(&self, call: &CallView) -> Asked<Decision, Self::Future> {
        if !self.0.any(HookPoint::PreToolUse, call.name()) {
            return Answer::Now(Ok(Decision::Allow));
        }
        let judged = self.clone().judge(call.clone());
        Answer::Later(Box::pin(async { Ok(judged.await) }))
    }
}

/// The hooks after tools, as a post-execute policy.
///
/// They run when a tool ran, or something answered in its place with a
/// success; a call that was refused has nothing after it. A block withholds
/// the result. Contexts are delivered as messages of their own, from the
/// plugin `hooks-claude-code` or `hooks-codex`.
#[derive(Clone, Debug)]
pub struct PostHooks(pub(super) HookSet);

impl PostHooks {
    /// The same as a listener of a [`Waterfall`](crate::policy::Waterfall): a
    /// block is final; otherwise what is inside decides, and the hooks'
    /// contexts come before its own.
    pub fn listener(
        &self,
    ) -> impl Fn(PostRequest, Next<PostRequest, PostDecision>) -> Answering<PostDecision>
    + Clone
    + Send
    + Sync
    + 'static {
        let hooks = self.clone();
        move |request, next| {
            let hooks = hooks.clone();
            Box::pin(async move {
                let (block, contexts) = hooks.judge(request).await;
                if let Some(block) = block {
                    return Ok(with_contexts(block, contexts));
                }
                let inside = next.run().await?;
                let contexts = contexts.into_iter().rev();
                Ok(contexts.fold(inside, PostDecision::with_context_first))
            })
        }
    }

    fn is_for(&self, request: &PostRequest) -> bool {
        let ran = request.call().was_entered() || request.outcome().is_success();
        ran && self.0.any(HookPoint::PostToolUse, request.call().name())
    }

    async fn judge(self, request: PostRequest) -> (Option<PostDecision>, Vec<ContextMessage>) {
        if !self.is_for(&request) {
            return (None, Vec::new());
        }
        let point = HookPoint::PostToolUse;
        let report = self
            .0
            .run_call(point, request.call(), Some(request.outcome()))
            .await;
        let merged = report.merged;
        let bridge = self.0.dialect().bridge();
        let contexts = merged.contexts.into_iter();
        let contexts = contexts
            .map(|text| ContextMessage::text("plugin", bridge, text))
            .collect();
        // A hook that was stopped, or never begun, has not judged the result.
        let unjudged = report.cancelled && self.0.denies_faults(point, request.call().name());
        let block = (unjudged || merged.decision == Some(HookDecision::Deny))
            .then(|| PostDecision::block_with(reason(merged.reason, point)).by_rule(bridge));
        (block, contexts)
    }
}

impl Policy<PostRequest, PostDecision> for PostHooks {
    type Future = Answering<PostDecision>;

    fn ask(&self, request: &PostRequest) -> Asked<PostDecision, Self::Future> {
        if !self.is_for(request) {
            return Answer::Now(Ok(PostDecision::accept()));
        }
        let judged = self.clone().judge(request.clone());
        Answer::Later(Box::pin(async {
            let (block, contexts) = judged.await;
            let decision = block.unwrap_or_else(PostDecision::accept);
            Ok(with_contexts(decision, contexts))
        }))
    }
}

fn with_contexts(decision: PostDecision, contexts: Vec<ContextMessage>) -> PostDecision {
    contexts
        .into_iter()
        .fold(decision, PostDecision::with_context)
}

fn reason(reason: Option<String>, point: HookPoint) -> String {
    reason.unwrap_or_else(|| format!("blocked by {point} hook"))
}
