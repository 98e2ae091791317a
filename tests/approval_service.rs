//! Refusals that say why and end the turn, and the deadline on the wait.

#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Counter, any_object, registry, returns};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolfall::approval::{Answerers, ApprovalMode};
use toolfall::pipeline::BoxPipeline;
use toolfall::session::{Body, DecidedRecord, SessionLog, SessionRecorder, WHY_DEADLINE, check};
use toolfall::*;

fn call_of(name: &'static str, id: &str, cancel: &CancellationToken) -> CallRequest {
    CallRequest::new(id.to_owned(), name, "{}", cancel.clone()).with_scope(Scope::new("agent"))
}

fn write(cancel: &CancellationToken) -> CallRequest {
    call_of("write", "c1", cancel)
}

/// A pipeline that asks about every call, and writes everything down.
fn recorded(answerers: &Answerers, log: &SessionLog, runs: &Counter) -> BoxPipeline {
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    Pipeline::builder(registry([returns("write", json!("written"), runs)]))
        .pre_decision(|_: &CallView| Decision::ask("it writes"))
        .approval(answerers.clone())
        .recorder(recorder)
        .build()
        .boxed()
}

/// Answerers that leave their trail in a log, with one that gives `answer`.
fn answering(answer: ApprovalAnswer) -> (SessionLog, Answerers) {
    let log = SessionLog::in_memory();
    let answerers = Answerers::audited(Arc::new(SessionRecorder::new(log.clone())));
    answerers
        .register(move |_: ApprovalRequest| std::future::ready(Some(answer.clone())))
        .keep();
    (log, answerers)
}

fn decisions(log: &SessionLog) -> Vec<DecidedRecord> {
    let records = log.records().unwrap();
    assert_eq!(check::check(&records), []);
    let bodies = records.into_iter().map(|record| record.body);
    bodies
        .filter_map(|body| match body {
            Body::Decided(decided) => Some(decided),
            _ => None,
        })
        .collect()
}

/// conformance: ASK-04
#[tokio::test]
async fn a_refusal_says_why() {
    let endless = "x".repeat(5000);
    let rejected = "the user rejected tool \"write\"";
    let cases = [
        ("use staging", format!("{rejected}: use staging")),
        (
            "\u{1b}[2Jgone\u{202e}\0",
            format!("{rejected}: \\u{{1b}}[2Jgone\\u{{202e}}\\u{{0}}"),
        ),
        (" \n\t ", rejected.to_owned()),
        ("", rejected.to_owned()),
        (
            &endless,
            format!("{rejected}: {}… (+3000 more chars)", "x".repeat(2000)),
        ),
    ];
    for (message, expected) in cases {
        let runs = Counter::default();
        let (log, answerers) = answering(ApprovalAnswer::rejected(message));
        let pipeline = recorded(&answerers, &log, &runs);
        let result = pipeline.run(write(&CancellationToken::new())).await;
        assert_eq!(result.message(), Some(expected.as_str()));
        assert_eq!(result.text(), format!("Error: {expected}"));
        assert_eq!(result.kind(), Some(FailureKind::Denied));
        assert_eq!(result.decided_by(), Some(&DecidedBy::Approver));
        assert!(!result.concludes_turn());
        assert_eq!(runs.get(), 0);
        let decided = &decisions(&log)[0];
        assert_eq!(decided.outcome, ApprovalOutcome::Rejected);
        assert_eq!(decided.message.is_some(), expected != rejected);
    }
}

