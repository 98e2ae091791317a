//! A client of MCP servers over standard input and output, and a small server.
#![allow(dead_code)] // Each test file uses its own part.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// So long an answer is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server that reads requests, for Python 3. Its tools: `echo`, `slow` (which
/// takes `ms`), `pid`, `env` (the variable `name`).
pub(crate) const SERVER: &str = r#"
import json, os, sys, threading, time
lock = threading.Lock()
names = sys.argv[1:] or ["echo", "slow", "pid", "env"]
def send(message):
    with lock:
        sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
def tool(name):
    return {"name": name, "description": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
def call(id, params):
    name, arguments = params["name"], params.get("arguments", {})
    if name == "slow":
        time.sleep(arguments.get("ms", 0) / 1000)
    text = {"pid": str(os.getpid()), "env": os.environ.get(arguments.get("name", ""), "unset")}.get(name, json.dumps(arguments))
    send({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}})
for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if id is None or method is None:
        continue
    if method == "initialize":
        send({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "small", "version": "1"}}})
    elif method == "tools/list":
        send({"jsonrpc": "2.0", "id": id, "result": {"tools": [tool(name) for name in names]}})
    elif method == "tools/call":
        threading.Thread(target=call, args=(id, message["params"]), daemon=True).start()
    else:
        send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})
"#;

/// A server's process, and what it said.
pub(crate) struct Peer {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    last: u64,
    /// What came that nobody waited for.
    pub(crate) apart: Vec<Value>,
    /// What the person at the client says, if it can ask one.
    pub(crate) answers: Option<Value>,
    /// The questions that were asked.
    pub(crate) asked: Vec<String>,
}

impl Peer {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut err = child.stderr.take().expect("a pipe");
        let errors = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = err.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            errors: Some(errors),
            last: 0,
            apart: Vec::new(),
            answers: None,
            asked: Vec::new(),
        }
    }

    /// [`start`](Self::start), and introduces itself.
    pub(crate) fn met(command: &mut Command, answers: Option<Value>) -> Self {
        let mut peer = Self::start(command);
        let capabilities = if answers.is_some() {
            json!({"elicitation": {}})
        } else {
            json!({})
        };
        peer.answers = answers;
        let met = peer.request(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert!(met["result"]["serverInfo"].is_object(), "{met}");
        peer.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        peer
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("it is open");
        let sent = stdin.write_all(format!("{message}\n").as_bytes());
        if let Err(error) = sent {
            panic!("{error}: {}", self.told());
        }
    }

    /// Sends a request, and returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// The answer to the request `id`.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.until(PATIENCE, |message| {
            message["id"] == id && message.get("method").is_none()
        })
        .unwrap_or_else(|| panic!("an answer to {id}: {}", self.told()))
    }

    /// Waits for a message, answering questions in the meantime.
    pub(crate) fn until(
        &mut self,
        patience: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        if let Some(place) = self.apart.iter().position(&wanted) {
            return Some(self.apart.remove(place));
        }
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            };
            let message: Value = serde_json::from_str(&line)
                .unwrap_or_else(|error| panic!("only the protocol is on stdout, {error}: {line}"));
            if message["method"] == "elicitation/create" {
                let question = message["params"]["message"].as_str().unwrap_or_default();
                self.asked.push(question.to_owned());
                let answer = self.answers.clone().expect("a client that can be asked");
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer}));
            } else if wanted(&message) {
                return Some(message);
            } else {
                self.apart.push(message);
            }
        }
    }

    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.request("tools/call", &params)
    }

    /// The text of a call's result.
    pub(crate) fn text(&mut self, name: &str, arguments: Value) -> String {
        let answer = self.call(name, arguments);
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{name}: {answer}"))
            .to_owned()
    }

    /// The definitions of all tools.
    pub(crate) fn tools(&mut self) -> Vec<Value> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.request("tools/list", &params);
            tools.extend(page["result"]["tools"].as_array().expect("tools").clone());
            match &page["result"]["nextCursor"] {
                Value::Null => return tools,
                cursor => params = json!({"cursor": cursor}),
            }
        }
    }

    pub(crate) fn names(&mut self) -> Vec<String> {
        let tools = self.tools();
        let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
        tools.iter().map(name).collect()
    }

    /// Closes its input, and waits until it has ended: with which status, and
    /// what it wrote on standard error.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        drop(self.stdin.take());
        let status = self.wait();
        let errors = self.errors.take().expect("once").join();
        (status, errors.expect("it was read"))
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it ends");
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(sent.expect("kill").success());
    }

    fn told(&mut self) -> String {
        let _ = self.child.kill();
        let errors = self.errors.take().map(JoinHandle::join);
        errors.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether the process `pid` is there.
pub(crate) fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie is only waited for.
    !status.is_empty() && !status.contains(") Z ")
}
