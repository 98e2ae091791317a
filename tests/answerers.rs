//! The live list of answerers, and the trail that questions leave.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::approval::{Answerers, ApprovalAudit, ApprovalMode};
use toolfall::pipeline::BoxPipeline;
use toolfall::session::{Body, SessionLog, SessionRecorder, check};
use toolfall::{
    ApprovalAnswer, ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView,
    Decision, FailureKind, Pipeline, Registry, Scope, ToolContext, ToolResult, raw_tool,
};

const UNAVAILABLE: &str =
    "Error: tool \"write\" requires approval, but no approval channel is available";
const REJECTED: &str = "Error: the user rejected tool \"write\"";
const ABORTED: &str = "Error: tool call aborted before dispatch";

/// A trail in memory, whose writing can be made to fail.
#[derive(Default)]
struct Trail {
    lines: Mutex<Vec<String>>,
    fails: Mutex<Option<&'static str>>,
}

impl Trail {
    fn write(&self, kind: &str, line: String) -> Result<(), BoxError> {
        if *self.fails.lock().unwrap() == Some(kind) {
            return Err(format!("{kind} cannot be written").into());
        }
        self.lines.lock().unwrap().push(line);
        Ok(())
    }

    /// The lines, without the ids, which are checked here: every pair has one
    /// of its own.
    fn pairs(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap().clone();
        let mut ids = std::collections::BTreeSet::new();
        let mut pairs = Vec::new();
        for pair in lines.chunks(2) {
            let [asked, decided] = pair else {
                panic!("half a pair: {pair:?}")
            };
            let (id, asked) = asked.split_once(' ').unwrap();
            let (same, decided) = decided.split_once(' ').unwrap();
            assert_eq!(id, same);
            assert!(ids.insert(id), "a question's id was used again");
            pairs.push(format!("{asked} {decided}"));
        }
        pairs
    }
}

impl ApprovalAudit for Trail {
    fn asked(&self, id: &str, request: &ApprovalRequest) -> Result<(), BoxError> {
        let asked = request.call_id();
        self.write("asked", format!("{id} {asked}"))
    }

    fn decided(
        &self,
        id: &str,
        _: &ApprovalRequest,
        answer: &ApprovalAnswer,
    ) -> Result<(), BoxError> {
        self.write("decided", format!("{id} {}", answer.outcome()))
    }
}

fn audited() -> (Arc<Trail>, Answerers) {
    let trail = Arc::new(Trail::default());
    (trail.clone(), Answerers::audited(trail))
}

/// A pipeline in which everything is asked about.
fn pipeline(answerers: &Answerers) -> BoxPipeline {
    let registry = Registry::new();
    let write = raw_tool(
        "write",
        "Writes",
        json!({"type": "object"}),
        |_: Arguments, _: ToolContext| async { Ok::<Value, BoxError>(json!("written")) },
    );
    registry.register(write).unwrap().keep();
    Pipeline::builder(registry)
        .pre_decision(|_: &CallView| Decision::ask("it writes"))
        .approval(answerers.clone())
        .build()
        .boxed()
}

fn request(scope: &Scope, cancel: &CancellationToken) -> CallRequest {
    CallRequest::new("c1", "write", "{}", cancel.clone()).with_scope(scope.clone())
}

async fn ask(answerers: &Answerers) -> ToolResult {
    ask_under(answerers, &CancellationToken::new()).await
}

async fn ask_under(answerers: &Answerers, cancel: &CancellationToken) -> ToolResult {
    let request = request(&Scope::new("agent"), cancel);
    pipeline(answerers).run(request).await
}

/// conformance: ASK-25, ASK-26, ASK-34, ASK-35
#[tokio::test]
async fn the_first_answer_wins_and_no_answer_is_unavailable() {
    let (trail, answerers) = audited();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noting = |name: &'static str, answer: Option<ApprovalOutcome>| {
        let asked = asked.clone();
        answerers.register(move |_: ApprovalRequest| {
            asked.lock().unwrap().push(name);
            async move { answer }
        })
    };
    let _delegates = noting("delegates", None);
    assert_eq!(ask(&answerers).await.text(), UNAVAILABLE);
    let grants = noting("grants", Some(ApprovalOutcome::AllowedOnce));
    let rejects = noting("rejects", Some(ApprovalOutcome::Rejected));
    assert_eq!(ask(&answerers).await.text(), "written");
    drop(grants);
    assert_eq!(ask(&answerers).await.text(), REJECTED);
    drop(rejects);
    assert_eq!(ask(&answerers).await.text(), UNAVAILABLE);
    let expected = [
        "delegates",
        "delegates",
        "grants",
        "delegates",
        "rejects",
        "delegates",
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
    let pairs = [
        "c1 unavailable",
        "c1 allowed-once",
        "c1 rejected",
        "c1 unavailable",
    ];
    assert_eq!(trail.pairs(), pairs);
}

