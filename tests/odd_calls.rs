//! Batches as models and providers really send them: odd names, odd ids,
//! replies that were cut off.

#[path = "support/facade.rs"]
mod support;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Log, registry, rows};
use tokio_util::sync::CancellationToken;
use toolfall::scheduler::BatchReport;
use toolfall::{
    ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView, Decision,
    Pipeline, Registry, Scope, TimeoutLayer, ToolContext, ToolDef, Validation, codes, raw_tool,
};

/// A tool that takes a path and notes that it ran.
fn tool(name: String, ran: &Log) -> ToolDef {
    let ran = ran.clone();
    let noted = name.clone();
    raw_tool(
        name,
        "An odd name's tool",
        json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        move |arguments: Arguments, ctx: ToolContext| {
            ran.push(noted.clone());
            async move {
                if arguments.value()["path"] == "hang" {
                    ctx.cancellation().cancelled().await;
                }
                Ok::<Value, BoxError>(format!("result of {}", arguments.text()).into())
            }
        },
    )
}

fn tools(row: &Value, ran: &Log) -> Registry {
    registry(row["tools"].as_array().unwrap().iter().map(|name| {
        let tool = tool(name.as_str().unwrap().to_owned(), ran).parallel();
        if row["calls"][0]["free_text"] == true {
            tool.validation(Validation::FreeText)
        } else {
            tool
        }
    }))
}

