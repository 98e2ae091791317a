//! MCP servers that are programs: what they see, and that nothing of them is
//! left behind.
#![cfg(target_os = "linux")]

#[path = "support/mcp_peer.rs"]
mod peer;
#[path = "support/processes.rs"]
mod processes;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use peer::{Events, failed};
use processes::{alive, marker, until};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolfall::mcp::client::{McpServer, McpSource, Reconnect, Stdio};
use toolfall::{CallRequest, CallView, Decision, Pipeline, Registry, ToolResult};

/// A server that does what its words say.
const SERVER: &str = r#"
import json, os, signal, subprocess, sys, time
mark, modes = sys.argv[1], sys.argv[2:]
if "stubborn" in modes:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "mute" in modes:
    time.sleep(300)
def send(answer):
    sys.stdout.write(json.dumps(dict(answer, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()
def call(name):
    if name == "look":
        return {"env": dict(os.environ), "cwd": os.getcwd()}
    if name == "family":
        script = "trap '' TERM; : " + mark + "; sh -c 'sleep 300; : " + mark + "' & sleep 300; :"
        subprocess.Popen(["sh", "-c", script])
        return {}
    if name == "stay":
        subprocess.Popen(["sh", "-c", "sleep 4"], start_new_session=True)
        os._exit(3)
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "print":
        print("Hello from a print")
        print("é" * 3 + "\x1b[31m", file=sys.stderr)
        print("long" * 5000, file=sys.stderr)
        sys.stderr.write("the last")
        sys.stderr.flush()
        return {}
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "script", "version": "1"}}})
    elif method == "tools/list":
        names = ["look", "family", "stay", "die", "print"]
        send({"id": id, "result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}})
    elif method == "tools/call":
        result = call(message["params"]["name"])
        send({"id": id, "result": {"content": [], "structuredContent": result}})
    elif id is not None:
        send({"id": id, "error": {"code": -32601, "message": "Method not found"}})
while "stubborn" in modes:
    time.sleep(1)
"#;

fn program(mark: &str, modes: &[&str]) -> Stdio {
    Stdio::new("python3")
        .args(["-c", SERVER, mark])
        .args(modes.iter().copied())
        .grace(Duration::from_millis(300))
}

struct Loaded {
    registry: Registry,
    source: McpSource,
    events: Events,
}

async fn loaded(program: Stdio) -> Loaded {
    let registry = Registry::new();
    let events = Events::default();
    let reconnect = Reconnect::new().initial_delay(Duration::from_millis(5));
    let source = McpServer::stdio("script", program)
        .unwrap()
        .strict()
        .reconnect(reconnect)
        .on_event(events.hear())
        .load(&registry)
        .await
        .unwrap();
    Loaded {
        registry,
        source,
        events,
    }
}

impl Loaded {
    async fn call(&self, name: &str) -> ToolResult {
        let pipeline = Pipeline::builder(self.registry.clone())
            .pre_decision(|_: &CallView| Decision::Allow)
            .build();
        let name = format!("mcp__script__{name}");
        let request = CallRequest::new("1", name, "{}", CancellationToken::new());
        pipeline.run(request).await
    }

    async fn look(&self) -> Value {
        let result = self.call("look").await;
        assert!(!result.is_error(), "{}", result.text());
        result.value().unwrap()["structuredContent"].clone()
    }

    /// Waits until a server that was lost is back.
    async fn works_again(&self) {
        for _ in 0..200 {
            if !self.call("look").await.is_error() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the server did not come back: {:?}", self.events.all());
    }
}

/// conformance: MCP-29
#[tokio::test]
async fn a_program_sees_little_of_this_processs_environment() {
    let mark = marker("mcp-env");
    // Cargo sets it for every test: a variable that is no business of others.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let plain = loaded(
        program(&mark, &[])
            .env("TOKEN", "explicit")
            .env("HOME", "/else"),
    )
    .await;
    let seen = plain.look().await["env"].clone();
    assert_eq!(seen["TOKEN"], "explicit");
    assert_eq!(seen["HOME"], "/else", "what is set for the program wins");
    // A wrapper around the interpreter may add to it.
    let path = std::env::var("PATH").unwrap();
    assert!(seen["PATH"].as_str().unwrap().ends_with(&path), "{seen}");
    assert_eq!(seen["CARGO_MANIFEST_DIR"], Value::Null, "{seen}");
    let passed = loaded(program(&mark, &[]).pass_env(["CARGO_MANIFEST_DIR"])).await;
    let seen = passed.look().await["env"].clone();
    assert_eq!(seen["CARGO_MANIFEST_DIR"], env!("CARGO_MANIFEST_DIR"));
    assert!(seen["PATH"].is_string());
    let only = loaded(program(&mark, &[]).only_env(["PATH"])).await;
    let seen = only.look().await["env"].clone();
    assert!(seen["HOME"].is_null() && seen["PATH"].is_string(), "{seen}");
    let all = loaded(program(&mark, &[]).inherit_env()).await;
    assert!(all.look().await["env"]["CARGO_MANIFEST_DIR"].is_string());
}

#[tokio::test]
async fn a_program_runs_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let server = loaded(program(&marker("mcp-cwd"), &[]).current_dir(folder.path())).await;
    assert_eq!(server.look().await["cwd"], place.to_str().unwrap());
}

#[tokio::test]
async fn disposal_leaves_nobody() {
    let mark = marker("mcp-dispose");
    let server = loaded(program(&mark, &[])).await;
    server.call("family").await;
    until("the family is there", || alive(&mark) >= 3).await;
    server.source.dispose().await;
    assert_eq!(alive(&mark), 0);
    assert!(!server.events.has("may be incomplete"));
}

/// Neither the end of its input nor a polite signal ends this one.
#[tokio::test]
async fn disposal_kills_who_does_not_go() {
    let mark = marker("mcp-stubborn");
    let server = loaded(program(&mark, &["stubborn"])).await;
    server.call("family").await;
    until("the family is there", || alive(&mark) >= 3).await;
    let began = Instant::now();
    server.source.dispose().await;
    assert_eq!(alive(&mark), 0);
    // Its two graces, and not much more.
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn dropping_the_source_leaves_nobody() {
    let mark = marker("mcp-drop");
    let server = loaded(program(&mark, &["stubborn"])).await;
    server.call("family").await;
    until("the family is there", || alive(&mark) >= 3).await;
    drop(server);
    until("everybody is gone", || alive(&mark) == 0).await;
}

#[test]
fn the_end_of_the_runtime_leaves_nobody() {
    let mark = marker("mcp-runtime");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = runtime.block_on(async {
        let server = loaded(program(&mark, &["stubborn"])).await;
        server.call("family").await;
        until("the family is there", || alive(&mark) >= 3).await;
        server
    });
    drop(runtime);
    let after = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    after.block_on(until("everybody is gone", || alive(&mark) == 0));
    drop(server);
}

#[tokio::test]
async fn a_program_that_is_killed_takes_its_family_along_and_comes_back() {
    let mark = marker("mcp-killed");
    let server = loaded(program(&mark, &[])).await;
    server.call("family").await;
    until("the family is there", || alive(&mark) >= 3).await;
    let (code, _) = failed(&server.call("die").await);
    assert_eq!(code, "MCP_CLOSED");
    server.works_again().await;
    assert_eq!(alive(&mark), 1, "the new one alone");
    server.source.dispose().await;
    assert_eq!(alive(&mark), 0);
}

/// Somebody who left the program's group keeps its output open: that is no
/// connection.
#[tokio::test]
async fn a_pipe_that_somebody_else_holds_is_no_connection() {
    let mark = marker("mcp-held");
    let server = loaded(program(&mark, &[])).await;
    let began = Instant::now();
    let (code, _) = failed(&server.call("stay").await);
    assert_eq!(code, "MCP_CLOSED");
    server.works_again().await;
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    server.source.dispose().await;
    assert_eq!(alive(&mark), 0);
}

#[tokio::test]
async fn what_a_program_prints_is_told_line_by_line() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = heard.clone();
    let program = program(&marker("mcp-print"), &[])
        .on_stderr(move |line| kept.lock().unwrap().push(line.to_owned()));
    let server = loaded(program).await;
    assert!(!server.call("print").await.is_error());
    assert!(
        server.events.has("Hello from a print"),
        "{:?}",
        server.events.all()
    );
    server.source.dispose().await;
    let heard = heard.lock().unwrap().clone();
    let lengths: Vec<usize> = heard.iter().map(String::len).collect();
    assert_eq!(lengths, ["ééé\u{1b}[31m".len(), 8 << 10, "the last".len()]);
    assert_eq!(heard[0], "ééé\u{1b}[31m");
    assert!(heard[1].starts_with("longlong"));
    assert_eq!(heard[2], "the last");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let server = McpServer::stdio("none", Stdio::new("/no/such/program"))
        .unwrap()
        .strict();
    let error = server.load(&Registry::new()).await.unwrap_err();
    let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
    assert!(
        text.contains("/no/such/program cannot be started"),
        "{text}"
    );
}

#[tokio::test]
async fn a_program_that_does_not_introduce_itself_is_not_left() {
    let mark = marker("mcp-mute");
    let server = McpServer::stdio("mute", program(&mark, &["mute", "stubborn"]))
        .unwrap()
        .strict()
        .connect_timeout(Duration::from_millis(500));
    let began = Instant::now();
    let error = server.load(&Registry::new()).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("within 500 ms"), "{cause}");
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(alive(&mark), 0);
    // So it is if nobody waits for the end.
    let registry = Registry::new();
    let loading = tokio::time::timeout(Duration::from_millis(200), server.load(&registry));
    assert!(loading.await.is_err());
    until("nobody is left", || alive(&mark) == 0).await;
}

#[tokio::test]
async fn large_messages_pass_both_ways() {
    let server = loaded(program(&marker("mcp-large"), &[]).env("LARGE", "x".repeat(100_000))).await;
    for _ in 0..20 {
        assert_eq!(
            server.look().await["env"]["LARGE"].as_str().unwrap().len(),
            100_000
        );
    }
    assert_eq!(json!(server.source.tools().len()), 5);
}
