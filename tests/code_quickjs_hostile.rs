//! Programs that mean harm, and what is left of them.

#![cfg(target_os = "linux")]

use std::fs;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use toolfall::code::quickjs::QuickJsRuntime;
use toolfall::code::{
    BindingArguments, BindingFuture, Budgets, CodeRuntime, ErrorClass, Misuse, Namespace,
    RunFailureKind as Kind, RunOutcome, RunRequest,
};

/// What a program may come to.
#[derive(Clone, Copy)]
enum May {
    /// It ends by itself, and returns this.
    Return(&'static str),
    /// It fails in one of these ways.
    Fail(&'static [Kind]),
    /// Either, as the engine's limits fall.
    End,
}
use May::{End, Fail, Return};

const SPENT: May = Fail(&[Kind::Timeout]);
const THROWN: May = Fail(&[Kind::Exception]);
const INVALID: May = Fail(&[Kind::InvalidOutput]);
const FULL: May = Fail(&[Kind::WorkerExit, Kind::Exception, Kind::Timeout]);
const OVER: May = Fail(&[Kind::OutputLimit]);

/// Everywhere; or only in a process, where what cannot be interrupted is
/// killed.
const BOTH: bool = true;
const CHILD: bool = false;

const PROGRAMS: &[(&str, bool, May)] = &[
    // Time.
    ("while (true) {}", BOTH, SPENT),
    (
        "for (;;) { try { for (;;) {} } catch { continue } finally { for (;;) {} } }",
        BOTH,
        SPENT,
    ),
    ("while (true) await null", BOTH, SPENT),
    (
        "(async () => { while (true) await null })(); return 1",
        BOTH,
        Return("1"),
    ),
    (
        "const p = () => Promise.resolve().then(p); await p()",
        BOTH,
        FULL,
    ),
    ("await new Promise(() => {})", BOTH, SPENT),
    ("await tools.never()", BOTH, SPENT),
    ("await { then() {} }", BOTH, SPENT),
    ("return { then(resolve) { while (true) {} } }", BOTH, SPENT),
    ("return /^(a+)+$/.test('a'.repeat(40) + 'b')", BOTH, End),
    ("return /(x+x+)+y/.test('x'.repeat(60))", BOTH, End),
    ("return new Array(1e9) + ''", CHILD, End),
    (
        "return new Array(2 ** 32 - 1).join('ab').length",
        CHILD,
        End,
    ),
    (
        "return [].concat(new Array(4294967295)).indexOf(1)",
        CHILD,
        End,
    ),
    ("new Array(4294967295).fill(0)", CHILD, FULL),
    (
        "const a = []; a.length = 4294967295; a.sort(); return 1",
        CHILD,
        End,
    ),
    ("Array.from({ length: Infinity })", CHILD, FULL),
    (
        "function* g() { while (true) yield } for (const x of g()) {}",
        BOTH,
        SPENT,
    ),
    (
        "async function* g() { while (true) yield 1 } for await (const x of g()) {}",
        BOTH,
        SPENT,
    ),
    (
        "for await (const x of { [Symbol.asyncIterator]() { return { next: () => new Promise(() => {}) } } }) {}",
        BOTH,
        SPENT,
    ),
    ("return (2n ** 4000000n).toString().length", CHILD, End),
    (
        "const o = { get a() { return this.a } }; return o.a",
        BOTH,
        THROWN,
    ),
    ("return { get a() { while (true) {} } }", BOTH, SPENT),
    (
        "await tools.echo({ get a() { while (true) {} } })",
        BOTH,
        SPENT,
    ),
    (
        "throw { get message() { while (true) {} }, toString() { while (true) {} } }",
        BOTH,
        SPENT,
    ),
    (
        "const e = new Error(); Object.defineProperty(e, 'message', { get() { while (true) {} } }); throw e",
        BOTH,
        SPENT,
    ),
    ("console.log({ get a() { while (true) {} } })", BOTH, SPENT),
    ("new Function('while (true) {}')()", BOTH, SPENT),
    ("(0, eval)('while (true) {}')", BOTH, SPENT),
    // Stack.
    ("const f = () => f() + 1; f()", BOTH, THROWN),
    (
        "const f = (...a) => { try { f(...a, 1) } finally { f(...a) } }; f()",
        BOTH,
        End,
    ),
    (
        "let v = 0; for (let i = 0; i < 1e5; i++) v = [v]; return v",
        BOTH,
        INVALID,
    ),
    (
        "let v = 0; for (let i = 0; i < 1e5; i++) v = { v }; await tools.echo(v)",
        BOTH,
        THROWN,
    ),
    (
        "let v = 0; for (let i = 0; i < 1e5; i++) v = [v]; console.log(v); return 1",
        BOTH,
        Return("1"),
    ),
    (
        "let v = 0; for (let i = 0; i < 1e5; i++) v = [v]; return JSON.stringify(v).length",
        BOTH,
        End,
    ),
    (
        "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x ?? 1",
        BOTH,
        End,
    ),
    (
        "return eval('('.repeat(1e5) + ')'.repeat(1e5))",
        BOTH,
        THROWN,
    ),
    (
        "return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).source.length",
        BOTH,
        End,
    ),
    (
        "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); return f()",
        BOTH,
        End,
    ),
    // Memory.
    (
        "const a = []; while (true) a.push(new Array(1000).fill(1))",
        BOTH,
        FULL,
    ),
    ("const a = []; while (true) a.push({})", BOTH, FULL),
    ("let s = 'x'; while (true) s += s", BOTH, THROWN),
    (
        "const a = []; while (true) a.push(new Uint8Array(1 << 20))",
        BOTH,
        FULL,
    ),
    ("return new ArrayBuffer(1e15).byteLength", BOTH, THROWN),
    (
        "const b = new ArrayBuffer(8, { maxByteLength: 1 << 20 }); const v = new Uint32Array(b); b.resize(1 << 20); v.fill(7); b.resize(8); return v.length",
        BOTH,
        End,
    ),
    (
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, m)",
        BOTH,
        FULL,
    ),
    ("for (let i = 0; ; i++) globalThis['x' + i] = i", BOTH, FULL),
    (
        "const a = []; try { while (true) a.push('x'.repeat(1e6)) } catch { a.length = 0 } return a.length",
        BOTH,
        End,
    ),
    (
        "const r = []; while (true) r.push(Symbol('x'.repeat(1000)))",
        BOTH,
        FULL,
    ),
    (
        "const w = new WeakRef({}), f = new FinalizationRegistry(() => { while (true) {} }); for (let i = 0; i < 1e4; i++) f.register({}, i); return typeof w.deref()",
        BOTH,
        End,
    ),
    // Output.
    ("while (true) console.log('x'.repeat(1000))", BOTH, OVER),
    ("console.log('x'.repeat(10_000_000))", BOTH, OVER),
    (
        "let v = ['x'.repeat(1000)]; for (let i = 0; i < 40; i++) v = [v, v]; return v",
        BOTH,
        OVER,
    ),
    (
        "let v = ['x'.repeat(1000)]; for (let i = 0; i < 40; i++) v = [v, v]; console.log(...Array(20).fill(v))",
        BOTH,
        End,
    ),
    (
        "let v = []; for (let i = 0; i < 7; i++) v = Array(10).fill(v); console.log(v); return 1",
        BOTH,
        End,
    ),
    ("return 'x'.repeat(10_000_000)", BOTH, OVER),
    ("throw new Error('x'.repeat(10_000_000))", BOTH, OVER),
    // Calls.
    ("while (true) tools.echo({ a: 1 })", BOTH, FULL),
    ("while (true) tools.never('x'.repeat(1000))", BOTH, FULL),
    ("while (true) tools.echo().catch(() => {}); ", BOTH, FULL),
    (
        "for (let i = 0; i < 2000; i++) tools.never(); return 1",
        BOTH,
        Return("1"),
    ),
    (
        "tools.echo(1).then(() => { while (true) tools.echo() }); return 1",
        BOTH,
        Return("1"),
    ),
    (
        "return await tools.echo('x'.repeat(20_000_000)).catch((e) => e.message)",
        BOTH,
        End,
    ),
    (
        "return await Promise.all([tools.echo({ get a() { tools.echo(1); return 2 } }), tools.echo(3)])",
        BOTH,
        Return("[{\"a\":2},3]"),
    ),
    (
        "return await tools.echo(new Proxy({}, { ownKeys() { throw 1 } })).catch((e) => e.message)",
        BOTH,
        Return("\"binding arguments must be lossless JSON\""),
    ),
    (
        "const a = [1]; a.push(a); return await tools.echo(a).catch((e) => e.message)",
        BOTH,
        Return("\"binding arguments must be lossless JSON\""),
    ),
    (
        "return [typeof tools.missing, typeof tools.hasOwnProperty, typeof tools.then, await tools]",
        BOTH,
        INVALID,
    ),
    ("tools.echo = () => 1", BOTH, THROWN),
    ("delete tools.echo", BOTH, THROWN),
    (
        "Object.setPrototypeOf(ToolCallError, class { constructor() { while (true) {} } })",
        BOTH,
        THROWN,
    ),
    // Prototypes and globals.
    (
        "Object.prototype.toJSON = () => 7; Array.prototype.toJSON = () => 8; return await tools.echo({ a: [1] })",
        BOTH,
        Return("{\"a\":[1]}"),
    ),
    (
        "Object.prototype.then = function (r) { r(9) }; return 1",
        BOTH,
        Return("1"),
    ),
    (
        "Promise.prototype.then = () => { throw 1 }; return await tools.echo(2)",
        BOTH,
        Return("2"),
    ),
    (
        "Array.prototype[Symbol.iterator] = null; Object.defineProperty(Object.prototype, '0', { set() { throw 1 } }); return await tools.echo([3])",
        BOTH,
        Return("[3]"),
    ),
    (
        "Object.defineProperty(Object.prototype, 'value', { get() { throw 1 }, set() { throw 2 } }); Object.prototype.get = 1; console.log({}); return await tools.echo({ value: 1 })",
        BOTH,
        End,
    ),
    (
        "for (const k of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[k] } catch {} return await tools.echo(4)",
        BOTH,
        Return("4"),
    ),
    (
        "for (const o of [Object, Promise, Error, Array, Function, String, Symbol]) for (const k of Reflect.ownKeys(o.prototype)) try { o.prototype[k] = () => { throw 1 } } catch {} return await tools.echo([5])",
        BOTH,
        End,
    ),
    (
        "Error.prepareStackTrace = () => { while (true) {} }; throw new Error()",
        BOTH,
        End,
    ),
    (
        "Error.stackTraceLimit = Infinity; Error.prototype.name = { toString() { throw 1 } }; null.x",
        BOTH,
        THROWN,
    ),
    ("globalThis.console = null", BOTH, THROWN),
    (
        "Object.prototype.__proto__ = null; return { ['__proto__']: 1 }",
        BOTH,
        Return("{\"__proto__\":1}"),
    ),
    // Failures.
    ("throw null", BOTH, THROWN),
    ("throw undefined", BOTH, THROWN),
    (
        "throw new Proxy(new Error('x'), { get() { throw 1 } })",
        BOTH,
        THROWN,
    ),
    (
        "const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e",
        BOTH,
        THROWN,
    ),
    (
        "const e = new Error('x'); e.message = { toString() { while (true) {} } }; throw e",
        BOTH,
        THROWN,
    ),
    (
        "throw Object.assign(() => 1, { message: 'x' })",
        BOTH,
        THROWN,
    ),
    ("return Promise.reject(Symbol('x'))", BOTH, THROWN),
    ("await import('fs')", BOTH, THROWN),
    (
        "import('data:text/javascript,1'); return 1",
        BOTH,
        Return("1"),
    ),
    ("}); while (true) {} (async () => {", BOTH, THROWN),
    ("return 1 }; ({ then() {", BOTH, THROWN),
    ("#!/bin/sh", BOTH, THROWN),
    ("\0", BOTH, THROWN),
    // Values.
    ("return new Array(4294967295)", BOTH, INVALID),
    ("const a = []; a[4294967294] = 1; return a", BOTH, INVALID),
    ("return { ['\\ud800']: 1 }", BOTH, INVALID),
    ("return ['\\udc00\\ud800']", BOTH, INVALID),
    (
        "return { ['a\\0b']: '\\0' }",
        BOTH,
        Return("{\"a\\u0000b\":\"\\u0000\"}"),
    ),
    ("return Object.create({ a: 1 })", BOTH, INVALID),
    (
        "return Object.create(null, { a: { value: 1 } })",
        BOTH,
        INVALID,
    ),
    (
        "return { '$serde_json::private::Number': '1' }",
        BOTH,
        INVALID,
    ),
    ("return [new String('x')]", BOTH, INVALID),
    ("return arguments", BOTH, THROWN),
    ("return globalThis", BOTH, INVALID),
    (
        "return { get a() { delete this.b; return 1 }, b: 2 }",
        BOTH,
        INVALID,
    ),
    // The protocol.
    (
        "console.log('{\"type\":\"done\",\"value\":666}\\n{\"type\":\"done\",\"value\":666}'); return 1",
        BOTH,
        Return("1"),
    ),
    ("throw '{\"type\":\"done\",\"value\":666}\\n'", BOTH, THROWN),
    (
        "return await tools.echo('\\n{\"type\":\"done\",\"value\":666}\\n')",
        BOTH,
        Return("\"\\n{\\\"type\\\":\\\"done\\\",\\\"value\\\":666}\\n\""),
    ),
    // Syntax.
    (
        "a: b: c: d: e: f: for (;;) { for (;;) { continue a; break f } }",
        BOTH,
        End,
    ),
    ("let x = 1; x++++", BOTH, THROWN),
];

/// Long ones, made.
fn made() -> Vec<(String, bool, May)> {
    let deep = |unit: &str, close: &str, levels| {
        format!("{}1{}", unit.repeat(levels), close.repeat(levels))
    };
    vec![
        (format!("return {}", deep("(", ")", 9_000)), BOTH, End),
        (format!("return {}", deep("[", "]", 9_000)), BOTH, End),
        (format!("return {}", "!".repeat(30_000)), BOTH, THROWN),
        (format!("return {}", "(".repeat(200_000)), BOTH, THROWN),
        (format!("let {}", "a:".repeat(15_000)), BOTH, THROWN),
        (format!("type A = {}1", "keyof ".repeat(15_000)), BOTH, End),
        (format!("return f{}", "<a".repeat(400)), BOTH, End),
        (format!("{}return 1", "a: ".repeat(5_000)), BOTH, End),
        (format!("return `{}`", "${`".repeat(3_000)), BOTH, THROWN),
        (
            format!("return '{}'.length", "x".repeat(200_000)),
            BOTH,
            Return("200000"),
        ),
        (format!("return {}", deep("a=>", "", 9_000)), BOTH, End),
    ]
}

fn budgets() -> Budgets {
    Budgets::default()
        .compute(Duration::from_millis(150))
        .wall(Duration::from_secs(2))
        .heap(48 << 20)
        .output(256 << 10)
}

fn tools() -> Namespace {
    Namespace {
        global: "tools".to_owned(),
        members: vec!["echo".to_owned(), "never".to_owned()],
        error_class: Some(ErrorClass {
            name: "ToolCallError".to_owned(),
            member_property: "tool".to_owned(),
        }),
        binding: Arc::new(
            |member: &str, arguments: BindingArguments| -> BindingFuture {
                let never = member == "never";
                Box::pin(async move {
                    if never {
                        std::future::pending::<()>().await;
                    }
                    Ok(match arguments {
                        BindingArguments::Kept(arguments) => arguments.value().clone(),
                        _ => Value::Null,
                    })
                })
            },
        ),
    }
}

/// One test at a time: they count what there is in the process.
fn alone<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test());
}

