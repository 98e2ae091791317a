//! What MCP clients see of a pipeline, and what their calls come to.

#[path = "support/mcp_lines.rs"]
mod mcp_lines;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_lines::*;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use toolfall::mcp::server::PipelineServer;
use toolfall::*;

#[tokio::test]
async fn the_tools_of_a_scope_are_listed_by_name_with_what_they_declare() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Numbers {
        a: i64,
    }
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Sum {
        sum: i64,
    }
    let sum = tool_fn("sum", "Adds", |it: Numbers, _: ToolContext| async move {
        Ok::<_, BoxError>(Sum { sum: it.a })
    });
    let registry = registry([sum.dangerous(), echo("echo"), echo("hidden").repeatable()]);
    let agent = Scope::new("agent");
    registry.register_in(&agent, echo("own")).unwrap().keep();
    registry
        .restrict(&agent, &Filter::deny(["hidden"]))
        .unwrap()
        .keep();
    let pipeline = Pipeline::builder(registry.clone()).build();
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = names.clone();
    let server = PipelineServer::builder(pipeline, registry)
        .name("here")
        .instructions("Be brief.")
        .scope(move |session| {
            seen.lock().unwrap().push((
                session.client_name().map(str::to_owned),
                session.protocol_version().map(str::to_owned),
                session.is_http(),
            ));
            agent.clone()
        })
        .build();
    let mut client = Client::begin(&server, json!({})).await;
    let listed = client.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let listed: Vec<&str> = tools
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(listed, ["echo", "own", "sum"]);
    assert_eq!(
        tools[2]["inputSchema"]["properties"]["a"]["type"],
        "integer"
    );
    assert_eq!(
        tools[2]["outputSchema"]["properties"]["sum"]["type"],
        "integer"
    );
    assert_eq!(
        tools[2]["annotations"],
        json!({"readOnlyHint": false, "destructiveHint": true})
    );
    assert!(tools[0].get("annotations").is_none());
    assert!(tools[0].get("outputSchema").is_none());
    // What is hidden is called as what does not exist.
    let hidden = client.call("hidden", "{}").await;
    let unknown = client.call("nope", "{}").await;
    assert_eq!(hidden["_meta"]["toolfall/code"], "UNKNOWN_TOOL");
    assert_eq!(unknown["_meta"]["toolfall/code"], "UNKNOWN_TOOL");
    assert_eq!(hidden["isError"], true);
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    let asked = names.lock().unwrap().clone();
    let expected = (Some("lines".to_owned()), Some(LEGACY.to_owned()), false);
    assert_eq!(asked, [expected]);
}

