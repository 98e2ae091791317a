//! Questions that outlive their process, and the answers to them.

#[path = "support/facade.rs"]
mod support;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use support::{Counter, any_object, registry, returns};
use tokio_util::sync::CancellationToken;
use toolfall::approval::{
    AnswerError, Answerers, ApprovalMode, BoundAnswer, ChannelApprover, PendingQuestions,
    SavedAnswers, SavedQuestion,
};
use toolfall::pipeline::BoxPipeline;
use toolfall::session::{Options, Record, SessionLog, SessionRecorder, Unfinished, check};
use toolfall::*;

const GRANT: ApprovalOutcome = ApprovalOutcome::AllowedOnce;
const REJECTED: &str = "Error: the user rejected tool \"write\"";
const UNAVAILABLE: &str =
    "Error: tool \"write\" requires approval, but no approval channel is available";

fn call(scope: &str, id: &str, arguments: &str) -> CallRequest {
    let cancel = CancellationToken::new();
    CallRequest::new(id.to_owned(), "write", arguments.to_owned(), cancel)
        .with_scope(Scope::new(scope))
}

/// A pipeline that asks `answerers` about every call.
fn asking(answerers: &Answerers, runs: &Counter) -> BoxPipeline {
    Pipeline::builder(registry([returns("write", json!("written"), runs)]))
        .pre_decision(|_: &CallView| Decision::ask("it writes"))
        .approval(answerers.clone())
        .guard(|call: &CallView| (call.id().as_str() == "guarded").then(|| Denial::new("guarded")))
        .build()
        .boxed()
}

/// The question about a call, as a process left it that ended then.
async fn left_open(request: CallRequest) -> SavedQuestion {
    let (approver, mut questions) = ChannelApprover::new(NonZeroUsize::MIN);
    let pipeline = Pipeline::builder(registry([returns("write", json!(1), &Counter::default())]))
        .pre_decision(|_: &CallView| Decision::ask("it writes"))
        .approval(approver)
        .build();
    let (_, saved) = tokio::join!(pipeline.run(request), async {
        questions.recv().await.unwrap().saved()
    });
    let text = serde_json::to_string(&saved).unwrap();
    assert_eq!(
        serde_json::from_str::<SavedQuestion>(&text).unwrap(),
        saved,
        "it can be read back"
    );
    saved
}

struct Resumed {
    saved: SavedAnswers,
    answerers: Answerers,
    pipeline: BoxPipeline,
    runs: Counter,
}

fn resumed() -> Resumed {
    let (answerers, runs) = (Answerers::new(), Counter::default());
    let saved = SavedAnswers::new();
    answerers.register_first(saved.answerer()).keep();
    Resumed {
        pipeline: asking(&answerers, &runs),
        saved,
        answerers,
        runs,
    }
}

