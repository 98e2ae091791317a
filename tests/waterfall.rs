//! Listeners that delegate or answer, inside one stage.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::policy::{ListenerRegistration, Next, Waterfall};
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, ClearedCall, ContextMessage, Decision, Pipeline,
    PostDecision, PostRequest, Registry, Scope, ToolContext, ToolOutcome, ToolResult, raw_tool,
};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt as _};

type Pre = Waterfall<CallView, Decision>;
type Post = Waterfall<PostRequest, PostDecision>;

/// What happened, in order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn registry(seen: &Seen) -> Registry {
    let registry = Registry::new();
    let seen = seen.clone();
    let echo = raw_tool(
        "echo",
        "Says it again",
        json!({"type": "object"}),
        move |_: Arguments, _: ToolContext| {
            let seen = seen.clone();
            async move {
                seen.note("body");
                Ok::<Value, BoxError>(json!("done"))
            }
        },
    );
    registry.register(echo).unwrap().keep();
    registry
}

async fn run(seen: &Seen, pre: &Pre, post: &Post, scope: Option<&Scope>) -> ToolResult {
    let pipeline = Pipeline::builder(registry(seen))
        .pre_decision(pre.clone())
        .post_execute(post.clone())
        .around(Noting(seen.clone()))
        .build();
    let request = CallRequest::new("1", "echo", "{}", CancellationToken::new());
    let request = match scope {
        Some(scope) => request.with_scope(scope.clone()),
        None => request,
    };
    pipeline.run(request).await
}

/// Notes that the dispatch begins.
#[derive(Clone)]
struct Noting(Seen);

impl<S> Layer<S> for Noting
where
    S: Service<ClearedCall, Response = ToolOutcome> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Service = BoxCloneSyncService<ClearedCall, ToolOutcome, BoxError>;

    fn layer(&self, inner: S) -> Self::Service {
        let seen = self.0.clone();
        let inner = inner.map_err(Into::into).map_request(move |call| {
            seen.note("around");
            call
        });
        BoxCloneSyncService::new(inner)
    }
}

fn pre() -> Pre {
    Waterfall::new(Decision::Allow)
}

fn post() -> Post {
    Waterfall::new(PostDecision::accept())
}

/// A listener that only notes that it was asked.
fn noting(pre: &Pre, seen: &Seen, name: &'static str) -> ListenerRegistration {
    let seen = seen.clone();
    pre.register(move |_, next: Next<CallView, Decision>| {
        seen.note(name);
        next.run()
    })
}

fn texts(result: &ToolResult) -> Vec<&str> {
    let contexts = result.contexts().iter();
    contexts
        .flat_map(|context| context.content.iter().filter_map(|block| block.as_text()))
        .collect()
}

/// conformance: PRE-07
#[tokio::test]
async fn a_delegating_listener_is_done_before_the_dispatch_begins() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let notes = seen.clone();
    let _pre = pre.register(move |_, next: Next<CallView, Decision>| {
        let notes = notes.clone();
        async move {
            notes.note("pre-before");
            let decision = next.run().await;
            tokio::task::yield_now().await;
            notes.note("pre-after");
            decision
        }
    });
    let notes = seen.clone();
    let _post = post.register(move |_, next: Next<PostRequest, PostDecision>| {
        let notes = notes.clone();
        async move {
            notes.note("post-before");
            let decision = next.run().await;
            notes.note("post-after");
            decision
        }
    });
    assert_eq!(run(&seen, &pre, &post, None).await.text(), "done");
    let order = [
        "pre-before",
        "pre-after",
        "around",
        "body",
        "post-before",
        "post-after",
    ];
    assert_eq!(seen.take(), order);
}

/// conformance: PRE-08
#[tokio::test]
async fn an_outer_answer_is_final_and_the_inner_listener_is_not_asked() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let _outer = pre.register(|_, _| async { Decision::deny("outside says no") });
    let _inner = noting(&pre, &seen, "inner");
    let result = run(&seen, &pre, &post, None).await;
    assert_eq!(result.text(), "Error: outside says no");
    assert!(
        seen.take().is_empty(),
        "neither the inner listener nor the body"
    );
}

/// conformance: PRE-09
#[tokio::test]
async fn an_outer_listener_overrules_an_inner_denial() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let _outer = pre.register(|_, next: Next<CallView, Decision>| async move {
        let inner = next.run().await?;
        assert_eq!(inner, Decision::deny("inside says no"));
        Ok::<_, BoxError>(Decision::Allow)
    });
    let _inner = pre.register(|_, _| async { Decision::deny("inside says no") });
    assert_eq!(run(&seen, &pre, &post, None).await.text(), "done");
}

#[tokio::test]
async fn whoever_is_registered_outermost_is_asked_first() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let _first = noting(&pre, &seen, "first");
    let notes = seen.clone();
    let _before = pre.register_outermost(move |_, next: Next<CallView, Decision>| {
        notes.note("outermost");
        next.run()
    });
    run(&seen, &pre, &post, None).await;
    assert_eq!(seen.take(), ["outermost", "first", "around", "body"]);
}

/// conformance: PRE-22
#[tokio::test]
async fn who_registers_during_a_call_takes_part_in_the_next() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (list, notes) = (pre.clone(), seen.clone());
    let _registers = pre.register(move |_, next: Next<CallView, Decision>| {
        let late = noting(&list, &notes, "late");
        kept.lock().unwrap().push(late);
        next.run()
    });
    run(&seen, &pre, &post, None).await;
    assert_eq!(seen.take(), ["around", "body"]);
    run(&seen, &pre, &post, None).await;
    assert_eq!(seen.take(), ["late", "around", "body"]);
}

