//! Programs in JavaScript and TypeScript, in threads and in processes.

#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolfall::code::conformance::{Dialect, check};
use toolfall::code::quickjs::QuickJsRuntime;
use toolfall::code::{
    BindingArguments, BindingFuture, Budgets, CodeRuntime, ErrorClass, Misuse, Namespace,
    RunFailureKind, RunOutcome, RunRequest,
};
use toolfall::scheduler::Cancel;

fn budgets() -> Budgets {
    Budgets::default()
        .heap(64 << 20)
        .output(1 << 20)
        .wall(Duration::from_secs(20))
}

/// Both places that a program runs in.
fn runtimes(budgets: &Budgets) -> [QuickJsRuntime; 2] {
    [in_process(budgets), out_of_process(budgets)]
}

fn in_process(budgets: &Budgets) -> QuickJsRuntime {
    QuickJsRuntime::in_process()
        .budgets(budgets.clone())
        .build()
        .unwrap()
}

fn out_of_process(budgets: &Budgets) -> QuickJsRuntime {
    QuickJsRuntime::builder()
        .program(env!("CARGO_BIN_EXE_toolfall"))
        .budgets(budgets.clone())
        .build()
        .unwrap()
}

fn tools() -> Namespace {
    let members = [
        "echo",
        "fail",
        "slow",
        "never",
        "huge",
        "__proto__",
        "constructor",
    ];
    Namespace {
        global: "tools".to_owned(),
        members: members.map(str::to_owned).to_vec(),
        error_class: Some(ErrorClass {
            name: "ToolCallError".to_owned(),
            member_property: "tool".to_owned(),
        }),
        binding: Arc::new(
            |member: &str, arguments: BindingArguments| -> BindingFuture {
                let member = member.to_owned();
                Box::pin(async move {
                    let arguments = match arguments {
                        BindingArguments::Kept(arguments) => arguments.value().clone(),
                        _ => json!({}),
                    };
                    match member.as_str() {
                        "slow" => tokio::time::sleep(Duration::from_millis(50)).await,
                        "never" => std::future::pending().await,
                        "fail" => return Err("as asked \"exactly\"\n".to_owned()),
                        "huge" => return Ok(json!(9_007_199_254_740_993_u64)),
                        _ => {}
                    }
                    Ok(json!([member, arguments]))
                })
            },
        ),
    }
}

async fn outcome(runtime: &QuickJsRuntime, program: &str) -> RunOutcome {
    let request = RunRequest::new(program).namespace(tools());
    runtime.run(request).await.unwrap()
}

async fn value(runtime: &QuickJsRuntime, program: &str) -> Value {
    let outcome = outcome(runtime, program).await;
    match outcome.value {
        Some(value) => value,
        None => panic!("{} {program}: {outcome:?}", runtime.isolation()),
    }
}

fn error(outcome: &RunOutcome) -> (RunFailureKind, &str) {
    let error = outcome.error.as_ref().expect("a failure");
    assert_eq!(outcome.value, None);
    (error.kind, &error.message)
}

/// conformance: RT-11, RT-12, RT-39, RT-44, RT-62
#[tokio::test]
async fn programs_call_print_and_return() {
    for runtime in runtimes(&budgets()) {
        let outcome = outcome(
            &runtime,
            "interface Pair { a: number; b?: string }
             const pair: Pair = { a: 1 } as Pair;
             console.log('first', pair, [undefined, -0, 10n]);
             console.error(new RangeError('x'));
             const good = await tools.echo<Pair>(pair);
             const bad = await tools.fail({}).catch((e: ToolCallError) => [
                 e instanceof ToolCallError, e instanceof Error, e.name, e.tool, e.message]);
             const own = [await tools.__proto__(1), await tools.constructor(), typeof tools.hasOwnProperty, typeof tools.then];
             console.warn('last');
             return { good, bad, own };",
        )
        .await;
        assert_eq!(outcome.error, None);
        assert_eq!(
            outcome.logs,
            [
                "first {\"a\": 1} [undefined, -0, 10n]",
                "RangeError: x",
                "last"
            ]
        );
        let expected = json!({
            "good": ["echo", {"a": 1}],
            "bad": [true, true, "ToolCallError", "fail", "as asked \"exactly\"\n"],
            "own": [["__proto__", 1], ["constructor", {}], "undefined", "undefined"],
        });
        assert_eq!(outcome.value, Some(expected));
        let none = self::outcome(&runtime, "const a = 1").await;
        assert_eq!((none.value, none.error), (None, None));
        let long = value(&runtime, "return Array.from({length: 50000}, (_, i) => i)").await;
        assert_eq!(long, json!((0..50_000).collect::<Vec<_>>()));
    }
}