fn calls(row: &Value, cancel: &CancellationToken) -> Vec<CallRequest> {
    let Some(calls) = row["calls"].as_array() else {
        let read = || CallRequest::new("c", "read", r#"{"path":"a"}"#, cancel.clone());
        return (0..200).map(|_| read()).collect();
    };
    calls
        .iter()
        .map(|call| {
            let text = |field: &str| call[field].as_str().unwrap_or_default().to_owned();
            CallRequest::new(
                text("call_id"),
                text("name"),
                text("arguments_json"),
                cancel.clone(),
            )
        })
        .collect()
}

async fn run(row: &Value, ran: &Log) -> BatchReport {
    let pipeline = Pipeline::builder(tools(row, ran)).build();
    let cancel = CancellationToken::new();
    let batch = pipeline.scheduler().batch(calls(row, &cancel), cancel);
    let batch = match row["finish_reason"].as_str() {
        Some(reason) => batch.incomplete(format!("the reply ended with {reason}")),
        None => batch,
    };
    batch.run().await
}

/// Whether one result is what the row calls right.
fn agrees(right: &Value, result: &toolfall::ToolResult) -> bool {
    if let Some(error) = right["error"].as_str() {
        let expected = match (error, right["cause"].as_str()) {
            ("UNKNOWN_TOOL_OR_DENIED", _) => codes::UNKNOWN_TOOL,
            (_, Some("truncated")) => codes::TRUNCATED,
            _ => error,
        };
        return result.code() == Some(expected);
    }
    match right.as_str() {
        Some("result") => !result.is_error() && result.text().starts_with("result of "),
        Some("none_run" | "result_or_truncated") => result.code() == Some(codes::TRUNCATED),
        _ => false,
    }
}

/// The rows that need a host's own choices have a test of their own below;
/// those without calls are about names of remote servers.
const BY_HAND: [&str; 10] = [
    "call-012", "call-013", "call-029", "call-032", "call-033", "call-035", "call-037", "call-038",
    "call-039", "call-041",
];

#[tokio::test]
async fn every_odd_batch_gets_one_right_result_for_each_call() {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for row in rows("odd/calls.jsonl") {
        let id = row["id"].as_str().unwrap();
        if row["calls"].is_null() || BY_HAND.contains(&id) || row["right"][0] == "asked" {
            continue;
        }
        checked += 1;
        let ran = Log::default();
        let report = run(&row, &ran).await;
        let right = row["right"].as_array().unwrap();
        let results: Vec<_> = report.committed.iter().map(|call| &call.result).collect();
        let all = results.len() == right.len()
            && right
                .iter()
                .zip(&results)
                .all(|(right, result)| agrees(right, result));
        // Ids and names come back as they were sent, in the order sent.
        let cancel = CancellationToken::new();
        let as_sent = calls(&row, &cancel)
            .iter()
            .zip(&report.committed)
            .enumerate()
            .all(|(place, (call, done))| {
                done.place == place && *call.id() == done.id && call.name() == done.name
            });
        let bodies = results.iter().filter(|result| !result.is_error()).count();
        if !all || !as_sent || ran.take().len() != bodies {
            let told: Vec<String> = results.iter().map(|result| result.text()).collect();
            wrong.push(format!("{id}: {told:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 18, "only {checked} rows");
}

/// Neither a marker nor other letters nor a tool's shadow make a name known,
/// and the answer names no tool that the caller may not know.
#[tokio::test]
async fn an_unknown_name_is_quoted_with_care() {
    let pipeline = Pipeline::builder(registry([tool("read".to_owned(), &Log::default())])).build();
    let long = "x".repeat(10_000);
    for name in [
        "read<|channel|>\u{1b}[2J",
        "searchsearchsearch",
        "r\u{435}ad",
        &long,
        "",
    ] {
        let call = CallRequest::new("c", name.to_owned(), "{}", CancellationToken::new());
        let result = pipeline.run(call).await;
        assert_eq!(result.code(), Some(codes::UNKNOWN_TOOL));
        let text = result.text();
        assert!(text.chars().count() < 300, "{text}");
        assert!(
            text.lines().all(|line| !line.contains(char::is_control)),
            "{text:?}"
        );
    }
}

/// `call-012`, `call-013`: tools come between two turns and go while a person
/// is asked.
#[tokio::test]
async fn a_tool_that_comes_is_callable_and_one_that_goes_is_unknown() {
    let ran = Log::default();
    let registry = Registry::new();
    registry
        .register(tool("read".to_owned(), &ran))
        .unwrap()
        .keep();
    let pipeline = Pipeline::builder(registry.clone()).build();
    let call = async |name: &'static str| {
        pipeline
            .call("c", name, r#"{"path":"a"}"#, CancellationToken::new())
            .await
    };
    assert_eq!(call("write").await.code(), Some(codes::UNKNOWN_TOOL));
    registry
        .register(tool("write".to_owned(), &ran))
        .unwrap()
        .keep();
    assert!(!call("write").await.is_error());

    let registration = registry.register(tool("gone".to_owned(), &ran)).unwrap();
    let leaving = Arc::new(Mutex::new(Some(registration)));
    let pipeline = Pipeline::builder(registry)
        .pre_decision(|_: &CallView| Decision::ask_without_reason())
        .approval(move |_: &ApprovalRequest| {
            drop(leaving.lock().unwrap().take());
            ApprovalOutcome::AllowedOnce
        })
        .build();
    let call = CallRequest::new("c", "gone", "{}", CancellationToken::new());
    let result = pipeline.run(call.with_scope(Scope::new("agent"))).await;
    assert_eq!(result.code(), Some(codes::UNKNOWN_TOOL));
    assert!(ran.take().iter().all(|name| name != "gone"));
}

/// `call-035`: consent that comes after the cancellation counts for nothing.
#[tokio::test]
async fn late_consent_counts_for_nothing() {
    let ran = Log::default();
    let pipeline = Pipeline::builder(registry([tool("write".to_owned(), &ran)]))
        .pre_decision(|_: &CallView| Decision::ask("writes"))
        .approval(|asked: ApprovalRequest| async move {
            asked.cancellation().cancelled().await;
            ApprovalOutcome::AllowedOnce
        })
        .build();
    let cancel = CancellationToken::new();
    let call = CallRequest::new("c1", "write", r#"{"path":"a"}"#, cancel.clone())
        .with_scope(Scope::new("agent"));
    let running = pipeline.scheduler().batch([call], cancel.clone()).run();
    let mut running = tokio_test::task::spawn(running);
    assert!(running.poll().is_pending());
    cancel.cancel();
    let report = running.await;
    assert_eq!(
        report.committed[0].result.code(),
        Some(codes::ABORTED_BEFORE_DISPATCH)
    );
    assert!(ran.take().is_empty() && report.end.aborted);
}

/// `call-038`: one call hangs until its budget ends; the others are done.
#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_holds_up_its_own_result_only() {
    let ran = Log::default();
    let tools = ["read", "search"].map(|name| tool(name.to_owned(), &ran).parallel());
    let pipeline = Pipeline::builder(registry(tools))
        .timeout(TimeoutLayer::new(Duration::from_secs(5)))
        .build();
    let cancel = CancellationToken::new();
    let calls = [("read", "a"), ("search", "hang"), ("read", "b")].map(|(name, path)| {
        CallRequest::new(
            "c",
            name,
            json!({ "path": path }).to_string(),
            cancel.clone(),
        )
    });
    let report = pipeline.scheduler().batch(calls, cancel).run().await;
    let codes: Vec<_> = report
        .committed
        .iter()
        .map(|call| call.result.code())
        .collect();
    assert_eq!(codes, [None, Some(codes::TOOL_TIMEOUT), None]);
    assert_eq!(ran.take(), ["read", "search", "read"]);
}

/// `call-039`: while a person is asked about one call the others run, even
/// where only one may run at a time.
#[tokio::test]
async fn a_question_holds_up_nobody_else() {
    let ran = Log::default();
    let tools = ["read", "write"].map(|name| tool(name.to_owned(), &ran).parallel());
    let asked = Arc::new(tokio::sync::Notify::new());
    let answered = asked.clone();
    let pipeline = Pipeline::builder(registry(tools))
        .pre_decision(|call: &CallView| match call.name() {
            "write" => Decision::ask("writes"),
            _ => Decision::Allow,
        })
        .approval(move |_: ApprovalRequest| {
            let answered = answered.clone();
            async move {
                answered.notified().await;
                ApprovalOutcome::AllowedOnce
            }
        })
        .build();
    let cancel = CancellationToken::new();
    let agent = Scope::new("agent");
    let calls = ["read", "write", "read"].map(|name| {
        let call = CallRequest::new("c", name, r#"{"path":"a"}"#, cancel.clone());
        call.with_scope(agent.clone())
    });
    let one = NonZeroUsize::MIN;
    let batch = pipeline.scheduler().limit(one).batch(calls, cancel);
    let mut running = tokio_test::task::spawn(batch.run());
    assert!(running.poll().is_pending());
    assert_eq!(ran.take(), ["read", "read"]);
    asked.notify_one();
    let report = running.await;
    assert_eq!(ran.take(), ["write"]);
    assert!(report.committed.iter().all(|call| !call.result.is_error()));
}

/// `call-041`: a tool that says nothing of itself runs alone.
#[test]
fn a_tool_without_hints_is_exclusive() {
    let registry = registry([tool("read".to_owned(), &Log::default())]);
    let call = CallRequest::new("c", "read", "{}", CancellationToken::new());
    assert_eq!(registry.mode(&call), toolfall::ExecutionMode::Exclusive);
}
