//! Hooks from configurations: ours, and other programs'.
#![cfg(unix)]

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::hooks::{
    Dialect, Hook, HookPoint, HookSet, HookSetBuilder, HookSettings, HookSettingsError, Places,
};
use toolfall::{Pipeline, Registry, ToolResult};

#[path = "support/facade.rs"]
mod facade;

async fn call(hooks: &HookSet, name: &'static str) -> ToolResult {
    let registry: Registry = facade::registry([facade::echo(name)]);
    let pipeline = Pipeline::builder(registry)
        .pre_decision(hooks.pre())
        .post_execute(hooks.post())
        .build();
    pipeline
        .call("1", name, "{}", CancellationToken::new())
        .await
}

fn read(dialect: Dialect, settings: &Value) -> HookSettings {
    HookSettings::read(dialect, settings, &Places::default())
}

fn skipped(read: &HookSettings) -> Vec<(&str, &str)> {
    read.skipped
        .iter()
        .map(|skipped| (skipped.pointer.as_str(), skipped.reason.as_str()))
        .collect()
}

fn refusal(json: &str) -> String {
    serde_json::from_str::<HookSetBuilder>(json)
        .expect_err("it is wrong")
        .to_string()
}

/// conformance: HOOK-35
#[test]
fn a_summary_of_no_length_is_refused() {
    for (wrong, dialect, bridge) in [
        ("0", "claude-code", "hooks-claude-code"),
        ("-5", "codex", "hooks-codex"),
        ("1.5", "codex", "hooks-codex"),
    ] {
        let json = format!(r#"{{"dialect":"{dialect}","stderrSummaryMaxChars":{wrong}}}"#);
        let expected = format!("{bridge}: stderrSummaryMaxChars must be a positive integer");
        assert!(refusal(&json).starts_with(&expected), "{}", refusal(&json));
    }
    let fine = r#"{"stderr_summary_max_chars":40}"#;
    assert!(serde_json::from_str::<HookSetBuilder>(fine).is_ok());
}

#[test]
fn what_is_wrong_in_a_configuration_is_said_at_its_place() {
    for (json, parts) in [
        (
            r#"{"hook": []}"#,
            &["unknown field `hook`", "line 1 column 7"][..],
        ),
        (
            "{\"hooks\": [\n{\"on\": \"PreToolUse\"}]}",
            &["expected `program` or `shell`, found neither", "line 2"],
        ),
        (
            r#"{"hooks": [{"on":"PreToolUse","program":["a"],"shell":"a"}]}"#,
            &["found both"],
        ),
        (
            r#"{"hooks": [{"on":"PreToolUse","program":[]}]}"#,
            &["found none"],
        ),
        (
            r#"{"hooks": [{"on":"Before","shell":"a"}]}"#,
            &["unknown variant `Before`"],
        ),
        (
            r#"{"hooks": [{"on":"PreToolUse","shell":"a","timeout_ms":0}]}"#,
            &["nonzero"],
        ),
        (
            r#"{"hooks": [{"on":"PostToolUse","shell":"a","matcher":"("}]}"#,
            &[
                r#"invalid claude-code regex matcher "(" on event "PostToolUse""#,
                "PostToolUse[0]",
            ],
        ),
        (
            r#"{"hooks": [{"on":"PreToolUse","shell":"a","env":{"A=B":""}}]}"#,
            &["PreToolUse[0]", "the name of a variable, found \"A=B\""],
        ),
        (
            r#"{"dialect":"codex","hooks": [{"on":"SubagentStop","shell":"a"}]}"#,
            &["expected an event of codex, found \"SubagentStop\""],
        ),
    ] {
        let said = refusal(json);
        for part in parts {
            assert!(said.contains(part), "{said}");
        }
    }
}

#[tokio::test]
async fn a_configuration_makes_hooks_that_run() {
    let builder: HookSetBuilder = serde_json::from_str(
        r#"{"hooks": [
            {"on": "PreToolUse", "matcher": "w", "shell": "echo \"$MODE\" >&2; exit 2",
             "env": {"MODE": "strict"}, "timeout_ms": 5000, "grace_ms": 10},
            {"on": "PreToolUse", "matcher": "x", "program": ["/no/such/program"],
             "on_fault": "ignore"}
        ]}"#,
    )
    .expect("a configuration");
    let hooks = builder.build().expect("hooks");
    assert_eq!(call(&hooks, "w").await.text(), "Error: strict");
    assert!(!call(&hooks, "x").await.is_error());
    assert!(!call(&hooks, "y").await.is_error());
}

