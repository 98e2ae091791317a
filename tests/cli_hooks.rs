//! The hooks that `toolfall.toml` sets, with real programs.
#![cfg(unix)]

#[path = "support/cli_batches.rs"]
mod batches;
#[path = "support/cli.rs"]
mod support;

use batches::{ECHO, codes, message, run};
use serde_json::{Value, json};
use support::Place;

fn script(place: &Place, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = place.write(name, text);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("executable");
}

const JUDGE: &str = "#!/usr/bin/env python3
import json, os, sys
call = json.load(sys.stdin)
with open('seen.jsonl', 'a') as seen:
    seen.write(json.dumps({'call': call, 'mode': os.environ.get('MODE')}) + '\\n')
word = call['tool_input'].get('say')
if call['hook_event_name'] == 'PostToolUse':
    print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PostToolUse', 'additionalContext': 'looked at it'}}))
elif word == 'deny':
    print('not that', file=sys.stderr)
    sys.exit(2)
elif word:
    print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PreToolUse', 'permissionDecision': word, 'permissionDecisionReason': 'as told'}}))
";

#[test]
fn hooks_are_asked_before_and_after() {
    let place = Place::new();
    script(&place, "hooks/judge.py", JUDGE);
    let hooks = "[[hooks.before]]\nprogram = [\"hooks/judge.py\"]\nenv = { MODE = \"strict\" }\n\
                 [[hooks.after]]\nmatcher = \"echo|other\"\nprogram = [\"python3\", \"hooks/judge.py\"]\n";
    let grant = "[[grants]]\nname = \"g\"\ntool = \"echo\"\n";
    let calls: &[&[Value]] = &[&[
        json!({"say": "deny"}),
        json!({"say": "ask"}),
        json!({"say": "allow"}),
        json!({}),
        json!("ecko"),
    ]];
    let ran = run(
        &place,
        &format!("{hooks}{grant}"),
        calls,
        &["--approve", "never"],
    );
    assert_eq!(ran.status, 0, "{}", ran.err);
    let results = ran.results();
    assert_eq!(message(&results[0]), "not that");
    assert_eq!(results[0]["decided_by"], "policy \"hooks-claude-code\"");
    // A grant is for the rules' question, not for a hook's.
    assert_eq!(
        message(&results[1]),
        "as told, and nobody is asked in this run"
    );
    assert_eq!(
        codes(&ran)[2..],
        ["ok", "ok", "UNKNOWN_TOOL"],
        "{}",
        ran.out
    );
    let contexts = &ran.typed("batch")[0]["contexts"];
    assert_eq!(contexts.as_array().map(Vec::len), Some(2), "for what ran");
    assert_eq!(contexts[0]["content"][0]["text"], "looked at it");
    let seen = std::fs::read_to_string(place.path("seen.jsonl")).unwrap();
    let seen = support::lines(&seen);
    assert_eq!(seen.len(), 6, "an unknown tool is nobody's to judge");
    assert_eq!(seen[0]["mode"], "strict");
    let log = seen[0]["call"]["transcript_path"].as_str().unwrap();
    assert!(log.ends_with("/toolfall-session.jsonl"), "{log}");

    // An allow of a hook is no bypass.
    let ran = run(
        &place,
        hooks,
        &[&[json!({"say": "allow"})]],
        &["--approve", "never"],
    );
    assert!(
        message(&ran.results()[0]).contains("no rule covers"),
        "{}",
        ran.out
    );

    // A denial of a hook counts as a failure in a row, and a spent budget
    // starts no hook.
    std::fs::remove_file(place.path("seen.jsonl")).unwrap();
    let budget = format!("{hooks}{grant}[budget]\nconsecutive_failures = 1\n");
    let ran = run(
        &place,
        &budget,
        &[&[json!({"say": "deny"}), json!({})]],
        &[],
    );
    assert_eq!(codes(&ran), ["failed", "BUDGET_EXCEEDED"]);
    let seen = std::fs::read_to_string(place.path("seen.jsonl")).unwrap();
    assert_eq!(support::lines(&seen).len(), 1);

    // Nothing real runs in a replay.
    std::fs::remove_file(place.path("seen.jsonl")).unwrap();
    let ran = run(&place, hooks, calls, &["--replay"]);
    assert!(ran.err.contains("hooks are left out"), "{}", ran.err);
    assert!(!place.path("seen.jsonl").exists());
}