/// conformance: ASK-15
#[test]
fn an_answer_from_elsewhere_is_never_more_than_its_word() {
    let read = |text: Value| serde_json::from_value::<ApprovalAnswer>(text).unwrap();
    for word in ["", "allowed", "Allowed-Once", "always", "rejected "] {
        let answer = read(json!({"outcome": word, "ends_turn": true, "message": "m"}));
        assert_eq!(answer, ApprovalOutcome::Unavailable.into(), "{word}");
    }
    let grant = read(json!({"outcome": "allowed-once", "ends_turn": true, "message": "m"}));
    assert_eq!(grant, ApprovalOutcome::AllowedOnce.into());
    let refusal = ApprovalAnswer::rejected("no\u{7}").ending_turn();
    let text = serde_json::to_value(&refusal).unwrap();
    let expected = json!({"outcome": "rejected", "message": "no\\u{7}", "ends_turn": true});
    assert_eq!(text, expected);
    assert_eq!(read(text), refusal);
    let plain = serde_json::to_value(ApprovalAnswer::from(ApprovalOutcome::Cancelled)).unwrap();
    assert_eq!(plain, json!({"outcome": "cancelled"}));
    assert!(serde_json::from_value::<ApprovalAnswer>(json!({})).is_err());
}

/// The refusal of one call ends the turn once its batch is through; a policy
/// that hides the refusal from the model does not change that.
///
/// conformance: CTX-22
#[tokio::test]
async fn a_refusal_that_ends_the_turn_leaves_the_rest_of_the_batch_alone() {
    for blocks in [false, true] {
        let runs = Counter::default();
        let log = SessionLog::in_memory();
        let recorder = Arc::new(SessionRecorder::new(log.clone()));
        let answerers = Answerers::audited(recorder.clone());
        answerers
            .register(|request: ApprovalRequest| async move {
                Some(match request.call_id().as_str() {
                    "b" => ApprovalAnswer::rejected("stop here").ending_turn(),
                    "d" => ApprovalOutcome::Rejected.into(),
                    _ => ApprovalOutcome::AllowedOnce.into(),
                })
            })
            .keep();
        let pipeline = Pipeline::builder(registry([returns("write", json!("written"), &runs)]))
            .pre_decision(|_: &CallView| Decision::ask("it writes"))
            .approval(answerers)
            .post_execute(move |post: &PostRequest| {
                if blocks && !post.outcome().is_success() {
                    PostDecision::block_with("hidden")
                } else {
                    PostDecision::accept()
                }
            })
            .recorder(recorder)
            .build();
        let cancel = CancellationToken::new();
        let calls = ["a", "b", "c", "d"].map(|id| call_of("write", id, &cancel));
        let report = pipeline.scheduler().batch(calls, cancel).run().await;
        let results: Vec<_> = report.committed.iter().map(|call| &call.result).collect();
        let texts: Vec<String> = results.iter().map(|result| result.text()).collect();
        let refusal = "Error: the user rejected tool \"write\"";
        let [b, d] = if blocks {
            ["hidden".to_owned(), "hidden".to_owned()]
        } else {
            [format!("{refusal}: stop here"), refusal.to_owned()]
        };
        assert_eq!(texts, ["written".to_owned(), b, "written".to_owned(), d]);
        let ended = results.iter().map(|result| result.concludes_turn());
        assert_eq!(ended.collect::<Vec<_>>(), [false, true, false, false]);
        assert!(report.end.concludes && !report.end.aborted);
        assert_eq!(runs.get(), 2);

        let ends: Vec<bool> = decisions(&log).iter().map(|one| one.ends_turn).collect();
        assert_eq!(ends, [false, true, false, false]);
        let concluded =
            log.records().unwrap().into_iter().filter(
                |record| matches!(&record.body, Body::Result(result) if result.concludes_turn),
            );
        assert_eq!(concluded.count(), 1);
    }
}

/// A plain refusal, a grant and an answer that ends nothing conclude nothing.
#[tokio::test]
async fn only_a_refusal_ends_the_turn() {
    for outcome in [
        ApprovalOutcome::AllowedOnce,
        ApprovalOutcome::Cancelled,
        ApprovalOutcome::Unavailable,
    ] {
        let (log, answerers) = answering(ApprovalAnswer::from(outcome).ending_turn());
        let pipeline = recorded(&answerers, &log, &Counter::default());
        let cancel = CancellationToken::new();
        let batch = pipeline.scheduler().batch([write(&cancel)], cancel);
        assert!(!batch.run().await.end.concludes, "{outcome}");
    }
    let outcome = ToolOutcome::failure("no").concluding_turn();
    assert!(!outcome.concludes_turn(), "a layer cannot do it");
}