/// conformance: ASK-16
#[tokio::test]
async fn a_grant_is_not_remembered() {
    let (trail, answerers) = audited();
    answerers
        .register(|_: ApprovalRequest| async { Some(ApprovalOutcome::AllowedOnce) })
        .keep();
    assert_eq!(ask(&answerers).await.text(), "written");
    assert_eq!(ask(&answerers).await.text(), "written");
    assert_eq!(trail.pairs(), ["c1 allowed-once", "c1 allowed-once"]);
}

/// conformance: ASK-27
#[tokio::test]
async fn a_question_reaches_the_answerers_of_its_own_scope() {
    let answerers = Answerers::new();
    let (a, b) = (Scope::new("a"), Scope::new("b"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    for (name, scope) in [("any", None), ("a", Some(&a)), ("b", Some(&b))] {
        let asked = asked.clone();
        let answerer = move |_: ApprovalRequest| {
            asked.lock().unwrap().push(name);
            async { None::<ApprovalOutcome> }
        };
        match scope {
            None => answerers.register(answerer).keep(),
            Some(scope) => answerers.register_in(scope, answerer).keep(),
        }
    }
    for (scope, expected) in [(&a, ["any", "a"]), (&b, ["any", "b"])] {
        let request = request(scope, &CancellationToken::new());
        assert_eq!(pipeline(&answerers).run(request).await.text(), UNAVAILABLE);
        assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), expected);
    }
}

/// conformance: ASK-28, ASK-29, ASK-30
#[tokio::test]
async fn an_answerer_that_fails_has_granted_nothing() {
    let (trail, answerers) = audited();
    let boom = || -> ! { std::panic::resume_unwind(Box::new("boom")) };
    let fails = answerers.register(|_: ApprovalRequest| async {
        tokio::task::yield_now().await;
        Err::<Option<ApprovalOutcome>, _>("the terminal is gone")
    });
    let _behind =
        answerers.register(|_: ApprovalRequest| async { Some(ApprovalOutcome::AllowedOnce) });
    assert_eq!(ask(&answerers).await.text(), UNAVAILABLE);
    drop(fails);
    let panics = answerers.register_first(move |_: ApprovalRequest| {
        boom();
        #[expect(unreachable_code, reason = "says what it would return")]
        async {
            None::<ApprovalOutcome>
        }
    });
    assert_eq!(ask(&answerers).await.text(), UNAVAILABLE);
    drop(panics);
    let panics = answerers.register_first(move |_: ApprovalRequest| async move {
        tokio::task::yield_now().await;
        boom();
        #[expect(unreachable_code, reason = "says what it would return")]
        None::<ApprovalOutcome>
    });
    assert_eq!(ask(&answerers).await.text(), UNAVAILABLE);
    drop(panics);
    assert_eq!(
        ask(&answerers).await.text(),
        "written",
        "nothing is poisoned"
    );
    let pairs = [
        "c1 unavailable",
        "c1 unavailable",
        "c1 unavailable",
        "c1 allowed-once",
    ];
    assert_eq!(trail.pairs(), pairs);
}

/// conformance: ASK-31, ASK-44
#[tokio::test]
async fn a_cancelled_call_is_settled_before_anybody_is_asked() {
    for mode in [ApprovalMode::Ask, ApprovalMode::Never] {
        let (trail, answerers) = audited();
        answerers.set_mode(mode);
        answerers
            .register(|_: ApprovalRequest| async {
                panic!("nobody is to be asked") as Option<ApprovalOutcome>
            })
            .keep();
        let cancel = CancellationToken::new();
        let cancels = cancel.clone();
        let asking = Pipeline::builder(Registry::new())
            .pre_decision(move |_: &CallView| {
                cancels.cancel();
                Decision::ask("it writes")
            })
            .approval(answerers)
            .build();
        let result = asking.run(request(&Scope::new("agent"), &cancel)).await;
        assert_eq!(result.text(), ABORTED);
        assert_eq!(trail.pairs(), ["c1 cancelled"]);
    }
}

