//! MCP servers behind streamable HTTP.

#[path = "support/mcp_http.rs"]
mod http;
#[path = "support/mcp_peer.rs"]
mod peer;

use std::time::Duration;

use ::http::{Method, StatusCode};
use http::{Real, Says, Scripted, Served, anywhere};
use peer::{Events, failed};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::mcp::client::{Http, McpServer, McpSource};
use toolfall::{CallRequest, CallView, Decision, Pipeline, Registry, ToolResult};

struct Loaded {
    registry: Registry,
    source: McpSource,
    events: Events,
}

fn at(address: &Served) -> (McpServer, Events) {
    let http = Http::new(address.url())
        .unwrap()
        .header("Authorization", "Bearer secret")
        .unwrap()
        .header("x-team", "blue")
        .unwrap();
    let events = Events::default();
    let server = McpServer::http("web", http)
        .unwrap()
        .strict()
        .timeout(Duration::from_secs(5))
        .on_event(events.hear());
    (server, events)
}

async fn loaded(site: &Served, legacy: bool) -> Loaded {
    let (server, events) = at(site);
    let server = if legacy { server.legacy() } else { server };
    let registry = Registry::new();
    let source = server.load(&registry).await.unwrap();
    Loaded {
        registry,
        source,
        events,
    }
}

impl Loaded {
    async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        let pipeline = Pipeline::builder(self.registry.clone())
            .pre_decision(|_: &CallView| Decision::Allow)
            .build();
        let name = format!("mcp__web__{name}");
        let cancel = CancellationToken::new();
        pipeline
            .run(CallRequest::new("1", name, arguments.to_string(), cancel))
            .await
    }

    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..500 {
            if holds(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("waited in vain for {what}: {:?}", self.events.all());
    }
}

