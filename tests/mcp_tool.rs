//! Tools of servers in the pipeline: definitions, arguments, progress, ends.

#[path = "support/mcp_tool.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Fake, alone, definition, parsed, pipeline, request, run};
use tokio::sync::{Barrier, Notify};
use tokio_util::sync::CancellationToken;
use toolfall::mcp::tool::{CallFailure, RawProgress, ToolOptions};
use toolfall::{CallView, Decision, FailureKind, Pipeline, Progress, ProgressSink, ToolDef, codes};

fn empty() -> Fake {
    Fake::answering(json!({"content": []}))
}

fn tool(definition: Value, fake: &Fake) -> ToolDef {
    parsed(definition).into_tool(ToolOptions::new(), fake.clone())
}

/// conformance: MCP-10
#[tokio::test]
async fn no_arguments_and_a_bare_text_are_sent_as_an_empty_object() {
    for arguments in ["null", "", "{}", r#""a bare text""#, r#""{\"a\":1}""#] {
        let fake = empty();
        let pipeline = pipeline(tool(definition("raw"), &fake));
        let result = pipeline.run(request("mcp__srv__raw", arguments)).await;
        assert!(!result.is_error(), "{arguments}: {}", result.text());
        assert_eq!(
            fake.sent()[0].arguments,
            serde_json::Map::new(),
            "{arguments}"
        );
    }
    // What is no object and no text is wrong, and so is nothing where
    // something is required.
    let mut strict = definition("raw");
    strict["inputSchema"] = json!({"type": "object", "required": ["a"]});
    for arguments in ["[]", "5", "true", "null", r#""text""#, "no JSON"] {
        let fake = empty();
        let pipeline = pipeline(tool(strict.clone(), &fake));
        let result = pipeline.run(request("mcp__srv__raw", arguments)).await;
        assert_eq!(result.code(), Some(codes::INVALID_ARGS), "{arguments}");
        assert_eq!(fake.sent(), []);
    }
}

