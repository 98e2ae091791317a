//! Which calls may overlap.

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, CallRequest, ExecutionMode, Registry, ToolContext, ToolDef, Validation,
    raw_tool, tool_fn,
};

#[derive(Deserialize, schemars::JsonSchema)]
struct Path {
    #[allow(dead_code)]
    path: String,
}

fn typed() -> ToolDef {
    tool_fn("t", "", |_: Path, _: ToolContext| async {
        Ok::<_, BoxError>(1)
    })
}

fn raw() -> ToolDef {
    raw_tool(
        "t",
        "",
        json!({"type": "object"}),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(arguments.value().clone())
        },
    )
}

fn mode(tool: ToolDef, arguments: &str) -> ExecutionMode {
    let registry = Registry::new();
    registry.register(tool).unwrap().keep();
    registry.mode(&CallRequest::new(
        "1",
        "t",
        arguments,
        CancellationToken::new(),
    ))
}

/// conformance: SCHED-01, SCHED-02, SCHED-03, SCHED-10
#[test]
fn only_a_tool_that_says_so_overlaps() {
    assert_eq!(mode(raw().parallel(), "{}"), ExecutionMode::Parallel);
    assert_eq!(mode(raw(), "{}"), ExecutionMode::Exclusive);
    let unknown = CallRequest::new("1", "nope", "{}", CancellationToken::new());
    assert_eq!(Registry::new().mode(&unknown), ExecutionMode::Exclusive);
}

/// conformance: SCHED-04, SCHED-09
#[test]
fn a_classifier_sees_the_parsed_arguments_as_they_are() {
    let by_mode = || raw().parallel_when(|arguments| arguments["mode"] == "read");
    assert_eq!(
        mode(by_mode(), r#"{"mode":"read"}"#),
        ExecutionMode::Parallel
    );
    assert_eq!(
        mode(by_mode(), r#"{"mode":"write"}"#),
        ExecutionMode::Exclusive
    );
    let odd = r#"{"a":[1,{"b":null}],"extra":-0.5}"#;
    let same = raw()
        .parallel_when(|arguments| *arguments == json!({"a": [1, {"b": null}], "extra": -0.5}));
    assert_eq!(mode(same, odd), ExecutionMode::Parallel);
}

/// conformance: SCHED-05
#[test]
fn invalid_arguments_are_exclusive_whatever_the_classifier_would_say() {
    assert_eq!(
        mode(typed().parallel(), r#"{"path":"a"}"#),
        ExecutionMode::Parallel
    );
    for bad in [
        "{}",
        r#"{"path":1}"#,
        "[]",
        "not json",
        r#"{"path":"a","path":"b"}"#,
    ] {
        assert_eq!(
            mode(typed().parallel(), bad),
            ExecutionMode::Exclusive,
            "{bad}"
        );
    }
    // Text that is no JSON never counts as arguments that a tool overlaps for,
    // also where decoding is the judge.
    let decoding = typed().validation(Validation::Decoding).parallel();
    assert_eq!(mode(decoding, "not json"), ExecutionMode::Exclusive);
}

/// conformance: SCHED-06, SCHED-08
#[test]
fn a_classifier_that_fails_or_panics_means_exclusive() {
    let failing = raw().try_parallel_when(|_| Err("no idea".into()));
    assert_eq!(mode(failing, "{}"), ExecutionMode::Exclusive);
    let panicking = raw().parallel_when(|arguments| {
        assert!(arguments.is_null(), "a panic in a classifier");
        true
    });
    assert_eq!(mode(panicking, "{}"), ExecutionMode::Exclusive);
}

/// A call that waits at a barrier is not classified again each time one of
/// those before it makes a step.
#[tokio::test(start_paused = true)]
async fn a_waiting_call_is_classified_when_it_comes_up_and_when_it_starts() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let registry = toolfall::Registry::new();
    let steps = toolfall::tool_fn("steps", "", |_: Value, _: toolfall::ToolContext| async {
        for _ in 0..20 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        Ok::<_, toolfall::BoxError>(())
    });
    let alone = toolfall::tool_fn("alone", "", |_: Value, _: toolfall::ToolContext| async {
        Ok::<_, toolfall::BoxError>(())
    });
    registry.register(steps.parallel()).unwrap().keep();
    let alone = alone.parallel_when(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        false
    });
    registry.register(alone).unwrap().keep();
    let cancel = CancellationToken::new();
    let calls = ["steps", "steps", "steps", "alone"]
        .map(|name| toolfall::CallRequest::new("id", name, "{}", cancel.clone()));
    let scheduler = toolfall::Pipeline::builder(registry).build().scheduler();
    let report = scheduler.batch(calls, cancel).run().await;
    assert!(report.committed.iter().all(|call| !call.result.is_error()));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