#[test]
fn a_hook_that_fails_denies_unless_it_says_otherwise() {
    let place = Place::new();
    let grant = "[[grants]]\nname = \"g\"\ntool = \"echo\"\n";
    for (hook, wanted) in [
        (
            "shell = \"echo nonsense\"",
            "expected a JSON object on standard output, found",
        ),
        (
            "shell = \"echo why >&2; exit 3\"",
            "expected the exit code 0 or 2, found 3",
        ),
        ("shell = \"kill -9 $$\"", "it ended without an exit code"),
        (
            "shell = \"exec sleep 60\"\ntimeout_ms = 100",
            "it did not end within 100ms",
        ),
        (
            "shell = \"yes\"\nstdout_limit = 10",
            "expected at most 10 bytes",
        ),
        (
            "shell = \"exit 0\"\nfolder = \"none\"",
            "it cannot be started",
        ),
    ] {
        let config = format!("{grant}[[hooks.before]]\nname = \"mine\"\n{hook}\n");
        let ran = run(&place, &config, &[&[json!({})]], &[]);
        let told = message(&ran.results()[0]).to_owned();
        assert!(
            told.starts_with("the hook \"mine\" gave no valid answer: "),
            "{told}"
        );
        assert!(told.contains(wanted), "{told}");
        assert!(ran.err.contains(wanted), "a warning too: {}", ran.err);
        if hook.contains("why") {
            assert!(ran.err.contains("it wrote: why"), "{}", ran.err);
        }
        for ignoring in [
            format!("{config}on_fault = \"ignore\"\n"),
            format!("[hooks]\ndefault_on_fault = \"ignore\"\n{config}"),
        ] {
            let ran = run(&place, &ignoring, &[&[json!({})]], &[]);
            assert_eq!(codes(&ran), ["ok"], "{ignoring}\n{}", ran.err);
        }
    }
    // After a tool it is the other way round.
    let after = format!("{grant}[[hooks.after]]\nshell = \"exit 3\"\n");
    assert_eq!(codes(&run(&place, &after, &[&[json!({})]], &[])), ["ok"]);
    let ran = run(
        &place,
        &format!("{after}on_fault = \"deny\"\n"),
        &[&[json!({})]],
        &[],
    );
    assert_eq!(ran.results()[0]["is_error"], true, "{}", ran.out);
}

#[test]
fn hooks_come_from_a_settings_file_too() {
    let place = Place::new();
    let settings = json!({"hooks": {
        "PreToolUse": [{"matcher": "echo", "hooks": [
            {"type": "command", "command": "echo \"from $CLAUDE_PROJECT_DIR\" >&2; exit 2"},
            {"type": "prompt", "prompt": "Is that safe?"},
        ]}],
        "Stop": [{"hooks": [{"type": "command", "command": "true"}]}],
    }});
    place.write(".claude/settings.json", settings.to_string());
    let config = "[hooks]\nfile = \".claude/settings.json\"\n";
    let ran = run(&place, config, &[&[json!({})]], &[]);
    let told = ran.results();
    let told = message(&told[0]);
    let folder = place.0.path().canonicalize().unwrap();
    assert_eq!(told, format!("from {}", folder.display()));
    for note in [
        ".claude/settings.json: /hooks/PreToolUse/0/hooks/1 is left out: prompt hook\n",
        ".claude/settings.json: hooks on Stop are left out: only hooks before and after",
    ] {
        assert!(ran.err.contains(note), "{}", ran.err);
    }
    let quiet = run(&place, config, &[&[json!({})]], &["-q"]);
    assert_eq!(quiet.err, "");
}

#[test]
fn hooks_that_cannot_work_are_refused_with_their_place() {
    let place = Place::new();
    place.write("empty.jsonl", "");
    place.write("bad.json", "{\n\"hooks\": }");
    place.write(
        "invalid.json",
        r#"{"PreToolUse":[{"matcher":"(","hooks":[{"command":"true"}]}]}"#,
    );
    let hook = "[[hooks.before]]\n";
    for (config, wanted) in [
        (
            format!("{hook}program = [\"nosuchprogram\"]\n"),
            ":5:11: expected a program in PATH, or a path with a \"/\" in it, found",
        ),
        (
            format!("{hook}program = [\"./nosuch\"]\n"),
            ":5:11: expected a program at ",
        ),
        (
            format!("{hook}program = []\n"),
            ":5:11: expected a program and its arguments, found an empty list",
        ),
        (
            hook.to_owned(),
            ":4:1: expected `program` or `shell`, found neither",
        ),
        (
            format!("{hook}program = [\"sh\"]\nshell = \"a\"\n"),
            ":4:1: expected `program` or `shell`, found both",
        ),
        (
            format!("{hook}shell = \"a\"\nmatcher = \"x(\"\n"),
            ":4:1: invalid claude-code regex matcher \"x(\" on event \"PreToolUse\" (hook \
             \"PreToolUse[0]\"): regex parse error: ",
        ),
        (
            format!("{hook}shell = \"a\"\ntimeout_ms = 100000000\n"),
            ":4:1: hook \"PreToolUse[0]\" on event \"PreToolUse\": expected a timeout",
        ),
        (
            format!("{hook}shell = \"a\"\nenv = {{ \"A=B\" = \"c\" }}\n"),
            "expected the name of a variable, found \"A=B\"",
        ),
        (
            format!("{hook}shell = \"a\"\non_fault = \"maybe\"\n"),
            ":6:12: unknown variant `maybe`, expected `deny` or `ignore`",
        ),
        (
            "[hooks]\ndialect = \"other\"\n".to_owned(),
            ":5:11: unknown variant `other`, expected `claude-code` or `codex`",
        ),
        (
            "[hooks]\nfile = \"none.json\"\n".to_owned(),
            ":5:8: none.json: expected a settings file: ",
        ),
        (
            "[hooks]\nfile = \"bad.json\"\n".to_owned(),
            "bad.json:2: expected JSON: ",
        ),
        (
            "[hooks]\nfile = \"invalid.json\"\n".to_owned(),
            "invalid.json: invalid claude-code regex matcher \"(\"",
        ),
    ] {
        place.write("toolfall.toml", format!("{ECHO}{config}"));
        let ran = place.run(&["run", "empty.jsonl"]);
        assert_eq!(ran.status, 2, "{config}\n{}", ran.err);
        assert!(ran.err.contains(wanted), "{config}\n{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
}
