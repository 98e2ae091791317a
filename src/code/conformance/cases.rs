//! The cases.

use std::time::Duration;

use crate::code::{Budgets, RunFailureKind};

/// One program, and what is to come of it.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What the program does.
    pub(super) about: &'static str,
    pub(super) javascript: Option<&'static str>,
    pub(super) python: Option<&'static str>,
    pub(super) budgets: fn(Budgets) -> Budgets,
    pub(super) how: How,
    pub(super) expect: Expect,
    pub(super) logs: Option<&'static [&'static str]>,
}

/// What happens to the run from outside.
pub(super) enum How {
    Plainly,
    /// It is cancelled before it begins, with this cause.
    Cancelled(&'static str),
    /// It is cancelled once it runs.
    CancelledLater(&'static str),
    Disposed,
}

#[derive(Debug)]
pub(super) enum Expect {
    /// This value, as JSON.
    Value(&'static str),
    /// A list of so many items.
    Items(usize),
    NoValue,
    /// A failure with this very message.
    Says(RunFailureKind, &'static str),
    /// A failure whose message holds this.
    Holds(RunFailureKind, &'static str),
    /// A failure of one of these kinds.
    Fails(&'static [RunFailureKind]),
}

pub(super) fn find(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "logs-in-order",
        about: "prints on every channel and returns 3",
        javascript: Some(
            r#"console.log("a"); console.info("b"); console.warn("c"); console.error("d"); console.log("e", 1, true); return 3;"#,
        ),
        python: Some(
            r#"import sys
print("a")
sys.stdout.write("b\n")
sys.stderr.write("c\n")
print("d", file=sys.stderr)
print("e", 1, "true")
return 3"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value("3"),
        logs: Some(&["a", "b", "c", "d", "e 1 true"]),
    },
    Case {
        name: "no-value",
        about: "returns nothing",
        javascript: Some("const a = 1;"),
        python: Some("a = 1"),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::NoValue,
        logs: Some(&[]),
    },
    Case {
        name: "null-value",
        about: "returns null",
        javascript: Some("return null;"),
        python: Some("return None"),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value("null"),
        logs: None,
    },
    Case {
        name: "long-list",
        about: "returns a list of 50,000 items",
        javascript: Some("return Array.from({length: 50000}, (_, i) => i);"),
        python: Some("return list(range(50_000))"),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Items(50_000),
        logs: None,
    },
    Case {
        name: "value-kinds",
        about: "returns every kind of JSON",
        javascript: Some(
            r#"return {n: null, t: true, f: false, i: -7, d: 1.5, s: "é\n\"", l: [[], {}]};"#,
        ),
        python: Some(
            r#"return {"n": None, "t": True, "f": False, "i": -7, "d": 1.5, "s": "é\n\"", "l": [[], {}]}"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value(
            r#"{"n":null,"t":true,"f":false,"i":-7,"d":1.5,"s":"é\n\"","l":[[],{}]}"#,
        ),
        logs: None,
    },
    Case {
        name: "bad-syntax",
        about: "is no program; nothing of it runs",
        javascript: Some(r#"console.log("never"); return (((;"#),
        python: Some(
            r#"print("never")
return ((("#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Fails(&[RunFailureKind::Exception]),
        logs: Some(&[]),
    },
    Case {
        name: "throws",
        about: "prints and throws `boom`",
        javascript: Some(r#"console.log("before"); throw new Error("boom");"#),
        python: Some(
            r#"print("before")
raise ValueError("boom")"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Holds(RunFailureKind::Exception, "boom"),
        logs: Some(&["before"]),
    },
    Case {
        name: "throws-text",
        about: "throws the text `raw-throw`, or what is next to it",
        javascript: Some(r#"throw "raw-throw";"#),
        python: Some(r#"raise Exception("raw-throw")"#),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Holds(RunFailureKind::Exception, "raw-throw"),
        logs: None,
    },
    Case {
        name: "throws-bare",
        about: "throws an error `bare` that knows no place",
        javascript: Some(
            r#"const error = new Error("bare"); Object.defineProperty(error, "stack", {value: undefined}); throw error;"#,
        ),
        python: Some(
            r#"async def f(): raise Exception("bare")
try:
  await f()
except Exception as error:
  raise error.with_traceback(None) from None"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Holds(RunFailureKind::Exception, "bare"),
        logs: None,
    },
    Case {
        name: "throws-unrenderable",
        about: "throws what cannot be rendered",
        javascript: Some(
            "throw { get message() { throw 1; }, get stack() { throw 2; }, toString() { throw 3; }, get [Symbol.toPrimitive]() { throw 4; } };",
        ),
        python: Some(
            r#"class Odd(Exception):
  def __str__(self): raise ValueError("no")
raise Odd()"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::Exception,
            "program threw an unrenderable value",
        ),
        logs: None,
    },
    Case {
        name: "environment",
        about: "returns how many environment variables it sees",
        javascript: Some(
            r#"return typeof process === "undefined" ? 0 : Object.keys(process.env).length;"#,
        ),
        python: Some(
            r#"import os
return len(os.environ)"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value("0"),
        logs: None,
    },
    Case {
        name: "leaves-state",
        about: "leaves something behind",
        javascript: Some("globalThis.left = 1; Object.prototype.left = 1; return null;"),
        python: Some(
            r#"import builtins, json
builtins.left = json.left = 1
return None"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value("null"),
        logs: None,
    },
    Case {
        name: "finds-no-state",
        about: "looks for what the last one left",
        javascript: Some(r#"return typeof globalThis.left === "undefined" && !("left" in {});"#),
        python: Some(
            r#"import builtins, json
return not hasattr(builtins, "left") and not hasattr(json, "left")"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value("true"),
        logs: None,
    },
    Case {
        name: "returns-negative-zero",
        about: "returns a negative zero",
        javascript: Some("return {a: [-0]};"),
        python: Some(r#"return {"a": [-0.0]}"#),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::InvalidOutput,
            "program completion must be lossless JSON",
        ),
        logs: None,
    },
    Case {
        name: "returns-infinity",
        about: "returns a number that is not finite",
        javascript: Some("return [1 / 0];"),
        python: Some(r#"return [float("inf")]"#),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::InvalidOutput,
            "program completion must be lossless JSON",
        ),
        logs: None,
    },
    Case {
        name: "returns-no-json",
        about: "returns a function",
        javascript: Some("return () => 1;"),
        python: Some("return lambda: 1"),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::InvalidOutput,
            "program completion must be lossless JSON",
        ),
        logs: None,
    },
    Case {
        name: "returns-deep",
        about: "returns 5,000 lists inside one another",
        javascript: Some("let v = 0; for (let i = 0; i < 5000; i++) v = [v]; return v;"),
        python: Some(
            r#"v = 0
for i in range(5000): v = [v]
return v"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::InvalidOutput,
            "program completion must be lossless JSON",
        ),
        logs: None,
    },
    Case {
        name: "compute",
        about: "has a call under way and spins, of 300 ms",
        javascript: Some("tools.never({}); while (true) {}"),
        python: Some(
            r#"import asyncio
t = asyncio.ensure_future(tools.never({}))
await asyncio.sleep(0)
while True: pass"#,
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
        budgets: |b| b.compute(Duration::from_millis(1000)),
        how: How::Plainly,
        expect: Expect::Value("1500"),
        logs: None,
    },
    Case {
        name: "wall",
        about: "awaits for ever, of 400 ms",
        javascript: Some("await new Promise(() => {});"),
        python: Some(
            r#"import asyncio
await asyncio.Future()"#,
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
            r#"import os
os._exit(7)"#,
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
    Case {
        name: "calls",
        about: "calls a function by name and by index",
        javascript: Some(
            r#"const one = await tools.echo({a: [1, "é", null]}); return [one, await tools["echo"]({})];"#,
        ),
        python: Some(
            r#"one = await tools.echo({"a": [1, "é", None]})
return [one, await tools["echo"]({})]"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value(r#"[{"a":[1,"é",null]},{}]"#),
        logs: None,
    },
    Case {
        name: "calls-overlap",
        about: "makes ten calls of 300 ms at once, of 2,500 ms",
        javascript: Some(
            "const all = []; for (let i = 0; i < 10; i++) all.push(tools.wait({ms: 300})); return (await Promise.all(all)).length;",
        ),
        python: Some(
            r#"import asyncio
return len(await asyncio.gather(*[tools.wait({"ms": 300}) for _ in range(10)]))"#,
        ),
        budgets: |b| b.wall(Duration::from_millis(2500)),
        how: How::Plainly,
        expect: Expect::Value("10"),
        logs: None,
    },
    Case {
        name: "many-calls",
        about: "makes 1,000 calls at once",
        javascript: Some(
            "const all = []; for (let i = 0; i < 1000; i++) all.push(tools.echo({i})); return (await Promise.all(all)).map(r => r.i).reduce((a, b) => a + b);",
        ),
        python: Some(
            r#"import asyncio
all = await asyncio.gather(*[tools.echo({"i": i}) for i in range(1000)])
return sum(r["i"] for r in all)"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value("499500"),
        logs: None,
    },
    Case {
        name: "unanswered-calls",
        about: "returns with 400 calls under way that never end",
        javascript: Some(
            "for (let i = 0; i < 400; i++) tools.never({}).catch(() => {}); await tools.wait({ms: 0}).catch(() => {}).constructor; return 1;",
        ),
        python: Some(
            r#"import asyncio
all = [asyncio.ensure_future(tools.never({})) for _ in range(400)]
await asyncio.sleep(0)
return 1"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value("1"),
        logs: None,
    },
    Case {
        name: "call-fails",
        about: "sees the failure of a call, of its class",
        javascript: Some(
            "try { await tools.fail({}); } catch (e) { return [e instanceof ToolCallError, e.name, e.toolName, e.message]; }",
        ),
        python: Some(
            r#"try:
  await tools.fail({})
except ToolCallError as e:
  return [isinstance(e, Exception), type(e).__name__, e.toolName, str(e)]"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value(r#"[true,"ToolCallError","fail","deliberate failure"]"#),
        logs: None,
    },
    Case {
        name: "other-class",
        about: "sees the failure of another namespace, of its own class",
        javascript: Some(
            "try { await helpers.fail({}); } catch (e) { return [e instanceof HelperCallError, e instanceof ToolCallError, e.helperName]; }",
        ),
        python: Some(
            r#"try:
  await helpers.fail({})
except Exception as e:
  return [isinstance(e, HelperCallError), isinstance(e, ToolCallError), e.helperName]"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value(r#"[true,false,"fail"]"#),
        logs: None,
    },
    Case {
        name: "no-class",
        about: "sees the failure of a namespace without a class",
        javascript: Some(
            "try { await plain.fail({}); } catch (e) { return [e instanceof Error, e instanceof ToolCallError, e.message, e.toolName === undefined]; }",
        ),
        python: Some(
            r#"try:
  await plain.fail({})
except Exception as e:
  return [True, isinstance(e, ToolCallError), str(e), not hasattr(e, "toolName")]"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value(r#"[true,false,"deliberate failure",true]"#),
        logs: None,
    },
    Case {
        name: "uncaught-call",
        about: "does not catch the failure of a call",
        javascript: Some("await tools.fail({});"),
        python: Some("await tools.fail({})"),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Holds(RunFailureKind::Exception, "deliberate failure"),
        logs: None,
    },
    Case {
        name: "lossy-arguments",
        about: "passes numbers that JSON has not",
        javascript: Some(
            "const said = []; for (const v of [-0, NaN, Infinity, () => 1]) { try { await tools.echo({v}); } catch (e) { said.push(e.message, e instanceof ToolCallError); } } return said;",
        ),
        python: Some(
            r#"said = []
for v in [-0.0, float("nan"), float("inf"), lambda: 1]:
  try: await tools.echo({"v": v})
  except ToolCallError as e: said += [str(e), True]
return said"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value(
            r#"["binding arguments must be lossless JSON",true,"binding arguments must be lossless JSON",true,"binding arguments must be lossless JSON",true,"binding arguments must be lossless JSON",true]"#,
        ),
        logs: None,
    },
    Case {
        name: "deep-arguments",
        about: "passes 5,000 lists inside one another",
        javascript: Some(
            "let v = 0; for (let i = 0; i < 5000; i++) v = [v]; try { await tools.echo({v}); } catch (e) { return e.message; }",
        ),
        python: Some(
            r#"v = 0
for i in range(5000): v = [v]
try: await tools.echo({"v": v})
except ToolCallError as e: return str(e)"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value(r#""binding arguments must be lossless JSON""#),
        logs: None,
    },
    Case {
        name: "lossy-resolution",
        about: "calls functions whose values JSON has not",
        javascript: Some(
            r#"const said = []; for (const f of ["negative_zero", "deep"]) { try { await tools[f]({}); } catch (e) { said.push(e.message, e instanceof ToolCallError); } } return said;"#,
        ),
        python: Some(
            r#"said = []
for f in ["negative_zero", "deep"]:
  try: await tools[f]({})
  except ToolCallError as e: said += [str(e), True]
return said"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value(
            r#"["binding resolution must be lossless JSON",true,"binding resolution must be lossless JSON",true]"#,
        ),
        logs: None,
    },
    Case {
        name: "panicking-call",
        about: "calls a function that panics in the host",
        javascript: Some(
            r#"try { await tools.panic({}); } catch (e) { return e instanceof ToolCallError && e.message.includes("deliberate panic"); }"#,
        ),
        python: Some(
            r#"try: await tools.panic({})
except ToolCallError as e: return "deliberate panic" in str(e)"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value("true"),
        logs: None,
    },
    Case {
        name: "odd-names",
        about: "calls functions of names that languages use",
        javascript: Some(
            r#"return [await tools["__proto__"]({}), await tools.constructor({}), typeof tools.hasOwnProperty, typeof tools.missing];"#,
        ),
        python: Some(
            r#"return [await tools["__proto__"]({}), await tools.constructor({}), "function" if hasattr(tools, "hasOwnProperty") else "undefined", "function" if hasattr(tools, "missing") else "undefined"]"#,
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value(r#"["__proto__","constructor","undefined","undefined"]"#),
        logs: None,
    },
    Case {
        name: "goes-on",
        about: "runs after all that as if nothing had been",
        javascript: Some("return (await tools.echo({n: 1})).n;"),
        python: Some(r#"return (await tools.echo({"n": 1}))["n"]"#),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Value("1"),
        logs: None,
    },
];
