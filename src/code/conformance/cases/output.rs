//! What programs print, return and throw.

use super::{Case, Expect, How};
use crate::code::RunFailureKind;

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
            r"import os
return len(os.environ)",
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
            r"import builtins, json
builtins.left = json.left = 1
return None",
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
            r"v = 0
for i in range(5000): v = [v]
return v",
        ),
        budgets: |b| b,
        how: How::Plainly,
        expect: Expect::Says(
            RunFailureKind::InvalidOutput,
            "program completion must be lossless JSON",
        ),
        logs: None,
    },
];
