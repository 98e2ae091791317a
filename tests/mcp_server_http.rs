//! The server over HTTP: who gets in, and how sessions end.

#[path = "support/mcp_lines.rs"]
mod mcp_lines;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_lines::{LEGACY, MODERN, echo, meta, registry};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::approval::Answerers;
use toolfall::mcp::server::{HttpOptions, PipelineServer};
use toolfall::*;

struct Site {
    url: String,
    http: reqwest::Client,
    ended: Arc<AtomicUsize>,
    begun: Arc<AtomicUsize>,
}

/// Counts when it is dropped.
struct Gone(Arc<AtomicUsize>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn site(options: HttpOptions) -> Site {
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (begins, ends) = (begun.clone(), ended.clone());
    let wait = raw_tool(
        "wait",
        "",
        json!({}),
        move |_: Arguments, ctx: ToolContext| {
            begins.fetch_add(1, Ordering::SeqCst);
            let gone = Gone(ends.clone());
            async move {
                ctx.cancellation().cancelled().await;
                drop(gone);
                Err::<Value, BoxError>("cancelled".into())
            }
        },
    );
    let registry = registry([echo("echo"), echo("guarded"), wait.parallel()]);
    let answerers = Answerers::new();
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(|call: &CallView| match call.name() {
            "guarded" => Decision::ask("say so"),
            _ => Decision::Allow,
        })
        .approval(answerers.clone())
        .build();
    let server = PipelineServer::builder(pipeline, registry)
        .answerers(&answerers)
        .grace(Duration::from_millis(200))
        .build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = server.router(options);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let _ = rustls::crypto::ring::default_provider().install_default();
    Site {
        url,
        http: reqwest::Client::new(),
        ended,
        begun,
    }
}

impl Site {
    fn post(&self, body: impl Into<String>) -> reqwest::RequestBuilder {
        self.http
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(body.into())
    }

    fn initialize(&self, capabilities: Value) -> reqwest::RequestBuilder {
        let params = json!({
            "protocolVersion": LEGACY,
            "capabilities": capabilities,
            "clientInfo": {"name": "http", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.post(body.to_string())
    }

    async fn session(&self, capabilities: Value) -> String {
        let response = self.initialize(capabilities).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let id = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let response = self.within(&id, body.to_string()).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::ACCEPTED);
        id
    }

    fn within(&self, session: &str, body: impl Into<String>) -> reqwest::RequestBuilder {
        self.post(body)
            .header("mcp-session-id", session)
            .header("mcp-protocol-version", LEGACY)
    }
}

fn call(id: i64, name: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

/// The messages of a stream, until one answers `id`.
async fn messages(mut response: Response, id: i64) -> Vec<Value> {
    let mut text = String::new();
    let read = async {
        while let Some(chunk) = response.chunk().await.unwrap() {
            text.push_str(&String::from_utf8_lossy(&chunk));
            let found: Vec<Value> = text
                .lines()
                .filter_map(|line| line.strip_prefix("data:"))
                .filter_map(|data| serde_json::from_str(data.trim()).ok())
                .collect();
            let is_last = |it: &Value| it["id"] == id && it.get("method").is_none();
            if found.iter().any(is_last) {
                return found;
            }
        }
        panic!("expected an answer to {id}, found {text}");
    };
    tokio::time::timeout(Duration::from_secs(30), read)
        .await
        .unwrap()
}

async fn answer(response: Response, id: i64) -> Value {
    assert_eq!(response.status(), StatusCode::OK);
    messages(response, id).await.pop().unwrap()
}

/// All texts of a result.
fn texts(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().unwrap();
    let texts: Vec<&str> = blocks.iter().filter_map(|it| it["text"].as_str()).collect();
    texts.join("\n")
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
async fn only_the_right_token_gets_in() {
    let site = site(
        HttpOptions::new()
            .bearer_token("correct horse")
            .bearer_token(""),
    )
    .await;
    for header in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer correct hors"),
        Some("Bearer correct horsE"),
        Some("Bearer correct horse2"),
        Some("Basic correct horse"),
        Some("correct horse"),
    ] {
        let mut request = site.initialize(json!({}));
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{header:?}");
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
    }
    let get = site.http.get(&site.url).send().await.unwrap();
    assert_eq!(get.status(), StatusCode::UNAUTHORIZED);
    let twice = site
        .initialize(json!({}))
        .header("authorization", "Bearer wrong")
        .header("authorization", "Bearer correct horse");
    assert_eq!(
        twice.send().await.unwrap().status(),
        StatusCode::UNAUTHORIZED
    );
    let right = site
        .initialize(json!({}))
        .header("authorization", "bearer correct horse");
    assert_eq!(right.send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn pages_of_other_sites_get_nothing() {
    let site = site(HttpOptions::new().allow_origin("https://good.example:443")).await;
    for (host, origin, expected) in [
        (None, None, StatusCode::OK),
        (None, Some("https://good.example"), StatusCode::OK),
        (None, Some("http://good.example"), StatusCode::FORBIDDEN),
        (None, Some("https://evil.example"), StatusCode::FORBIDDEN),
        (None, Some("null"), StatusCode::FORBIDDEN),
        (None, Some("http://localhost"), StatusCode::FORBIDDEN),
        // A name of theirs that leads here.
        (Some("evil.example"), None, StatusCode::FORBIDDEN),
        (Some("localhost.evil.example"), None, StatusCode::FORBIDDEN),
        (Some("localhost:1234"), None, StatusCode::OK),
    ] {
        let mut request = site.initialize(json!({}));
        if let Some(host) = host {
            request = request.header("host", host);
        }
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), expected, "{host:?} {origin:?}");
    }
}

#[tokio::test]
async fn arguments_arrive_as_they_were_written() {
    let site = site(HttpOptions::new()).await;
    let registry = registry([echo("echo")]);
    let direct = Pipeline::builder(registry).build();
    let session = site.session(json!({})).await;
    for (id, arguments) in (1..).zip([
        r#"{"a":1}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":123456789012345678901234567890}"#,
        r#"{"a":1e400}"#,
        r#"{"a":"\ud800"}"#,
        "[1]",
        "7",
    ]) {
        let expected = direct
            .call("1", "echo", arguments, CancellationToken::new())
            .await;
        let response = site
            .within(&session, call(id, "echo", arguments))
            .send()
            .await
            .unwrap();
        let found = answer(response, id).await;
        assert_eq!(texts(&found), expected.text(), "{arguments}: {found}");
        // The same for those that have no session.
        let meta = meta(json!({}));
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{arguments},"_meta":{meta}}}}}"#
        );
        let request = site
            .post(body)
            .header("mcp-protocol-version", MODERN)
            .header("mcp-method", "tools/call")
            .header("mcp-name", "echo");
        let found = answer(request.send().await.unwrap(), id).await;
        assert_eq!(texts(&found), expected.text(), "{arguments}: {found}");
    }
}

