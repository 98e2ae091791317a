//! The guest's side of the line protocol in Python, spoken to by hand.

#![cfg(all(feature = "code-python", target_os = "linux"))]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use toolfall::code::ErrorClass;
use toolfall::code::protocol::{Boot, BootNamespace, HostFrame, Reply};

/// What the runtime starts interpreters with.
const GUEST: &str = concat!(
    include_str!("../src/code/python/guest/values.py"),
    include_str!("../src/code/python/guest/wire.py"),
    include_str!("../src/code/python/guest/names.py"),
    include_str!("../src/code/python/guest/streams.py"),
    include_str!("../src/code/python/guest/program.py"),
    include_str!("../src/code/python/guest/confine.py"),
    include_str!("../src/code/python/guest/run.py"),
    include_str!("../src/code/python/guest/start.py"),
);

/// An interpreter with the guest in it.
struct Guest {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl Guest {
    fn boot(max_log_bytes: u64, max_value_bytes: u64, program: &str) -> Self {
        let mut child = Command::new("python3")
            .args(["-I", "-S", "-c", GUEST])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a Python");
        let mut guest = Self {
            stdin: child.stdin.take(),
            lines: BufReader::new(child.stdout.take().unwrap()),
            child,
        };
        guest.send(&HostFrame::Boot(Boot {
            cpu_seconds: 10,
            address_space_bytes: 0,
            max_log_bytes,
            max_value_bytes,
            namespaces: vec![BootNamespace {
                global: "tools".to_owned(),
                names: vec!["a".to_owned()],
                error_class: Some(ErrorClass {
                    name: "ToolCallError".to_owned(),
                    member_property: "toolName".to_owned(),
                }),
            }],
        }));
        assert_eq!(guest.line(), json!({"type": "boot-ack"}));
        guest.send(&HostFrame::Run {
            program: program.to_owned(),
        });
        guest
    }

    fn send(&mut self, frame: &HostFrame) {
        let line = frame.write();
        self.stdin
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
    }