#[cfg(feature = "cli")]
#[test]
fn toml_is_read_as_well() {
    let text = "dialect = \"codex\"\n[[hooks]]\non = \"PreToolUse\"\nprogram = [\"true\"]\n";
    let builder: HookSetBuilder = toml::from_str(text).expect("a configuration");
    assert_eq!(builder.build().expect("hooks").len(), 1);
    let wrong = format!("{text}tiemout_ms = 1\n");
    let said = toml::from_str::<HookSetBuilder>(&wrong)
        .expect_err("wrong")
        .to_string();
    assert!(
        said.contains("line ") && said.contains("tiemout_ms"),
        "{said}"
    );
    let nan = "stderrSummaryMaxChars = nan\n";
    let said = toml::from_str::<HookSetBuilder>(nan)
        .expect_err("wrong")
        .to_string();
    assert!(said.contains("must be a positive integer"), "{said}");
}

/// conformance: HOOK-42
#[tokio::test]
async fn claude_settings_are_read() {
    let events = json!({"PreToolUse": [
        {"hooks": [{"command": "echo ${CLAUDE_PLUGIN_ROOT}-${CLAUDE_PROJECT_DIR}-${CLAUDE_PLUGIN_ROOT} >&2; exit 2"}]},
    ]});
    let places = Places {
        plugin_root: Some("/p".to_owned()),
        project_dir: Some("/d".to_owned()),
    };
    for settings in [events.clone(), json!({"hooks": events.clone()})] {
        let read = HookSettings::read(Dialect::ClaudeCode, &settings, &places);
        assert_eq!(skipped(&read), []);
        let hooks = read.builder.build().expect("hooks");
        assert_eq!(call(&hooks, "any").await.text(), "Error: /p-/d-/p");
    }
    // Left alone, the shell fills in what it knows: the variables of the hook.
    let left = read(Dialect::ClaudeCode, &events)
        .builder
        .build()
        .expect("hooks");
    let folder = std::env::current_dir().expect("a folder");
    let expected = format!("Error: -{}-", folder.display());
    assert_eq!(call(&left, "any").await.text(), expected);

    let slow = json!({"PreToolUse": [{"hooks": [
        {"type": "command", "command": "sleep 60", "timeout": 0.2},
    ]}]});
    let hooks = read(Dialect::ClaudeCode, &slow)
        .builder
        .build()
        .expect("hooks");
    assert!(
        call(&hooks, "any")
            .await
            .text()
            .contains("did not end within 200ms")
    );
}

/// conformance: HOOK-43
#[tokio::test]
async fn codex_settings_are_read() {
    let command = |command: &str| json!([{"hooks": [{"command": command}]}]);
    let settings = json!({"hooks": {
        "PreToolUse": [{"hooks": [
            {"command": "echo '${CLAUDE_PLUGIN_ROOT}' >&2; exit 2", "timeoutSec": 5},
            {"command": "true", "async": true},
            {"command": "sleep 60", "timeout": 0.1},
        ]}],
        "PostToolUse": command("true"),
        "UserPromptSubmit": command("true"),
        "Stop": command("true"),
        "SessionStart": command("true"),
        "SubagentStart": command("true"),
        "SubagentStop": command("true"),
    }});
    let places = Places {
        plugin_root: Some("/p".to_owned()),
        project_dir: None,
    };
    let read = HookSettings::read(Dialect::Codex, &settings, &places);
    let mut left_out = skipped(&read);
    left_out.sort_unstable();
    assert_eq!(
        left_out,
        [
            ("/hooks/PreToolUse/0/hooks/1", "async hook"),
            ("/hooks/SubagentStart", "unsupported event"),
            ("/hooks/SubagentStop", "unsupported event"),
        ]
    );
    let hooks = read.builder.build().expect("hooks");
    assert_eq!(hooks.len(), 6);
    let text = call(&hooks, "any").await.text();
    assert!(
        text.starts_with("Error: ${CLAUDE_PLUGIN_ROOT}\n\n"),
        "{text}"
    );
    assert!(text.contains("did not end within 100ms"), "{text}");
}

