//! Listeners of the decision and the post-execute stage, and the answerers.

use std::sync::Arc;

use serde_json::json;
use toolfall::approval::{Answerers, ApprovalMode};
use toolfall::policy::Next;
use toolfall::{
    ApprovalAnswer, ApprovalOutcome, ApprovalRequest, BoxError, CallView, ContentBlock, Decision,
    PostDecision, PostRequest,
};

use super::scenario::{AnswerWord, ApprovalSpec, PostOutcome, PostSpec, PreOutcome, PreSpec, When};
use super::world::{Kept, World, context, error, matches, wait};

pub(crate) fn register_pre(world: &Arc<World>, spec: &PreSpec) {
    let (id, spec, shared) = (spec.id.clone(), Arc::new(spec.clone()), world.clone());
    let scope = spec.scope.as_deref().map(|name| world.scope(name));
    let listener = move |call: CallView, next: Next<CallView, Decision>| {
        let (spec, world) = (spec.clone(), shared.clone());
        async move { decide(&world, &spec, &call, next).await }
    };
    let registration = match scope {
        None => world.pre.register(listener),
        Some(scope) => world.pre.register_in(&scope, listener),
    };
    world.keep(&id, Kept::Listener(registration));
}

async fn decide(
    world: &Arc<World>,
    spec: &PreSpec,
    call: &CallView,
    next: Next<CallView, Decision>,
) -> Result<Decision, BoxError> {
    if !matches(spec.tools.as_ref(), call.name()) {
        return next.run().await;
    }
    let id = Some(call.id().as_str());
    world.event(id, "pre_enter", json!({"by": spec.id}));
    wait(spec.delay_ms).await;
    world.carry_out(&spec.effects);
    let delegates = matches!(spec.outcome, PreOutcome::Delegate(_));
    let mut inner = None;
    if delegates || spec.delegate_first {
        inner = Some(next.run().await?);
        wait(spec.after_ms).await;
    }
    let decision = match &spec.outcome {
        PreOutcome::Delegate(_) => Ok(inner.expect("delegated above")),
        PreOutcome::Allow(_) => Ok(Decision::Allow),
        PreOutcome::Deny(reason) => Ok(Decision::deny(reason.clone())),
        PreOutcome::Ask(Some(reason)) => Ok(Decision::ask(reason.clone())),
        PreOutcome::Ask(None) => Ok(Decision::ask_without_reason()),
        PreOutcome::Fail(failure) => Err(error(failure)),
    };
    let told = match &decision {
        Ok(Decision::Allow) => "allow",
        Ok(Decision::Ask(_)) => "ask",
        Ok(Decision::Deny(_)) => "deny",
        Err(_) => "fail",
    };
    world.event(id, "pre_leave", json!({"by": spec.id, "decision": told}));
    decision
}

pub(crate) fn register_post(world: &Arc<World>, spec: &PostSpec) {
    let (id, spec, shared) = (spec.id.clone(), Arc::new(spec.clone()), world.clone());
    let scope = spec.scope.as_deref().map(|name| world.scope(name));
    let listener = move |request: PostRequest, next: Next<PostRequest, PostDecision>| {
        let (spec, world) = (spec.clone(), shared.clone());
        async move { judge(&world, &spec, &request, next).await }
    };
    let registration = match scope {
        None => world.post.register(listener),
        Some(scope) => world.post.register_in(&scope, listener),
    };
    world.keep(&id, Kept::Listener(registration));
}

async fn judge(
    world: &Arc<World>,
    spec: &PostSpec,
    request: &PostRequest,
    next: Next<PostRequest, PostDecision>,
) -> Result<PostDecision, BoxError> {
    let (call, outcome) = (request.call(), request.outcome());
    let there = match spec.when {
        None => true,
        Some(When::Success) => outcome.is_success(),
        Some(When::Failure) => !outcome.is_success(),
    };
    if !there || !matches(spec.tools.as_ref(), call.name()) {
        return next.run().await;
    }
    let id = Some(call.id().as_str());
    let seen = json!({"by": spec.id, "is_error": !outcome.is_success(), "code": outcome.code()});
    world.event(id, "post_enter", seen);
    wait(spec.delay_ms).await;
    world.carry_out(&spec.effects);
    let texts = |texts: &[String]| texts.iter().map(ContentBlock::text).collect();
    let decision = match &spec.outcome {
        PostOutcome::Delegate(_) => {
            let inner = next.run().await?;
            let earlier = spec.contexts.iter().rev();
            Ok(earlier.fold(inner, |decision, template| {
                decision.with_context_first(context(template, call))
            }))
        }
        PostOutcome::Accept(_) => Ok(PostDecision::accept()),
        PostOutcome::Content(content) => Ok(PostDecision::replace_content(texts(content))),
        PostOutcome::Value(value) => Ok(PostDecision::replace_value(value.clone())),
        PostOutcome::Block(feedback) => Ok(PostDecision::block(texts(feedback))),
        PostOutcome::Fail(failure) => Err(error(failure)),
    };
    let decision = match (&spec.outcome, decision) {
        (PostOutcome::Delegate(_), decision) => decision,
        (_, decision) => decision.map(|decision| {
            let contexts = spec.contexts.iter();
            contexts.fold(decision, |decision, template| {
                decision.with_context(context(template, call))
            })
        }),
    };
    let told = match &decision {
        Ok(decision) if decision.is_block() => "block",
        Ok(_) => "accept",
        Err(_) => "fail",
    };
    world.event(id, "post_leave", json!({"by": spec.id, "decision": told}));
    decision
}

/// The approval service: the answerers, and what a scenario puts before them.
pub(crate) struct Service {
    pub(crate) world: Arc<World>,
    spec: ApprovalSpec,
    answerers: Answerers,
}

impl Service {
    pub(crate) fn new(world: &Arc<World>, spec: &ApprovalSpec) -> Arc<Self> {
        let answerers = Answerers::new();
        if let Some(policy) = &spec.policy {
            let mode: ApprovalMode = policy.parse().expect("a mode");
            answerers.set_mode(mode);
        }
        for answer in spec.answers.clone() {
            let delay = spec.delay_ms;
            answerers
                .register(move |request: ApprovalRequest| {
                    let answer = answer.clone();
                    async move {
                        if !matches(answer.tools.as_ref(), request.tool()) {
                            return Ok(None);
                        }
                        wait(delay).await;
                        match &answer.answer {
                            AnswerWord::Word(answer) => {
                                Ok(Some(ApprovalOutcome::from_wire(answer)))
                            }
                            AnswerWord::Fails(_) => Err(BoxError::from("the answerer failed")),
                        }
                    }
                })
                .keep();
        }
        Arc::new(Self {
            world: world.clone(),
            spec: spec.clone(),
            answerers,
        })
    }

    pub(crate) async fn ask(&self, request: ApprovalRequest) -> Result<ApprovalAnswer, BoxError> {
        use toolfall_layers::policy::{Answer, Policy as _};

        let id = Some(request.call_id().as_str());
        let reason = json!({"reason": request.reason()});
        self.world.event(id, "ask", reason);
        let answer = if let Some(message) = &self.spec.service_fails {
            wait(self.spec.delay_ms).await;
            Err(BoxError::from(message.clone()))
        } else {
            match self.answerers.ask(&request) {
                Answer::Now(answer) => answer,
                Answer::Later(answer) => answer.await,
            }
        };
        let told = match &answer {
            Ok(outcome) => json!({"outcome": outcome.outcome().as_str()}),
            Err(_) => json!({"outcome": "fail"}),
        };
        self.world.event(id, "answer", told);
        answer
    }
}