    fn reply(&mut self, id: u64, result: Result<Value, &str>) {
        let result = result.map_err(str::to_owned);
        self.send(&HostFrame::Reply(Reply {
            id: id.into(),
            result,
        }));
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// All that is still said.
    fn rest(mut self) -> Vec<Value> {
        let lines: Vec<Value> = self
            .lines
            .by_ref()
            .lines()
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect();
        self.child.wait().unwrap();
        lines
    }
}

fn call(id: u64, args: Value) -> Value {
    json!({"type": "call", "id": id, "global": "tools", "name": "a", "args": args})
}

fn done(value: Value) -> Value {
    json!({"type": "done", "value": value})
}

/// conformance: RT-51
#[test]
fn the_guest_sends_the_roster() {
    let mut guest = Guest::boot(
        1_000,
        1_000,
        "print('é')\nx = await tools.a({'n': 1})\ny = await tools.a()\nreturn [x, y]",
    );
    assert_eq!(guest.line(), json!({"type": "log", "text": "é"}));
    assert_eq!(guest.line(), call(0, json!({"n": 1})));
    guest.reply(0, Ok(json!({"deep": [null]})));
    assert_eq!(guest.line(), call(1, json!({})));
    guest.reply(1, Ok(json!(2)));
    assert_eq!(guest.rest(), [done(json!([{"deep": [null]}, 2]))]);

    let guest = Guest::boot(1_000, 1_000, "pass");
    assert_eq!(guest.rest(), [json!({"type": "done"})]);

    let guest = Guest::boot(1_000, 1_000, "raise Exception('no')");
    let said = guest.rest();
    assert_eq!(said[0]["type"], "done");
    assert_eq!(said[0]["error"]["kind"], "exception");
    assert!(
        said[0]["error"]["message"]
            .as_str()
            .unwrap()
            .ends_with("Exception: no")
    );
    assert_eq!(said[0].as_object().unwrap().len(), 2);
}

/// conformance: RT-32, RT-33
#[test]
fn the_guest_counts_as_the_host_does() {
    let guest = Guest::boot(15, 1_000, "print(12345)\nprint(123456)\nprint('dropped')");
    let said = guest.rest();
    assert_eq!(
        said,
        [
            json!({"type": "log", "text": "12345"}),
            json!({"type": "log", "text": "123", "truncated": true}),
            json!({"type": "done"}),
        ]
    );
    let guest = Guest::boot(6, 1_000, "print(12)\nprint('a long one')");
    let said = guest.rest();
    assert_eq!(said[0], json!({"type": "log", "text": "12"}));
    assert_eq!(
        said[1],
        json!({"type": "log", "text": "", "truncated": true})
    );

    let limit = |bytes: usize| {
        let message = format!("outer output exceeded {bytes} bytes");
        json!({"type": "done", "error": {"kind": "output-limit", "message": message}})
    };
    assert_eq!(Guest::boot(7, 7, "return '€'").rest(), [done(json!("€"))]);
    assert_eq!(Guest::boot(6, 6, "return '€'").rest(), [limit(6)]);
    let odd = "return ['\\0', '\\n\"', {'é': 1}]";
    let size = r#"["\u0000","\n\"",{"é":1}]"#.len() as u64 + 2;
    let value = json!(["\0", "\n\"", {"é": 1}]);
    assert_eq!(Guest::boot(size, size, odd).rest(), [done(value)]);
    assert_eq!(
        Guest::boot(size - 1, size - 1, odd).rest(),
        [limit(usize::try_from(size).unwrap() - 1)]
    );
    let said = Guest::boot(64, 64, "raise Exception('boom' * 20)").rest();
    assert_eq!(said, [limit(64)]);
}

/// conformance: RT-45
#[test]
fn replies_to_nobody_are_ignored_and_a_closed_channel_is_told() {
    let mut guest = Guest::boot(1_000, 1_000, "return await tools.a({})");
    assert_eq!(guest.line(), call(0, json!({})));
    guest.reply(7, Ok(json!("nobody's")));
    guest.reply(0, Ok(json!("mine")));
    guest.reply(0, Ok(json!("again")));
    assert_eq!(guest.rest(), [done(json!("mine"))]);

    // Its own end of the channel, whichever it is, is closed and opened again.
    let guest = Guest::boot(
        1_000,
        1_000,
        r#"
import os
ends = [fd for fd in range(3, 16) if os.path.exists(f"/proc/self/fd/{fd}")]
kept = {}
for fd in ends:
    try: os.write(fd, b"")
    except OSError: continue
    kept[fd] = os.dup(fd)
for fd in kept: os.close(fd)
try:
    await tools.a({})
except ToolCallError as error:
    said = [error.toolName, str(error)]
for fd, copy in kept.items(): os.dup2(copy, fd)
return said
"#,
    );
    let said = guest.rest();
    let value = &said[0]["value"];
    assert_eq!(value[0], "a", "{said:?}");
    assert!(
        value[1].as_str().unwrap().contains("cannot be sent"),
        "{said:?}"
    );
}

#[test]
fn a_guest_ends_when_its_host_is_gone() {
    let mut guest = Guest::boot(1_000, 1_000, "import asyncio\nawait asyncio.sleep(1000)");
    guest.stdin = None;
    assert!(guest.rest().is_empty());
}

#[test]
fn no_more_calls_are_unanswered_than_the_protocol_allows() {
    let mut guest = Guest::boot(
        1_000,
        1_000,
        "import asyncio\nreturn sum(await asyncio.gather(*[tools.a(i=i) for i in range(300)]))",
    );
    for id in 0..256 {
        assert_eq!(guest.line(), call(id, json!({"i": id})));
    }
    guest.reply(255, Ok(json!(1)));
    assert_eq!(guest.line()["id"], 256);
    for id in 0..255 {
        guest.reply(id, Ok(json!(1)));
        if id < 43 {
            assert_eq!(guest.line()["id"], 257 + id);
        }
    }
    for id in 256..300 {
        guest.reply(id, Ok(json!(1)));
    }
    assert_eq!(guest.rest(), [done(json!(300))]);
}