/// Threads, files and processes of this process.
fn belongings() -> (usize, usize, usize) {
    let entries = |path: &str| fs::read_dir(path).unwrap().filter_map(Result::ok);
    let named = |entry: &fs::DirEntry| {
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        name.starts_with("toolfall-quick")
    };
    let threads = entries("/proc/self/task").filter(named).count();
    let children = entries("/proc/self/task")
        .map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default())
        .map(|children| children.split_ascii_whitespace().count())
        .sum();
    (threads, entries("/proc/self/fd").count(), children)
}

/// Waits until there is no more than there was.
async fn nothing_is_left(before: (usize, usize, usize)) {
    for _ in 0..1_000 {
        let now = belongings();
        if now.0 <= before.0 && now.1 <= before.1 && now.2 <= before.2 {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!(
        "left are (threads, files, processes) {:?} after {before:?}",
        belongings()
    );
}

/// Runs a program, and after it one that must find everything in order.
/// Gives what is wrong, if something is.
async fn survives(runtime: &QuickJsRuntime, program: &str, may: May) -> Option<String> {
    let begun = Instant::now();
    let request = RunRequest::new(program).namespace(tools());
    let ended = timeout(Duration::from_secs(20), runtime.run(request)).await;
    let text: String = program.chars().take(100).collect();
    let Ok(Ok(outcome)) = ended else {
        return Some(format!("{text}: {ended:?}"));
    };
    let took = begun.elapsed();
    let kind = outcome.error.as_ref().map(|error| error.kind);
    let as_expected = match may {
        Return(value) => outcome.value == serde_json::from_str(value).ok() && kind.is_none(),
        Fail(kinds) => kind.is_some_and(|kind| kinds.contains(&kind)),
        End => true,
    };
    let next = plainly(runtime).await;
    let goes_on = next.value == Some(json!([1]));
    if as_expected && goes_on && took < Duration::from_secs(10) {
        return None;
    }
    let found: String = format!("{outcome:?}").chars().take(300).collect();
    Some(format!("{text}\n    {took:?}: {found}, then {next:?}"))
}

async fn survive(runtime: QuickJsRuntime, places: &[bool]) {
    let programs = PROGRAMS
        .iter()
        .map(|(program, place, may)| ((*program).to_owned(), *place, *may));
    let programs: Vec<_> = programs
        .chain(made())
        .filter(|(_, place, _)| places.contains(place))
        .collect();
    assert!(programs.len() >= 40);
    let runs = programs
        .iter()
        .map(|(program, _, may)| survives(&runtime, program, *may));
    // A few at a time: many of them only wait for their end.
    let found: Vec<_> = futures_util::stream::iter(runs)
        .buffer_unordered(4)
        .collect()
        .await;
    let wrong: Vec<_> = found.into_iter().flatten().collect();
    let all = programs.len();
    assert!(
        wrong.is_empty(),
        "{}: {} of {all}\n{}",
        runtime.isolation(),
        wrong.len(),
        wrong.join("\n")
    );
    runtime.dispose().await;
}

async fn plainly(runtime: &QuickJsRuntime) -> RunOutcome {
    let request = RunRequest::new("return await tools.echo([1])").namespace(tools());
    runtime.run(request).await.unwrap()
}

#[test]
fn nothing_gets_out_of_a_process() {
    alone(|| async {
        let before = belongings();
        let runtime = QuickJsRuntime::builder()
            .program(env!("CARGO_BIN_EXE_toolfall"))
            .budgets(budgets())
            .build()
            .unwrap();
        survive(runtime, &[BOTH, CHILD]).await;
        nothing_is_left(before).await;
    });
}

/// conformance: RT-38
#[test]
fn nothing_gets_out_of_a_thread() {
    alone(|| async {
        let before = belongings();
        let runtime = QuickJsRuntime::in_process()
            .budgets(budgets())
            .build()
            .unwrap();
        survive(runtime, &[BOTH]).await;
        nothing_is_left(before).await;
    });
}

#[test]
fn a_thread_that_does_not_end_is_counted_and_left() {
    alone(|| async {
        let runtime = QuickJsRuntime::in_process()
            .budgets(budgets().wall(Duration::from_millis(200)))
            .stuck(1)
            .build()
            .unwrap();
        let begun = Instant::now();
        let stuck = "const a = []; a.length = 6e7; return a.join('').length";
        let outcome = runtime.run(RunRequest::new(stuck)).await.unwrap();
        assert_eq!(outcome.error.unwrap().kind, Kind::Timeout);
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
        if runtime.stuck() == 1 {
            // It may have ended just now.
            let next = runtime
                .run(RunRequest::new("return 1").namespace(tools()))
                .await;
            let refused = matches!(&next, Err(Misuse::NotStarted { .. }));
            assert!(refused || next.is_ok(), "{next:?}");
        }
        for _ in 0..3_000 {
            if runtime.stuck() == 0 {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(plainly(&runtime).await.value, Some(json!([1])));
    });
}

#[test]
fn memory_comes_back() {
    alone(|| async {
        let runtime = QuickJsRuntime::in_process()
            .budgets(budgets())
            .build()
            .unwrap();
        let program = "
            const cycle: any[] = []; cycle.push(cycle);
            globalThis.kept = Array.from({ length: 2000 }, (_, i) => ({ i, cycle, text: 'x'.repeat(50) }));
            Object.prototype.leak = globalThis.kept;
            tools.never(); tools.never().catch(() => {});
            return (await tools.echo(kept.map((it) => it.text))).length";
        let resident = || {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status
                .lines()
                .find(|line| line.starts_with("VmRSS:"))
                .unwrap();
            line.split_ascii_whitespace()
                .nth(1)
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        let run = || runtime.run(RunRequest::new(program).namespace(tools()));
        for _ in 0..100 {
            assert_eq!(run().await.unwrap().value, Some(json!(2000)));
        }
        let before = resident();
        for _ in 0..500 {
            assert_eq!(run().await.unwrap().value, Some(json!(2000)));
        }
        let after = resident();
        assert!(
            after <= before + before / 10,
            "{before} KiB before 500 runs, {after} after"
        );
    });
}
