//! Hooks' answers: read, matched, put together, written down.
#![cfg(unix)]

use serde_json::{Value, json};
use toolfall::hooks::{
    Dialect, HookDecision, HookFault, HookOutput, HookPoint, Merged, ToolMatcher, decision_word,
    stderr_summary,
};

fn said(value: &Value) -> HookOutput {
    HookOutput::decode(Some(0), &value.to_string(), "", None)
}

fn said_at(point: HookPoint, value: &Value) -> HookOutput {
    HookOutput::decode(Some(0), &value.to_string(), "", Some(point))
}

/// conformance: HOOK-01
#[test]
fn silence_decides_nothing() {
    let clean = HookOutput::decode(Some(0), "", "", None);
    assert_eq!(clean.decision, None);
    assert_eq!(clean.fault, None);
    let failed = HookOutput::decode(Some(1), r#"{"decision":"block"}"#, "oops\n", None);
    assert_eq!((failed.decision, &*failed.stderr), (None, "oops\n"));
    assert_eq!(failed.fault, Some(HookFault::ExitCode(1)));
    let killed = HookOutput::decode(None, "", "", None);
    assert_eq!((killed.decision, killed.exit_code), (None, None));
    assert_eq!(killed.fault, Some(HookFault::NoExitCode));
}

/// conformance: HOOK-02
#[test]
fn exit_code_two_blocks() {
    for (stdout, stderr, reason) in [
        ("", "  not now \n", Some("not now")),
        ("", " \n", None),
        (
            r#"{"decision":"approve","reason":"fine","continue":false}"#,
            "no",
            Some("no"),
        ),
    ] {
        let output = HookOutput::decode(Some(2), stdout, stderr, None);
        assert_eq!(output.decision, Some(HookDecision::Block));
        assert_eq!(output.reason.as_deref(), reason);
        assert_eq!((output.proceed, output.fault), (None, None));
    }
}

/// conformance: HOOK-03
#[test]
fn every_field_is_captured() {
    let output = said(&json!({
        "continue": false,
        "stopReason": "enough",
        "systemMessage": "look",
        "suppressOutput": true,
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "additionalContext": "it is late",
            "updatedInput": {"a": [1]},
        },
    }));
    assert_eq!(output.proceed, Some(false));
    assert_eq!(output.stop_reason.as_deref(), Some("enough"));
    assert_eq!(output.system_message.as_deref(), Some("look"));
    assert_eq!(output.additional_context.as_deref(), Some("it is late"));
    assert_eq!(output.updated_input, Some(json!({"a": [1]})));
    assert_eq!(output.fault, None);
}

/// conformance: HOOK-04
#[test]
fn two_words_decide_at_the_top() {
    let decided = |word: &str| said(&json!({"decision": word, "reason": "r"}));
    assert_eq!(decided("block").decision, Some(HookDecision::Block));
    assert_eq!(decided("block").reason.as_deref(), Some("r"));
    assert_eq!(decided("approve").decision, Some(HookDecision::Approve));
    for word in ["deny", "allow", "ask", "maybe", "BLOCK"] {
        let output = decided(word);
        assert_eq!(output.decision, None, "{word}");
        assert!(
            matches!(output.fault, Some(HookFault::UnknownDecision { .. })),
            "{word}"
        );
    }
}

/// conformance: HOOK-05, HOOK-07
#[test]
fn what_is_specific_overrides() {
    for (word, decision) in [
        ("deny", HookDecision::Deny),
        ("allow", HookDecision::Allow),
        ("ask", HookDecision::Ask),
    ] {
        let value = json!({
            "decision": "approve",
            "reason": "top",
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": word,
                "permissionDecisionReason": "specific",
            },
        });
        for output in [said(&value), said_at(HookPoint::PreToolUse, &value)] {
            assert_eq!(output.decision, Some(decision));
            assert_eq!(output.reason.as_deref(), Some("specific"));
            assert_eq!(output.fault, None);
        }
    }
}

/// conformance: HOOK-06
#[test]
fn an_answer_to_another_event_is_discarded() {
    for named in [Some("PostToolUse"), None] {
        let mut specific = json!({
            "permissionDecision": "deny",
            "permissionDecisionReason": "specific",
            "additionalContext": "context",
            "updatedInput": {},
        });
        if let Some(named) = named {
            specific["hookEventName"] = named.into();
        }
        let output = said_at(
            HookPoint::PreToolUse,
            &json!({"systemMessage": "m", "reason": "top", "hookSpecificOutput": specific}),
        );
        assert_eq!(output.decision, None);
        assert_eq!(output.reason.as_deref(), Some("top"));
        assert_eq!(
            (output.additional_context, output.updated_input),
            (None, None)
        );
        assert_eq!(output.system_message.as_deref(), Some("m"));
        assert_eq!(output.event.as_deref(), named);
        let fault = output.fault.expect("it is no answer");
        assert!(fault.to_string().contains("\"PreToolUse\""), "{fault}");
    }
}

