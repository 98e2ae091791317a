//! What programs call.

use std::time::Duration;

use super::{Case, Expect, How};
use crate::code::RunFailureKind;

pub(super) const CASES: &[Case] = &[
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
            r"import asyncio
all = [asyncio.ensure_future(tools.never({})) for _ in range(400)]
await asyncio.sleep(0)
return 1",
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
            r"try:
  await tools.fail({})
except ToolCallError as e:
  return [isinstance(e, Exception), type(e).__name__, e.toolName, str(e)]",
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
            r"try:
  await helpers.fail({})
except Exception as e:
  return [isinstance(e, HelperCallError), isinstance(e, ToolCallError), e.helperName]",
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
