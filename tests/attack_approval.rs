//! Ways to get a call run that nobody granted, or no answer at all.

#[path = "support/facade.rs"]
mod support;

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Counter, any_object, registry, returns};
use tokio_test::{assert_pending, task};
use tokio_util::sync::CancellationToken;
use toolfall::approval::{
    Answerers, ApprovalAudit, BoundAnswer, ChannelApprover, PendingQuestions, QuestionDigest,
    Questions, SavedAnswers, SavedQuestion,
};
use toolfall::policy::grants::{Grant, Grants, MemoryGrants};
use toolfall::*;
use toolfall_layers::policy::{Answer, Asked, Policy};

const GRANT: ApprovalOutcome = ApprovalOutcome::AllowedOnce;

fn call(id: &str, arguments: &str) -> CallRequest {
    let cancel = CancellationToken::new();
    CallRequest::new(id.to_owned(), "write", arguments.to_owned(), cancel)
        .with_scope(Scope::new("agent"))
}

fn channel() -> (ChannelApprover, Questions) {
    ChannelApprover::new(NonZeroUsize::MIN)
}

/// Says the same as what it holds, and panics when it is dropped.
struct Booby<F>(F);

impl<F: Future + Unpin> Future for Booby<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<F> Drop for Booby<F> {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

/// Counts the two records of every question.
#[derive(Default)]
struct Pairs(Counter, Counter);

impl ApprovalAudit for Pairs {
    fn asked(&self, _: &str, _: &ApprovalRequest) -> Result<(), BoxError> {
        self.0.add();
        Ok(())
    }

    fn decided(&self, _: &str, _: &ApprovalRequest, _: &ApprovalAnswer) -> Result<(), BoxError> {
        self.1.add();
        Ok(())
    }
}

/// An approver whose answers panic when they are let go of.
#[derive(Clone)]
struct Trapped(ApprovalOutcome);

impl Policy<ApprovalRequest, ApprovalAnswer> for Trapped {
    type Future = Booby<std::future::Ready<Result<ApprovalAnswer, BoxError>>>;