/// conformance: HOOK-08
#[test]
fn nonsense_has_no_fields_and_is_a_fault() {
    for text in [
        "{\"decision\":",
        "all is well",
        "[{\"decision\":\"block\"}]",
        "null",
        "{} {}",
        "{\"decision\":\"block\",\"decision\":\"approve\"}",
    ] {
        let output = HookOutput::decode(Some(0), &format!(" {text}\n"), "", None);
        assert_eq!(output.stdout, text);
        assert_eq!((output.decision, output.proceed), (None, None), "{text}");
        assert!(
            matches!(output.fault, Some(HookFault::NotAnObject(_))),
            "{text}"
        );
    }
    let deep = format!("{}{}", "{\"a\":".repeat(100_000), "1");
    assert!(HookOutput::decode(Some(0), &deep, "", None).fault.is_some());
    let padded = HookOutput::decode(Some(0), "\n {\"decision\":\"block\"} \n", "", None);
    assert_eq!(padded.decision, Some(HookDecision::Block));
    assert_eq!(padded.stdout, "{\"decision\":\"block\"}");
}

#[test]
fn a_field_of_another_type_is_a_fault_at_its_place() {
    for (value, pointer) in [
        (json!({"continue": "no"}), "/continue"),
        (json!({"decision": true}), "/decision"),
        (json!({"hookSpecificOutput": []}), "/hookSpecificOutput"),
        (
            json!({"hookSpecificOutput": {"permissionDecision": 1}}),
            "/hookSpecificOutput/permissionDecision",
        ),
    ] {
        let fault = said(&value).fault.expect("a fault").to_string();
        assert!(fault.contains(&format!("at {pointer},")), "{fault}");
    }
}

/// conformance: HOOK-09
#[test]
fn no_pattern_matches_everything() {
    for dialect in [Dialect::ClaudeCode, Dialect::Codex] {
        for pattern in [None, Some(""), Some("*")] {
            let matcher = ToolMatcher::new(dialect, pattern);
            assert!(matcher.matches("Bash") && matcher.matches(""));
            assert_eq!(matcher.pattern(), None);
        }
    }
}

/// conformance: HOOK-10, HOOK-11
#[test]
fn words_are_whole_in_one_dialect_only() {
    let claude = |pattern, name| ToolMatcher::new(Dialect::ClaudeCode, Some(pattern)).matches(name);
    assert!(claude("Bash", "Bash") && !claude("Bash", "BashOutput"));
    assert!(claude("Edit|Write", "Edit") && claude("Edit|Write", "Write"));
    assert!(!claude("Edit|Write", "EditFile") && !claude("Edit|Write", "Edit|Write"));
    assert!(claude("^Bash$", "Bash") && !claude("^Bash$", "BashOutput"));
    assert!(claude("Bash.*", "BashOutput") && claude("Bash.*", "MyBash"));
    let codex = |name| ToolMatcher::new(Dialect::Codex, Some("Bash")).matches(name);
    assert!(codex("BashOutput") && codex("Bash") && !codex("bash"));
}

