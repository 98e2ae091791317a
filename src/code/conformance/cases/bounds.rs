//! What programs may use, and how they are ended.

use std::time::Duration;

use super::{Case, Expect, How};
use crate::code::RunFailureKind;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "compute",
        about: "has a call under way and spins, of 300 ms",
        javascript: Some("tools.never({}); while (true) {}"),
        python: Some(
            r"import asyncio
t = asyncio.ensure_future(tools.never({}))
await asyncio.sleep(0)
while True: pass",
        ),
        budgets: |b| b.compute(Duration::from_millis(300)),
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::Timeout,
            "compute budget exhausted (300ms busy)",
        ),
        logs: None,
    },
    Case {
        name: "idle",
        about: "awaits a call for 1,500 ms, of 1,000 ms to compute",
        javascript: Some("return await tools.wait({ms: 1500});"),
        python: Some(r#"return await tools.wait({"ms": 1500})"#),
        budgets: |b| b.compute(Duration::from_secs(1)),
        how: How::Plainly,
        expect: Expect::Value("1500"),
        logs: None,
    },
    Case {
        name: "wall",
        about: "awaits for ever, of 400 ms",
        javascript: Some("await new Promise(() => {});"),
        python: Some(
            r"import asyncio
await asyncio.Future()",
        ),
        budgets: |b| b.wall(Duration::from_millis(400)),
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::Timeout,
            "wall-clock ceiling reached (400ms)",
        ),
        logs: None,
    },
    Case {
        name: "wall-in-a-call",
        about: "awaits a call that never ends, of 900 ms",
        javascript: Some("await tools.never({});"),
        python: Some("await tools.never({})"),
        budgets: |b| b.wall(Duration::from_millis(900)),
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::Timeout,
            "wall-clock ceiling reached (900ms)",
        ),
        logs: None,
    },
    Case {
        name: "abort-before",
        about: "is cancelled before it begins",
        javascript: Some(r#"console.log("never");"#),
        python: Some(r#"print("never")"#),
        budgets: |b| b,
        how: How::Cancelled("cancelled"),
        expect: Expect::Says(RunFailureKind::Abort, "cancelled"),
        logs: Some(&[]),
    },
    Case {
        name: "abort-spinning",
        about: "is cancelled while it spins with a call under way",
        javascript: Some("tools.wait({ms: 1000}); while (true) {}"),
        python: Some(
            r#"import asyncio
t = asyncio.ensure_future(tools.wait({"ms": 1000}))
await asyncio.sleep(0)
while True: pass"#,
        ),
        budgets: |b| b,
        how: How::CancelledLater("changed my mind"),
        expect: Expect::Says(RunFailureKind::Abort, "changed my mind"),
        logs: None,
    },
    Case {
        name: "disposed",
        about: "runs while its runtime is disposed of",
        javascript: Some("while (true) {}"),
        python: Some("while True: pass"),
        budgets: |b| b,
        how: How::Disposed,
        expect: Expect::Says(RunFailureKind::Abort, "runtime disposed"),
        logs: None,
    },
    Case {
        name: "heap",
        about: "fills its memory, of 64 MiB",
        javascript: Some(
            "const all = []; while (true) all.push(new Array(100000).fill(all.length));",
        ),
        python: Some(
            r#"all = []
while True: all.append("x" * 1_000_000 + str(len(all)))"#,
        ),
        budgets: |b| b.heap(64 << 20),
        how: How::Plainly,
        expect: Expect::Fails(&[RunFailureKind::WorkerExit, RunFailureKind::Exception]),
        logs: None,
    },
    Case {
        name: "exit",
        about: "ends its process with code 7",
        javascript: None,
        python: Some(
            r"import os
os._exit(7)",
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::WorkerExit,
            "worker exited with code 7 before completing",
        ),
        logs: None,
    },
    Case {
        name: "fits",
        about: "prints `abc` and returns `xy`, of 11 bytes",
        javascript: Some(r#"console.log("abc"); return "xy";"#),
        python: Some(
            r#"print("abc")
return "xy""#,
        ),
        budgets: |b| b.output(11),
        how: How::Plainly,
        expect: Expect::Value(r#""xy""#),
        logs: Some(&["abc"]),
    },
    Case {
        name: "does-not-fit",
        about: "prints `abc` and returns `xy`, of 10 bytes",
        javascript: Some(r#"console.log("abc"); return "xy";"#),
        python: Some(
            r#"print("abc")
return "xy""#,
        ),
        budgets: |b| b.output(10),
        how: How::Plainly,
        expect: Expect::Fails(&[RunFailureKind::OutputLimit]),
        logs: None,
    },
    Case {
        name: "message-fits-not",
        about: "prints `abc` and throws a long text, of 10 bytes",
        javascript: Some(r#"console.log("abc"); throw "xyxyxy";"#),
        python: Some(
            r#"print("abc")
raise Exception("xyxyxy")"#,
        ),
        budgets: |b| b.output(10),
        how: How::Plainly,
        expect: Expect::Fails(&[RunFailureKind::OutputLimit]),
        logs: None,
    },
    Case {
        name: "long-value",
        about: "returns 10,000 characters, of 64 bytes",
        javascript: Some(r#"return "x".repeat(10000);"#),
        python: Some(r#"return "x" * 10_000"#),
        budgets: |b| b.output(64),
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::OutputLimit,
            "outer output exceeded 64 bytes",
        ),
        logs: Some(&[]),
    },
    Case {
        name: "long-message",
        about: "throws 1,000,000 characters, of 64 bytes",
        javascript: Some(r#"throw "x".repeat(1000000);"#),
        python: Some(r#"raise Exception("x" * 1_000_000)"#),
        budgets: |b| b.output(64),
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::OutputLimit,
            "outer output exceeded 64 bytes",
        ),
        logs: Some(&[]),
    },
    Case {
        name: "many-logs",
        about: "prints 1,000 lines, of 300 bytes",
        javascript: Some(r#"for (let i = 0; i < 1000; i++) console.log("line " + i);"#),
        python: Some(r#"for i in range(1000): print("line", i)"#),
        budgets: |b| b.output(300),
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::OutputLimit,
            "outer output exceeded 300 bytes",
        ),
        logs: None,
    },
    Case {
        name: "long-log",
        about: "prints one line of 1,000,000 characters, of 96 bytes",
        javascript: Some(r#"console.log("start-" + "é".repeat(1000000));"#),
        python: Some(r#"print("start-" + "é" * 1_000_000)"#),
        budgets: |b| b.output(96),
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::OutputLimit,
            "outer output exceeded 96 bytes",
        ),
        logs: None,
    },
];