#[tokio::test]
async fn pages_go_on_where_they_were_whatever_comes_and_goes() {
    let registry = registry(["a", "b", "c", "d", "e"].map(echo));
    let extra = registry.register(echo("bb")).unwrap();
    let pipeline = Pipeline::builder(registry.clone()).build();
    let server = PipelineServer::builder(pipeline, registry.clone())
        .page_size(3)
        .build();
    let mut client = Client::begin(&server, json!({})).await;
    let names = |answer: &Value| -> Vec<String> {
        let tools = answer["result"]["tools"].as_array().unwrap();
        let names = tools
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    let first = client.ask("tools/list", json!({})).await;
    assert_eq!(names(&first), ["a", "b", "bb"]);
    // The very tool that the cursor stands at goes, and one comes before it.
    drop(extra);
    registry.register(echo("aa")).unwrap().keep();
    let cursor = first["result"]["nextCursor"].clone();
    let second = client.ask("tools/list", json!({"cursor": cursor})).await;
    assert_eq!(names(&second), ["c", "d", "e"]);
    assert!(second["result"].get("nextCursor").is_none());
    let wrong = client.ask("tools/list", json!({"cursor": "x"})).await;
    assert_eq!(wrong["error"]["code"], -32602);
}

#[tokio::test]
async fn a_call_over_the_protocol_is_answered_as_a_direct_one() {
    let strict = raw_tool(
        "strict",
        "Wants a number",
        json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
            "additionalProperties": false,
        }),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<_, BoxError>(Value::from(arguments.text().to_owned()))
        },
    );
    let failing = raw_tool(
        "failing",
        "Fails",
        json!({}),
        |_: Arguments, _: ToolContext| async { Err::<Value, BoxError>("no luck".into()) },
    );
    let registry = registry([strict, failing, echo("denied")]);
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(|call: &CallView| match call.name() {
            "denied" => Decision::deny("not today"),
            _ => Decision::Allow,
        })
        .build();
    let server = PipelineServer::builder(pipeline.clone(), registry).build();
    let mut client = Client::begin(&server, json!({})).await;
    for (name, arguments) in [
        ("strict", r#"{"n": 1}"#),
        ("strict", r#"{"n":1,"n":2}"#),
        ("strict", r#"{"n":123456789012345678901234567890}"#),
        ("strict", r#"{"n":1e400}"#),
        ("strict", r#"{"n":1.0}"#),
        ("strict", r#"{"n":"\ud800"}"#),
        ("strict", "{}"),
        ("strict", "[1]"),
        ("strict", r#""text""#),
        ("strict", "null"),
        ("failing", "{}"),
        ("denied", "{}"),
        ("nope", "{}"),
    ] {
        let direct = pipeline
            .call("1", name, arguments, CancellationToken::new())
            .await;
        let found = client.call(name, arguments).await;
        let texts: Vec<&str> = found["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["text"].as_str().unwrap())
            .collect();
        assert_eq!(texts.join("\n"), direct.text(), "{name} {arguments}");
        assert_eq!(found["isError"], direct.is_error(), "{name} {arguments}");
        assert_eq!(
            found["_meta"]["toolfall/code"].as_str(),
            direct.code(),
            "{name} {arguments}"
        );
    }
    // None at all are an object without members.
    client
        .send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "failing"}}))
        .await;
    let answer = client.answer(1).await;
    assert_eq!(text(&answer["result"]), "Error: no luck");
}

#[tokio::test]
async fn what_a_policy_hides_from_the_model_is_in_no_structured_content() {
    let registry = registry(["open", "masked", "changed", "blocked"].map(echo));
    let pipeline = Pipeline::builder(registry.clone())
        .post_execute(|request: &PostRequest| match request.call().name() {
            "masked" => PostDecision::replace_content(vec![ContentBlock::text("***")]),
            "changed" => PostDecision::replace_value(json!({"key": "new"})),
            "blocked" => PostDecision::block_with("withheld"),
            _ => PostDecision::accept(),
        })
        .build();
    let server = PipelineServer::builder(pipeline.clone(), registry.clone()).build();
    let mut client = Client::begin(&server, json!({})).await;
    let secret = r#"{"key":"hunter2"}"#;
    let open = client.call("open", secret).await;
    assert_eq!(open["structuredContent"], json!({"key": "hunter2"}));
    let changed = client.call("changed", secret).await;
    assert_eq!(changed["structuredContent"], json!({"key": "new"}));
    for name in ["masked", "changed", "blocked"] {
        let found = client.call(name, secret).await;
        assert!(!found.to_string().contains("hunter2"), "{name}: {found}");
    }
    assert!(
        client
            .call("masked", secret)
            .await
            .get("structuredContent")
            .is_none()
    );
    let plain = PipelineServer::builder(pipeline, registry)
        .without_structured_content()
        .build();
    let mut client = Client::begin(&plain, json!({})).await;
    assert!(
        client
            .call("open", secret)
            .await
            .get("structuredContent")
            .is_none()
    );
}

#[tokio::test]
async fn a_result_of_another_server_is_passed_on_as_it_came() {
    let passed = json!({
        "content": [{"type": "text", "text": "hi", "annotations": {"priority": 1.0}},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"}],
        "structuredContent": {"n": 1},
    });
    let value = passed.clone();
    let inner = raw_tool(
        "inner",
        "",
        json!({"type": "object"}),
        move |_: Arguments, _: ToolContext| {
            let value = value.clone();
            async move { Ok::<_, BoxError>(value) }
        },
    )
    .output_schema(json!({
        "type": "object",
        "properties": {
            "content": {"type": "array"},
            "structuredContent": {
                "type": "object",
                "properties": {"n": {"$ref": "#/properties/structuredContent/$defs/n"}},
                "$defs": {"n": {"type": "integer"}},
            },
        },
        "required": ["content", "structuredContent"],
        "additionalProperties": false,
    }))
    .render(|_| Ok(vec![ContentBlock::text("for a model")]));
    let server = server([inner]);
    let mut client = Client::begin(&server, json!({})).await;
    let found = client.call("inner", "{}").await;
    assert_eq!(found["content"], passed["content"]);
    assert_eq!(found["structuredContent"], json!({"n": 1}));
    let listed = client.ask("tools/list", json!({})).await;
    let schema = &listed["result"]["tools"][0]["outputSchema"];
    assert_eq!(schema["properties"]["n"]["$ref"], "#/$defs/n");
    assert_eq!(schema["$defs"]["n"]["type"], "integer");
}

#[tokio::test]
async fn progress_is_told_before_the_answer_and_only_grows() {
    let walk = raw_tool(
        "walk",
        "",
        json!({}),
        |_: Arguments, ctx: ToolContext| async move {
            for done in [1.0, 2.0, 2.0, 1.0, f64::NAN, 3.0] {
                ctx.progress(Progress {
                    done,
                    total: Some(3.0),
                    message: Some(format!("at {done}")),
                });
                tokio::task::yield_now().await;
            }
            Ok::<_, BoxError>(Value::Null)
        },
    );
    let server = server([walk]);
    let mut client = Client::begin(&server, json!({})).await;
    let params = json!({"name": "walk", "arguments": {}, "_meta": {"progressToken": "p"}});
    client.ask("tools/call", params).await;
    let told: Vec<&Value> = client.others.iter().map(|it| &it["params"]).collect();
    let steps: Vec<f64> = told
        .iter()
        .map(|it| it["progress"].as_f64().unwrap())
        .collect();
    assert_eq!(steps, [1.0, 2.0, 3.0]);
    assert!(
        told.iter()
            .all(|it| it["progressToken"] == "p" && it["total"] == 3.0)
    );
    client.others.clear();
    client.call("walk", "{}").await;
    assert!(client.others.is_empty());
}

/// Counts when it is dropped.
struct Gone(Arc<AtomicUsize>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A tool that says when it has begun and waits until it is cancelled, and a
/// count of results.
fn waiting() -> (
    PipelineServer,
    Arc<Notify>,
    Arc<AtomicUsize>,
    Arc<AtomicUsize>,
) {
    let (begun, dropped, results) = (
        Arc::new(Notify::new()),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (told, gone) = (begun.clone(), dropped.clone());
    let wait = raw_tool(
        "wait",
        "",
        json!({}),
        move |_: Arguments, ctx: ToolContext| {
            let (told, gone) = (told.clone(), Gone(gone.clone()));
            async move {
                let _gone = gone;
                told.notify_one();
                ctx.cancellation().cancelled().await;
                Err::<Value, BoxError>("cancelled".into())
            }
        },
    );
    let registry = registry([wait.parallel(), echo("echo")]);
    let seen = results.clone();
    let pipeline = Pipeline::builder(registry.clone())
        .observer(move |_: &CallView, _: &ToolResult| {
            seen.fetch_add(1, Ordering::SeqCst);
        })
        .build();
    let server = PipelineServer::builder(pipeline, registry).build();
    (server, begun, dropped, results)
}

async fn until(count: &AtomicUsize, wanted: usize) {
    let reached = async {
        while count.load(Ordering::SeqCst) < wanted {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reached)
        .await
        .expect("counted in time");
}

#[tokio::test]
async fn a_call_that_its_client_cancels_ends_without_an_answer() {
    let (server, begun, dropped, results) = waiting();
    let mut client = Client::begin(&server, json!({})).await;
    client.start(1, "wait", "{}").await;
    begun.notified().await;
    client.cancel(1).await;
    until(&dropped, 1).await;
    until(&results, 1).await;
    // Late, unknown and repeated ones change nothing.
    client.cancel(1).await;
    client.cancel("other").await;
    assert_eq!(client.call("echo", "{}").await["isError"], false);
    client.silence().await;
    assert!(client.others.is_empty());
    assert_eq!(results.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_a_client_that_is_gone_are_cancelled() {
    let (server, begun, dropped, results) = waiting();
    let mut client = Client::begin(&server, json!({})).await;
    client.start(1, "wait", "{}").await;
    begun.notified().await;
    let nothing = tokio::spawn(async { Ok(()) });
    let over = std::mem::replace(&mut client.served, nothing);
    drop(client);
    let _ = over.await.unwrap();
    until(&dropped, 1).await;
    until(&results, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_lets_calls_end_and_cancels_those_that_do_not() {
    let (finish, finished) = oneshot::channel::<()>();
    let finished = Arc::new(Mutex::new(Some(finished)));
    let short = raw_tool(
        "short",
        "",
        json!({}),
        move |_: Arguments, _: ToolContext| {
            let finished = finished.lock().unwrap().take();
            async move {
                if let Some(finished) = finished {
                    let _ = finished.await;
                }
                Ok::<_, BoxError>(Value::from("done"))
            }
        },
    );
    let begun = Arc::new(Notify::new());
    let told = begun.clone();
    let long = raw_tool(
        "long",
        "",
        json!({}),
        move |_: Arguments, _: ToolContext| {
            let told = told.clone();
            async move {
                told.notify_one();
                std::future::pending::<()>().await;
                Ok::<_, BoxError>(Value::Null)
            }
        },
    );
    let server = server([short.parallel(), long.parallel()]);
    let mut client = Client::begin(&server, json!({})).await;
    client.start(1, "short", "{}").await;
    client.start(2, "long", "{}").await;
    begun.notified().await;
    client.shutdown.cancel();
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Nothing new is begun.
    client.start(3, "short", "{}").await;
    finish.send(()).unwrap();
    let rest = client.rest().await;
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert_eq!(
        (&rest[0]["id"], text(&rest[0]["result"])),
        (&json!(1), "done")
    );
    assert_eq!(rest[1]["id"], 2);
    assert_eq!(rest[1]["result"]["_meta"]["toolfall/code"], "ABORTED");
    client.served.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_only_pipes_its_requests_in_gets_its_answers() {
    let slow = raw_tool(
        "slow",
        "",
        json!({}),
        |_: Arguments, _: ToolContext| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, BoxError>(Value::from("done"))
        },
    );
    let server = server([slow]);
    let mut client = Client::begin(&server, json!({})).await;
    client.start(1, "slow", "{}").await;
    client.hang_up().await;
    let rest = client.rest().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(text(&rest[0]["result"]), "done");
    client.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn clients_hear_of_changes_that_they_can_see() {
    let registry = registry([echo("a")]);
    let agent = Scope::new("agent");
    let pipeline = Pipeline::builder(registry.clone()).build();
    let chosen = agent.clone();
    let server = PipelineServer::builder(pipeline, registry.clone())
        .scope(move |_| chosen.clone())
        .build();
    let mut client = Client::begin(&server, json!({})).await;
    client.ask("ping", json!({})).await;
    client.silence().await;
    let method = "notifications/tools/list_changed";
    let added = registry.register(echo("b")).unwrap();
    assert_eq!(client.next().await["method"], method);
    drop(added);
    assert_eq!(client.next().await["method"], method);
    // Somebody else's tools are no news.
    let other = Scope::new("other");
    let _added = registry.register_in(&other, echo("c")).unwrap();
    client.silence().await;
    let _added = registry.register_in(&agent, echo("c")).unwrap();
    assert_eq!(client.next().await["method"], method);
}

#[tokio::test]
async fn a_replaced_pipeline_gets_the_new_calls_and_the_old_one_ends_its_own() {
    let versioned = |version: &'static str, gate: Arc<Notify>, begun: Arc<Notify>| {
        let tool = raw_tool(
            "version",
            "",
            json!({}),
            move |_: Arguments, _: ToolContext| {
                let (gate, begun) = (gate.clone(), begun.clone());
                async move {
                    begun.notify_one();
                    gate.notified().await;
                    Ok::<_, BoxError>(Value::from(version))
                }
            },
        );
        registry([tool.parallel(), echo(version)])
    };
    let (gate, begun) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let old = versioned("old", gate.clone(), begun.clone());
    let new = versioned("new", gate.clone(), begun.clone());
    let server = PipelineServer::builder(Pipeline::builder(old.clone()).build(), old).build();
    let mut client = Client::begin(&server, json!({})).await;
    client.ask("ping", json!({})).await;
    client.start(1, "version", "{}").await;
    begun.notified().await;
    server.replace(Pipeline::builder(new.clone()).build(), new.clone());
    client.request("notifications/tools/list_changed").await;
    client.start(2, "version", "{}").await;
    begun.notified().await;
    gate.notify_waiters();
    let (first, second) = (client.next().await, client.next().await);
    let mut texts = [
        (first["id"].as_i64(), text(&first["result"]).to_owned()),
        (second["id"].as_i64(), text(&second["result"]).to_owned()),
    ];
    texts.sort();
    assert_eq!(
        texts,
        [(Some(1), "old".to_owned()), (Some(2), "new".to_owned())]
    );
    // The new registry is watched from now on.
    let _added = new.register(echo("later")).unwrap();
    client.request("notifications/tools/list_changed").await;
}

#[tokio::test]
async fn whatever_panics_there_is_one_answer() {
    let panicking = raw_tool(
        "body",
        "",
        json!({}),
        |_: Arguments, ctx: ToolContext| async move {
            assert!(ctx.cancellation().is_cancelled(), "in the body");
            Ok::<_, BoxError>(Value::Null)
        },
    );
    let registry = registry([panicking, echo("policy"), echo("fine")]);
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(|call: &CallView| {
            assert_ne!(call.name(), "policy", "in a policy");
            Decision::Allow
        })
        .build();
    let server = PipelineServer::builder(pipeline, registry.clone()).build();
    let mut client = Client::begin(&server, json!({})).await;
    for name in ["body", "policy"] {
        assert_eq!(client.call(name, "{}").await["isError"], true);
    }
    assert_eq!(client.call("fine", "{}").await["isError"], false);
    // A service of somebody's own that is no pipeline of ours.
    let service = tower::service_fn(|call: CallRequest| async move {
        assert!(call.name().is_empty(), "in the service");
        Ok(ToolResult::not_started(ToolOutcome::aborted(false)))
    });
    server.replace(service, registry);
    let broken = client.call("fine", "{}").await;
    assert_eq!(broken["isError"], true);
    assert_eq!(broken["_meta"]["toolfall/code"], "PIPELINE_FAILED");
    client.silence().await;
}

#[tokio::test]
async fn a_client_of_the_newest_protocol_needs_no_handshake() {
    let server = server([echo("echo")]);
    let mut client = Client::connect(&server);
    let found = client
        .ask("server/discover", json!({"_meta": meta(json!({}))}))
        .await;
    assert!(
        found["result"]["supportedVersions"]
            .to_string()
            .contains(MODERN),
        "{found}"
    );
    let listed = client
        .ask("tools/list", json!({"_meta": meta(json!({}))}))
        .await;
    assert_eq!(listed["result"]["tools"][0]["name"], "echo", "{listed}");
    let params = json!({"name": "echo", "arguments": {"a": 1}, "_meta": meta(json!({}))});
    let called = client.ask("tools/call", params).await;
    assert_eq!(
        called["result"]["structuredContent"],
        json!({"a": 1}),
        "{called}"
    );
}
