//! `[code]`: `toolfall run` takes programs.
#![cfg(target_os = "linux")]

#[path = "support/cli.rs"]
mod support;

use serde_json::{Value, json};
use support::{Place, Ran};

/// A folder of files, programs in Python, and rules that let reading through.
fn configured(place: &Place, code: &str) {
    configured_for(place, "python", code);
}

fn configured_for(place: &Place, runtime: &str, code: &str) {
    let config = format!(
        "[files]\nroot = \"ws\"\n[code]\nruntime = \"{runtime}\"\n{code}\n\
         [policy]\notherwise = \"deny\"\n\
         [[policy.rules]]\nname = \"programs\"\nverdict = \"allow\"\n\
         tools = [\"run_code\", \"read_file\", \"list_dir\"]\n"
    );
    place.write("toolfall.toml", config);
    place.write("ws/a.txt", "first\n");
    place.write("ws/b.txt", "second\n");
}

fn ran(place: &Place, calls: &Value) -> Ran {
    place.write("b.jsonl", format!("{}\n", json!({ "calls": calls })));
    place.run(&["run", "b.jsonl", "--json"])
}

fn program(code: &str) -> Value {
    json!([{
        "id": "call_1",
        "name": "run_code",
        "arguments": {"code": code, "description": "tries"},
    }])
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("-V").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: there is no python3");
    }
    found
}

const PROGRAM: &str = "
import asyncio
texts = await asyncio.gather(*(tools.read_file({'path': p}) for p in ['a.txt', 'b.txt']))
print(len(texts), 'read')
try:
    await tools.write_file({'path': 'c.txt', 'content': ''})
except ToolCallError as error:
    print(error.toolName, 'refused')
return 'done'
";

#[test]
fn a_program_calls_the_tools_under_the_same_rules() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    configured(&place, "mode = \"code\"");
    let ran = ran(&place, &program(PROGRAM));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let results = ran.results();
    assert_eq!(text(&results[0]), "2 read\nwrite_file refused\ndone");
    assert!(!place.path("ws/c.txt").exists());

    // The log keeps its promises, and shows every call.
    let log = std::fs::read_to_string(place.path("toolfall-session.jsonl")).expect("a log");
    assert_eq!(log.matches("\"tool/code-dispatch\"").count(), 3);
    let checked = place.run(&["check", "toolfall-session.jsonl"]);
    assert_eq!(checked.status, 0, "{}", checked.out);
    let shown = place.run(&["show", "toolfall-session.jsonl", "--json"]);
    assert_eq!(
        shown.out.matches("\"name\":\"read_file\"").count(),
        4,
        "{}",
        shown.out
    );
}

const TYPESCRIPT: &str = "
const paths: string[] = ['a.txt', 'b.txt'];
const texts = await Promise.all(paths.map((path: string) => tools.read_file({path})));
console.log(texts.length, 'read');
try {
    await tools.write_file({path: 'c.txt', content: ''});
} catch (error) {
    if (error instanceof ToolCallError) console.log(error.toolName, 'refused');
}
return 'done' as const;
";

#[test]
fn a_program_in_typescript_needs_nothing_but_the_binary() {
    let place = Place::new();
    configured_for(&place, "quickjs", "mode = \"code\"\ncompute_ms = 500");
    let results = ran(&place, &program(TYPESCRIPT)).results();
    assert_eq!(text(&results[0]), "2 read\nwrite_file refused\ndone");
    assert!(!place.path("ws/c.txt").exists());

    // It ends, whatever it does, and says where it went wrong.
    let results = ran(&place, &program("console.log('began'); for (;;) {}")).results();
    let shown = text(&results[0]);
    assert!(
        shown.starts_with("Error: code run failed (timeout): ")
            && shown.ends_with("\nCaptured output:\nbegan"),
        "{shown}"
    );
    let results = ran(&place, &program("const a = 1;\nenum B { C }\nreturn a")).results();
    let shown = text(&results[0]);
    assert!(
        shown.contains("(exception)") && shown.contains("(line 2, column 1)"),
        "{shown}"
    );
}

#[test]
fn under_code_a_direct_call_is_told_the_way_and_under_both_it_runs() {
    if !has_python() {
        return;
    }
    let direct = json!([{"name": "read_file", "arguments": {"path": "a.txt"}}]);
    let place = Place::new();
    configured(&place, "mode = \"code\"");
    let results = ran(&place, &direct).results();
    let says = "unknown tool \"read_file\": only `run_code` is callable directly";
    assert!(text(&results[0]).contains(says), "{}", text(&results[0]));

    let place = Place::new();
    configured(&place, "");
    let results = ran(&place, &direct).results();
    assert!(text(&results[0]).contains("first"), "{}", text(&results[0]));
    let results = ran(&place, &program("return 1")).results();
    assert_eq!(text(&results[0]), "1");
}

#[test]
fn budgets_end_programs() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    configured(&place, "compute_ms = 300\nmax_output_bytes = 2000");
    let results = ran(&place, &program("print('began')\nwhile True: pass")).results();
    let shown = text(&results[0]);
    assert!(
        shown.starts_with("Error: code run failed (timeout): "),
        "{shown}"
    );
    assert!(shown.ends_with("\nCaptured output:\nbegan"), "{shown}");
    let results = ran(&place, &program("print('x' * 10000)")).results();
    assert!(text(&results[0]).contains("code run failed (output-limit)"));
}

#[test]
fn mistakes_in_the_table_name_their_place() {
    let place = Place::new();
    for (code, says) in [
        ("runtime = \"ruby\"", "unknown variant `ruby`"),
        (
            "runtime = \"python\"\npython = \"no-such-python\"",
            "no-such-python",
        ),
        (
            "runtime = \"quickjs\"\npython = \"python3\"",
            "expected no interpreter for the runtime \"quickjs\"",
        ),
        ("mode = \"code\"", "missing field `runtime`"),
        (
            "runtime = \"python\"\nmax_parallel_sub_calls = 0",
            "nonzero",
        ),
    ] {
        place.write(
            "toolfall.toml",
            format!("[files]\nroot = \".\"\n[code]\n{code}\n"),
        );
        let ran = ran(&place, &json!([]));
        assert_eq!(ran.status, 2, "{}", ran.err);
        assert!(
            ran.err.contains("toolfall.toml:") && ran.err.contains(says),
            "{}",
            ran.err
        );
    }
}