/// conformance: RT-40
#[tokio::test]
async fn every_namespace_has_its_own_errors() {
    for runtime in runtimes(&budgets()) {
        let mut helper = tools();
        helper.global = "helper".to_owned();
        helper.error_class = Some(ErrorClass {
            name: "HelperCallError".to_owned(),
            member_property: "helperName".to_owned(),
        });
        let mut plain = tools();
        plain.global = "plain".to_owned();
        plain.error_class = None;
        let program = "
            const of = async (f) => { try { await f() } catch (e) { return [e.name, e.helperName ?? null, e.tool ?? null, e instanceof ToolCallError] } };
            return [await of(() => helper.fail()), await of(() => plain.fail())]";
        let request = RunRequest::new(program)
            .namespace(tools())
            .namespace(helper)
            .namespace(plain);
        let outcome = runtime.run(request).await.unwrap();
        assert_eq!(
            outcome.value,
            Some(json!([
                ["HelperCallError", "fail", null, false],
                ["Error", null, null, false]
            ]))
        );
    }
}

/// conformance: RT-13, RT-14
#[tokio::test]
async fn failures_say_what_and_where() {
    for runtime in runtimes(&budgets()) {
        for (program, message) in [
            ("throw 'raw-throw'", "raw-throw"),
            (
                "const e = new Error('bare'); Object.defineProperty(e, 'stack', {value: null}); throw e",
                "bare",
            ),
            (
                "throw { get a() { throw 1 } }",
                "program threw an unrenderable value",
            ),
            ("throw new Proxy({}, {})", "[proxy]"),
            ("throw null", "null"),
            (
                "let a: number = 1;\n  throw new TypeError('boom')",
                "TypeError: boom (line 2, column 13)",
            ),
            (
                "enum A { B }",
                "SyntaxError: an enum cannot be erased: write an object (line 1, column 1)",
            ),
            (
                "\n return 1 +",
                "SyntaxError: Unexpected token (line 2, column 12)",
            ),
            (
                "}); evil(); (async () => {",
                "SyntaxError: Unexpected token (line 1, column 1)",
            ),
        ] {
            let outcome = outcome(&runtime, program).await;
            assert_eq!(
                error(&outcome),
                (RunFailureKind::Exception, message),
                "{program}"
            );
        }
        let kept = outcome(&runtime, "console.log('before'); throw new Error('after')").await;
        assert_eq!(kept.logs, ["before"]);
        assert!(error(&kept).1.contains("after"));
    }
}

/// conformance: RT-15
#[tokio::test]
async fn programs_find_an_empty_world() {
    for runtime in runtimes(&budgets()) {
        let program = "
            globalThis.left = (globalThis.left ?? 0) + 1; Object.prototype.polluted = 1;
            const names = ['process', 'require', 'fetch', 'setTimeout', 'Deno', 'std', 'os', 'Atomics', 'SharedArrayBuffer', 'WebAssembly', 'performance', 'navigator', 'gc', 'scriptArgs', 'print'];
            const imported = await import('fs').then(() => 'yes', () => 'no');
            return [left, imported, names.filter((name) => name in globalThis)]";
        for _ in 0..2 {
            assert_eq!(value(&runtime, program).await, json!([1, "no", []]));
        }
    }
}