/// conformance: HOOK-12, HOOK-47
#[test]
fn an_invalid_pattern_matches_nothing_and_says_so() {
    for (dialect, pattern, message) in [
        (
            Dialect::ClaudeCode,
            "(",
            r#"invalid claude-code regex matcher "(""#,
        ),
        (Dialect::Codex, "[", r#"invalid codex regex matcher "[""#),
        (
            Dialect::Codex,
            "(?=a)",
            r#"invalid codex regex matcher "(?=a)""#,
        ),
        (
            Dialect::ClaudeCode,
            "(?<!a)b",
            r#"invalid claude-code regex matcher "(?<!a)b""#,
        ),
        (
            Dialect::Codex,
            r"(a)\1",
            r#"invalid codex regex matcher "(a)\\1""#,
        ),
    ] {
        let matcher = ToolMatcher::new(dialect, Some(pattern));
        assert!(!matcher.matches(pattern) && !matcher.matches("a"));
        assert_eq!(matcher.error().expect("invalid").to_string(), message);
    }
    let huge = ToolMatcher::new(Dialect::Codex, Some("(a{1000}){1000}"));
    assert!(huge.error().is_some());
    let deep = "(".repeat(10_000) + &")".repeat(10_000);
    assert!(
        ToolMatcher::new(Dialect::Codex, Some(&deep))
            .error()
            .is_some()
    );
}

fn decided(word: &str, reason: Option<&str>) -> HookOutput {
    let mut specific = json!({"permissionDecision": word});
    if let Some(reason) = reason {
        specific["permissionDecisionReason"] = reason.into();
    }
    said(&json!({"hookSpecificOutput": specific}))
}

/// conformance: HOOK-13
#[test]
fn the_strictest_answer_counts_in_any_order() {
    let block = HookOutput::decode(Some(2), "", "", None);
    let approve = said(&json!({"decision": "approve"}));
    let (ask, none) = (decided("ask", None), HookOutput::default());
    let all = [&block, &ask, &approve, &none];
    for turn in 0..4 {
        let mut order = all;
        order.rotate_left(turn);
        assert_eq!(Merged::of(order).decision, Some(HookDecision::Deny));
        let without: Vec<_> = order.into_iter().filter(|one| **one != block).collect();
        assert_eq!(Merged::of(without).decision, Some(HookDecision::Ask));
    }
    assert_eq!(
        Merged::of([&none, &approve]).decision,
        Some(HookDecision::Allow)
    );
    assert_eq!(Merged::of([&none]), Merged::default());
    assert_eq!(Merged::of([]), Merged::default());
}

/// conformance: HOOK-14
#[test]
fn the_reasons_of_the_strictest_are_kept() {
    let outputs = [
        decided("deny", Some("first objection")),
        decided("allow", Some("fine")),
        said(&json!({"decision": "block", "reason": "second objection"})),
    ];
    let reason = |outputs: &[HookOutput]| Merged::of(outputs).reason;
    assert_eq!(
        reason(&outputs).as_deref(),
        Some("first objection\n\nsecond objection")
    );
    let (ask, allow) = (decided("ask", Some("why")), decided("allow", Some("fine")));
    assert_eq!(
        reason(&[ask.clone(), allow.clone()]).as_deref(),
        Some("why")
    );
    let deny = decided("deny", Some("no"));
    assert_eq!(reason(&[ask, deny]).as_deref(), Some("no"));
    assert_eq!(reason(&[allow]), None);
}

/// conformance: HOOK-15
#[test]
fn stops_and_messages_are_collected() {
    let outputs = [
        said(&json!({"continue": false, "systemMessage": "one"})),
        said(&json!({"hookSpecificOutput": {"additionalContext": "a"}, "systemMessage": " "})),
        said(&json!({"continue": false, "stopReason": "late"})),
        said(&json!({"hookSpecificOutput": {"additionalContext": ""}})),
        said(&json!({"hookSpecificOutput": {"additionalContext": "b"}, "systemMessage": "two"})),
    ];
    let merged = Merged::of(&outputs);
    assert!(merged.stop);
    assert_eq!(merged.stop_reason, None, "the first gave none");
    assert_eq!(merged.contexts, ["a", "b"]);
    assert_eq!(merged.system_messages, ["one", "two"]);
    assert_eq!(
        Merged::of(&outputs[1..]).stop_reason.as_deref(),
        Some("late")
    );
}

/// conformance: HOOK-19
#[test]
fn records_keep_a_word_and_a_summary() {
    assert_eq!(decision_word(&decided("ask", None)), "ask");
    let stop = json!({"continue": false});
    assert_eq!(decision_word(&said(&stop)), "stop");
    let both = json!({"continue": false, "decision": "block"});
    assert_eq!(decision_word(&said(&both)), "block");
    assert_eq!(decision_word(&HookOutput::default()), "pass");

    let long = "x".repeat(600);
    assert_eq!(
        stderr_summary(&long, 500),
        Some(format!("{}…", &long[..500]))
    );
    assert_eq!(
        stderr_summary(&long[..500], 500).as_deref(),
        Some(&long[..500])
    );
    assert_eq!(stderr_summary(" \n", 500), None);
    assert_eq!(stderr_summary("  abcdef ", 4).as_deref(), Some("abcd…"));
    assert_eq!(stderr_summary("  abcd ", 4).as_deref(), Some("abcd"));
}