/// conformance: ASK-32, ASK-33
#[tokio::test(start_paused = true)]
async fn a_cancellation_settles_an_open_question_at_once() {
    let (trail, answerers) = audited();
    let late = Arc::new(Mutex::new(false));
    let told = late.clone();
    answerers
        .register(move |_: ApprovalRequest| {
            let told = told.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(50)).await;
                *told.lock().unwrap() = true;
                Err::<Option<ApprovalOutcome>, _>("too late to matter")
            }
        })
        .keep();
    let cancel = CancellationToken::new();
    let started = tokio::time::Instant::now();
    let call = ask_under(&answerers, &cancel);
    let cancelling = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(call, cancelling);
    assert_eq!(result.text(), ABORTED);
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(!*late.lock().unwrap(), "the answerer was let go of");
    assert_eq!(trail.pairs(), ["c1 cancelled"]);
}

/// conformance: ASK-36, ASK-37
#[tokio::test]
async fn never_is_no_answerer_that_another_could_get_before() {
    let (trail, answerers) = audited();
    let grant = |_: ApprovalRequest| async { Some(ApprovalOutcome::AllowedOnce) };
    answerers.register(grant).keep();
    answerers.set_mode("never".parse().unwrap());
    assert_eq!(ask(&answerers).await.text(), REJECTED);
    answerers.register_first(grant).keep();
    assert_eq!(ask(&answerers).await.text(), REJECTED);
    answerers.set_mode(ApprovalMode::Ask);
    assert_eq!(ask(&answerers).await.text(), "written");
    let pairs = ["c1 rejected", "c1 rejected", "c1 allowed-once"];
    assert_eq!(trail.pairs(), pairs);
}

/// conformance: ASK-40, ASK-41
#[test]
fn a_mode_is_one_of_two_words() {
    assert_eq!(Answerers::new().mode(), ApprovalMode::Ask);
    let error = "always".parse::<ApprovalMode>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "approval policy must be one of \"ask\" or \"never\""
    );
}

/// conformance: ASK-24
#[tokio::test]
async fn what_cannot_be_recorded_is_not_decided() {
    for (fails, left) in [("asked", 0), ("decided", 1)] {
        let (trail, answerers) = audited();
        let asked = Arc::new(Mutex::new(0));
        let counts = asked.clone();
        answerers
            .register(move |_: ApprovalRequest| {
                *counts.lock().unwrap() += 1;
                async { Some(ApprovalOutcome::AllowedOnce) }
            })
            .keep();
        *trail.fails.lock().unwrap() = Some(fails);
        let result = ask(&answerers).await;
        assert_eq!(result.text(), format!("Error: {fails} cannot be written"));
        assert_eq!(result.info(), None);
        assert_eq!(trail.lines.lock().unwrap().len(), left);
        assert_eq!(*asked.lock().unwrap(), left);
    }
}

/// conformance: ASK-48
#[tokio::test]
async fn a_dropped_question_is_recorded_as_cancelled_once() {
    let (trail, answerers) = audited();
    answerers
        .register(|_: ApprovalRequest| std::future::pending::<Option<ApprovalOutcome>>())
        .keep();
    let mut call = tokio_test::task::spawn(ask(&answerers));
    assert!(call.poll().is_pending());
    assert_eq!(trail.lines.lock().unwrap().len(), 1);
    drop(call);
    assert_eq!(trail.pairs(), ["c1 cancelled"]);
}

/// conformance: ASK-49
#[tokio::test]
async fn closing_settles_every_open_question() {
    let (trail, answerers) = audited();
    answerers
        .register(|_: ApprovalRequest| std::future::pending::<Option<ApprovalOutcome>>())
        .keep();
    let closes = answerers.clone();
    let closing = async move {
        tokio::task::yield_now().await;
        closes.close();
    };
    let (first, second, ()) = tokio::join!(ask(&answerers), ask(&answerers), closing);
    for result in [first, second] {
        assert_eq!(
            result.text(),
            "Error: approval for tool \"write\" was cancelled"
        );
    }
    assert_eq!(ask(&answerers).await.text(), UNAVAILABLE);
    let lines = trail.lines.lock().unwrap().clone();
    let cancelled = lines.iter().filter(|line| line.ends_with(" cancelled"));
    assert_eq!(cancelled.count(), 2);
}