/// A tool cannot swallow the end of the turn that a person called for.
#[tokio::test]
async fn the_end_of_the_turn_reaches_the_outermost_call() {
    let composite = |name: &'static str, inner: &'static str| {
        raw_tool(
            name,
            "",
            any_object(),
            move |_: Arguments, ctx: ToolContext| async move {
                let nested = ctx.call_tool(inner, "{}").await?;
                Ok::<_, BoxError>(json!(nested.text()))
            },
        )
    };
    for ends in [false, true] {
        let runs = Counter::default();
        let tools = [
            composite("outer", "middle"),
            composite("middle", "write"),
            returns("write", json!(1), &runs),
        ];
        let pipeline = Pipeline::builder(registry(tools))
            .pre_decision(|call: &CallView| match call.name() {
                "write" => Decision::ask("it writes"),
                _ => Decision::Allow,
            })
            .approval(move |_: &ApprovalRequest| {
                let refusal = ApprovalAnswer::from(ApprovalOutcome::Rejected);
                if ends { refusal.ending_turn() } else { refusal }
            })
            .build();
        let cancel = CancellationToken::new();
        let outer = pipeline.run(call_of("outer", "c1", &cancel)).await;
        assert!(!outer.is_error(), "{}", outer.text());
        assert!(outer.text().contains("the user rejected tool"));
        assert_eq!(outer.concludes_turn(), ends);
        assert_eq!(runs.get(), 0);
    }
}

/// Answerers of which one answers after `thinking`, with the moments at which
/// it was let go of.
fn thinking(thinking: Duration) -> (SessionLog, Answerers, Arc<Mutex<Option<Duration>>>) {
    struct Told(Arc<Mutex<Option<Duration>>>, Instant);
    impl Drop for Told {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(self.1.elapsed());
        }
    }
    let log = SessionLog::in_memory();
    let answerers = Answerers::audited(Arc::new(SessionRecorder::new(log.clone())));
    let gone = Arc::new(Mutex::new(None));
    let tells = gone.clone();
    answerers
        .register(move |_: ApprovalRequest| {
            let told = Told(tells.clone(), Instant::now());
            async move {
                sleep(thinking).await;
                drop(told);
                Some(ApprovalOutcome::AllowedOnce)
            }
        })
        .keep();
    (log, answerers, gone)
}

const LIMIT: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_millis(1);
const BEFORE: Duration = Duration::from_millis(29_999);

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_longer_than_the_deadline() {
    for (late, answered) in [(BEFORE, true), (LIMIT, true), (LIMIT + MOMENT, false)] {
        let (log, answerers, gone) = thinking(late);
        let runs = Counter::default();
        let pipeline = recorded(&answerers.deadline(LIMIT), &log, &runs);
        let started = Instant::now();
        let result = pipeline.run(write(&CancellationToken::new())).await;
        assert_eq!(runs.get(), usize::from(answered), "after {late:?}");
        assert_eq!(started.elapsed(), late.min(LIMIT));
        assert_eq!(*gone.lock().unwrap(), Some(late.min(LIMIT)));
        let decided = decisions(&log);
        assert_eq!(decided.len(), 1);
        if answered {
            assert_eq!(decided[0].outcome, ApprovalOutcome::AllowedOnce);
            assert_eq!(decided[0].why, None);
            continue;
        }
        assert_eq!(
            result.message(),
            Some("approval for tool \"write\" timed out after 30000ms")
        );
        assert_eq!(result.code(), Some(codes::APPROVAL_TIMEOUT));
        assert_eq!(result.code(), Some("APPROVAL_TIMEOUT"));
        assert_eq!(result.kind(), Some(FailureKind::Denied));
        assert_eq!(result.decided_by(), Some(&DecidedBy::Nobody));
        assert_eq!(result.effect(), Effect::NotStarted);
        assert_eq!(decided[0].outcome, ApprovalOutcome::Unavailable);
        assert_eq!(decided[0].why.as_deref(), Some(WHY_DEADLINE));
        sleep(LIMIT).await;
        assert_eq!(runs.get(), 0, "a late grant releases nothing");
    }
}