/// conformance: RT-16, RT-41, RT-42
#[tokio::test]
async fn values_that_would_change_are_refused_both_ways() {
    let calls = Arc::new(AtomicUsize::new(0));
    for runtime in runtimes(&budgets()) {
        for lossy in [
            "-0",
            "NaN",
            "Infinity",
            "1n",
            "[undefined]",
            "() => 1",
            "new Date(0)",
            "'\\ud800'",
        ] {
            let outcome = outcome(&runtime, &format!("return {lossy}")).await;
            let message = "program completion must be lossless JSON";
            assert_eq!(
                error(&outcome),
                (RunFailureKind::InvalidOutput, message),
                "{lossy}"
            );
            let counted = Arc::clone(&calls);
            let mut namespace = tools();
            namespace.binding = Arc::new(move |_: &str, _: BindingArguments| -> BindingFuture {
                counted.fetch_add(1, Ordering::Relaxed);
                Box::pin(async { Ok(Value::Null) })
            });
            let program =
                format!("return await tools.echo({lossy}).catch(e => [e.name, e.tool, e.message])");
            let outcome = runtime
                .run(RunRequest::new(program).namespace(namespace))
                .await
                .unwrap();
            let expected = json!([
                "ToolCallError",
                "echo",
                "binding arguments must be lossless JSON"
            ]);
            assert_eq!(outcome.value, Some(expected), "{lossy}");
        }
        assert_eq!(
            value(
                &runtime,
                "return await tools.huge().catch(e => [e.name, e.tool, e.message])"
            )
            .await,
            json!([
                "ToolCallError",
                "huge",
                "binding resolution must be lossless JSON"
            ])
        );
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

/// conformance: RT-18, RT-19, RT-20
#[tokio::test]
async fn computing_and_waiting_are_counted_apart() {
    let slow = budgets().compute(Duration::from_millis(300));
    for runtime in runtimes(&slow) {
        let spin = outcome(&runtime, "const open = tools.never(); while (true) {}").await;
        assert_eq!(
            error(&spin),
            (
                RunFailureKind::Timeout,
                "compute budget exhausted (300ms busy)"
            )
        );
        let waits = value(
            &runtime,
            "for (let i = 0; i < 10; i++) await tools.slow(); return 1",
        )
        .await;
        assert_eq!(waits, json!(1));
    }
    for runtime in runtimes(&slow.wall(Duration::from_millis(400))) {
        for program in ["await tools.never()", "await new Promise(() => {})"] {
            let outcome = outcome(&runtime, program).await;
            assert_eq!(
                error(&outcome),
                (
                    RunFailureKind::Timeout,
                    "wall-clock ceiling reached (400ms)"
                )
            );
        }
    }
}

/// conformance: RT-03
#[tokio::test]
async fn a_run_is_cancelled_in_the_middle_of_a_loop() {
    for runtime in runtimes(&budgets()) {
        for program in [
            "while (true) {}",
            "await tools.never()",
            "while (true) await tools.echo()",
        ] {
            let cancel = Cancel::new(CancellationToken::new());
            let request = RunRequest::new(program)
                .namespace(tools())
                .cancelled_by(cancel.clone());
            let begun = Instant::now();
            let later = async {
                tokio::time::sleep(Duration::from_millis(80)).await;
                cancel.cancel("no longer wanted");
            };
            let (outcome, ()) = tokio::join!(runtime.run(request), later);
            assert_eq!(
                error(&outcome.unwrap()),
                (RunFailureKind::Abort, "no longer wanted")
            );
            assert!(begun.elapsed() < Duration::from_secs(2));
        }
        let cancel = Cancel::new(CancellationToken::new());
        cancel.cancel("cancelled");
        let request = RunRequest::new("return 1").cancelled_by(cancel);
        let outcome = runtime.run(request).await.unwrap();
        assert!(outcome.logs.is_empty());
        assert_eq!(error(&outcome), (RunFailureKind::Abort, "cancelled"));
    }
}

/// conformance: RT-22
#[tokio::test]
async fn memory_is_limited_and_the_host_goes_on() {
    for runtime in runtimes(&budgets()) {
        let program = "const a = []; while (true) a.push(new Array(1000).fill(1))";
        let outcome = outcome(&runtime, program).await;
        assert_eq!(error(&outcome).0, RunFailureKind::WorkerExit, "{outcome:?}");
        assert_eq!(value(&runtime, "return 2").await, json!(2));
    }
}

/// conformance: RT-23
#[tokio::test]
async fn disposal_ends_what_runs() {
    for runtime in runtimes(&budgets()) {
        let run = runtime.run(RunRequest::new("while (true) {}"));
        let later = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            runtime.dispose().await;
        };
        let (outcome, ()) = tokio::join!(run, later);
        assert_eq!(
            error(&outcome.unwrap()),
            (RunFailureKind::Abort, "runtime disposed")
        );
        assert_eq!(
            runtime.run(RunRequest::new("return 1")).await,
            Err(Misuse::Disposed)
        );
    }
}

/// conformance: RT-25, RT-26, RT-27
#[tokio::test]
async fn output_is_counted_to_the_byte() {
    let at = |cap: usize| budgets().output(cap);
    for (cap, program, kind) in [
        (7, "return '€'", None),
        (6, "return '€'", Some(RunFailureKind::OutputLimit)),
        (11, "console.log('abc'); return 'xy'", None),
        (
            10,
            "console.log('abc'); return 'xy'",
            Some(RunFailureKind::OutputLimit),
        ),
        (
            11,
            "console.log('abc'); throw 'xy'",
            Some(RunFailureKind::Exception),
        ),
        (
            10,
            "console.log('abc'); throw 'xy'",
            Some(RunFailureKind::OutputLimit),
        ),
        (
            64,
            "return 'a'.repeat(10000)",
            Some(RunFailureKind::OutputLimit),
        ),
        (
            64,
            "throw new Error('a'.repeat(1000000))",
            Some(RunFailureKind::OutputLimit),
        ),
        (
            300,
            "for (let i = 0; i < 1000; i++) console.log('line ' + i)",
            Some(RunFailureKind::OutputLimit),
        ),
        (
            96,
            "console.log('start-' + 'é'.repeat(100000))",
            Some(RunFailureKind::OutputLimit),
        ),
    ] {
        for runtime in runtimes(&at(cap)) {
            let outcome = outcome(&runtime, program).await;
            assert_eq!(
                outcome.error.as_ref().map(|error| error.kind),
                kind,
                "{cap} {program}"
            );
            let logs = serde_json::to_string(&outcome.logs).unwrap().len();
            let rest = match (&outcome.value, &outcome.error) {
                (Some(value), _) => value.to_string().len(),
                (None, Some(error)) => json!(error.message).to_string().len(),
                (None, None) => 0,
            };
            assert!(logs + rest <= cap, "{cap} {program}: {outcome:?}");
            if cap == 300 {
                assert!(outcome.logs.len() > 3);
            }
            if cap == 96 {
                assert!(outcome.logs[0].starts_with("start-"));
            }
        }
    }
}

#[tokio::test]
async fn calls_overlap() {
    for runtime in runtimes(&budgets()) {
        let begun = Instant::now();
        let program = "return (await Promise.all(Array.from({length: 600}, (_, i) => tools.slow(i)))).map((it) => it[1])";
        assert_eq!(
            value(&runtime, program).await,
            json!((0..600).collect::<Vec<_>>())
        );
        // More than may be in flight at once, and far fewer rounds than calls.
        assert!(
            begun.elapsed() < Duration::from_secs(4),
            "{:?}",
            begun.elapsed()
        );
    }
}

/// conformance: RT-06
#[tokio::test]
async fn descriptions_and_misuse() {
    let [thread, child] = runtimes(&budgets());
    assert_eq!(thread.language(), "typescript");
    assert_eq!(
        (thread.isolation(), child.isolation()),
        ("thread", "child process")
    );
    for runtime in [thread, child] {
        let mut namespace = tools();
        namespace.global = "lambda".to_owned();
        let refused = runtime
            .run(RunRequest::new("return 1").namespace(namespace))
            .await;
        assert_eq!(refused, Err(Misuse::Global("lambda".to_owned())));
    }
    let missing = QuickJsRuntime::builder()
        .program("/nonexistent")
        .build()
        .unwrap();
    let refused = missing.run(RunRequest::new("return 1")).await;
    assert!(
        matches!(refused, Err(Misuse::NotStarted { .. })),
        "{refused:?}"
    );
    assert!(
        QuickJsRuntime::in_process()
            .budgets(budgets().wall(Duration::ZERO))
            .build()
            .is_err()
    );
}

/// conformance: RT-02, RT-21
#[tokio::test]
async fn both_places_keep_the_contract() {
    let dialect = Dialect::javascript();
    let threads = |budgets: &Budgets| -> Arc<dyn CodeRuntime> { Arc::new(in_process(budgets)) };
    let children =
        |budgets: &Budgets| -> Arc<dyn CodeRuntime> { Arc::new(out_of_process(budgets)) };
    for report in [
        check(&threads, &dialect).await,
        check(&children, &dialect).await,
    ] {
        assert!(report.failures().is_empty(), "{report}");
        assert_eq!(report.skipped(), ["exit"]);
    }
}

#[tokio::test]
async fn processes_are_started_ahead() {
    let runtime = QuickJsRuntime::builder()
        .program_with(env!("CARGO_BIN_EXE_toolfall"), ["code-worker"])
        .budgets(budgets())
        .prestart(2)
        .build()
        .unwrap();
    for _ in 0..5 {
        assert_eq!(value(&runtime, "return 1").await, json!(1));
    }
    runtime.dispose().await;
    assert_eq!(runtime.waiting(), 0);
}