    fn ask(&self, _: &ApprovalRequest) -> Asked<ApprovalAnswer, Self::Future> {
        Answer::Later(Booby(std::future::ready(Ok(self.0.into()))))
    }
}

/// Whoever panics while it is let go of has failed, which is no grant; the
/// call is answered once.
#[tokio::test]
async fn an_approver_that_panics_when_dropped_breaks_nothing() {
    for outcome in [GRANT, ApprovalOutcome::Rejected] {
        for kind in ["answerer", "closure", "policy"] {
            let (runs, told) = (Counter::default(), Counter::default());
            let tell = told.clone();
            let pipeline = Pipeline::builder(registry([returns("write", json!("ran"), &runs)]))
                .pre_decision(|_: &CallView| Decision::ask("sure?"))
                .observer(move |_: &CallView, _: &ToolResult| tell.add());
            let pipeline = match kind {
                "answerer" => {
                    let answerers = Answerers::new();
                    answerers
                        .register(move |_: ApprovalRequest| {
                            Booby(std::future::ready(Some(outcome)))
                        })
                        .keep();
                    pipeline.approval(answerers).build().boxed()
                }
                "closure" => pipeline
                    .approval(move |_: ApprovalRequest| Booby(std::future::ready(outcome)))
                    .build()
                    .boxed(),
                _ => pipeline.approval(Trapped(outcome)).build().boxed(),
            };
            let result = pipeline.run(call("c", "{}")).await;
            assert!(result.is_error(), "{kind} {outcome}: {result:?}");
            assert_eq!((told.get(), runs.get()), (1, 0), "{kind} {outcome}");
        }
    }
}

/// A call is dropped at every step of its question: nothing runs without the
/// grant, the pair of records is complete, and what comes late is told so.
#[tokio::test]
async fn a_call_that_is_dropped_anywhere_runs_nothing() {
    for step in 0..4 {
        let (runs, pairs) = (Counter::default(), Arc::new(Pairs::default()));
        let (approver, mut questions) = channel();
        let answerers = Answerers::audited(pairs.clone());
        answerers.register(approver.answerer()).keep();
        let pipeline = Pipeline::builder(registry([returns("write", json!("ran"), &runs)]))
            .pre_decision(|_: &CallView| Decision::ask("sure?"))
            .approval(answerers)
            .build();
        let mut open = task::spawn(Box::pin(pipeline.run(call("c", "{}"))));
        let pending = PendingQuestions::new();
        if step > 0 {
            assert_pending!(open.poll());
        }
        let mut answer = None;
        if step > 1 {
            let shown = pending.hold(questions.recv().await.unwrap());
            answer = Some(BoundAnswer::to(&shown, GRANT));
        }
        if step > 2 {
            pending.answer(answer.clone().unwrap()).unwrap();
        }
        drop(open);
        tokio::task::yield_now().await;
        assert_eq!(runs.get(), 0, "step {step}");
        let asked = usize::from(step > 0);
        assert_eq!(
            (pairs.0.get(), pairs.1.get()),
            (asked, asked),
            "step {step}"
        );
        assert!(pending.list().is_empty());
        if let Some(answer) = answer {
            pending.answer(answer).unwrap_err();
        }
    }
}

/// One id, two calls, two agents: an answer is for the question that it
/// names and shows, whatever else is equal.
#[tokio::test]
async fn an_answer_to_one_call_releases_no_other_of_its_id() {
    let runs = Counter::default();
    let (approver, mut questions) = channel();
    let pipeline = Pipeline::builder(registry([returns("write", json!("ran"), &runs)]))
        .pre_decision(|_: &CallView| Decision::ask("sure?"))
        .approval(approver)
        .build();
    let mut harmless = task::spawn(Box::pin(pipeline.run(call("c", r#"{"p":1}"#))));
    assert_pending!(harmless.poll());
    let pending = PendingQuestions::new();
    let shown = pending.hold(questions.recv().await.unwrap());
    let mut harmful = task::spawn(Box::pin(pipeline.run(call("c", r#"{"p":2}"#))));
    assert_pending!(harmful.poll());
    let other = pending.hold(questions.recv().await.unwrap());
    // The id of one and the digest of the other, either way round.
    let mut crossed = BoundAnswer::to(&shown, GRANT);
    crossed.question = other.id().to_owned();
    pending.answer(crossed).unwrap_err();
    let mut crossed = BoundAnswer::to(&other, GRANT);
    crossed.question = shown.id().to_owned();
    pending.answer(crossed).unwrap_err();
    assert_eq!(pending.list().len(), 2);
    pending.answer(BoundAnswer::to(&shown, GRANT)).unwrap();
    assert_eq!(harmless.await.text(), "ran");
    assert_pending!(harmful.poll());
    assert_eq!(runs.get(), 1);
    // Saved, it is for its arguments and its scope only, and for one use.
    let saved = SavedAnswers::new();
    let question: SavedQuestion =
        serde_json::from_value(serde_json::to_value(&other).unwrap()).unwrap();
    saved
        .add(&question, BoundAnswer::to(&question, GRANT))
        .unwrap();
    let answerers = Answerers::new();
    answerers.register_first(saved.answerer()).keep();
    let again = Pipeline::builder(registry([returns("write", json!("ran"), &runs)]))
        .pre_decision(|_: &CallView| Decision::ask("sure?"))
        .approval(answerers)
        .build();
    for request in [
        call("c", r#"{"p":1}"#),
        call("c", r#"{"p": 2}"#),
        call("c", r#"{"p":2.0}"#),
        call("d", r#"{"p":2}"#),
        call("c", r#"{"p":2}"#).with_scope(Scope::new("agent2")),
        call("c", r#"{"p":2}"#).with_scope(Scope::new("agent").nested("x")),
    ] {
        assert!(again.run(request).await.is_error());
    }
    assert_eq!(again.run(call("c", r#"{"p":2}"#)).await.text(), "ran");
    assert!(again.run(call("c", r#"{"p":2}"#)).await.is_error());
    assert_eq!((runs.get(), saved.waiting()), (2, 0));
}

/// No way to cut one text into parts gives the digest of another.
#[test]
fn no_two_questions_share_a_digest() {
    let pieces = [
        "",
        "a",
        "1:a",
        "\n",
        "\n1:a",
        "-",
        "\n-",
        "0:",
        "agent\n2:c1",
    ];
    let mut seen = std::collections::HashMap::new();
    for scope in std::iter::once(None).chain(pieces.map(Some)) {
        for id in pieces {
            for tool in pieces {
                for arguments in pieces {
                    let question = (scope, id, tool, arguments);
                    let digest = QuestionDigest::of(scope, id, tool, arguments);
                    let before = seen.insert(digest, question);
                    assert_eq!(before, None, "{question:?}");
                }
            }
        }
    }
}

/// No time at all is over at once, and all the time there is never.
#[tokio::test(start_paused = true)]
async fn the_ends_of_the_clock_are_deadlines_like_others() {
    let run = async |after: Duration, answers_at_once: bool| {
        let runs = Counter::default();
        let answerers = Answerers::new().deadline(after);
        answerers
            .register(move |_: ApprovalRequest| async move {
                if !answers_at_once {
                    tokio::time::sleep(Duration::from_secs(86_400 * 365)).await;
                }
                Some(GRANT)
            })
            .keep();
        let outer = raw_tool(
            "outer",
            "",
            any_object(),
            |_: Arguments, ctx: ToolContext| async move {
                let inner = ctx.call_tool("write", "{}").await?;
                Ok::<Value, BoxError>(json!([inner.code(), inner.text()]))
            },
        );
        let pipeline = Pipeline::builder(registry([returns("write", json!("ran"), &runs), outer]))
            .pre_decision(|call: &CallView| match call.name() {
                "write" => Decision::ask("sure?"),
                _ => Decision::Allow,
            })
            .approval(answerers)
            .build();
        let plain = pipeline.run(call("c", "{}")).await;
        let request = CallRequest::new("o", "outer", "{}", CancellationToken::new())
            .with_scope(Scope::new("agent"));
        let nested = pipeline.run(request).await;
        (plain.code().map(str::to_owned), nested.text(), runs.get())
    };
    let expired = Some("APPROVAL_TIMEOUT".to_owned());
    let (plain, nested, runs) = run(Duration::ZERO, false).await;
    assert_eq!((plain, runs), (expired, 0));
    assert!(nested.contains("APPROVAL_TIMEOUT"), "{nested}");
    assert_eq!(
        run(Duration::ZERO, true).await.2,
        2,
        "an answer at that moment counts"
    );
    let (plain, _, runs) = run(Duration::MAX, false).await;
    assert_eq!((plain, runs), (None, 2));
}

/// A flood through a channel with room for one: every call gets its own
/// answer, and as many run as were granted.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_questions_get_their_own_answers() {
    let runs = Counter::default();
    let (approver, mut questions) = channel();
    let pipeline = Pipeline::builder(registry([returns("write", json!("ran"), &runs)]))
        .pre_decision(|_: &CallView| Decision::ask("sure?"))
        .approval(approver)
        .build();
    let calls: Vec<_> = (0..10_000_u32)
        .map(|n| {
            tokio::spawn({
                let pipeline = pipeline.clone();
                async move { pipeline.run(call("same", &format!(r#"{{"n":{n}}}"#))).await }
            })
        })
        .collect();
    let answering = tokio::spawn(async move {
        for _ in 0..10_000 {
            let question = questions.recv().await.unwrap();
            let n = question.request().arguments().unwrap().value()["n"]
                .as_u64()
                .unwrap();
            match n % 3 {
                0 => question.allow().unwrap(),
                1 => question.reject().unwrap(),
                _ => drop(question),
            }
        }
    });
    for (n, call) in calls.into_iter().enumerate() {
        let wanted = match n % 3 {
            0 => "ran",
            1 => "Error: the user rejected tool \"write\"",
            _ => "Error: approval for tool \"write\" was cancelled",
        };
        assert_eq!(call.await.unwrap().text(), wanted);
    }
    answering.await.unwrap();
    assert_eq!(runs.get(), 3_334);
}

/// The text of the arguments, the tick and the number of uses are exact.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_grant_is_for_nothing_but_what_it_says() {
    let (store, runs) = (MemoryGrants::new(), Counter::default());
    let pipeline = Pipeline::builder(registry([returns("write", json!("ran"), &runs)]))
        .pre_decision(Grants::new(store.clone(), |_: &CallView| {
            Decision::ask("sure?")
        }))
        .build();
    let exact = Arguments::from_text(r#"{"n":1.0,"s":"a"}"#).unwrap();
    store
        .add(Grant::exact_call("exact", "write", &exact))
        .unwrap();
    for text in [
        r#"{"n":1,"s":"a"}"#,
        r#"{"n":1.00,"s":"a"}"#,
        r#"{"n":10e-1,"s":"a"}"#,
        r#"{"s":"a","n":1.0}"#,
        r#"{"n":1.0,"s":"\u0061"}"#,
        r#" {"n":1.0,"s":"a"}"#,
        r#"{"n":1.0,"s":"a","x":null}"#,
    ] {
        assert!(pipeline.run(call("c", text)).await.is_error(), "{text}");
    }
    assert_eq!(
        pipeline.run(call("c", r#"{"n":1.0,"s":"a"}"#)).await.text(),
        "ran"
    );
    store.revoke("exact");
    let uses = std::num::NonZeroU32::new(10).unwrap();
    store.add(Grant::tool("ten", "write").uses(uses)).unwrap();
    let results = Arc::new(Mutex::new(0));
    let calls = (0..16).map(|_| {
        let (pipeline, results) = (pipeline.clone(), results.clone());
        tokio::spawn(async move {
            for _ in 0..20 {
                let ran = !pipeline.run(call("c", "{}")).await.is_error();
                *results.lock().unwrap() += usize::from(ran);
            }
        })
    });
    futures_util::future::join_all(calls.collect::<Vec<_>>()).await;
    assert_eq!((*results.lock().unwrap(), runs.get()), (10, 11));
}