/// conformance: ASK-19
#[tokio::test]
async fn the_session_log_holds_the_pair_between_call_and_result() {
    let log = SessionLog::in_memory();
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    let asking = Pipeline::builder(Registry::new())
        .pre_decision(|_: &CallView| Decision::ask("it writes"))
        .approval(Answerers::audited(recorder.clone()))
        .recorder(recorder)
        .build();
    let call = request(&Scope::new("agent"), &CancellationToken::new());
    assert_eq!(asking.run(call).await.text(), UNAVAILABLE);
    let records = log.records().unwrap();
    let kinds: Vec<&str> = records.iter().map(|record| record.body.kind()).collect();
    let expected = [
        "tool/call",
        "approval/asked",
        "approval/decided",
        "tool/result",
    ];
    assert_eq!(kinds, expected);
    let (Body::Asked(asked), Body::Decided(decided)) = (&records[1].body, &records[2].body) else {
        unreachable!("seen above")
    };
    assert_eq!(asked.id, decided.id);
    assert_eq!(
        (asked.call, asked.call_id.as_deref()),
        (Some(1), Some("c1"))
    );
    assert_eq!(
        (asked.tool.as_str(), asked.reason.as_deref()),
        ("write", Some("it writes"))
    );
    assert_eq!(decided.outcome, ApprovalOutcome::Unavailable);
    assert!(check::check(&records).is_empty());
}

/// conformance: ASK-17
#[tokio::test]
async fn answerers_that_are_gone_are_like_none() {
    for closes in [false, true] {
        let (trail, answerers) = audited();
        let granting = |_: ApprovalRequest| async { Some(ApprovalOutcome::AllowedOnce) };
        let registration = answerers.register(granting);
        let asking = pipeline(&answerers);
        let ask = || asking.run(request(&Scope::new("agent"), &CancellationToken::new()));
        assert_eq!(ask().await.text(), "written");
        if closes {
            answerers.close();
        } else {
            drop(registration);
        }
        let result = ask().await;
        assert_eq!(result.text(), UNAVAILABLE);
        assert_eq!(result.kind(), Some(FailureKind::Denied));
        assert_eq!(trail.pairs(), ["c1 allowed-once", "c1 unavailable"]);
    }
}

/// conformance: ASK-20
#[tokio::test]
async fn what_a_question_lacks_is_left_out_of_its_record() {
    let log = SessionLog::in_memory();
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    // The calls are not recorded, so there is no ordinal to name either.
    let asking = Pipeline::builder(Registry::new())
        .pre_decision(|_: &CallView| Decision::ask_without_reason())
        .approval(Answerers::audited(recorder))
        .build();
    let call = CallRequest::new("", "write", "{}", CancellationToken::new())
        .with_scope(Scope::new("agent"));
    assert_eq!(asking.run(call).await.text(), UNAVAILABLE);
    let records = log.records().unwrap();
    let asked = serde_json::to_value(&records[0]).unwrap();
    let Body::Asked(record) = &records[0].body else {
        panic!("expected a question, found {asked}")
    };
    let expected = json!({"seq": 1, "type": "approval/asked", "id": record.id, "tool": "write"});
    assert_eq!(asked, expected);
}

/// conformance: ASK-21
#[tokio::test]
async fn an_answerer_of_the_scope_gets_the_very_request() {
    let log = SessionLog::in_memory();
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    let answerers = Answerers::audited(recorder.clone());
    let scope = Scope::new("agent");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |seen: &Mutex<Vec<_>>, call: &CallView| {
        let text = call.raw_arguments().as_ptr() as usize;
        seen.lock().unwrap().push((call.token(), text));
    };
    let notes = seen.clone();
    answerers
        .register_in(&scope, move |request: ApprovalRequest| {
            note(&notes, request.call());
            async { Some(ApprovalOutcome::Rejected) }
        })
        .keep();
    let notes = seen.clone();
    let asking = Pipeline::builder(Registry::new())
        .pre_decision(move |call: &CallView| {
            note(&notes, call);
            Decision::ask("it writes")
        })
        .approval(answerers)
        .recorder(recorder)
        .build();
    let result = asking.run(request(&scope, &CancellationToken::new())).await;
    assert_eq!(result.text(), REJECTED);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2, "policy and answerer");
    assert_eq!(
        seen[0], seen[1],
        "the same call and the same text, not a copy"
    );
    let records = log.records().unwrap();
    let (Body::Call(call), Body::Asked(asked), Body::Decided(decided)) =
        (&records[0].body, &records[1].body, &records[2].body)
    else {
        panic!("expected a call, a question and a decision, found {records:?}")
    };
    assert_eq!(call.agent.as_deref(), Some("agent"));
    assert_eq!(asked.call, Some(call.call));
    assert_eq!(
        (&asked.id, decided.outcome),
        (&decided.id, ApprovalOutcome::Rejected)
    );
}
