//! Tools of servers in the pipeline: definitions, arguments, progress, ends.

#[path = "support/mcp_tool.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Fake, alone, definition, parsed, pipeline, request, run};
use tokio::sync::{Barrier, Notify};
use tokio_util::sync::CancellationToken;
use toolfall::mcp::tool::{CallFailure, McpTool, RawProgress, ToolOptions};
use toolfall::{
    CallView, Decision, FailureKind, Pipeline, Progress, ProgressSink, Registry, ToolDef, codes,
};

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

#[test]
fn what_cannot_be_used_is_quarantined_with_its_place() {
    let with = |field: &str, value: Value| {
        let mut changed = definition("raw");
        changed[field] = value;
        changed
    };
    let long = "x".repeat(1025);
    let deep = (0..100).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    let big = "x".repeat(300 * 1024);
    for (definition, pointer) in [
        (json!(null), ""),
        (json!([definition("raw")]), ""),
        (json!({"inputSchema": {"type": "object"}}), "/name"),
        (with("name", json!(5)), "/name"),
        (with("name", json!("")), "/name"),
        (with("name", json!(long)), "/name"),
        (with("name", json!("a\nb")), "/name"),
        (with("description", json!(["Does it"])), "/description"),
        (with("title", json!({})), "/title"),
        (with("annotations", json!([])), "/annotations"),
        (
            with("annotations", json!({"title": 1})),
            "/annotations/title",
        ),
        (with("execution", json!("required")), "/execution"),
        (json!({"name": "raw"}), "/inputSchema"),
        (with("inputSchema", json!("object")), "/inputSchema"),
        (with("inputSchema", json!(true)), "/inputSchema"),
        (with("inputSchema", json!({})), "/inputSchema/type"),
        (
            with("inputSchema", json!({"type": "array"})),
            "/inputSchema/type",
        ),
        (
            with("inputSchema", json!({"type": ["object"]})),
            "/inputSchema/type",
        ),
        (
            with(
                "inputSchema",
                json!({"type": "object", "properties": {"a": {"type": "strin"}}}),
            ),
            "/inputSchema/properties/a/type",
        ),
        (
            with(
                "inputSchema",
                json!({"type": "object", "$schema": "http://example.test/mine"}),
            ),
            "/inputSchema/$schema",
        ),
        (
            with(
                "inputSchema",
                json!({"type": "object", "not": {"$ref": "file:///etc/passwd"}}),
            ),
            "/inputSchema",
        ),
        (
            with("inputSchema", json!({"type": "object", "not": deep})),
            "",
        ),
        (
            with("inputSchema", json!({"type": "object", "title": big})),
            "/inputSchema",
        ),
        (with("description", json!("x".repeat(2 * 1024 * 1024))), ""),
        (
            with("$serde_json::private::Number", json!("1")),
            "/$serde_json::private::Number",
        ),
    ] {
        let shown = definition.to_string().chars().take(100).collect::<String>();
        let quarantine = McpTool::parse("srv", definition).unwrap_err();
        assert!(
            quarantine.pointer().starts_with(pointer),
            "{shown}: {quarantine}"
        );
        if pointer.is_empty() {
            continue;
        }
        assert_eq!(quarantine.pointer(), pointer, "{shown}: {quarantine}");
        assert!(!quarantine.reason().is_empty());
        let is_named = quarantine.tool() == Some("raw");
        assert!(is_named || pointer == "/name", "{quarantine}");
    }
}

/// A definition may be as deep as a line is long.
#[test]
fn a_definition_of_any_depth_is_read_without_stack() {
    for field in [
        "inputSchema",
        "outputSchema",
        "description",
        "_meta",
        "more",
    ] {
        let mut deep = Value::Null;
        for level in 0..100_000 {
            deep = if level % 2 == 0 {
                Value::Array(vec![deep])
            } else {
                Value::Object([("not".to_owned(), deep)].into_iter().collect())
            };
        }
        // Indexing would copy nothing, but a failed assertion would print it.
        let Value::Object(mut fields) = definition("raw") else {
            unreachable!()
        };
        fields.insert(field.to_owned(), deep);
        let quarantine = McpTool::parse("srv", Value::Object(fields)).unwrap_err();
        assert_eq!(quarantine.tool(), Some("raw"));
        assert!(quarantine.to_string().len() < 1000, "{quarantine}");
    }
}