#[tokio::test]
async fn a_call_goes_out_under_the_raw_name_and_with_its_timeout() {
    let fake = empty();
    let def = tool(definition("admin.reset"), &fake);
    let name = def.name().to_owned();
    let result = pipeline(def)
        .run(request(&name, r#"{"deep":[1,2.5,"x"]}"#))
        .await;
    assert!(!result.is_error());
    let sent = &fake.sent()[0];
    assert_eq!(
        (sent.name.as_str(), sent.timeout),
        ("admin.reset", Duration::from_secs(60))
    );
    assert_eq!(
        Value::from(sent.arguments.clone()),
        json!({"deep": [1, 2.5, "x"]})
    );

    let options = ToolOptions::new().timeout(Duration::from_millis(5));
    let _ = run(parsed(definition("raw")).into_tool(options, fake.clone())).await;
    assert_eq!(fake.sent()[1].timeout, Duration::from_millis(5));
}

#[tokio::test]
async fn progress_of_the_server_reaches_who_asked() {
    let fake = Fake::replying(|call| {
        (call.progress)(RawProgress {
            progress: 1.0,
            total: Some(2.0),
            message: Some("half".to_owned()),
        });
        Ok(json!({"content": []}))
    });
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = heard.clone();
    let sink = ProgressSink::new(move |_, step| sink.lock().unwrap().push(step));
    let call = request("mcp__srv__raw", "{}").with_extension(sink);
    let _ = pipeline(tool(definition("raw"), &fake)).run(call).await;
    let step = Progress {
        done: 1.0,
        total: Some(2.0),
        message: Some("half".to_owned()),
    };
    assert_eq!(*heard.lock().unwrap(), [step]);
}

/// Notes its drop.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_whether_or_not_the_caller_listens() {
    for listens in [true, false] {
        let (asked, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (ask, gone) = (asked.clone(), dropped.clone());
        let fake = Fake::later(move |call| {
            let (ask, gone) = (ask.clone(), Dropped(gone.clone()));
            Box::pin(async move {
                let _gone = gone;
                ask.notify_one();
                if listens {
                    call.cancellation.cancelled().await;
                    return Err(CallFailure::Aborted);
                }
                std::future::pending().await
            })
        });
        let call = request("mcp__srv__raw", "{}");
        let cancel: CancellationToken = call.cancellation().clone();
        let pipeline = pipeline(tool(definition("raw"), &fake));
        let running = tokio::spawn(async move { pipeline.run(call).await });
        asked.notified().await;
        cancel.cancel();
        let result = running.await.unwrap();
        assert_eq!(result.text(), "Error: tool call aborted");
        assert_eq!(result.code(), Some(codes::ABORTED));
        dropped.notified().await;
    }
}

#[tokio::test]
async fn every_failure_has_its_code() {
    for (failure, code, text) in [
        (CallFailure::Aborted, "ABORTED", "tool call aborted"),
        (
            CallFailure::TimedOut(Duration::from_millis(50)),
            "MCP_TIMEOUT",
            "expected an answer of the MCP server within 50 ms, found none",
        ),
        (
            CallFailure::Closed("it exited with 1".to_owned()),
            "MCP_CLOSED",
            "the connection to the MCP server closed: it exited with 1",
        ),
        (
            CallFailure::NotConnected,
            "MCP_NOT_CONNECTED",
            "the MCP server is not connected",
        ),
        (
            CallFailure::Malformed("a lone surrogate".to_owned()),
            "MCP_MALFORMED",
            "the MCP server's answer is unusable: a lone surrogate",
        ),
        (
            CallFailure::Protocol {
                code: -32602,
                message: "bad city".to_owned(),
            },
            "MCP_INVALID_ARGS",
            "MCP error -32602: bad city",
        ),
        (
            CallFailure::Protocol {
                code: -32603,
                message: "oops".to_owned(),
            },
            "MCP_PROTOCOL_ERROR",
            "MCP error -32603: oops",
        ),
    ] {
        let fake = Fake::replying(move |_| Err(failure.clone()));
        let result = run(tool(definition("raw"), &fake)).await;
        assert_eq!(result.text(), format!("Error: {text}"));
        assert_eq!((result.code(), result.value()), (Some(code), None));
        assert_eq!(result.kind(), Some(FailureKind::Body));
    }
}

#[tokio::test]
async fn a_caller_that_panics_fails_the_call() {
    let fake = Fake::replying(|_| panic!("the caller panics"));
    let result = run(tool(definition("raw"), &fake)).await;
    assert_eq!(result.text(), "Error: the caller panics");
}

/// What annotations make of a tool.
#[derive(Debug, PartialEq)]
struct Declared {
    dangerous: bool,
    repeatable: bool,
    parallel: bool,
}

async fn declared(annotations: Value, trusted: bool) -> Declared {
    // Two calls that wait for each other meet only if they overlap.
    let barrier = Arc::new(Barrier::new(2));
    let fake = Fake::later(move |_| {
        let barrier = barrier.clone();
        Box::pin(async move {
            let met = tokio::time::timeout(Duration::from_secs(1), barrier.wait()).await;
            Ok(json!({"content": [{"type": "text", "text": met.is_ok().to_string()}]}))
        })
    });
    let mut hinting = definition("raw");
    hinting["annotations"] = annotations;
    let options = if trusted {
        ToolOptions::new().trust_hints()
    } else {
        ToolOptions::new()
    };
    let (tell, heard) = std::sync::mpsc::channel();
    let pipeline = Pipeline::builder(alone(parsed(hinting).into_tool(options, fake)))
        .pre_decision(move |call: &CallView| {
            let tool = call.definition().unwrap();
            let _ = tell.send((tool.is_dangerous(), tool.is_repeatable()));
            Decision::Allow
        })
        .build();
    let calls = [
        request("mcp__srv__raw", "{}"),
        request("mcp__srv__raw", "{}"),
    ];
    let batch = pipeline.scheduler().batch(calls, CancellationToken::new());
    let report = batch.run().await;
    let (dangerous, repeatable) = heard.recv().unwrap();
    Declared {
        dangerous,
        repeatable,
        parallel: report.committed.iter().all(|it| it.result.text() == "true"),
    }
}

#[tokio::test(start_paused = true)]
async fn hints_tighten_and_loosen_only_where_they_are_trusted() {
    let says = |dangerous, repeatable, parallel| Declared {
        dangerous,
        repeatable,
        parallel,
    };
    for (annotations, untrusted, trusted) in [
        (
            json!(null),
            says(false, false, false),
            says(false, false, false),
        ),
        (
            json!({"readOnlyHint": true}),
            says(false, false, false),
            says(false, true, true),
        ),
        (
            json!({"idempotentHint": true}),
            says(false, false, false),
            says(false, true, false),
        ),
        (
            json!({"destructiveHint": true}),
            says(true, false, false),
            says(true, false, false),
        ),
        // Contradictions and what is no boolean count against the tool.
        (
            json!({"destructiveHint": true, "readOnlyHint": true, "idempotentHint": true}),
            says(true, false, false),
            says(true, false, false),
        ),
        (
            json!({"destructiveHint": "false", "readOnlyHint": "true", "idempotentHint": 1}),
            says(true, false, false),
            says(true, false, false),
        ),
    ] {
        assert_eq!(
            declared(annotations.clone(), false).await,
            untrusted,
            "{annotations}"
        );
        assert_eq!(
            declared(annotations.clone(), true).await,
            trusted,
            "{annotations}"
        );
    }
}