/// conformance: MCP-29
#[tokio::test]
async fn the_headers_are_on_every_request() {
    for legacy in [false, true] {
        let real = Real::new(&["work"]);
        let site = real.serve(anywhere()).await;
        let web = loaded(&site, legacy).await;
        let result = web.call("work", json!({"a": 1})).await;
        assert_eq!(result.text(), r#"{"a":1}"#, "legacy: {legacy}");
        web.source.dispose().await;
        let requests = real.requests.lock().unwrap().clone();
        let methods: Vec<_> = requests.iter().map(|(method, _)| method).collect();
        if legacy {
            assert!(methods.contains(&&Method::GET), "{methods:?}");
            assert!(methods.contains(&&Method::DELETE), "{methods:?}");
        }
        assert!(methods.len() >= 4, "{methods:?}");
        for (method, headers) in &requests {
            assert_eq!(headers["authorization"], "Bearer secret", "{method}");
            assert_eq!(headers["x-team"], "blue", "{method}");
        }
    }
}

#[tokio::test]
async fn changes_of_the_tools_are_heard() {
    for legacy in [false, true] {
        let real = Real::new(&["work"]);
        let site = real.serve(anywhere()).await;
        let web = loaded(&site, legacy).await;
        assert!(!web.call("work", json!({})).await.is_error());
        // The stream of news opens beside the calls.
        tokio::time::sleep(Duration::from_millis(300)).await;
        real.change(&["other", "work"]).await;
        web.until("the other tool", |web| web.source.tools().len() == 2)
            .await;
        assert!(!web.call("other", json!({})).await.is_error());
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_at_the_server() {
    let real = Real::new(&["never"]);
    let site = real.serve(anywhere()).await;
    let (server, _) = at(&site);
    let registry = Registry::new();
    let _source = server
        .timeout(Duration::from_millis(300))
        .load(&registry)
        .await
        .unwrap();
    let pipeline = Pipeline::builder(registry)
        .pre_decision(|_: &CallView| Decision::Allow)
        .build();
    let request = CallRequest::new("1", "mcp__web__never", "{}", CancellationToken::new());
    assert_eq!(failed(&pipeline.run(request).await).0, "MCP_TIMEOUT");
    let cancelled = tokio::time::timeout(Duration::from_secs(5), real.cancelled.notified());
    assert!(cancelled.await.is_ok(), "the server went on");
}

#[tokio::test]
async fn a_server_that_was_started_anew_is_used_on() {
    for legacy in [false, true] {
        let real = Real::new(&["work"]);
        let site = real.serve(anywhere()).await;
        let address = site.address;
        let web = loaded(&site, legacy).await;
        assert!(!web.call("work", json!({})).await.is_error());
        site.stop().await;
        let (code, text) = failed(&web.call("work", json!({})).await);
        assert!(code.starts_with("MCP_"), "{code}: {text}");
        // The address may hold secrets.
        assert!(!text.contains(&address.to_string()), "{text}");
        *real.tools.lock().unwrap() = vec!["work", "newer"];
        let _site = real.serve(address).await;
        let mut last = String::new();
        for _ in 0..100 {
            let result = web.call("work", json!({"again": true})).await;
            last = result.text();
            if !result.is_error() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(last, r#"{"again":true}"#, "legacy: {legacy}");
        web.until("the newer tool", |web| web.source.tools().len() == 2)
            .await;
    }
}

#[tokio::test]
async fn a_server_that_asks_for_authorization_is_told_apart() {
    let real = Real::new(&["work"]);
    *real.refuse.lock().unwrap() = Some(StatusCode::UNAUTHORIZED);
    let site = real.serve(anywhere()).await;
    let (server, _) = at(&site);
    let error = server.load(&Registry::new()).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("asks for authorization"), "{cause}");
    // The permission ends while it is used, and comes back.
    *real.refuse.lock().unwrap() = None;
    let web = loaded(&site, false).await;
    assert!(!web.call("work", json!({})).await.is_error());
    *real.refuse.lock().unwrap() = Some(StatusCode::UNAUTHORIZED);
    let (code, text) = failed(&web.call("work", json!({})).await);
    assert_eq!(code, "MCP_CLOSED");
    assert!(text.contains("authorization"), "{text}");
    *real.refuse.lock().unwrap() = None;
    assert!(!web.call("work", json!({})).await.is_error());
}

#[tokio::test]
async fn results_in_events_are_kept_as_they_are_written() {
    let script = Scripted::default();
    let site = script.serve().await;
    let web = loaded(&site, false).await;
    let content = r#"[{"type":"hologram","depth":3},7,{"type":"text","text":"x","more":null}]"#;
    script.say(Says::Events(vec![
        "no message".to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"content":{content},"structuredContent":{{"a":null}}}}}}"#),
    ]));
    let result = web.call("work", json!({})).await;
    assert!(!result.is_error(), "{}", result.text());
    let value = result.value().unwrap();
    assert_eq!(
        value["content"],
        serde_json::from_str::<Value>(content).unwrap()
    );
    assert_eq!(value["structuredContent"], json!({"a": null}));
}

/// conformance: MCP-45
#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_its_call_alone() {
    let script = Scripted::default();
    let site = script.serve().await;
    let web = loaded(&site, false).await;
    let lone =
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\ud800"}]}}"#;
    for says in [
        Says::Events(vec![lone.to_owned()]),
        Says::Json(lone.to_owned()),
        Says::Json("<html>".to_owned()),
        Says::Json(r#"{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":1e999}}"#.to_owned()),
    ] {
        script.say(says);
        let (code, text) = failed(&web.call("work", json!({})).await);
        assert_eq!(code, "MCP_MALFORMED", "{text}");
    }
    script.say(Says::Status(StatusCode::SERVICE_UNAVAILABLE));
    let (code, text) = failed(&web.call("work", json!({})).await);
    assert_eq!(code, "MCP_CLOSED");
    assert!(text.contains("503"), "{text}");
    let fine = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine"}]}}"#;
    for says in [
        Says::Json(fine.to_owned()),
        Says::Events(vec![fine.to_owned()]),
    ] {
        script.say(says);
        assert_eq!(web.call("work", json!({})).await.text(), "fine");
    }
}

/// The headers are for one server.
#[tokio::test]
async fn no_header_goes_to_another_server() {
    let (script, other) = (Scripted::default(), Scripted::default());
    let site = script.serve().await;
    let elsewhere = other.serve().await;
    let web = loaded(&site, false).await;
    script.say(Says::Redirect(elsewhere.url()));
    assert!(web.call("work", json!({})).await.is_error());
    assert!(other.headers.lock().unwrap().is_empty());
}
