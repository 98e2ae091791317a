//! What the gateway adds to a call of an MCP server over stdio.
//!
//! `cargo bench --bench gateway --features cli` starts a server without work,
//! and calls it directly and through `toolfall serve`, in turns, from the same
//! client: medians of one call at a time, calls a second with 50 in flight, and
//! with `--memory` what the gateway's memory does over 100,000 calls. The
//! server is either a loop over lines, which no server in use is as fast as,
//! or one made with `rmcp`.

#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const VERSION: &str = "2025-11-25";
const IN_FLIGHT: usize = 50;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("serve-lines") => return lines_server(),
        Some("serve-rmcp") => return rmcp_server(),
        _ => {}
    }
    let quick = arguments.iter().any(|argument| argument == "--test");
    let memory = arguments.iter().any(|argument| argument == "--memory");
    let (rounds, calls) = if quick { (1, 20) } else { (10, 1_000) };
    for kind in ["serve-rmcp", "serve-lines"] {
        let place = tempfile::tempdir().expect("a folder");
        let mut direct = Client::direct(kind);
        let mut gateway = Client::gateway(kind, place.path());
        println!("server: {kind}");
        latency(&mut direct, &mut gateway, rounds, calls);
        throughput(&mut direct, &mut gateway, rounds, calls * 2);
        if memory {
            flat(&mut gateway);
        }
    }
}

fn latency(direct: &mut Client, gateway: &mut Client, rounds: usize, calls: usize) {
    let (mut straight, mut through) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        straight.extend((0..calls).map(|_| direct.call()));
        through.extend((0..calls).map(|_| gateway.call()));
    }
    let (straight, through) = (median(straight), median(through));
    println!(
        "  one at a time: direct {straight:?}, gateway {through:?}, adds {:?}",
        through.saturating_sub(straight)
    );
}

fn throughput(direct: &mut Client, gateway: &mut Client, rounds: usize, calls: usize) {
    let (mut straight, mut through) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        straight.push(direct.flood(calls));
        through.push(gateway.flood(calls));
    }
    let rate = |took: Vec<Duration>| per_second(calls, median(took));
    let (straight, through) = (rate(straight), rate(through));
    println!(
        "  {IN_FLIGHT} in flight: direct {straight:.0}/s, gateway {through:.0}/s, {:.0} %",
        through / straight * 100.0
    );
}

fn flat(gateway: &mut Client) {
    print!("  memory in KiB after each 10,000 calls:");
    for _ in 0..10 {
        gateway.flood(10_000);
        print!(" {}", gateway.resident());
    }
    println!();
}

#[allow(clippy::cast_precision_loss, reason = "counts of a bench")]
fn per_second(calls: usize, took: Duration) -> f64 {
    calls as f64 / took.as_secs_f64()
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}

/// A client that waits for whole lines and looks at nothing but ids.
struct Client {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    tool: String,
    next: u64,
}

impl Client {
    fn direct(kind: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg(kind);
        Self::start(command)
    }

    fn gateway(kind: &str, place: &Path) -> Self {
        let program = std::env::current_exe().expect("this program");
        let config = place.join("toolfall.toml");
        let program = program.to_str().expect("a plain path");
        let text = format!(
            "[[mcp]]\nname = \"noop\"\ncommand = {program:?}\nargs = [{kind:?}]\n\n\
             [policy]\notherwise = \"allow\"\n"
        );
        std::fs::write(&config, text).expect("there is room");
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolfall"));
        command.args(["serve", "--stdio", "--config"]).arg(config);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let to = child.stdin.take().expect("piped");
        let from = BufReader::new(child.stdout.take().expect("piped"));
        let mut client = Self {
            child,
            to,
            from,
            tool: String::new(),
            next: 0,
        };
        let info = json!({"name": "bench", "version": "1"});
        client.ask(
            "initialize",
            &json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": info}),
        );
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client.tool = client.listed();
        client
    }

    /// The one tool, as soon as it is there.
    fn listed(&mut self) -> String {
        for _ in 0..100 {
            let listed = self.ask("tools/list", &json!({}));
            if let Some(name) = listed["result"]["tools"][0]["name"].as_str() {
                return name.to_owned();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("expected a tool, found none");
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.to, "{message}").expect("it listens");
    }

    fn request(&mut self, method: &str, parameters: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters});
        self.say(&message);
        id
    }

    /// The next answer to a request.
    fn answer(&mut self) -> Value {
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).expect("it answers");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.request(method, parameters);
        let answer = self.answer();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn begin(&mut self) -> u64 {
        let arguments = json!({"path": "a.txt", "limit": 10});
        let parameters = json!({"name": self.tool, "arguments": arguments});
        self.request("tools/call", &parameters)
    }

    fn call(&mut self) -> Duration {
        let begun = Instant::now();
        self.begin();
        let answer = self.answer();
        let took = begun.elapsed();
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
        took
    }

    fn flood(&mut self, calls: usize) -> Duration {
        let begun = Instant::now();
        let mut open = HashSet::new();
        for _ in 0..IN_FLIGHT.min(calls) {
            open.insert(self.begin());
        }
        let mut left = calls - open.len();
        while !open.is_empty() {
            let answer = self.answer();
            let id = answer["id"].as_u64().expect("a number");
            assert!(open.remove(&id), "answered once: {answer}");
            if left > 0 {
                left -= 1;
                open.insert(self.begin());
            }
        }
        begun.elapsed()
    }

    /// What the system says that the process holds, in KiB.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Its input ends with the handle of it, which a kill need not wait for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tool() -> Value {
    json!({"name": "noop", "description": "Does nothing.", "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
    }})
}

fn lines_server() {
    let (mut to, mut line) = (std::io::stdout().lock(), String::new());
    let mut from = std::io::stdin().lock();
    while from.read_line(&mut line).is_ok_and(|read| read > 0) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        line.clear();
        let Some(id) = message.get("id") else {
            continue;
        };
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": VERSION,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "lines", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": [tool()]}),
            Some("tools/call") => json!({"content": [{"type": "text", "text": "done"}]}),
            _ => {
                let error = json!({"code": -32601, "message": "unknown method"});
                let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
                let _ = writeln!(to, "{answer}").and_then(|()| to.flush());
                continue;
            }
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        if writeln!(to, "{answer}").and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

struct Noop;

impl rmcp::ServerHandler for Noop {
    fn get_info(&self) -> rmcp::model::ServerConfig {
        use rmcp::model::{ServerCapabilities, ServerConfig};
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<rmcp::model::PaginatedRequestParams>,
        _: rmcp::service::RequestContext<rmcp::RoleServer>,
    ) -> Result<rmcp::model::ListToolsResult, rmcp::ErrorData> {
        let tool = serde_json::from_value(tool()).expect("a tool");
        Ok(rmcp::model::ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        _: rmcp::model::CallToolRequestParams,
        _: rmcp::service::RequestContext<rmcp::RoleServer>,
    ) -> Result<rmcp::model::CallToolResponse, rmcp::ErrorData> {
        let done = rmcp::model::ContentBlock::text("done");
        Ok(rmcp::model::CallToolResult::success(vec![done]).into())
    }
}

fn rmcp_server() {
    use rmcp::ServiceExt as _;
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let streams = (tokio::io::stdin(), tokio::io::stdout());
        let served = Noop.serve(streams).await.expect("a client");
        let _ = served.waiting().await;
    });
}
