//! Reminders of repeated calls, through the assembled pipeline.

#[path = "support/facade.rs"]
mod support;

use serde_json::json;
use support::{Counter, context, echo, registry, returns, texts};
use tokio_util::sync::CancellationToken;
use toolfall::pipeline::BoxPipeline;
use toolfall::policy::repeat::{RepeatConfig, RepeatReminder};
use toolfall::policy::{Next, Waterfall};
use toolfall::{
    CallRequest, CallView, CodedError, ContextMessage, Decision, Pipeline, PostDecision,
    PostRequest, Registry, Scope, ToolResult,
};

fn tools() -> Registry {
    registry([echo("probe"), echo("pro_two"), echo("other")])
}

fn reminder(config: serde_json::Value) -> RepeatReminder {
    let config = RepeatConfig::from_json(&config).expect("a good configuration");
    RepeatReminder::new(config).expect("a good configuration")
}

/// An agent whose calls fall through a pipeline with a reminder.
struct Agent {
    pipeline: BoxPipeline,
    scope: Scope,
}

impl Agent {
    fn new(reminder: &RepeatReminder) -> Self {
        let pipeline = Pipeline::builder(tools())
            .post_execute(reminder.clone())
            .build()
            .boxed();
        let scope = Scope::new("agent");
        Self { pipeline, scope }
    }

    async fn result(&self, tool: &'static str, arguments: &str) -> ToolResult {
        let token = CancellationToken::new();
        let request = CallRequest::new("1", tool, arguments, token);
        self.pipeline
            .run(request.with_scope(self.scope.clone()))
            .await
    }

    async fn call(&self, tool: &'static str, arguments: &str) -> Vec<ContextMessage> {
        self.result(tool, arguments).await.contexts().to_vec()
    }

