//! Programs in Python that write to the protocol themselves.

#![cfg(all(feature = "code-python", target_os = "linux"))]

#[path = "support/python.rs"]
mod python;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolfall::code::{Budgets, CodeRuntime, RunFailureKind, RunOutcome, RunRequest};

use self::python::{forging, kind, message, python, run, run_with, tools};

/// conformance: RT-30
#[tokio::test]
async fn raw_output_counts_also_behind_the_last_word() {
    let program = forging(
        r#"
forge({"type": "done", "value": "forged"})
for i in range(20): os.write(2, b"late %d\n" % i)
os._exit(0)
"#,
    );
    let outcome = run(&program).await;
    assert_eq!(outcome.value, Some(json!("forged")), "{outcome:?}");
    assert_eq!(outcome.logs.len(), 20, "{outcome:?}");
    let outcome = run_with(&Budgets::default().output(100), &program).await;
    assert_eq!(kind(&outcome), Some(RunFailureKind::OutputLimit));
    assert_eq!(message(&outcome), "outer output exceeded 100 bytes");
    assert!(outcome.logs[0] == "late 0", "{outcome:?}");
}

/// conformance: RT-41
#[tokio::test]
async fn lossy_arguments_never_reach_a_function() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let deep = "[".repeat(300) + &"]".repeat(300);
    let program = forging(&format!(
        r#"
import asyncio
said = []
for v in [-0.0, float("nan"), 1 << 70, {{1: 2}}, "\ud800"]:
    try: await tools.echo(v=v)
    except ToolCallError as error: said.append(str(error))
def call(id, args): return '{{"type":"call","id":%s,"global":"tools","name":"echo","args":%s}}' % (id, args)
# The guest's next id is 0: nothing that was refused has used one.
forge(call(0, '{{"a":1,"a":2}}'))
try: await tools.echo(late=1)
except ToolCallError as error: said.append(str(error))
forge(call(1, '{deep}'))
try: await tools.echo(late=2)
except ToolCallError as error: said.append(str(error))
forge(call(77, '-0.0'), call(78, '[1e999]'))
said.append(await tools.echo(last=3))
return said
"#
    ));
    let request = RunRequest::new(program).namespace(tools(&seen));
    let outcome = python(&Budgets::default()).run(request).await.unwrap();
    let mut said = vec![json!("binding arguments must be lossless JSON"); 7];
    said.push(json!({"last": 3}));
    assert_eq!(outcome.value, Some(json!(said)), "{outcome:?}");
    assert_eq!(*seen.lock().unwrap(), [json!({"last": 3})]);
}

/// conformance: RT-46
#[tokio::test]
async fn forged_calls_are_calls_and_no_more() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let program = forging(
        r#"
def call(id, name, args): return {"type": "call", "id": id, "global": "tools", "name": name, "args": args}
forge(call(0, "missing", {}))
said = []
try: await tools.echo(n=0)
except ToolCallError as error: said.append(str(error))
forge(call(1, "constructor", {}))
try: await tools.echo(n=1)
except ToolCallError as error: said.append(str(error))
forge(*[call(500, "echo", {"id": 500}) for _ in range(10)])
forge(call(2, "echo", {"forged": 2}))
said.append(await tools.echo(n=2))
said.append(await tools.echo(n=3))
return said
"#,
    );
    let request = RunRequest::new(program).namespace(tools(&seen));
    let outcome = python(&Budgets::default()).run(request).await.unwrap();
    let said = json!([
        "unknown binding \"tools.missing\"",
        "unknown binding \"tools.constructor\"",
        {"forged": 2},
        {"n": 3}
    ]);
    assert_eq!(outcome.value, Some(said), "{outcome:?}");
    let seen = seen.lock().unwrap();
    assert_eq!(
        *seen,
        [json!({"id": 500}), json!({"forged": 2}), json!({"n": 3})]
    );
}

/// conformance: RT-47, RT-48
#[tokio::test]
async fn junk_on_the_wire_changes_nothing() {
    let outcome = run(&forging(
        r#"
forge(None, 1, "text", [], {}, {"type": "exit"}, {"type": "call"}, {"type": "call", "id": "x",
    "global": "tools", "name": "echo", "args": {}}, {"type": "log"}, {"type": "log", "text": 1},
    {"type": "done", "error": 1}, {"type": "done", "error": {"kind": "timeout", "message": "m"}},
    {"type": "done", "error": {"kind": "invented", "message": "m"}},
    '{"type":"log","text":', "\x00", "nonsense")
os.write(4, b"\xff\xfe\n")
return (await tools.echo(n=1))["n"]
"#,
    ))
    .await;
    assert_eq!(outcome, RunOutcome::completed(vec![], Some(json!(1))));
    let outcome = run(&forging(
        r#"
forge({"type": "done", "value": 1, "extra": [], "error": {"kind": "exception", "message": "said", "x": 1}})
while True: pass
"#,
    ))
    .await;
    let expected = RunOutcome::failed(vec![], RunFailureKind::Exception, "said");
    assert_eq!(outcome, expected);
}

/// conformance: RT-49
#[tokio::test]
async fn the_host_counts_what_is_forged() {
    let limit = |outcome: &RunOutcome, bytes: usize| {
        assert_eq!(
            kind(outcome),
            Some(RunFailureKind::OutputLimit),
            "{outcome:?}"
        );
        let said = format!("outer output exceeded {bytes} bytes");
        assert!(said.starts_with(message(outcome)), "{outcome:?}");
        let logs = serde_json::to_string(&outcome.logs).unwrap().len();
        assert!(logs + message(outcome).len() + 2 <= bytes, "{outcome:?}");
    };
    for program in [
        "while True: forge({'type': 'log', 'text': 'flood'})",
        "forge({'type': 'log', 'text': 'x' * 1000})\nwhile True: pass",
        "forge({'type': 'done', 'value': 'x' * 1000})\nwhile True: pass",
        "forge({'type': 'done', 'error': {'kind': 'exception', 'message': 'x' * 1000}})",
        "forge({'type': 'done', 'error': {'kind': 'output-limit', 'message': 'mine'}})",
    ] {
        let budgets = Budgets::default().output(200);
        limit(&run_with(&budgets, &forging(program)).await, 200);
    }
    for value in ["-0.0", "-0", "1e999", "[{\"a\":-0e1}]", "{\"a\":1,\"a\":1}"] {
        let frame = format!("forge('{{\"type\":\"done\",\"value\":{value}}}')\nwhile True: pass");
        let outcome = run(&forging(&frame)).await;
        assert_eq!(
            kind(&outcome),
            Some(RunFailureKind::InvalidOutput),
            "{value}"
        );
        assert_eq!(
            message(&outcome),
            "program completion must be lossless JSON"
        );
    }
}
