//! Questions over channels, and answers that are bound to them.

#[path = "support/facade.rs"]
mod support;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use support::{Counter, registry, returns};
use tokio::time::sleep;
use tokio_test::{assert_pending, assert_ready, task};
use tokio_util::sync::CancellationToken;
use toolfall::approval::{
    AnswerError, Answerers, BoundAnswer, ChannelApprover, PendingQuestions, QuestionDigest,
    Questions, SavedQuestion, Withdrawn,
};
use toolfall::pipeline::BoxPipeline;
use toolfall::session::{Body, SessionLog, SessionRecorder, check};
use toolfall::*;

const CANCELLED: &str = "Error: approval for tool \"write\" was cancelled";
const UNAVAILABLE: &str =
    "Error: tool \"write\" requires approval, but no approval channel is available";
const REJECTED: &str = "Error: the user rejected tool \"write\"";
const ABORTED: &str = "Error: tool call aborted before dispatch";

const GRANT: ApprovalOutcome = ApprovalOutcome::AllowedOnce;

fn channel(capacity: usize) -> (ChannelApprover, Questions) {
    ChannelApprover::new(NonZeroUsize::new(capacity).unwrap())
}

/// The pipelines of the two ways to use a channel: alone, and as an answerer.
fn both(approver: &ChannelApprover, runs: &Counter) -> [BoxPipeline; 2] {
    let answerers = Answerers::new();
    answerers.register(approver.answerer()).keep();
    let builder = || {
        Pipeline::builder(registry([returns("write", json!("written"), runs)]))
            .pre_decision(|_: &CallView| Decision::ask("it writes"))
    };
    [
        builder().approval(approver.clone()).build().boxed(),
        builder().approval(answerers).build().boxed(),
    ]
}

fn call(id: &str, arguments: &str, cancel: &CancellationToken) -> CallRequest {
    CallRequest::new(id.to_owned(), "write", arguments.to_owned(), cancel.clone())
        .with_scope(Scope::new("agent"))
}

fn write() -> CallRequest {
    call("c1", "{}", &CancellationToken::new())
}

#[tokio::test]
async fn each_answer_has_its_effect() {
    let (approver, mut questions) = channel(1);
    let runs = Counter::default();
    for pipeline in both(&approver, &runs) {
        let interface = async {
            let first = questions.recv().await.unwrap();
            assert_eq!(first.request().call_id().as_str(), "c1");
            assert_eq!(first.request().reason(), Some("it writes"));
            assert_eq!(first.digest(), QuestionDigest::of_request(first.request()));
            let id = first.id().to_owned();
            first.allow().unwrap();
            let second = questions.next().await.unwrap();
            assert_ne!(second.id(), id, "an id is used once");
            second.reject().unwrap();
            questions.recv().await.unwrap().reject_with("why").unwrap();
            let last = questions.recv().await.unwrap();
            last.reject_and_end_turn("stop").unwrap();
            drop(questions.recv().await.unwrap());
            questions
        };
        let calls = async {
            let mut results = Vec::new();
            for _ in 0..5 {
                results.push(pipeline.run(write()).await);
            }
            results
        };
        let (received, results) = tokio::join!(interface, calls);
        questions = received;
        let texts: Vec<String> = results.iter().map(ToolResult::text).collect();
        let expected = [
            "written",
            REJECTED,
            &format!("{REJECTED}: why"),
            &format!("{REJECTED}: stop"),
            CANCELLED,
        ];
        assert_eq!(texts, expected);
        let ends: Vec<bool> = results.iter().map(ToolResult::concludes_turn).collect();
        assert_eq!(ends, [false, false, false, true, false]);
    }
    assert_eq!(runs.get(), 2);
}