#[test]
fn a_large_definition_is_no_reason_to_refuse() {
    let properties: serde_json::Map<String, Value> = (0..1000)
        .map(|at| {
            let text = format!("What the parameter of the number {at} is good for, at length");
            (
                format!("parameter_{at}"),
                json!({"type": "string", "description": text}),
            )
        })
        .collect();
    let mut large = definition("raw");
    large["inputSchema"]["properties"] = Value::Object(properties);
    assert!(large.to_string().len() > 104 * 1024);
    let registry = Registry::new();
    registry.register(tool(large, &empty())).unwrap().keep();
}

#[test]
fn what_a_server_says_of_itself_is_kept() {
    let mut full = definition("admin.reset");
    full["annotations"] = json!({"title": "Reset"});
    let tool = parsed(full.clone());
    assert_eq!((tool.server(), tool.raw_name()), ("srv", "admin.reset"));
    assert_eq!(tool.public_name(), "mcp__srv__admin_reset_3b185f786768");
    assert_eq!(
        (tool.title(), tool.description()),
        (Some("Reset"), "Does it")
    );
    full["title"] = json!("Reset all");
    full["description"] = Value::Null;
    let tool = parsed(full);
    assert_eq!((tool.title(), tool.description()), (Some("Reset all"), ""));
    // Some providers want properties, even none.
    let def = tool.into_tool(ToolOptions::new(), empty());
    assert_eq!(
        def.parameters(),
        &json!({"type": "object", "properties": {}})
    );
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof!["[a-z]{0,6}", "\\PC{0,6}", Just("object".to_owned())].prop_map(Value::from),
    ];
    let keywords = prop_oneof![
        Just("type"),
        Just("properties"),
        Just("$ref"),
        Just("items"),
        Just("required"),
        Just("content"),
        Just("text"),
        Just("data"),
        Just("mimeType"),
        Just("uri"),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keywords.clone(), inner), 0..4).prop_map(|fields| fields
                .into_iter()
                .map(|(name, it)| (name.to_owned(), it))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_stands_in_a_definition_is_taken_or_quarantined(
        field in prop_oneof![
            Just("name"), Just("description"), Just("title"), Just("inputSchema"),
            Just("outputSchema"), Just("annotations"), Just("execution"), Just("_meta"),
        ],
        value in anything(),
    ) {
        let mut odd = definition("raw");
        odd[field] = value;
        match McpTool::parse("srv", odd) {
            Ok(tool) => {
                let def = tool.into_tool(ToolOptions::new(), empty());
                prop_assert!(Registry::new().register(def).is_ok());
            }
            Err(quarantine) => prop_assert!(!quarantine.reason().is_empty()),
        }
    }

    #[test]
    fn whatever_is_answered_ends_in_one_result(
        field in prop_oneof![
            Just("content"), Just("structuredContent"), Just("isError"), Just("toolResult"),
            Just("task"), Just("_meta"),
        ],
        block in prop_oneof![
            Just("text"), Just("image"), Just("audio"), Just("resource"), Just("resource_link"),
        ],
        value in anything(),
        native in any::<bool>(),
    ) {
        let mut answer = json!({"content": [{"type": block, "text": value, "data": value}]});
        answer[field] = value;
        let options = ToolOptions::new();
        let options = if native { options.native_content() } else { options };
        let def = parsed(definition("raw")).into_tool(options, Fake::answering(answer));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let result = runtime.block_on(run(def));
        prop_assert_eq!(result.is_error(), result.value().is_none());
        prop_assert!(native || !result.content().is_empty());
    }
}