/// A cancellation that comes with the deadline is what the caller did.
#[tokio::test(start_paused = true)]
async fn a_cancellation_goes_before_the_deadline() {
    let (log, answerers, _) = thinking(LIMIT * 2);
    let pipeline = recorded(&answerers.deadline(LIMIT), &log, &Counter::default());
    let cancel = CancellationToken::new();
    let cancelling = async {
        sleep(LIMIT).await;
        cancel.cancel();
    };
    // Polled first, so that both have come when the call is polled.
    let ((), result) = tokio::join!(biased; cancelling, pipeline.run(write(&cancel)));
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(decisions(&log)[0].outcome, ApprovalOutcome::Cancelled);
}

/// The deadline covers all answerers together; what is settled without asking
/// anybody, or at once, never meets it.
#[tokio::test(start_paused = true)]
async fn the_deadline_is_one_for_the_whole_question() {
    let (log, answerers, _) = thinking(LIMIT);
    answerers
        .register_first(|_: ApprovalRequest| async {
            sleep(LIMIT / 2).await;
            None::<ApprovalAnswer>
        })
        .keep();
    let pipeline = recorded(
        &answerers.clone().deadline(LIMIT),
        &log,
        &Counter::default(),
    );
    let started = Instant::now();
    let result = pipeline.run(write(&CancellationToken::new())).await;
    assert_eq!(result.code(), Some(codes::APPROVAL_TIMEOUT));
    assert_eq!(started.elapsed(), LIMIT);

    answerers.set_mode(ApprovalMode::Never);
    let result = pipeline.run(write(&CancellationToken::new())).await;
    assert_eq!((result.code(), started.elapsed()), (None, LIMIT));
    for after in [Duration::ZERO, Duration::MAX] {
        let (log, answerers) = answering(ApprovalOutcome::AllowedOnce.into());
        let pipeline = recorded(&answerers.deadline(after), &log, &Counter::default());
        let result = pipeline.run(write(&CancellationToken::new())).await;
        assert_eq!(result.text(), "written");
    }
}

/// The person's clock and the tool's are two.
#[tokio::test(start_paused = true)]
async fn a_persons_thinking_never_eats_the_tools_budget() {
    let (works, budget) = (Duration::from_millis(4_999), Duration::from_secs(5));
    let slow = raw_tool(
        "write",
        "",
        any_object(),
        move |_: Arguments, _: ToolContext| async move {
            sleep(works).await;
            Ok::<_, BoxError>(json!("written"))
        },
    );
    let (_, answerers, _) = thinking(BEFORE);
    let pipeline = Pipeline::builder(registry([slow]))
        .pre_decision(|_: &CallView| Decision::ask("it writes"))
        .approval(answerers.deadline(LIMIT))
        .timeout(TimeoutLayer::new(budget))
        .build();
    let started = Instant::now();
    let result = pipeline.run(write(&CancellationToken::new())).await;
    assert_eq!(result.text(), "written");
    assert_eq!(started.elapsed(), BEFORE + works);
}

/// An answerer that panics after the deadline was armed has granted nothing.
#[tokio::test(start_paused = true)]
async fn a_panic_before_the_deadline_is_no_grant() {
    let log = SessionLog::in_memory();
    let answerers = Answerers::audited(Arc::new(SessionRecorder::new(log.clone())));
    answerers
        .register(|_: ApprovalRequest| async {
            sleep(MOMENT).await;
            std::panic::resume_unwind(Box::new("boom")) as Option<ApprovalAnswer>
        })
        .keep();
    let runs = Counter::default();
    let pipeline = recorded(&answerers.deadline(LIMIT), &log, &runs);
    let started = Instant::now();
    let result = pipeline.run(write(&CancellationToken::new())).await;
    assert_eq!((result.code(), runs.get()), (None, 0));
    assert_eq!(started.elapsed(), MOMENT);
    assert_eq!(decisions(&log)[0].why, None);
}
