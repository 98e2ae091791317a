//! The engine alone, with answers at hand.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::*;

#[derive(Default)]
struct Desk {
    logs: RefCell<Vec<String>>,
    replies: RefCell<VecDeque<Reply>>,
}

impl Outside for Desk {
    fn log(&self, text: String) {
        self.logs.borrow_mut().push(text);
    }

    fn call(&self, call: Call) -> Result<(), String> {
        let result = match call.member.as_str() {
            "echo" => Ok(call.arguments.unwrap_or(Value::Null)),
            "huge" => Ok(json!(9_007_199_254_740_993_u64)),
            name => Err(format!("no {name}")),
        };
        // The last one made is answered first.
        self.replies.borrow_mut().push_front(Reply {
            id: call.id,
            result,
        });
        Ok(())
    }

    fn reply(&self) -> Option<Reply> {
        self.replies.borrow_mut().pop_front()
    }
}

fn on_desk(program: &str) -> (Ending, Vec<String>) {
    let roster = Roster {
        global: "tools".to_owned(),
        names: ["echo", "fail", "huge", "__proto__", "constructor"]
            .map(str::to_owned)
            .to_vec(),
        error_class: Some(("ToolCallError".to_owned(), "toolName".to_owned())),
    };
    let limits = Limits {
        heap_bytes: 32 << 20,
        compute: Some(Duration::from_millis(300)),
        log_bytes: 1 << 20,
        value_bytes: 1 << 20,
    };
    let desk = Rc::new(Desk::default());
    let ending = run(
        program,
        &[roster],
        &limits,
        &Arc::default(),
        Rc::clone(&desk),
    );
    let logs = desk.logs.take();
    (ending, logs)
}

fn value(program: &str) -> Value {
    match on_desk(program).0 {
        Ending::Completed(Some(value)) => value,
        other => panic!("{program}: {other:?}"),
    }
}

fn exception(program: &str) -> String {
    match on_desk(program).0 {
        Ending::Failed(RunFailureKind::Exception, message) => message,
        other => panic!("{program}: {other:?}"),
    }
}

#[test]
fn values_cross_both_ways() {
    assert_eq!(value("return 3"), json!(3));
    assert_eq!(on_desk("const x = 1").0, Ending::Completed(None));
    assert_eq!(
        value(
            "return await tools.echo({a: [1, 'é\\u0000', null, true], __proto__: null, ['__proto__']: 2})"
        ),
        serde_json::from_str::<Value>(r#"{"a":[1,"é\u0000",null,true],"__proto__":2}"#).unwrap()
    );
    assert_eq!(
        value("return await Promise.all([tools.echo(1), tools.echo(2), tools.echo()])"),
        json!([1, 2, null])
    );
    assert_eq!(
        value(
            "return [await tools['__proto__'](1).catch(e => e.message), typeof tools.hasOwnProperty, typeof tools.then]"
        ),
        json!(["no __proto__", "undefined", "undefined"])
    );
}

#[test]
fn what_would_change_is_refused() {
    for lossy in [
        "-0",
        "NaN",
        "Infinity",
        "() => 1",
        "Symbol()",
        "10n",
        "[undefined]",
        "[,1]",
        "{a: undefined}",
        "new Date()",
        "new Map()",
        "/a/",
        "new Proxy({}, {})",
        "new (class A {})",
        "'\\ud800'",
        "{['\\ud800']: 1}",
        "{[Symbol()]: 1}",
        "Object.defineProperty({}, 'a', {value: 1})",
        "Object.assign([1], {a: 1})",
        "new Array(4294967295)",
        "new Uint8Array(4)",
        "new Error('x')",
        "{get a() { throw 1 }}",
        "(() => { const a = []; a.push(a); return a })()",
        "Promise.resolve",
    ] {
        let (ending, _) = on_desk(&format!("return ({lossy})"));
        assert_eq!(
            ending,
            Ending::Failed(RunFailureKind::InvalidOutput, COMPLETION.to_owned()),
            "{lossy}"
        );
    }
    assert_eq!(
        value(
            "return await tools.echo(-0).catch(e => [e.name, e.toolName, e.message, e instanceof ToolCallError, e instanceof Error])"
        ),
        json!(["ToolCallError", "echo", ARGUMENTS, true, true])
    );
    assert_eq!(
        value("return await tools.huge().catch(e => [e.toolName, e.message])"),
        json!(["huge", RESOLUTION])
    );
    assert_eq!(value("return {get a() { return 1 }}"), json!({"a": 1}));
}

#[test]
fn prints_in_order_and_readably() {
    let (_, logs) = on_desk(
        "console.log('a', 1, -0, {b: [1n, undefined, null]}); console.error(new TypeError('x')); console.warn(Symbol('s'), () => 1, '\\ud800')",
    );
    assert_eq!(
        logs,
        [
            "a 1 -0 {\"b\": [1n, undefined, null]}",
            "TypeError: x",
            "Symbol(s) [function] \u{fffd}"
        ]
    );
}

#[test]
fn failures_name_their_place() {
    assert_eq!(exception("throw 'raw'"), "raw");
    assert_eq!(
        exception(
            "const e = new Error('bare'); Object.defineProperty(e, 'stack', {value: 1}); throw e"
        ),
        "bare"
    );
    assert_eq!(
        exception("throw {get a() { throw 1 }}"),
        "program threw an unrenderable value"
    );
    assert_eq!(exception("throw null"), "null");
    assert_eq!(
        exception("\n  throw new Error('boom')"),
        "Error: boom (line 2, column 13)"
    );
    assert_eq!(
        exception("const f = 1; f()"),
        "TypeError: not a function (line 1, column 13)"
    );
    assert_eq!(
        exception("let = ;"),
        "SyntaxError: variable name expected (line 1, column 5)"
    );
}

#[test]
fn limits_hold() {
    assert_eq!(on_desk("while (true) {}").0, Ending::Spent);
    assert_eq!(
        on_desk("for (;;) { try { for (;;) {} } catch { } finally { for (;;) {} } }").0,
        Ending::Spent
    );
    assert_eq!(on_desk("while (true) await null").0, Ending::Spent);
    assert_eq!(
        on_desk("const a = []; while (true) a.push(new Array(1000).fill(1))").0,
        Ending::OutOfMemory
    );
    assert_eq!(on_desk("await new Promise(() => {})").0, Ending::Stopped);
    assert!(exception("function f() { return f() + 1 } f()").contains("RangeError"));
    assert_eq!(
        value(
            "return [typeof Atomics, typeof SharedArrayBuffer, typeof fetch, typeof process, typeof performance]"
        ),
        json!(vec!["undefined"; 5])
    );
    assert_eq!(
        value("return await import('fs').then(() => 1, e => 'no')"),
        json!("no")
    );
}

#[test]
fn poisoned_prototypes_change_nothing_outside() {
    let poison = "Object.prototype.toJSON = () => 7; Array.prototype.push = 1; Promise.prototype.then = null; \
        Object.defineProperty(Object.prototype, 'value', {get() { throw 1 }}); Symbol.iterator; \
        Array.prototype[Symbol.iterator] = null; globalThis.Promise = null; Map.prototype.get = null; \
        Object.prototype.enumerable = false; Object.prototype.get = () => 1; Function.prototype.call = null;";
    assert_eq!(
        value(&format!(
            "{poison} console.log('x'); return [await tools.echo({{a: 1}}), await tools.echo([2])]"
        )),
        json!([{"a": 1}, [2]])
    );
}
