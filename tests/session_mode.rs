//! Whether questions may be asked in one session, and what its agent is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;
use toolfall::approval::{Answerers, ApprovalMode, SessionMode};
use toolfall::session::{Body, PolicyRecord, SessionLog, TurnRecord};
use toolfall::{
    ApprovalOutcome, ApprovalRequest, CallRequest, CallView, Decision, Pipeline, Registry, Scope,
};

const REJECTED: &str = "Error: the user rejected tool \"nope\"";
/// Nobody rejected it: the call went on, to a tool that is not there.
const GRANTED: &str = "Error: unknown tool \"nope\"";

fn policy(word: &str) -> PolicyRecord {
    PolicyRecord {
        policy: word.to_owned(),
    }
}

fn words(log: &SessionLog) -> Vec<String> {
    let records = log.records().unwrap();
    let words = records.into_iter().filter_map(|record| match record.body {
        Body::Policy(policy) => Some(policy.policy),
        _ => None,
    });
    words.collect()
}

/// Answerers with one that grants, and how often it was asked.
fn granting() -> (Answerers, Arc<AtomicUsize>) {
    let (answerers, asked) = (Answerers::new(), Arc::new(AtomicUsize::new(0)));
    let counted = asked.clone();
    answerers
        .register(move |_: ApprovalRequest| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Some(ApprovalOutcome::AllowedOnce) }
        })
        .keep();
    (answerers, asked)
}

/// The first line of the answer to a call that has to be asked about.
async fn call(answerers: &Answerers, scope: &Scope) -> String {
    let pipeline = Pipeline::builder(Registry::new())
        .pre_decision(|_: &CallView| Decision::ask_without_reason())
        .approval(answerers.clone())
        .build();
    let request = CallRequest::new("1", "nope", "{}", CancellationToken::new());
    let text = pipeline.run(request.with_scope(scope.clone())).await.text();
    text.lines().next().unwrap_or_default().to_owned()
}

/// conformance: ASK-38
#[tokio::test]
async fn a_sessions_mode_wins_in_both_directions_and_is_read_at_each_request() {
    let (answerers, asked) = granting();
    let (agent, other) = (Scope::new("agent"), Scope::new("other"));
    let session = answerers.session(&agent, SessionLog::in_memory()).unwrap();
    assert_eq!(session.overridden(), None);
    assert_eq!(call(&answerers, &agent).await, GRANTED);

    answerers.set_mode(ApprovalMode::Never);
    assert_eq!(session.overridden(), None);
    assert_eq!(session.mode(), ApprovalMode::Never);
    assert_eq!(call(&answerers, &agent).await, REJECTED);

    session.switch(ApprovalMode::Ask).unwrap();
    assert_eq!(session.overridden(), Some(ApprovalMode::Ask));
    assert_eq!(call(&answerers, &agent).await, GRANTED);
    assert_eq!(call(&answerers, &other).await, REJECTED, "has no override");

    session.switch(ApprovalMode::Never).unwrap();
    answerers.set_mode(ApprovalMode::Ask);
    assert_eq!(call(&answerers, &agent).await, REJECTED);
    assert_eq!(call(&answerers, &other).await, GRANTED);
    assert_eq!(asked.load(Ordering::SeqCst), 3, "once for each grant");
}

#[tokio::test]
async fn the_nearest_scope_that_has_a_mode_counts() {
    let (answerers, _) = granting();
    let host = Scope::new("host");
    let (inner, silent) = (host.nested("inner"), host.nested("silent"));
    let outer = answerers.session(&host, SessionLog::in_memory()).unwrap();
    let own = answerers.session(&inner, SessionLog::in_memory()).unwrap();
    let _silent = answerers.session(&silent, SessionLog::in_memory()).unwrap();

    outer.switch(ApprovalMode::Never).unwrap();
    assert_eq!(call(&answerers, &inner).await, REJECTED);
    own.switch(ApprovalMode::Ask).unwrap();
    assert_eq!(call(&answerers, &inner).await, GRANTED);
    assert_eq!(call(&answerers, &silent).await, REJECTED);
    assert_eq!(call(&answerers, &host).await, REJECTED);
}

