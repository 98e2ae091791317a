//! The pipeline inside an axum app.
//!
//! `POST /batch` runs a batch of calls and answers with their results in
//! model order. Calls that need approval wait until somebody answers at
//! `POST /approvals/{id}`; `GET /approvals` lists the open questions. When a
//! client goes away in the middle, its calls still get their results in the
//! session log.
//!
//! `cargo run --example axum_server` starts the server on a free port, plays
//! a client against it and asserts what it sees. With `--serve` it stays up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolfall::approval::Answerers;
use toolfall::pipeline::BoxPipeline;
use toolfall::session::{Body, SessionLog, SessionRecorder};
use toolfall::{
    ApprovalOutcome, ApprovalRequest, BoxError, CallRequest, CallView, Decision, Pipeline,
    Registry, Scheduler, Scope, ToolContext, ToolDef, tool_fn,
};

/// The questions that wait for somebody, by a number of their own.
#[derive(Clone, Default)]
struct Desk(Arc<Mutex<Questions>>);

#[derive(Default)]
struct Questions {
    /// Never given out again: an answer that comes late must not meet another
    /// question.
    last: u64,
    open: BTreeMap<u64, Open>,
}

struct Open {
    shown: Value,
    answer: oneshot::Sender<ApprovalOutcome>,
}

impl Desk {
    async fn ask(self, request: ApprovalRequest) -> Option<ApprovalOutcome> {
        let (answer, answered) = oneshot::channel();
        let shown = json!({
            "tool": request.tool(),
            "arguments": request.arguments().map(toolfall::Arguments::value),
            "reason": request.reason(),
        });
        let id = {
            let mut questions = self.questions();
            questions.last += 1;
            let id = questions.last;
            questions.open.insert(id, Open { shown, answer });
            id
        };
        let _withdraw = Withdraw(self, id);
        answered.await.ok()
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.0.lock().expect("nothing panics under the lock")
    }

    fn answer(&self, id: u64, outcome: ApprovalOutcome) -> bool {
        let open = self.questions().open.remove(&id);
        open.is_some_and(|open| open.answer.send(outcome).is_ok())
    }
}

/// A question that nobody waits for any more is withdrawn.
struct Withdraw(Desk, u64);
impl Drop for Withdraw {
    fn drop(&mut self) {
        self.0.questions().open.remove(&self.1);
    }
}

#[derive(Clone)]
struct App {
    scheduler: Scheduler<BoxPipeline>,
    desk: Desk,
}

#[derive(Deserialize)]
struct Call {
    id: String,
    name: String,
    /// The arguments as text, exactly as the model wrote them.
    arguments: String,
}

async fn run_batch(State(app): State<App>, Json(calls): Json<Vec<Call>>) -> Json<Value> {
    let cancel = CancellationToken::new();
    let agent = Scope::new("web");
    let requests = calls.into_iter().map(|call| {
        CallRequest::new(call.id, call.name, call.arguments, cancel.clone())
            .with_scope(agent.clone())
    });
    // If the client disconnects, axum drops this future, and with it the
    // batch: its calls are cancelled, driven to their end and recorded.
    let report = app.scheduler.batch(requests, cancel.clone()).run().await;
    let results: Vec<Value> = report
        .committed
        .iter()
        .map(|call| {
            json!({
                "id": call.id.as_str(),
                "is_error": call.result.is_error(),
                "text": call.result.text(),
            })
        })
        .collect();
    Json(Value::Array(results))
}

async fn list_approvals(State(app): State<App>) -> Json<Value> {
    let questions = app.desk.questions();
    let listed = questions
        .open
        .iter()
        .map(|(id, open)| json!({"id": id, "question": open.shown}));
    Json(Value::Array(listed.collect()))
}