/// conformance: HOOK-44
#[test]
fn what_is_no_hook_is_left_out_and_listed() {
    let settings = json!({
        "Nonsense": [{"matcher": "(", "hooks": [{"command": "true"}]}],
        "PreToolUse": [
            {"hooks": [
                {"type": "prompt", "prompt": "ok?"},
                {"type": "command"},
                "true",
                {"command": "true", "timeout": -1},
                {"command": "true"},
            ]},
            {"matcher": 1, "hooks": [{"command": "true"}]},
            {"matcher": "a"},
            "true",
        ],
        "Stop": [{"matcher": "(", "hooks": [{"command": "true"}]}],
        "UserPromptSubmit": [{"matcher": 7, "hooks": [{"command": "true"}]}],
    });
    let read = read(Dialect::ClaudeCode, &settings);
    let mut left_out = skipped(&read);
    left_out.sort_unstable();
    let pointers: Vec<&str> = left_out.iter().map(|pair| pair.0).collect();
    assert_eq!(
        pointers,
        [
            "/Nonsense",
            "/PreToolUse/0/hooks/0",
            "/PreToolUse/0/hooks/1",
            "/PreToolUse/0/hooks/2",
            "/PreToolUse/0/hooks/3",
            "/PreToolUse/1",
            "/PreToolUse/2",
            "/PreToolUse/3",
        ]
    );
    assert_eq!(left_out[1].1, "prompt hook");
    assert_eq!(read.builder.build().expect("hooks").len(), 3);

    for none in [json!([]), json!("hooks"), json!(null), json!({"hooks": 1})] {
        let read = self::read(Dialect::Codex, &none);
        assert!(read.builder.build().expect("no hooks").is_empty());
    }
}

/// conformance: HOOK-45
#[test]
fn a_file_with_an_invalid_matcher_has_no_hooks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.json");
    let settings = json!({"PreToolUse": [
        {"matcher": "a", "hooks": [{"command": "true"}]},
        {"matcher": "(", "hooks": [{"command": "true"}]},
    ]});
    std::fs::write(&file, settings.to_string()).expect("written");
    let places = Places::default();
    for (dialect, word) in [
        (Dialect::ClaudeCode, "claude-code"),
        (Dialect::Codex, "codex"),
    ] {
        let error = HookSettings::from_file(dialect, &file, &places).expect_err("invalid");
        let HookSettingsError::Hook { source, .. } = error else {
            panic!("another error: {error}");
        };
        let expected = format!(r#"invalid {word} regex matcher "(" on event "PreToolUse""#);
        assert!(source.to_string().starts_with(&expected), "{source}");
    }
    let gone = HookSettings::from_file(Dialect::Codex, &folder.path().join("gone"), &places);
    assert!(matches!(gone, Err(HookSettingsError::File { .. })));
    std::fs::write(&file, "{").expect("written");
    let broken = HookSettings::from_file(Dialect::Codex, &file, &places);
    assert!(matches!(broken, Err(HookSettingsError::Json { .. })));
}

#[test]
fn a_hook_that_cannot_run_is_refused_when_the_set_is_built() {
    let build = |hook| {
        HookSet::builder(Dialect::ClaudeCode)
            .on(HookPoint::PreToolUse, hook)
            .build()
    };
    for (hook, part) in [
        (Hook::program(""), "expected a program"),
        (Hook::program("a").id(""), "expected a name"),
        (Hook::program("a").timeout(Duration::ZERO), "found 0ms"),
        (Hook::program("a").timeout(Duration::MAX), "at most a day"),
        (Hook::program("a").env("A", "\0"), "without a zero byte"),
    ] {
        let error = build(hook).expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
    }
    let many = (0..300).fold(HookSet::builder(Dialect::Codex), |set, _| {
        set.pre(Hook::program("a"))
    });
    let error = many.build().expect_err("too many").to_string();
    assert_eq!(error, "expected at most 256 hooks, found 300");
}