#[tokio::test]
async fn bodies_that_are_too_large_or_no_messages_are_refused() {
    let site = site(HttpOptions::new().max_body(1000)).await;
    let session = site.session(json!({})).await;
    let large = call(1, "echo", &format!(r#"{{"a":"{}"}}"#, "x".repeat(2000)));
    let response = site.within(&session, large).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    for body in [
        "",
        "{",
        "7",
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    ] {
        let response = site.within(&session, body).send().await.unwrap();
        assert!(
            response.status().is_client_error(),
            "{body}: {}",
            response.status()
        );
    }
    let response = site
        .within("no such session", call(1, "echo", "{}"))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let response = site.post(call(1, "echo", "{}")).send().await.unwrap();
    assert!(response.status().is_client_error());
    let response = site
        .within(&session, call(1, "echo", "{}"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer(response, 1).await["result"]["isError"], false);
}

#[tokio::test]
async fn a_repeated_id_leaves_the_first_request_its_stream() {
    let site = site(HttpOptions::new()).await;
    let session = site.session(json!({})).await;
    let first = site
        .within(&session, call(1, "wait", "{}"))
        .send()
        .await
        .unwrap();
    until(&site.begun, 1).await;
    let second = site
        .within(&session, call(1, "echo", "{}"))
        .send()
        .await
        .unwrap();
    assert_eq!(second.status(), StatusCode::BAD_REQUEST);
    let said: Value = serde_json::from_str(&second.text().await.unwrap()).unwrap();
    assert_eq!(said["error"]["code"], -32600, "{said}");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let response = site
        .within(&session, cancel.to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    until(&site.ended, 1).await;
    drop(first);
}

#[tokio::test]
async fn sessions_are_bounded_and_idle_ones_end_with_their_calls() {
    let options = HttpOptions::new()
        .max_sessions(2)
        .idle_timeout(Duration::from_millis(400));
    let site = site(options).await;
    let session = site.session(json!({})).await;
    let _other = site.session(json!({})).await;
    let full = site.initialize(json!({})).send().await.unwrap();
    assert_eq!(full.status(), StatusCode::SERVICE_UNAVAILABLE);
    // A session is not idle while somebody reads what a call comes to.
    let reading = site
        .within(&session, call(1, "wait", "{}"))
        .send()
        .await
        .unwrap();
    until(&site.begun, 1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(site.ended.load(Ordering::SeqCst), 0);
    // The client goes: so does its call, in a while.
    drop(reading);
    until(&site.ended, 1).await;
    let gone = site
        .within(&session, call(2, "echo", "{}"))
        .send()
        .await
        .unwrap();
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    let session = site.session(json!({})).await;
    let response = site
        .within(&session, call(1, "echo", "{}"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer(response, 1).await["result"]["isError"], false);
}

#[tokio::test]
async fn a_session_that_is_deleted_takes_its_calls_with_it() {
    let site = site(HttpOptions::new()).await;
    let session = site.session(json!({})).await;
    let _reading = site
        .within(&session, call(1, "wait", "{}"))
        .send()
        .await
        .unwrap();
    until(&site.begun, 1).await;
    let delete = site
        .http
        .delete(&site.url)
        .header("mcp-session-id", &session)
        .header("mcp-protocol-version", LEGACY);
    assert!(delete.send().await.unwrap().status().is_success());
    until(&site.ended, 1).await;
}

#[tokio::test]
async fn a_request_without_a_session_is_cancelled_with_its_connection() {
    let site = site(HttpOptions::new()).await;
    let params = json!({"name": "wait", "arguments": {}, "_meta": meta(json!({}))});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = site
        .post(body.to_string())
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", "tools/call")
        .header("mcp-name", "wait");
    let sent = tokio::spawn(request.send());
    until(&site.begun, 1).await;
    sent.abort();
    let _ = sent.await;
    until(&site.ended, 1).await;
}

#[tokio::test]
async fn the_client_is_asked_on_the_stream_of_its_own_call() {
    let site = site(HttpOptions::new()).await;
    let asked = site.session(json!({"elicitation": {}})).await;
    let other = site.session(json!({"elicitation": {}})).await;
    let mut stream = site
        .within(&asked, call(1, "guarded", "{}"))
        .send()
        .await
        .unwrap();
    let mut text = String::new();
    let question: Value = loop {
        let chunk = stream.chunk().await.unwrap().expect("a question");
        text.push_str(&String::from_utf8_lossy(&chunk));
        let found = text
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok())
            .find(|message| message["method"] == "elicitation/create");
        if let Some(found) = found {
            break found;
        }
    };
    let approve = json!({"action": "accept", "content": {"decision": "approve"}});
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": approve});
    // From somebody else it is no answer.
    let response = site.within(&other, reply.to_string()).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let silent = tokio::time::timeout(Duration::from_millis(200), stream.chunk()).await;
    assert!(silent.is_err());
    let response = site.within(&asked, reply.to_string()).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert_eq!(answer(stream, 1).await["result"]["isError"], false);
}

#[tokio::test]
async fn a_shutdown_ends_sessions_and_lets_nobody_in() {
    let shutdown = CancellationToken::new();
    let site = site(HttpOptions::new().shutdown(shutdown.clone())).await;
    let session = site.session(json!({})).await;
    let stream = site
        .within(&session, call(1, "wait", "{}"))
        .send()
        .await
        .unwrap();
    until(&site.begun, 1).await;
    shutdown.cancel();
    let refused = site.initialize(json!({})).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let answer = answer(stream, 1).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    until(&site.ended, 1).await;
}

#[tokio::test]
async fn the_client_of_a_library_speaks_either_protocol() {
    use rmcp::model::{CallToolRequestParams, ProtocolVersion};
    use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
    let registry = registry([echo("echo")]);
    let pipeline = Pipeline::builder(registry.clone()).build();
    let server = PipelineServer::builder(pipeline, registry).build();
    for mode in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    ] {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = server.clone();
        let ended = tokio::spawn(async move {
            serving
                .serve(reader, writer, CancellationToken::new())
                .await
        });
        let client = serve_client_with_lifecycle((), ours, mode).await.unwrap();
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools[0].name, "echo");
        let mut call = CallToolRequestParams::new("echo");
        call.arguments = json!({"a": 1}).as_object().cloned();
        let result = client.call_tool(call).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({"a": 1})));
        client.cancel().await.unwrap();
        ended.await.unwrap().unwrap();
    }
}