async fn answer_approval(
    State(app): State<App>,
    Path(id): Path<u64>,
    Json(allow): Json<bool>,
) -> StatusCode {
    let outcome = if allow {
        ApprovalOutcome::AllowedOnce
    } else {
        ApprovalOutcome::Rejected
    };
    // A second answer finds no question.
    if app.desk.answer(id, outcome) {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::CONFLICT
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

fn tools() -> [ToolDef; 3] {
    [
        tool_fn(
            "echo",
            "Says it again",
            |args: Text, _: ToolContext| async move { Ok::<_, BoxError>(args.text) },
        )
        .parallel(),
        tool_fn(
            "publish",
            "Tells the world",
            |args: Text, _: ToolContext| async move {
                Ok::<_, BoxError>(format!("published: {}", args.text))
            },
        ),
        tool_fn(
            "wait",
            "Waits for the caller to lose patience",
            |_: Value, ctx: ToolContext| async move {
                ctx.cancellation().cancelled().await;
                Ok::<_, BoxError>(())
            },
        ),
    ]
}

fn app(log: SessionLog) -> Result<Router, BoxError> {
    let registry = Registry::new();
    for registration in registry.register_all(tools())? {
        registration.keep();
    }
    let desk = Desk::default();
    let recorder = Arc::new(SessionRecorder::new(log));
    // Question and answer are recorded, too.
    let answerers = Answerers::audited(recorder.clone());
    let asked = desk.clone();
    answerers
        .register(move |request: ApprovalRequest| asked.clone().ask(request))
        .keep();
    let scheduler = Pipeline::builder(registry)
        .pre_decision(|call: &CallView| match call.name() {
            "publish" => Decision::ask("this cannot be taken back"),
            _ => Decision::Allow,
        })
        .approval(answerers)
        .recorder(recorder.clone())
        .build()
        .boxed()
        .scheduler()
        .journal(recorder);
    Ok(Router::new()
        .route("/batch", post(run_batch))
        .route("/approvals", get(list_approvals))
        .route("/approvals/{id}", post(answer_approval))
        .with_state(App { scheduler, desk }))
}

/// A request without a client library: enough to play the client here.
async fn http(port: u16, method: &str, path: &str, body: &str) -> Result<String, BoxError> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let log = SessionLog::in_memory();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let server = tokio::spawn(axum::serve(listener, app(log.clone())?).into_future());
    println!("listening on http://127.0.0.1:{port}");
    if std::env::args().any(|arg| arg == "--serve") {
        return Ok(server.await??);
    }

    // A batch with a call that somebody must allow.
    let batch = json!([
        {"id": "1", "name": "echo", "arguments": r#"{"text":"hello"}"#},
        {"id": "2", "name": "publish", "arguments": r#"{"text":"news"}"#},
    ]);
    let running =
        tokio::spawn(async move { http(port, "POST", "/batch", &batch.to_string()).await });
    while !http(port, "GET", "/approvals", "")
        .await?
        .contains("publish")
    {
        tokio::task::yield_now().await;
    }
    let allowed = http(port, "POST", "/approvals/1", "true").await?;
    assert!(allowed.starts_with("HTTP/1.1 204"), "{allowed}");
    let answer = running.await??;
    println!("{}", answer.lines().last().unwrap_or_default());
    assert!(answer.contains("published: news"), "{answer}");
    let again = http(port, "POST", "/approvals/1", "true").await?;
    assert!(again.starts_with("HTTP/1.1 409"), "{again}");

    // A client that goes away while its call runs.
    let mut client = TcpStream::connect(("127.0.0.1", port)).await?;
    let body = r#"[{"id":"3","name":"wait","arguments":"{}"}]"#;
    let request = format!(
        "POST /batch HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    client.write_all(request.as_bytes()).await?;
    let started = |log: &SessionLog| {
        let records = log.records().unwrap_or_default();
        records
            .iter()
            .filter(|record| matches!(record.body, Body::Started(_)))
            .count()
            == 3
    };
    while !started(&log) {
        tokio::task::yield_now().await;
    }
    drop(client);
    let code = loop {
        let records = log.records()?;
        let ended = records.iter().rev().find_map(|record| match &record.body {
            Body::Result(result) if result.id == "3" => Some(result.clone()),
            _ => None,
        });
        match ended {
            Some(result) => break result.error.and_then(|error| error.code),
            None => tokio::task::yield_now().await,
        }
    };
    let decided = log
        .records()?
        .into_iter()
        .find_map(|record| match record.body {
            Body::Decided(decided) => Some(decided.outcome),
            _ => None,
        });
    assert_eq!(decided, Some(ApprovalOutcome::AllowedOnce));
    println!("the client left; its call ended as {code:?}");
    assert_eq!(code.as_deref(), Some("ABORTED"));
    Ok(())
}
