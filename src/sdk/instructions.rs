//! How a program is written, in words for a model.

use super::Language;

const TYPESCRIPT: &str = "\
Tools can be called from a program. Run one with `run_code`, which takes two required arguments: \
`code`, the program, and `description`, a few words on what it is for.

- `code` is the body of an async function in TypeScript, erasable syntax only: types are removed \
and never checked, so no `enum`, no `namespace`, no parameter properties.
- Call a tool as `await tools.name(args)`, or `await tools[\"a-name\"](args)` where the name is no \
identifier. Every tool takes one object; `ToolArgsMap` and `ToolOutputMap` below say what goes in \
and what comes out: the value itself, not a text of it.
- A call that fails rejects with `ToolCallError`: `message` says why, `toolName` which tool. Catch \
it where the program can go on.
- Calls MAY overlap under `Promise.all`. A tool that must run alone waits for its turn, so the \
order of calls is kept.
- Arguments and the value that the program returns must be lossless JSON: null, booleans, strings, \
finite numbers, arrays and plain objects.
- You see what the program prints with `console.log` and what it returns, and nothing else: \
filter and sum up inside of it.
- Of what is declared below only `tools` and `ToolCallError` exist when it runs; the rest are types.
";

const PYTHON: &str = "\
Tools can be called from a program. Run one with `run_code`, which takes two required arguments: \
`code`, the program, and `description`, a few words on what it is for.

- `code` is the body of an async function in Python: use top-level `await`, and `return <value>` \
for the result.
- When it runs, exactly two of the names declared below are bound: `tools` and `ToolCallError`. \
The classes are types: write arguments as a dictionary, `{\"field\": 1}`, and \
never `FooArgs(field=1)`, which raises `NameError`.
- Call a tool as `await tools.name({...})`, or `await tools[\"a-name\"]({...})` where it stands in \
a comment. Every tool takes one dictionary and gives the value itself, not a text of it: a class \
below means a dictionary with these keys, read as `value[\"key\"]`.
- A call that fails raises `ToolCallError`: its text says why, its `toolName` which tool. Catch it \
where the program can go on.
- Calls MAY overlap under `asyncio.gather`. A tool that must run alone waits for its turn, so the \
order of calls is kept.
- Arguments and the value that the program returns must be lossless JSON: `None`, booleans, \
strings, finite numbers, lists and dictionaries with string keys.
- You see what the program prints and what it returns, and nothing else: filter and sum up inside \
of it.
";

pub(super) const fn of(language: Language) -> &'static str {
    match language {
        Language::TypeScript => TYPESCRIPT,
        Language::Python => PYTHON,
    }
}