    /// How often it is reminded in a number of calls.
    async fn reminded(&self, calls: &[(&'static str, &str)]) -> usize {
        let mut reminders = 0;
        for (tool, arguments) in calls {
            reminders += self.call(tool, arguments).await.len();
        }
        reminders
    }
}

const SAME: &str = r#"{"q":"same"}"#;

/// conformance: REPEAT-01, REPEAT-02, REPEAT-22
#[tokio::test]
async fn the_lowest_threshold_speaks_gently_and_the_others_in_detail() {
    let agent = Agent::new(&RepeatReminder::default());
    let mut said = Vec::new();
    for count in 1..=12 {
        for message in agent.call("probe", SAME).await {
            said.push((count, message));
        }
    }
    let counts: Vec<i32> = said.iter().map(|(count, _)| *count).collect();
    assert_eq!(counts, [3, 5, 8], "and nothing past the highest");

    let source = serde_json::to_value(&said[0].1.source).unwrap();
    let wanted = json!({"kind": "plugin", "name": "repeat-tool-reminder", "summary": "probe × 3"});
    assert_eq!(source, wanted);
    assert_eq!(said[1].1.source.summary.as_deref(), Some("probe × 5"));
    assert_eq!(said[0].1.meta, Some(json!({"form": "notice"})));

    let gentle = &texts(&[said[0].1.clone()])[0];
    assert!(gentle.contains("same arguments") && gentle.contains("Read the last result again"));
    assert!(gentle.contains("Change the approach"));
    assert!(!gentle.contains("- tool:"), "{gentle}");

    let detailed = &texts(&[said[1].1.clone()])[0];
    let lines: Vec<&str> = detailed.lines().collect();
    for line in [
        "- tool: probe",
        "- consecutive_calls: 5",
        r#"- arguments: {"q":"same"}"#,
    ] {
        assert!(lines.contains(&line), "{line:?} in {detailed}");
    }
    assert!(detailed.contains("Do something else") && detailed.contains("finish"));
}

/// conformance: REPEAT-03
#[tokio::test]
async fn thresholds_are_sorted_and_gentle_belongs_to_the_first() {
    let agent = Agent::new(&reminder(json!({"thresholds": [4, 2]})));
    let mut said = Vec::new();
    for count in 1..=4 {
        let texts = texts(&agent.call("probe", SAME).await);
        said.extend(texts.iter().map(|text| (count, text.contains("- tool:"))));
    }
    assert_eq!(said, [(2, false), (4, true)]);
}

/// conformance: REPEAT-04
#[tokio::test]
async fn a_large_argument_counts_in_full_and_is_quoted_in_part() {
    let config = json!({"thresholds": [2, 3], "argumentsPreviewChars": 24});
    let agent = Agent::new(&reminder(config));
    let large = |end: &str| format!(r#"{{"text":"{}{end}"}}"#, "é".repeat(400));
    assert_eq!(large("").chars().count(), 24 + 387);
    let mut said = Vec::new();
    for _ in 0..3 {
        let shorter = large("");
        said.extend(texts(&agent.call("probe", &shorter).await));
    }
    assert_eq!(said.len(), 2);
    let quoted = format!(
        "- arguments: {{\"text\":\"{}… (+387 more chars)\n",
        "é".repeat(15)
    );
    assert!(said[1].contains(&quoted), "{}", said[1]);
    assert!(said.iter().all(|text| !text.contains(&"é".repeat(16))));

    agent.call("probe", &large("a")).await;
    let other = agent.call("probe", &large("b")).await;
    assert!(other.is_empty(), "they differ behind what is quoted");
}

/// conformance: REPEAT-05, REPEAT-06, REPEAT-07, REPEAT-08, REPEAT-21
#[tokio::test]
async fn what_is_not_watched_neither_counts_nor_resets() {
    let (probe, other) = (("probe", SAME), ("other", SAME));
    let agent = Agent::new(&RepeatReminder::default());
    let between = [probe, probe, other, probe, probe, probe];
    assert_eq!(agent.reminded(&between).await, 1, "another call resets");

    let agent = Agent::new(&reminder(json!({"exclude": ["oth*", "no_such_tool"]})));
    let interleaved = [probe, other, other, other, probe, other, probe];
    assert_eq!(agent.reminded(&interleaved).await, 1, "excluded");

    let agent = Agent::new(&reminder(json!({"include": ["pro*"]})));
    assert_eq!(agent.reminded(&[other; 3]).await, 0, "not included");
    assert_eq!(agent.reminded(&[("pro_two", "{}"); 3]).await, 1);

    for (exclude, reminders) in [
        ("pr.be", 1),
        ("prob", 1),
        ("robe", 1),
        ("PROBE", 1),
        ("[p]robe", 1),
        ("prob?", 1),
        ("*x*", 1),
        ("", 1),
        ("probe", 0),
        ("p*b*", 0),
        ("*", 0),
        ("**be**", 0),
        ("*o*e", 0),
    ] {
        let agent = Agent::new(&reminder(json!({"exclude": [exclude]})));
        assert_eq!(agent.reminded(&[probe; 3]).await, reminders, "{exclude:?}");
    }
}

/// conformance: REPEAT-09, REPEAT-25
#[tokio::test]
async fn the_same_arguments_are_the_same_however_they_are_written() {
    let same = [
        r#"{"a":{"x":1,"é":[1,2]},"b":null}"#,
        r#"{ "b": null, "a": {"é": [1.0, 2e0], "x": 1.0} }"#,
        r#"{"b":null,"a":{"\u00e9":[10e-1,2],"x":1}}"#,
    ];
    let agent = Agent::new(&reminder(json!({"thresholds": [2, 3]})));
    let mut said = Vec::new();
    for arguments in same {
        said.extend(texts(&agent.call("probe", arguments).await));
    }
    assert_eq!(said.len(), 2);
    let canonical = r#"- arguments: {"a":{"x":1,"é":[1,2]},"b":null}"#;
    assert!(said[1].lines().any(|line| line == canonical), "{}", said[1]);

    for (one, two) in [
        (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#),
        (r#"{"a":1}"#, r#"{"a":"1"}"#),
        (r#"{"a":1}"#, r#"{"a":1.5}"#),
        (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#),
        (r#"{"a":null}"#, "{}"),
        (r#"{"a":"b\",\"c"}"#, r#"{"a":"b","c":""}"#),
    ] {
        let agent = Agent::new(&reminder(json!({"thresholds": [2]})));
        let said = agent.reminded(&[("probe", one), ("probe", two)]).await;
        assert_eq!(said, 0, "{one} and {two}");
    }
    for (number, canonical) in [
        ("-0.0", "0"),
        ("1e3", "1000"),
        ("-2.50", "-2.5e0"),
        ("1e300", "1e300"),
        ("1e19", "10000000000000000000"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
    ] {
        let agent = Agent::new(&reminder(json!({"thresholds": [2, 3]})));
        let arguments = format!(r#"{{"n":{number}}}"#);
        agent.call("probe", &arguments).await;
        agent.call("probe", &arguments).await;
        let said = texts(&agent.call("probe", &arguments).await);
        let line = format!("- arguments: {{\"n\":{canonical}}}");
        assert!(said[0].contains(&line), "{number}: {}", said[0]);
    }
}

/// conformance: REPEAT-10, REPEAT-13, REPEAT-15, REPEAT-24, REPEAT-26
#[tokio::test]
async fn agents_are_counted_apart_and_by_identity() {
    let reminder = RepeatReminder::default();
    let (one, two) = (Agent::new(&reminder), Agent::new(&reminder));
    for _ in 0..2 {
        let (a, b) = tokio::join!(one.call("probe", SAME), two.call("probe", SAME));
        assert!(a.is_empty() && b.is_empty());
    }
    let token = CancellationToken::new;
    let nobody = one.pipeline.call("1", "probe", SAME, token()).await;
    assert!(!nobody.is_error() && nobody.contexts().is_empty());
    let (a, b) = tokio::join!(one.call("probe", SAME), two.call("probe", SAME));
    assert_eq!((a.len(), b.len()), (1, 1));
    assert_eq!(reminder.live_chains(), 2);

    let Agent { pipeline, scope } = one;
    drop(scope);
    assert_eq!(reminder.live_chains(), 1, "the count ends with the agent");
    let renewed = Agent {
        pipeline,
        scope: Scope::new("agent"),
    };
    let twice = [("probe", SAME); 2];
    assert_eq!(renewed.reminded(&twice).await, 0, "under the same name");

    // Scopes that come and go inherit nothing, wherever memory is used again.
    for _ in 0..200 {
        let passing = Agent::new(&reminder);
        assert_eq!(passing.reminded(&twice).await, 0);
    }
    assert_eq!(reminder.live_chains(), 2, "and leave nothing behind");

    let restarted = Agent::new(&RepeatReminder::default());
    assert_eq!(restarted.reminded(&twice).await, 0, "memory only");
}

/// conformance: REPEAT-11
#[tokio::test]
async fn a_user_message_starts_the_count_of_its_agent_anew() {
    let reminder = RepeatReminder::default();
    let (one, two) = (Agent::new(&reminder), Agent::new(&reminder));
    let twice = [("probe", SAME); 2];
    assert_eq!(one.reminded(&twice).await + two.reminded(&twice).await, 0);
    reminder.reset_for(&one.scope);
    assert_eq!(one.call("probe", SAME).await.len(), 0);
    assert_eq!(two.call("probe", SAME).await.len(), 1, "nobody else's");
    assert_eq!(one.reminded(&twice).await, 1, "and it counts on");
}

/// conformance: REPEAT-14, REPEAT-23
#[tokio::test]
async fn denials_count_and_calls_that_never_ran_do_not() {
    let scope = Scope::new("agent");
    let reminder = reminder(json!({"thresholds": [2]}));
    let pipeline = Pipeline::builder(tools())
        .pre_decision(|call: &CallView| match call.id().as_str() {
            "denied" => Ok(Decision::deny("no")),
            "broken" => Err(CodedError::new("HookError", "HOOK", "the policy broke")),
            _ => Ok(Decision::Allow),
        })
        .post_execute(reminder)
        .build();
    let run = async |id: &'static str, arguments: &'static str, cancelled: bool| {
        let token = CancellationToken::new();
        if cancelled {
            token.cancel();
        }
        let request = CallRequest::new(id, "probe", arguments, token);
        pipeline.run(request.with_scope(scope.clone())).await
    };
    for _ in 0..3 {
        for (id, arguments, cancelled) in [
            ("broken", SAME, false),
            ("1", "no json", false),
            ("1", "[]", false),
            ("1", SAME, true),
        ] {
            let result = run(id, arguments, cancelled).await;
            assert!(result.is_error() && result.contexts().is_empty());
        }
    }
    assert!(run("denied", SAME, false).await.contexts().is_empty());
    run("1", SAME, true).await;
    let token = CancellationToken::new();
    let skipped = CallRequest::new("1", "probe", SAME, token.clone()).with_scope(scope.clone());
    let batch = pipeline.scheduler().batch([skipped], token);
    let report = batch.incomplete("the reply was cut off").run().await;
    assert!(report.committed[0].result.contexts().is_empty());
    let second = run("denied", SAME, false).await;
    assert_eq!(second.contexts().len(), 1);
    assert_eq!(second.text(), "Error: no");
}

/// conformance: REPEAT-16, REPEAT-17, REPEAT-18
#[tokio::test]
async fn what_an_inner_policy_decides_stands() {
    let reminder = || reminder(json!({"thresholds": [2]}));
    let inner = |post: &PostRequest| match post.call().name() {
        "blocked" => PostDecision::block_with("withheld").with_context(context("inner")),
        "replaced" => PostDecision::replace_value("other".into()),
        _ => PostDecision::accept(),
    };
    let listeners = Waterfall::new(PostDecision::accept());
    let listening = reminder();
    let _reminder =
        listeners.register(move |post: PostRequest, next: Next<_, _>| listening.listen(post, next));
    let _inner = listeners.register(move |post: PostRequest, _: Next<_, _>| {
        let decision = inner(&post);
        async move { decision }
    });
    let later = move |post: PostRequest| async move {
        tokio::task::yield_now().await;
        inner(&post)
    };
    let tools = || {
        let runs = Counter::default();
        registry(["blocked", "replaced", "plain"].map(|tool| returns(tool, "value".into(), &runs)))
    };
    let pipelines: [BoxPipeline; 3] = [
        Pipeline::builder(tools())
            .post_execute(reminder().around(inner))
            .build()
            .boxed(),
        Pipeline::builder(tools())
            .post_execute(reminder().around(later))
            .build()
            .boxed(),
        Pipeline::builder(tools())
            .post_execute(listeners.clone())
            .build()
            .boxed(),
    ];
    for pipeline in pipelines {
        let scope = Scope::new("agent");
        let agent = Agent { pipeline, scope };
        for (tool, text, authors) in [
            ("blocked", "withheld", vec!["repeat-tool-reminder", "test"]),
            ("replaced", "other", vec!["repeat-tool-reminder"]),
            ("plain", "value", vec!["repeat-tool-reminder"]),
        ] {
            let first = agent.result(tool, "{}").await;
            let second = agent.result(tool, "{}").await;
            assert_eq!(second.text(), text);
            assert_eq!(second.content(), first.content(), "content is untouched");
            let names: Vec<&str> = second.contexts().iter().map(|c| &*c.source.name).collect();
            assert_eq!(names, authors, "{tool}");
            assert_eq!(first.contexts().len(), authors.len() - 1);
        }
    }
}

/// conformance: REPEAT-19, REPEAT-20, REPEAT-21
#[test]
fn configurations_say_what_is_wrong_with_them() {
    for (config, error) in [
        (json!({"thresholds": []}), "/thresholds: must not be empty"),
        (
            json!({"thresholds": [3, 1]}),
            "/thresholds/1: expected an integer >= 2, found 1",
        ),
        (
            json!({"thresholds": [2.5]}),
            "/thresholds/0: expected an integer >= 2, found 2.5",
        ),
        (
            json!({"thresholds": [-3]}),
            "/thresholds/0: expected an integer >= 2, found -3",
        ),
        (
            json!({"thresholds": [3, 4, 3]}),
            "/thresholds/2: expected no duplicates, found a second 3",
        ),
        (
            json!({"argumentsPreviewChars": 0}),
            "/argumentsPreviewChars: expected an integer >= 1, found 0",
        ),
        (
            json!({"argumentsPreviewChars": 12.5}),
            "/argumentsPreviewChars: expected an integer >= 1, found 12.5",
        ),
        (
            json!({"include": ["a", 1]}),
            "\"/include/1\": expected a string, found 1",
        ),
        (
            json!({"exclude": "a"}),
            "\"/exclude\": expected a list of patterns, found \"a\"",
        ),
        (json!([]), "\"\": expected an object, found a list"),
    ] {
        let found = RepeatConfig::from_json(&config).unwrap_err();
        assert_eq!(found.to_string(), error, "{config}");
    }
    let unknown = RepeatConfig::from_json(&json!({"threshold": [3]})).unwrap_err();
    assert!(unknown.to_string().ends_with("found \"threshold\""));
    assert!(RepeatConfig::from_json(&json!({"include": ["no_such_*"]})).is_ok());

    let typed = RepeatConfig {
        thresholds: vec![2, 2],
        ..RepeatConfig::default()
    };
    let error = RepeatReminder::new(typed).unwrap_err();
    assert!(error.to_string().contains("duplicates"));
}

/// A name that a model made up is shown in bounds and on one line.
#[tokio::test]
async fn a_made_up_name_cannot_write_lines_of_its_own() {
    let agent = Agent::new(&reminder(json!({"thresholds": [2, 3]})));
    let forged: &'static str = "probe\n- tool: other";
    let mut said = Vec::new();
    for _ in 0..3 {
        said.extend(agent.call(forged, "{}").await);
    }
    let text = &texts(&said)[1];
    assert_eq!(text.matches("\n- tool:").count(), 1, "{text}");
    assert!(text.contains(r"- tool: probe\n- tool: other"), "{text}");
}