#[tokio::test]
async fn a_saved_answer_is_for_one_call_once() {
    let question = left_open(call("agent", "c1", r#"{"n":1}"#)).await;
    let new = resumed();
    let answer = BoundAnswer::to(&question, GRANT);
    new.saved.add(&question, answer.clone()).unwrap();
    // Another scope, another call, other arguments, the same ones written in
    // another way: none is the call that was asked about.
    for (scope, id, arguments) in [
        ("other", "c1", r#"{"n":1}"#),
        ("agent", "c2", r#"{"n":1}"#),
        ("agent", "c1", r#"{"n":2}"#),
        ("agent", "c1", r#"{"n": 1}"#),
    ] {
        let result = new.pipeline.run(call(scope, id, arguments)).await;
        assert_eq!(result.text(), UNAVAILABLE, "{scope} {id} {arguments}");
    }
    assert_eq!((new.runs.get(), new.saved.waiting()), (0, 1));
    let again = || new.pipeline.run(call("agent", "c1", r#"{"n":1}"#));
    assert_eq!(again().await.text(), "written");
    assert_eq!(again().await.text(), UNAVAILABLE);
    let replayed = new.saved.add(&question, answer);
    assert!(matches!(replayed, Err(AnswerError::Unknown { .. })));
    assert_eq!(again().await.text(), UNAVAILABLE);
    assert_eq!(new.runs.get(), 1);
}

#[tokio::test]
async fn a_saved_refusal_is_as_good_as_one_on_the_spot() {
    let question = left_open(call("agent", "c1", "{}")).await;
    let new = resumed();
    let refusal = ApprovalAnswer::rejected("too late").ending_turn();
    let text = serde_json::to_string(&BoundAnswer::to(&question, refusal)).unwrap();
    let answer = serde_json::from_str(&text).unwrap();
    new.saved.add(&question, answer).unwrap();
    let result = new.pipeline.run(call("agent", "c1", "{}")).await;
    assert_eq!(result.text(), format!("{REJECTED}: too late"));
    assert!(result.concludes_turn());
    assert_eq!(new.runs.get(), 0);
}

#[tokio::test]
async fn what_does_not_fit_is_not_added() {
    let one = left_open(call("agent", "c1", "{}")).await;
    let two = left_open(call("agent", "c2", "{}")).await;
    let new = resumed();
    let unknown = new.saved.add(&one, BoundAnswer::to(&two, GRANT));
    assert!(matches!(unknown, Err(AnswerError::Unknown { .. })));
    let crossed = BoundAnswer {
        question: one.id().to_owned(),
        ..BoundAnswer::to(&two, GRANT)
    };
    let mismatch = new.saved.add(&one, crossed);
    assert!(matches!(mismatch, Err(AnswerError::Mismatch { .. })));
    // Without an id a call cannot be told from another one.
    let nameless = left_open(call("agent", "", "{}")).await;
    let refused = new.saved.add(&nameless, BoundAnswer::to(&nameless, GRANT));
    assert!(matches!(refused, Err(AnswerError::WithoutCallId { .. })));
    assert_eq!(new.saved.waiting(), 0);
    // Nothing of this used up the question.
    new.saved.add(&one, BoundAnswer::to(&one, GRANT)).unwrap();
    new.saved.clear();
    let result = new.pipeline.run(call("agent", "c1", "{}")).await;
    assert_eq!(result.text(), UNAVAILABLE, "forgotten");
}

/// Whatever is changed in a saved question, it is not believed.
#[tokio::test]
async fn a_question_that_was_changed_is_refused() {
    let question = left_open(call("agent", "c1", r#"{"path":"a"}"#)).await;
    let good = serde_json::to_value(&question).unwrap();
    let keys = ["call_id", "tool", "arguments", "scope", "digest"];
    for key in keys {
        for value in [json!(null), json!("x"), json!("0".repeat(64))] {
            let mut changed = good.clone();
            changed[key] = value;
            let read = serde_json::from_value::<SavedQuestion>(changed);
            assert!(read.is_err(), "{key}");
        }
        let mut lacking = good.clone();
        lacking.as_object_mut().unwrap().remove(key);
        assert!(serde_json::from_value::<SavedQuestion>(lacking).is_err());
    }
    assert_eq!(
        serde_json::from_value::<SavedQuestion>(good).unwrap(),
        question
    );
}

/// A saved grant stands in for the person alone.
#[tokio::test]
async fn mode_and_guards_judge_the_call_anew() {
    let question = left_open(call("agent", "guarded", "{}")).await;
    let new = resumed();
    new.saved
        .add(&question, BoundAnswer::to(&question, GRANT))
        .unwrap();
    let again = || new.pipeline.run(call("agent", "guarded", "{}"));
    new.answerers.set_mode(ApprovalMode::Never);
    assert_eq!(again().await.text(), REJECTED);
    assert_eq!(new.saved.waiting(), 1, "nobody was asked");
    new.answerers.set_mode(ApprovalMode::Ask);
    assert_eq!(again().await.text(), "Error: guarded");
    assert_eq!((new.runs.get(), new.saved.waiting()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_calls_that_are_the_same_one_runs() {
    for _ in 0..50 {
        let question = left_open(call("agent", "c1", "{}")).await;
        let new = resumed();
        new.saved
            .add(&question, BoundAnswer::to(&question, GRANT))
            .unwrap();
        let pipeline = Arc::new(new.pipeline);
        let calls = [(); 2].map(|()| {
            let pipeline = pipeline.clone();
            tokio::spawn(async move { pipeline.run(call("agent", "c1", "{}")).await.text() })
        });
        let mut texts = Vec::new();
        for call in calls {
            texts.push(call.await.unwrap());
        }
        texts.sort();
        assert_eq!(texts, [UNAVAILABLE, "written"]);
        assert_eq!(new.runs.get(), 1);
    }
}

/// What a log holds of a question decides whether it can be asked again.
#[test]
fn a_log_tells_of_what_can_be_asked_again() {
    let digest = approval::QuestionDigest::of(Some("agent"), "c1", "write", "{}");
    let call = json!({"seq": 1, "type": "tool/call", "call": 1, "id": "c1", "name": "write",
        "arguments": "{}", "agent": "agent"});
    let asked = json!({"seq": 2, "type": "approval/asked", "id": "q", "call": 1,
        "call_id": "c1", "tool": "write", "digest": digest});
    let questions = |lines: &[&Value]| {
        let records = lines.iter();
        let records: Vec<Record> = records
            .map(|&line| serde_json::from_value(line.clone()).unwrap())
            .collect();
        Unfinished::of(&records).questions()
    };
    let with = |key: &str, value: Value| {
        let mut line = asked.clone();
        line[key] = value;
        line
    };
    let open = questions(&[&call, &asked]);
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].id(), open[0].arguments()), ("q", "{}"));
    assert_eq!((open[0].scope(), open[0].digest()), (Some("agent"), digest));
    let decided = json!({"seq": 3, "type": "approval/decided", "id": "q", "outcome": "odd"});
    assert!(questions(&[&call, &asked, &decided]).is_empty());
    let started = json!({"seq": 3, "type": "tool/started", "call": 1});
    assert!(questions(&[&call, &asked, &started]).is_empty());
    let result = json!({"seq": 3, "type": "tool/result", "call": 1, "id": "c1",
        "is_error": true, "content": []});
    assert!(questions(&[&call, &asked, &result]).is_empty());
    assert!(questions(&[&asked]).is_empty(), "no call");
    let other = approval::QuestionDigest::of(Some("agent"), "c1", "write", "{} ");
    assert!(questions(&[&call, &with("digest", json!(other))]).is_empty());
    let mut old = asked.clone();
    old.as_object_mut().unwrap().remove("digest");
    assert!(questions(&[&call, &old]).is_empty(), "as logs were once");
}

/// A folder that several processes share, and what is in it.
struct Place(PathBuf);

impl Place {
    fn here() -> Option<Self> {
        Some(Self(std::env::var_os("TOOLFALL_RESUME")?.into()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Whole or not at all: somebody may be waiting for it.
    fn write(&self, name: &str, content: &impl serde::Serialize) {
        let part = self.path("part");
        std::fs::write(&part, serde_json::to_vec(content).unwrap()).unwrap();
        std::fs::rename(part, self.path(name)).unwrap();
    }

    fn read<T: serde::de::DeserializeOwned>(&self, name: &str) -> T {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// A pipeline whose tool leaves a line behind, written down in `log`.
    fn pipeline(&self, log: SessionLog) -> (Answerers, BoxPipeline) {
        let recorder = Arc::new(SessionRecorder::new(log));
        let answerers = Answerers::audited(recorder.clone());
        let effects = self.path("effects");
        let tool = raw_tool(
            "write",
            "",
            any_object(),
            move |_: Arguments, _: ToolContext| {
                let effects = effects.clone();
                async move {
                    let mut lines = std::fs::read_to_string(&effects).unwrap_or_default();
                    lines.push_str("ran\n");
                    std::fs::write(&effects, lines)?;
                    Ok::<_, BoxError>(json!("written"))
                }
            },
        );
        let pipeline = Pipeline::builder(registry([tool]))
            .pre_decision(|_: &CallView| Decision::ask("it writes"))
            .approval(answerers.clone())
            .recorder(recorder)
            .build()
            .boxed();
        (answerers, pipeline)
    }

    fn effects(&self) -> usize {
        let lines = std::fs::read_to_string(self.path("effects"));
        lines.unwrap_or_default().lines().count()
    }

    fn spawn(&self, test: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--ignored"])
            .env("TOOLFALL_RESUME", &self.0)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }
}

fn open(path: &Path) -> (SessionLog, session::Recovery) {
    SessionLog::open(path, Options::new()).unwrap()
}

const ARGUMENTS: &str = r#"{"path": "a"}"#;

#[tokio::test]
#[ignore = "the first process of another test"]
async fn process_that_asks() {
    let Some(place) = Place::here() else { return };
    let (log, _) = open(&place.path("session.jsonl"));
    let (answerers, pipeline) = place.pipeline(log);
    let (approver, mut questions) = ChannelApprover::new(NonZeroUsize::MIN);
    answerers.register(approver.answerer()).keep();
    let pending = PendingQuestions::new();
    let interface = async {
        pending.hold(questions.recv().await.unwrap());
        place.write("questions.json", &pending.list());
        std::future::pending::<()>().await;
    };
    tokio::join!(pipeline.run(call("agent", "c1", ARGUMENTS)), interface);
}

#[tokio::test]
#[ignore = "the second process of another test"]
async fn process_that_resumes() {
    let Some(place) = Place::here() else { return };
    let (log, recovery) = open(&place.path("session.jsonl"));
    let question = &recovery.questions[0];
    let saved = SavedAnswers::new();
    let answer: BoundAnswer = place.read("answer.json");
    saved.add(question, answer.clone()).unwrap();
    let (answerers, pipeline) = place.pipeline(log);
    answerers.register_first(saved.answerer()).keep();
    let open = &recovery.interrupted[0];
    let again = || {
        let scope = open.agent.as_deref().unwrap();
        pipeline.run(call(scope, &open.id, &open.arguments))
    };
    let first = again().await.text();
    let replayed = saved.add(question, answer).is_err();
    let second = again().await.text();
    place.write("results.json", &json!([first, replayed, second]));
}

/// The first process is killed while its question is open; the second finds
/// it, is given the answer and makes the call again; the third finds nothing.
#[tokio::test]
async fn a_question_outlives_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place(folder.path().to_owned());
    let mut asks = place.spawn("process_that_asks");
    let asked = place.path("questions.json");
    while !asked.exists() {
        assert!(asks.try_wait().unwrap().is_none(), "it ended too early");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    asks.kill().unwrap();
    asks.wait().unwrap();
    assert_eq!(place.effects(), 0);

    // The person is elsewhere and sees the question as data.
    let questions: Vec<SavedQuestion> = place.read("questions.json");
    assert_eq!(questions.len(), 1);
    assert_eq!(
        (questions[0].tool(), questions[0].arguments()),
        ("write", ARGUMENTS)
    );
    place.write("answer.json", &BoundAnswer::to(&questions[0], GRANT));

    let mut resumes = place.spawn("process_that_resumes");
    assert!(resumes.wait().unwrap().success());
    let results: Value = place.read("results.json");
    assert_eq!(results, json!(["written", true, UNAVAILABLE]));
    assert_eq!(place.effects(), 1, "the body ran exactly once");

    // The log hands out the question once: the answer is of no more use.
    let mut again = place.spawn("process_that_resumes");
    assert!(!again.wait().unwrap().success(), "no question is left");
    let (log, recovery) = open(&place.path("session.jsonl"));
    assert!(recovery.is_clean() && recovery.questions.is_empty());
    assert_eq!(check::check(&log.records().unwrap()), []);
    assert_eq!(place.effects(), 1);
}
