//! What of a call is written to the session's record.

#[path = "support/facade.rs"]
mod support;

use std::sync::Arc;

use serde_json::{Value, json};
use support::{Counter, any_object, echo, registry, request, returns};
use tokio_util::sync::CancellationToken;
use toolfall::session::{Body, CallRecord, ResultRecord, SessionLog, SessionRecorder};
use toolfall::{
    Arguments, CallView, CodedError, ContentBlock, Decision, Pipeline, PostDecision, PostRequest,
    ToolContext, raw_tool,
};

/// The call and the result record of each call, in the order written.
fn records(log: &SessionLog) -> (Vec<CallRecord>, Vec<ResultRecord>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for record in log.records().unwrap() {
        match record.body {
            Body::Call(call) => calls.push(call),
            Body::Result(result) => results.push(result),
            _ => {}
        }
    }
    (calls, results)
}

/// conformance: EXEC-40, EXEC-49, FINAL-28, FINAL-29, PRE-06
#[tokio::test]
async fn a_result_is_recorded_as_the_model_sees_it_and_without_its_value() {
    let log = SessionLog::in_memory();
    let runs = Counter::default();
    let fails = raw_tool(
        "fails",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async {
            Err::<Value, _>(CodedError::new("DiskError", "DISK", "it broke"))
        },
    );
    let shown = returns("shown", "a secret value".into(), &runs)
        .render(|_| Ok(vec![ContentBlock::text("rendered")]))
        .presentation_meta(|_| Ok(json!({"lines": 3})));
    let pipeline = Pipeline::builder(registry([fails, shown, echo("echo")]))
        .pre_decision(|call: &CallView| match call.id().as_str() {
            "denied" => Decision::deny("not today"),
            _ => Decision::Allow,
        })
        .post_execute(|post: &PostRequest| match post.call().id().as_str() {
            "replaced" => PostDecision::replace_content(vec![ContentBlock::text("instead")]),
            _ => PostDecision::accept(),
        })
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();
    for (id, name) in [
        ("failed", "fails"),
        ("shown", "shown"),
        ("denied", "shown"),
        ("replaced", "shown"),
    ] {
        pipeline
            .call(id, name, "{}", CancellationToken::new())
            .await;
    }
    let (calls, results) = records(&log);
    let ids: Vec<_> = calls
        .iter()
        .zip(&results)
        .map(|(call, result)| (&*call.id, &*result.id))
        .collect();
    assert_eq!(
        ids,
        [
            ("failed", "failed"),
            ("shown", "shown"),
            ("denied", "denied"),
            ("replaced", "replaced")
        ]
    );
    assert!(
        calls
            .iter()
            .zip(&results)
            .all(|(call, result)| call.call == result.call)
    );

    let texts: Vec<_> = results
        .iter()
        .map(|result| result.content[0].as_text().unwrap())
        .collect();
    assert_eq!(
        texts,
        ["Error: it broke", "rendered", "Error: not today", "instead"]
    );
    assert!(results[0].is_error && results[2].is_error && !results[1].is_error);
    let failed = results[0].error.as_ref().unwrap();
    assert_eq!(
        (failed.name.as_deref(), failed.code.as_deref()),
        (Some("DiskError"), Some("DISK"))
    );
    assert_eq!(results[1].meta, Some(json!({"lines": 3})));
    assert_eq!(runs.get(), 2);
    let written: Vec<String> = log
        .records()
        .unwrap()
        .iter()
        .map(|record| format!("{record:?}"))
        .collect();
    assert!(!written.concat().contains("a secret value"));
}

/// The text that a model sent stands in the record, JSON or not.
#[tokio::test]
async fn the_record_keeps_the_arguments_as_they_were_sent() {
    let log = SessionLog::in_memory();
    let pipeline = Pipeline::builder(registry([echo("echo")]))
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();
    let sent = [
        "not json",
        "",
        " {\"a\" : 1.0} ",
        r#"{"a":1,"a":2}"#,
        "null",
    ];
    for text in sent {
        pipeline.run(request("echo", text)).await;
    }
    let (calls, results) = records(&log);
    let kept: Vec<&str> = calls.iter().map(|call| &*call.arguments).collect();
    assert_eq!(kept, sent);
    let failed: Vec<bool> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(failed, [true, false, false, true, false]);
}
