//! A server that is a program, from its start through a crash to its end.
#![cfg(all(feature = "mcp-client", target_os = "linux"))]

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use toolfall::mcp::client::{McpServer, McpSource, Reconnect, ServerState, Stdio};
use toolfall::{CallRequest, Pipeline, Registry, ToolResult};

/// Answers line by line. Ends at once where there is a file `outage`; writes
/// its number to the file `pids`.
const SERVER: &str = r#"
import json, os, sys
if os.path.exists("outage"):
    sys.exit(3)
with open("pids", "a") as pids:
    print(os.getpid(), file=pids)
schema = {"type": "object"}
pair = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
tools = [{"name": name, "description": name, "inputSchema": pair if name == "add" else schema}
         for name in ["add", "greet", "fail", "admin.reset", "crash"]]
def result(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "fixture", "version": "1"}}
    if method == "tools/list":
        return {"tools": tools}
    if method == "tools/call":
        name, given = params["name"], params.get("arguments", {})
        if name == "crash":
            os._exit(7)
        text = {"add": lambda: str(given["a"] + given["b"]),
                "greet": lambda: "Hello, %s!" % given["name"],
                "fail": lambda: "it broke",
                "admin.reset": lambda: "reset"}[name]()
        return {"content": [{"type": "text", "text": text}], "isError": name == "fail"}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    found = result(asked["method"], asked.get("params", {}))
    if found is None:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    else:
        answer["result"] = found
    print(json.dumps(answer), flush=True)
"#;

fn fixture(folder: &Path) -> McpServer {
    let program = Stdio::new("python3")
        .args(["-c", SERVER])
        .current_dir(folder);
    McpServer::stdio("fixture", program)
        .unwrap()
        .reconnect(Reconnect::new().initial_delay(Duration::from_millis(20)))
}

async fn call(registry: &Registry, name: &'static str, arguments: serde_json::Value) -> ToolResult {
    let pipeline = Pipeline::builder(registry.clone()).build();
    let request = CallRequest::new("1", name, arguments.to_string(), CancellationToken::new());
    timeout(Duration::from_secs(20), pipeline.run(request))
        .await
        .unwrap()
}

async fn until(source: &McpSource, is: impl Fn(&ServerState) -> bool) {
    let mut states = source.states();
    let reached = timeout(Duration::from_secs(20), states.wait_for(is)).await;
    reached.unwrap().unwrap();
}

fn lives(folder: &Path) -> usize {
    let pids = std::fs::read_to_string(folder.join("pids")).unwrap();
    let lives = |pid: &&str| Path::new("/proc").join(pid).exists();
    pids.lines().filter(lives).count()
}

/// conformance: MCP-44
#[tokio::test]
async fn a_real_server_is_called_crashes_comes_back_and_goes() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::new();
    let source = fixture(folder.path())
        .strict()
        .load(&registry)
        .await
        .unwrap();
    let names = registry.names(None);
    assert_eq!(names.len(), 5);
    assert_eq!(lives(folder.path()), 1);

    let sum = call(&registry, "mcp__fixture__add", json!({"a": 2, "b": 3})).await;
    assert_eq!(sum.text(), "5");
    let greeting = call(&registry, "mcp__fixture__greet", json!({"name": "World"})).await;
    assert_eq!(greeting.text(), "Hello, World!");
    let failed = call(&registry, "mcp__fixture__fail", json!({})).await;
    assert!(failed.is_error());
    assert_eq!(failed.text(), "Error: it broke");
    let dotted = "mcp__fixture__admin_reset_2d9bb2dfe9aa";
    assert_eq!(call(&registry, dotted, json!({})).await.text(), "reset");

    let crashed = call(&registry, "mcp__fixture__crash", json!({})).await;
    assert_eq!(crashed.code(), Some("MCP_CLOSED"));
    until(&source, |state| *state == ServerState::Up { generation: 2 }).await;
    let sum = call(&registry, "mcp__fixture__add", json!({"a": 40, "b": 2})).await;
    assert_eq!(sum.text(), "42");
    assert_eq!(registry.names(None), names);
    assert_eq!(lives(folder.path()), 1);

    std::fs::write(folder.path().join("outage"), "").unwrap();
    call(&registry, "mcp__fixture__crash", json!({})).await;
    until(&source, |state| {
        matches!(state, ServerState::BackingOff { attempt: 2.., .. })
    })
    .await;
    let since = Instant::now();
    source.dispose().await;
    assert!(
        since.elapsed() < Duration::from_secs(4),
        "{:?}",
        since.elapsed()
    );
    assert!(registry.names(None).is_empty());
    assert_eq!(lives(folder.path()), 0);
}

#[tokio::test]
async fn a_source_that_is_dropped_ends_its_program() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::new();
    let source = fixture(folder.path()).load(&registry).await.unwrap();
    let mut states = source.states();
    assert_eq!(lives(folder.path()), 1);
    drop(source);
    let disposed = states.wait_for(|state| *state == ServerState::Disposed);
    timeout(Duration::from_secs(5), disposed)
        .await
        .unwrap()
        .unwrap();
    assert!(registry.names(None).is_empty());
    assert_eq!(lives(folder.path()), 0);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said_so() {
    let program = Stdio::new("/there/is/no/such/program");
    let server = McpServer::stdio("srv", program).unwrap().strict();
    let error = server.load(&Registry::new()).await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert!(
        source.to_string().contains("/there/is/no/such/program"),
        "{source}"
    );
}