/// Dropping what only holds the switch must not turn questions on again.
#[tokio::test]
async fn a_dropped_session_object_relaxes_nothing_and_frees_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let open = || SessionLog::open(&path, toolfall::session::Options::new());
    let (answerers, asked) = granting();
    let agent = Scope::new("agent");
    let session = answerers.session(&agent, open().unwrap().0).unwrap();
    session.switch(ApprovalMode::Never).unwrap();
    drop(session);
    assert_eq!(call(&answerers, &agent).await, REJECTED);
    assert_eq!(asked.load(Ordering::SeqCst), 0);

    let again = Answerers::new();
    let session = again.session(&agent, open().unwrap().0).unwrap();
    assert_eq!(session.overridden(), Some(ApprovalMode::Never));
}

/// conformance: ASK-39
#[test]
fn the_last_record_of_a_log_wins() {
    let log = SessionLog::in_memory();
    let records = || log.records().unwrap();
    assert_eq!(ApprovalMode::last_in(&records()), None);
    let start = TurnRecord {
        turn: "1".to_owned(),
    };
    log.append(Body::TurnStart(start)).unwrap();
    assert_eq!(ApprovalMode::last_in(&records()), None);

    for word in ["never", "ask", "never"] {
        log.append(policy(word)).unwrap();
        assert_eq!(ApprovalMode::last_in(&records()), word.parse().ok());
    }
    let session = SessionMode::new(log.clone(), ApprovalMode::Ask).unwrap();
    assert_eq!(session.overridden(), Some(ApprovalMode::Never));
    log.append(policy("ask")).unwrap();
    let session = SessionMode::new(log.clone(), ApprovalMode::Never).unwrap();
    assert_eq!(session.overridden(), Some(ApprovalMode::Ask));

    log.append(policy("sometimes")).unwrap();
    let read = ApprovalMode::last_in(&records());
    assert_eq!(read, Some(ApprovalMode::Never), "no word is a permission");
}

/// conformance: ASK-42
#[test]
fn a_switch_leaves_one_record_and_one_notice() {
    let log = SessionLog::in_memory();
    let session = SessionMode::new(log.clone(), ApprovalMode::Ask).unwrap();
    assert!(session.switch(ApprovalMode::Ask).unwrap().is_none());
    assert!(words(&log).is_empty(), "ask is the current one");

    let notice = session.switch(ApprovalMode::Never).unwrap().unwrap();
    assert!(session.switch(ApprovalMode::Never).unwrap().is_none());
    assert_eq!(words(&log), ["never"]);
    assert_eq!(log.records().unwrap().len(), 1);
    let text = notice.content[0].as_text();
    assert_eq!(
        text,
        Some("The approval policy changed from \"ask\" to \"never\" (changed by the user).")
    );
    assert_eq!(
        (&*notice.source.kind, &*notice.source.name),
        ("plugin", "user-approval")
    );

    let back = session.switch(ApprovalMode::Ask).unwrap().unwrap();
    let text = back.content[0].as_text().unwrap();
    assert!(text.contains("from \"never\" to \"ask\""), "{text}");
    assert_eq!(words(&log), ["never", "ask"]);
}

#[test]
fn a_switch_that_cannot_be_recorded_changes_nothing() {
    let log = SessionLog::in_memory();
    let session = SessionMode::new(log.clone(), ApprovalMode::Ask).unwrap();
    drop(log.close());
    assert!(session.switch(ApprovalMode::Never).is_err());
    assert_eq!(session.mode(), ApprovalMode::Ask);
    assert_eq!(*session.changes().borrow(), 0);
}

/// conformance: ASK-43
#[test]
fn the_prompt_says_what_counts_for_the_agent() {
    let answerers = Answerers::new();
    let agent = Scope::new("agent");
    let session = answerers.session(&agent, SessionLog::in_memory()).unwrap();
    assert_eq!(answerers.prompt(None), "");

    let ask = answerers.prompt(Some(&agent));
    assert!(ask.contains("\"ask\"") && ask.contains("refused"), "{ask}");
    assert_eq!(answerers.prompt(Some(&agent)), ask);

    session.switch(ApprovalMode::Never).unwrap();
    let never = answerers.prompt(Some(&agent));
    for part in [
        "\"never\"",
        "nobody is asked",
        "rejected",
        "Do not request more permissions",
    ] {
        assert!(never.contains(part), "{never}");
    }
    assert_eq!(answerers.prompt(Some(&agent)), never);
    assert!(
        !ask.contains('\n') && !never.contains('\n'),
        "one paragraph"
    );
    assert_eq!(answerers.prompt(Some(&Scope::new("other"))), ask);

    session.switch(ApprovalMode::Ask).unwrap();
    assert_eq!(answerers.prompt(Some(&agent)), ask);
    answerers.close();
    assert_eq!(answerers.prompt(Some(&agent)), "");
}