/// conformance: ASK-49
#[tokio::test]
async fn a_receiver_that_goes_settles_what_is_open_and_leaves_nobody() {
    for way in 0..2 {
        let (approver, mut questions) = channel(1);
        let runs = Counter::default();
        let pipeline = &both(&approver, &runs)[way];
        // One received, one in the channel, one that waits for room.
        let mut calls: Vec<_> = (0..3).map(|_| task::spawn(pipeline.run(write()))).collect();
        for call in &mut calls {
            assert_pending!(call.poll());
        }
        let received = questions.recv().await.unwrap();
        drop(questions);
        assert!(!approver.is_open());
        assert_pending!(calls[0].poll());
        for call in &mut calls[1..] {
            assert_eq!(assert_ready!(call.poll()).text(), CANCELLED);
        }
        received.allow().unwrap();
        assert_eq!(assert_ready!(calls[0].poll()).text(), "written");
        assert_eq!(pipeline.run(write()).await.text(), UNAVAILABLE);
        assert_eq!(runs.get(), 1);
    }
}

/// A channel that nobody receives from leaves the question to the next.
#[tokio::test]
async fn a_closed_channel_is_passed_over() {
    let (approver, questions) = channel(1);
    let answerers = Answerers::new();
    answerers.register(approver.answerer()).keep();
    answerers
        .register(|_: ApprovalRequest| async { Some(GRANT) })
        .keep();
    let runs = Counter::default();
    let pipeline = Pipeline::builder(registry([returns("write", json!("written"), &runs)]))
        .pre_decision(|_: &CallView| Decision::ask("it writes"))
        .approval(answerers)
        .build();
    drop(questions);
    assert_eq!(pipeline.run(write()).await.text(), "written");
}

/// conformance: ASK-08, ASK-32
#[tokio::test]
async fn a_cancellation_withdraws_the_question_wherever_it_is() {
    for way in 0..2 {
        let (approver, mut questions) = channel(1);
        let runs = Counter::default();
        let pipeline = &both(&approver, &runs)[way];
        let cancels: Vec<_> = (0..3).map(|_| CancellationToken::new()).collect();
        let mut calls: Vec<_> = cancels
            .iter()
            .map(|cancel| task::spawn(pipeline.run(call("c", "{}", cancel))))
            .collect();
        for call in &mut calls {
            assert_pending!(call.poll());
        }
        let mut received = questions.recv().await.unwrap();
        // The second is in the channel now, the third waits for room.
        for call in &mut calls {
            assert_pending!(call.poll());
        }
        for (cancel, call) in cancels.iter().zip(&mut calls) {
            cancel.cancel();
            assert_eq!(assert_ready!(call.poll()).text(), ABORTED);
        }
        drop(calls);
        assert!(received.is_withdrawn());
        received.withdrawn().await;
        assert_eq!(received.allow(), Err(Withdrawn), "a late answer");
        // What was withdrawn in the channel is not shown.
        let mut next = task::spawn(questions.recv());
        assert_pending!(next.poll());
        assert_eq!(runs.get(), 0);
    }
}

/// An answer that was handed over before the cancellation, and not looked at.
#[tokio::test]
async fn an_answer_and_a_cancellation_at_once_run_nothing_twice() {
    let (approver, mut questions) = channel(1);
    let runs = Counter::default();
    let [pipeline, _] = both(&approver, &runs);
    let cancel = CancellationToken::new();
    let mut asking = task::spawn(pipeline.run(call("c", "{}", &cancel)));
    assert_pending!(asking.poll());
    questions.recv().await.unwrap().allow().unwrap();
    cancel.cancel();
    assert_eq!(assert_ready!(asking.poll()).text(), ABORTED);
    assert_eq!(runs.get(), 0);
    // The same with a call whose future is dropped.
    let mut asking = task::spawn(pipeline.run(write()));
    assert_pending!(asking.poll());
    questions.recv().await.unwrap().allow().unwrap();
    drop(asking);
    assert_eq!(runs.get(), 0);
}