#[tokio::test]
async fn a_registration_takes_away_exactly_its_own_listener() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let first = noting(&pre, &seen, "same");
    let second = noting(&pre, &seen, "same");
    drop(first);
    assert_eq!(pre.len(), 1);
    run(&seen, &pre, &post, None).await;
    assert_eq!(seen.take(), ["same", "around", "body"]);
    drop(second);
    assert!(pre.is_empty());
    noting(&pre, &seen, "kept").keep();
    run(&seen, &pre, &post, None).await;
    assert_eq!(seen.take(), ["kept", "around", "body"]);
}

/// A lock held here would never be given back.
#[tokio::test]
async fn a_listener_may_take_itself_away_while_it_runs() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let own = Arc::new(Mutex::new(None::<ListenerRegistration>));
    let (held, list) = (own.clone(), pre.clone());
    let registration = pre.register(move |_, next: Next<CallView, Decision>| {
        drop(held.lock().unwrap().take());
        assert_eq!(list.len(), 1, "the one behind it is left");
        next.run()
    });
    *own.lock().unwrap() = Some(registration);
    let _inner = noting(&pre, &seen, "inner");
    run(&seen, &pre, &post, None).await;
    assert_eq!(seen.take(), ["inner", "around", "body"]);
}

/// conformance: PRE-24
#[tokio::test]
async fn dropping_the_delegation_is_not_delegating() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let _outer = pre.register(|_, next: Next<CallView, Decision>| async move {
        let mut inner = Box::pin(next.run());
        tokio::select! {
            biased;
            _ = &mut inner => unreachable!("the inner listener never answers"),
            () = tokio::task::yield_now() => {}
        }
        drop(inner);
        Decision::deny("waited long enough")
    });
    let _inner = pre.register(|_, _| async {
        std::future::pending::<()>().await;
        Decision::Allow
    });
    let result = run(&seen, &pre, &post, None).await;
    assert_eq!(result.text(), "Error: waited long enough");
    assert!(seen.take().is_empty());
}

#[tokio::test]
async fn a_failing_listener_fails_the_call_unless_an_outer_one_catches_it() {
    for panics in [false, true] {
        let (seen, pre, post) = (Seen::default(), pre(), post());
        let inner = pre.register(move |_, _| async move {
            if panics {
                std::panic::resume_unwind(Box::new("hook broke"));
            }
            Err::<Decision, _>("hook broke")
        });
        let result = run(&seen, &pre, &post, None).await;
        assert_eq!(result.text(), "Error: hook broke");
        assert!(seen.take().is_empty(), "no body, no post policy");
        drop(inner);

        let _outer = pre.register(|_, next: Next<CallView, Decision>| async move {
            match next.run().await {
                Ok(decision) => decision,
                Err(error) => Decision::deny(format!("caught: {error}")),
            }
        });
        let _inner = pre.register(move |_, _: Next<CallView, Decision>| {
            if panics {
                std::panic::resume_unwind(Box::new("hook broke"));
            }
            async { Err::<Decision, _>("hook broke") }
        });
        let result = run(&seen, &pre, &post, None).await;
        assert_eq!(result.text(), "Error: caught: hook broke");
    }
}

/// conformance: PRE-18, PRE-19, PRE-20
#[tokio::test]
async fn a_listener_in_a_scope_hears_that_scope_and_those_below() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let host = Scope::new("host");
    let agent = host.nested("agent");
    let other = Scope::new("agent");
    for (name, scope) in [
        ("host", Some(&host)),
        ("agent", Some(&agent)),
        ("any", None),
    ] {
        let notes = seen.clone();
        let listener = move |_, next: Next<CallView, Decision>| {
            notes.note(name);
            next.run()
        };
        match scope {
            Some(scope) => pre.register_in(scope, listener).keep(),
            None => pre.register(listener).keep(),
        }
    }
    let heard: [(_, &[&str]); 4] = [
        (Some(&agent), &["host", "agent", "any", "around", "body"]),
        (Some(&host), &["host", "any", "around", "body"]),
        (Some(&other), &["any", "around", "body"]),
        (None, &["any", "around", "body"]),
    ];
    for (scope, expected) in heard {
        assert_eq!(run(&seen, &pre, &post, scope).await.text(), "done");
        assert_eq!(seen.take(), expected, "from {scope:?}");
    }
}

/// conformance: POST-22, CTX-02
#[tokio::test]
async fn contexts_keep_the_order_that_the_outermost_listener_gave() {
    let (seen, pre, post) = (Seen::default(), pre(), post());
    let note = |text: &str| ContextMessage::text("plugin", "test", text);
    let _outer = post.register(move |_, next: Next<PostRequest, PostDecision>| async move {
        let inner = next.run().await?;
        Ok::<_, BoxError>(inner.with_context_first(note("outer")))
    });
    let _inner = post.register(move |_, _| async move {
        PostDecision::accept()
            .with_context(note("inner 1"))
            .with_context(note("inner 2"))
    });
    let result = run(&seen, &pre, &post, None).await;
    assert_eq!(texts(&result), ["outer", "inner 1", "inner 2"]);
}

/// conformance: PRE-01, POST-01
#[tokio::test]
async fn without_listeners_the_innermost_answer_counts() {
    let seen = Seen::default();
    assert_eq!(run(&seen, &pre(), &post(), None).await.text(), "done");
    let closed = Waterfall::new(Decision::deny("nobody allowed it"));
    let result = run(&seen, &closed, &post(), None).await;
    assert_eq!(result.text(), "Error: nobody allowed it");
}