/// More calls ask than the channel holds: none is lost, none is answered
/// twice, and no more wait in the channel than it may hold.
#[tokio::test]
async fn a_flood_waits_its_turn() {
    const CALLS: usize = 200;
    let (approver, mut questions) = channel(4);
    let runs = Counter::default();
    let [pipeline, _] = both(&approver, &runs);
    let pipeline = Arc::new(pipeline);
    let calls: Vec<_> = (0..CALLS)
        .map(|place| {
            let request = call(&place.to_string(), "{}", &CancellationToken::new());
            let pipeline = pipeline.clone();
            tokio::spawn(async move { pipeline.run(request).await })
        })
        .collect();
    tokio::task::yield_now().await;
    // Nothing else runs between these polls.
    let pending = PendingQuestions::new();
    while let Some(Some(question)) = futures_util::FutureExt::now_or_never(questions.recv()) {
        pending.hold(question);
    }
    assert_eq!(pending.list().len(), 4);
    for answered in 0..CALLS {
        if pending.list().is_empty() {
            pending.hold(questions.recv().await.unwrap());
        }
        let question = pending.list().remove(0);
        let outcome = [GRANT, ApprovalOutcome::Rejected][answered % 2];
        pending.answer(BoundAnswer::to(&question, outcome)).unwrap();
    }
    let mut written = 0;
    for call in calls {
        written += usize::from(!call.await.unwrap().is_error());
    }
    assert_eq!((written, runs.get()), (CALLS / 2, CALLS / 2));
    assert!(pending.list().is_empty());
}

/// Two calls at once, and what is held of their questions.
struct Two {
    pending: PendingQuestions,
    shown: Vec<SavedQuestion>,
    results: Vec<tokio::task::JoinHandle<ToolResult>>,
    cancels: Vec<CancellationToken>,
    runs: Counter,
    /// Kept open.
    _questions: Questions,
}

async fn two(calls: [(&str, &str); 2]) -> Two {
    let (approver, mut questions) = channel(8);
    let runs = Counter::default();
    let [pipeline, _] = both(&approver, &runs);
    let pipeline = Arc::new(pipeline);
    let pending = PendingQuestions::new();
    let (mut shown, mut results, mut cancels) = (Vec::new(), Vec::new(), Vec::new());
    for (id, arguments) in calls {
        let cancel = CancellationToken::new();
        let (pipeline, request) = (pipeline.clone(), call(id, arguments, &cancel));
        results.push(tokio::spawn(async move { pipeline.run(request).await }));
        shown.push(pending.hold(questions.recv().await.unwrap()));
        cancels.push(cancel);
    }
    assert_eq!(pending.list(), shown);
    Two {
        pending,
        shown,
        results,
        cancels,
        runs,
        _questions: questions,
    }
}

fn is_unknown(answer: Result<(), AnswerError>) -> bool {
    matches!(answer, Err(AnswerError::Unknown { .. }))
}

#[tokio::test]
async fn an_answer_releases_the_call_that_was_shown_and_no_other() {
    // The second pair has one id for two calls, as models do; the last pair is
    // the same call twice.
    for calls in [
        [("a", r#"{"n":1}"#), ("b", r#"{"n":1}"#)],
        [("a", r#"{"n":1}"#), ("a", r#"{"n":2}"#)],
        [("a", "{}"), ("a", "{}")],
    ] {
        let mut two = two(calls).await;
        let same = calls[0] == calls[1];
        let [first, second] = [&two.shown[0], &two.shown[1]];
        assert_eq!(first.digest() == second.digest(), same);
        // The digest of one question with the id of the other.
        let crossed = BoundAnswer {
            question: second.id().to_owned(),
            ..BoundAnswer::to(first, GRANT)
        };
        if !same {
            let refused = two.pending.answer(crossed);
            let Err(AnswerError::Mismatch {
                expected, found, ..
            }) = refused
            else {
                panic!("expected a mismatch, found {refused:?}")
            };
            assert_eq!((expected, found), (second.digest(), first.digest()));
            assert_eq!(two.pending.list().len(), 2, "both stay open");
        }
        // The answer to the first, twice, and under an id that never was.
        let answer = BoundAnswer::to(first, GRANT);
        two.pending.answer(answer.clone()).unwrap();
        assert!(is_unknown(two.pending.answer(answer.clone())), "replayed");
        let forged = BoundAnswer {
            question: format!("{}0", second.id()),
            ..answer
        };
        assert!(is_unknown(two.pending.answer(forged)));
        assert_eq!(two.results.remove(0).await.unwrap().text(), "written");
        tokio::task::yield_now().await;
        assert_eq!(two.runs.get(), 1, "the other one still waits");
        assert_eq!(two.pending.list(), std::slice::from_ref(second));
        let refusal = ApprovalAnswer::rejected("not this one");
        two.pending
            .answer(BoundAnswer::to(second, refusal))
            .unwrap();
        let other = two.results.remove(0).await.unwrap();
        assert_eq!(other.text(), format!("{REJECTED}: not this one"));
        assert_eq!(two.runs.get(), 1);
    }
}

#[tokio::test]
async fn an_answer_after_the_cancellation_is_unknown() {
    let mut two = two([("a", "{}"), ("b", "{}")]).await;
    two.cancels[0].cancel();
    assert_eq!(two.results.remove(0).await.unwrap().text(), ABORTED);
    let answer = BoundAnswer::to(&two.shown[0], GRANT);
    assert!(is_unknown(two.pending.answer(answer)));
    // The same where the listing is looked at in between.
    two.cancels[1].cancel();
    assert_eq!(two.results.remove(0).await.unwrap().text(), ABORTED);
    assert!(two.pending.list().is_empty());
    let answer = BoundAnswer::to(&two.shown[1], GRANT);
    assert!(is_unknown(two.pending.answer(answer)));
    assert_eq!(two.runs.get(), 0);
}

#[tokio::test]
async fn what_is_held_is_cancelled_with_its_holder() {
    let two = two([("a", "{}"), ("b", "{}")]).await;
    let answer = BoundAnswer::to(&two.shown[0], GRANT);
    let clone = two.pending.clone();
    drop(two.pending);
    assert_eq!(clone.list().len(), 2);
    drop(clone);
    for result in two.results {
        assert_eq!(result.await.unwrap().text(), CANCELLED);
    }
    assert!(is_unknown(PendingQuestions::new().answer(answer)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_answers_at_once_one_counts() {
    for _ in 0..50 {
        let mut two = two([("a", "{}"), ("b", "{}")]).await;
        let answers: Vec<_> = [GRANT, ApprovalOutcome::Rejected]
            .map(|outcome| {
                let answer = BoundAnswer::to(&two.shown[0], outcome);
                let pending = two.pending.clone();
                tokio::spawn(async move { pending.answer(answer).is_ok() })
            })
            .into_iter()
            .collect();
        let mut taken = Vec::new();
        for answer in answers {
            taken.push(answer.await.unwrap());
        }
        let result = two.results.remove(0).await.unwrap();
        match taken[..] {
            [true, false] => assert_eq!(result.text(), "written"),
            [false, true] => assert_eq!(result.text(), REJECTED),
            _ => panic!("expected one answer to count, found {taken:?}"),
        }
        assert_eq!(two.runs.get(), usize::from(taken[0]));
    }
}

/// The ids in the trail are those of the questions; the deadline withdraws a
/// question that was received, and one that never was.
#[tokio::test(start_paused = true)]
async fn a_channel_of_answerers_keeps_the_trail_and_the_deadline() {
    let limit = Duration::from_secs(9);
    let log = SessionLog::in_memory();
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    let answerers = Answerers::audited(recorder.clone()).deadline(limit);
    let (approver, mut questions) = channel(1);
    answerers.register(approver.answerer()).keep();
    let runs = Counter::default();
    let pipeline = Pipeline::builder(registry([returns("write", json!("written"), &runs)]))
        .pre_decision(|_: &CallView| Decision::ask("it writes"))
        .approval(answerers)
        .recorder(recorder)
        .build();
    let pending = PendingQuestions::new();
    let mut shown = Vec::new();
    let interface = async {
        for _ in 0..2 {
            shown.push(pending.hold(questions.recv().await.unwrap()));
        }
        let refusal = ApprovalAnswer::rejected("no").ending_turn();
        let answer = BoundAnswer::to(&shown[0], refusal);
        pending.answer(answer).unwrap();
        sleep(limit).await;
    };
    let [a, b] = ["a", "b"].map(|id| pipeline.run(call(id, "{}", &CancellationToken::new())));
    let (a, b, ()) = tokio::join!(a, b, interface);
    assert_eq!(a.text(), format!("{REJECTED}: no"));
    assert_eq!(b.code(), Some(codes::APPROVAL_TIMEOUT));
    assert!(pending.list().is_empty());
    let late = BoundAnswer::to(&shown[1], GRANT);
    assert!(is_unknown(pending.answer(late)));
    // Nobody receives any more, and the channel is full.
    let [c, d] = ["c", "d"].map(|id| pipeline.run(call(id, "{}", &CancellationToken::new())));
    let (c, d) = tokio::join!(c, d);
    for result in [c, d] {
        assert_eq!(result.code(), Some(codes::APPROVAL_TIMEOUT));
    }
    assert_eq!(runs.get(), 0);

    let records = log.records().unwrap();
    assert_eq!(check::check(&records), []);
    let asked: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.body {
            Body::Asked(asked) => Some((asked.id.as_str(), asked.digest)),
            _ => None,
        })
        .collect();
    let expected = shown.iter().map(|one| (one.id(), Some(one.digest())));
    assert_eq!(asked[..2], expected.collect::<Vec<_>>());
    let decided: Vec<Value> = records
        .iter()
        .filter(|record| matches!(record.body, Body::Decided(_)))
        .map(|record| serde_json::to_value(record).unwrap())
        .collect();
    let refused = json!({"seq": decided[0]["seq"], "type": "approval/decided",
        "id": shown[0].id(), "outcome": "rejected", "message": "no", "ends_turn": true});
    assert_eq!(decided[0], refused);
    let expired = json!({"seq": decided[1]["seq"], "type": "approval/decided",
        "id": shown[1].id(), "outcome": "unavailable", "why": "deadline"});
    assert_eq!(decided[1], expired);
}

/// Bad references are errors that say so, however they are made.
#[tokio::test]
async fn a_reference_that_is_none_is_refused() {
    let two = two([("a", "{}"), ("b", "{}")]).await;
    let good = serde_json::to_value(BoundAnswer::to(&two.shown[0], GRANT)).unwrap();
    assert_eq!(good["outcome"], "allowed-once");
    for digest in [
        json!(null),
        json!(""),
        json!("é".repeat(32)),
        json!("0".repeat(63)),
        json!("g".repeat(64)),
        json!(7),
    ] {
        let mut bad = good.clone();
        bad["digest"] = digest.clone();
        let read = serde_json::from_value::<BoundAnswer>(bad);
        assert!(read.is_err(), "{digest}");
    }
    let mut bare = good.clone();
    bare.as_object_mut().unwrap().remove("digest");
    assert!(serde_json::from_value::<BoundAnswer>(bare).is_err());
    let long = BoundAnswer {
        question: "\u{1b}".repeat(1 << 20),
        ..BoundAnswer::to(&two.shown[0], GRANT)
    };
    let error = two.pending.answer(long).unwrap_err().to_string();
    assert!(error.len() < 200 && !error.contains('\u{1b}'), "{error}");
    // A word that is no outcome settles the question, and grants nothing.
    let mut strange = good;
    strange["outcome"] = json!("Allowed");
    two.pending
        .answer(serde_json::from_value(strange).unwrap())
        .unwrap();
    let mut results = two.results;
    assert_eq!(results.remove(0).await.unwrap().text(), UNAVAILABLE);
}

/// No two questions that differ have one digest, however the parts are cut.
#[test]
fn a_digest_is_of_the_parts_and_their_places() {
    let parts = ["", "a", "ab", "1:a", "\n-", "\n1:a", "a\n1:b"];
    let mut seen = std::collections::HashSet::new();
    for scope in [None, Some(""), Some("a"), Some("a\n1:b")] {
        for id in parts {
            for tool in parts {
                for arguments in ["{}", "{} ", "a"] {
                    let digest = QuestionDigest::of(scope, id, tool, arguments);
                    assert!(
                        seen.insert(digest),
                        "{scope:?} {id:?} {tool:?} {arguments:?}"
                    );
                }
            }
        }
    }
}
