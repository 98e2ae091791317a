//! What people, logs and traces do not get to see of calls.

#[path = "support/facade.rs"]
mod support;

use std::fmt::Debug;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use support::{any_object, registry, request};
use tokio_util::sync::CancellationToken;
use toolfall::approval::{Answerers, BoundAnswer, ChannelApprover, SavedAnswers, SavedQuestion};
use toolfall::card::{self, CallCard, GenericCall, GenericResult, Presented, ResultCard};
use toolfall::layers::Redaction;
use toolfall::redaction::{SecretPlaces, ShownResult};
use toolfall::session::{Body, Record, SessionLog, SessionRecorder, Unfinished, check};
use toolfall::*;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

const SECRET: &str = "correct-horse-battery";
const ARGUMENTS: &str = r#"{"to": "prod", "token": "correct-horse-battery"}"#;
const SHOWN: &str = r#"{"to": "prod", "token": "[redacted]"}"#;

fn token_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"to": {"type": "string"}, "token": {"type": "string"}},
        "required": ["to", "token"],
    })
}

/// A tool whose token is secret, and which says it again.
fn deploy() -> ToolDef {
    raw_tool(
        "deploy",
        "",
        token_schema(),
        |args: Arguments, _| async move {
            Ok::<_, BoxError>(json!(format!("used {}", args.value()["token"])))
        },
    )
    .secret_arguments(["/token"])
}

/// A call that answerers can route.
fn from_agent(arguments: impl toolfall::IntoArguments) -> CallRequest {
    request("deploy", arguments).with_scope(Scope::new("agent"))
}

struct Logged {
    pipeline: toolfall::pipeline::BoxPipeline,
    log: SessionLog,
    recorder: Arc<SessionRecorder>,
}

fn logged(tools: impl IntoIterator<Item = ToolDef>) -> Logged {
    logged_in(registry(tools))
}

fn logged_in(registry: Registry) -> Logged {
    let log = SessionLog::in_memory();
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    Logged {
        pipeline: Pipeline::builder(registry)
            .recorder(recorder.clone())
            .build()
            .boxed(),
        log,
        recorder,
    }
}

fn lines(log: &SessionLog) -> Vec<String> {
    let records = log.records().unwrap();
    records
        .iter()
        .map(|record| serde_json::to_string(record).unwrap())
        .collect()
}

/// The arguments that the log has, in order.
fn arguments(log: &SessionLog) -> Vec<String> {
    let records = log.records().unwrap();
    let calls = records.into_iter().filter_map(|record| match record.body {
        Body::Call(call) => Some(call.arguments),
        _ => None,
    });
    calls.collect()
}

fn view(arguments: &[&str], text: &str) -> Option<String> {
    SecretPlaces::new(arguments.iter().copied(), [])
        .unwrap()
        .arguments(text)
}

#[test]
fn pointers_name_members_items_and_escapes_and_the_rest_stays() {
    let shown = |pointers: &[&str], text: &str| view(pointers, text).unwrap_or_default();
    // Order, white space and spelling stay.
    assert_eq!(
        shown(
            &["/b"],
            "{ \"z\":1.50, \"b\" :\t\"x\" ,\"a\":[1E3,  \"\\u0041\"] }"
        ),
        "{ \"z\":1.50, \"b\" :\t\"[redacted]\" ,\"a\":[1E3,  \"\\u0041\"] }"
    );
    assert_eq!(
        shown(&["/a~1b/m~0n"], r#"{"a/b":{"m~n":1,"o":2}}"#),
        r#"{"a/b":{"m~n":"[redacted]","o":2}}"#
    );
    assert_eq!(
        shown(&["/l/1"], r#"{"l":[1,2,3]}"#),
        r#"{"l":[1,"[redacted]",3]}"#
    );
    assert_eq!(
        shown(
            &["/h/*", "/l/*/k"],
            r#"{"h":{"x":"1","y":[2]},"l":[{"k":1,"j":2},{"k":3}]}"#
        ),
        r#"{"h":{"x":"[redacted]","y":"[redacted]"},"l":[{"k":"[redacted]","j":2},{"k":"[redacted]"}]}"#
    );
    // A name that is written with escapes is the same name.
    assert_eq!(
        shown(&["/token"], r#"{"to\u006ben":"x"}"#),
        r#"{"to\u006ben":"[redacted]"}"#
    );
    assert_eq!(
        shown(&["/"], r#"{"":"x","a":1}"#),
        r#"{"":"[redacted]","a":1}"#
    );
    assert_eq!(shown(&[""], r#"{"a":1}"#), r#""[redacted]""#);
    // Nested places, the outer one first.
    assert_eq!(
        shown(&["/a/b", "/a"], r#"{"a":{"b":1}}"#),
        r#"{"a":"[redacted]"}"#
    );

    for (pointers, text) in [
        (&["/x"][..], r#"{"a":{"x":1}}"#),
        (&["/a/x"], r#"{"a":null,"b":true}"#),
        (&["/l/7"], r#"{"l":[1]}"#),
        (&["/l/01"], r#"{"m":[1]}"#),
        (&[], r#"{"a":1}"#),
        (&["/x"], ""),
        (&["/x"], "null"),
        (&["/*"], "[]"),
        (&["/*"], "{}"),
    ] {
        assert_eq!(view(pointers, text), None, "{pointers:?} in {text}");
    }
}

#[test]
fn another_shape_than_the_pointer_expects_is_hidden_whole() {
    // Arguments that were encoded twice.
    let twice = Value::from(r#"{"token":"x"}"#).to_string();
    assert_eq!(view(&["/token"], &twice).unwrap(), r#""[redacted]""#);
    assert_eq!(
        view(&["/headers/*"], r#"{"headers":"Authorization: x"}"#).unwrap(),
        r#"{"headers":"[redacted]"}"#
    );
    assert_eq!(
        view(&["/headers/auth"], r#"{"headers":[["auth","x"]]}"#).unwrap(),
        r#"{"headers":"[redacted]"}"#
    );
    assert_eq!(
        view(&["/a/b"], r#"{"a":17}"#).unwrap(),
        r#"{"a":"[redacted]"}"#
    );
}

#[test]
fn what_is_no_json_is_told_by_its_length() {
    for text in [
        r#"{"token":"x"#,
        "token=x",
        r#"{"token":"x","token":"y"}"#,
        "{\"n\":1e999}",
    ] {
        let shown = view(&["/token"], text).unwrap();
        assert_eq!(shown, format!("\"[redacted: {} bytes]\"", text.len()));
        // A view of a view is the same.
        assert_eq!(view(&["/token"], &shown), None);
    }
    assert_eq!(view(&["/token"], SHOWN).unwrap(), SHOWN);
}

#[test]
fn a_pointer_that_is_none_is_refused_with_what_is_wrong() {
    for (pointer, expected) in [
        ("token", "begins with"),
        ("/a~", "followed by"),
        ("/a~2", "followed by"),
        ("#/a", "begins with"),
    ] {
        let error = SecretPlaces::new([pointer], []).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(
            error.to_string().contains(&format!("{pointer:?}")),
            "{error}"
        );
        let refused = Registry::new().register(deploy().secret_results([pointer]));
        match refused.map(|_| ()) {
            Err(RegisterError::Secret { name, error: why }) => {
                assert_eq!((name.as_str(), why), ("deploy", error));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_log_has_the_view_and_the_body_the_original() {
    let Logged { pipeline, log, .. } = logged([deploy()]);
    let result = pipeline.run(request("deploy", ARGUMENTS)).await;
    assert_eq!(
        result.text(),
        format!("used \"{SECRET}\""),
        "the model reads it"
    );

    assert_eq!(arguments(&log), [SHOWN]);
    let records = log.records().unwrap();
    assert!(matches!(&records[0].body, Body::Call(call) if call.redacted));
    assert!(matches!(&records.last().unwrap().body, Body::Result(result)
        if result.content == [ContentBlock::text("used \"[redacted]\"")]));
    assert!(!lines(&log).join("").contains(SECRET));
    assert!(check::check(&records).is_empty(), "the log is whole");
}

#[tokio::test]
async fn the_file_on_disk_has_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let (log, _) = SessionLog::open(&path, toolfall::session::Options::new()).unwrap();
    let pipeline = Pipeline::builder(registry([deploy()]))
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();
    for text in [
        ARGUMENTS,
        "{\"token\": \"correct-horse-battery",
        "\"correct-horse-battery\"",
    ] {
        pipeline.run(request("deploy", text)).await;
    }
    log.close().await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 7, "{text}");
    assert!(!text.contains("horse"), "{text}");
}

#[tokio::test]
async fn what_has_nothing_to_hide_is_logged_as_it_is() {
    let Logged { pipeline, log, .. } = logged([deploy(), support::echo("echo")]);
    pipeline.run(request("echo", ARGUMENTS)).await;
    // No tool, no annotation: documented.
    pipeline.run(request("deploi", ARGUMENTS)).await;
    assert_eq!(arguments(&log), [ARGUMENTS, ARGUMENTS]);
    let calls = log.records().unwrap();
    assert!(calls.iter().all(|record| match &record.body {
        Body::Call(call) => !call.redacted,
        _ => true,
    }));
    assert!(!lines(&log)[0].contains("redacted"), "nor is there a field");
}

#[tokio::test]
async fn results_are_hidden_by_place_also_where_they_are_short() {
    let account = |value: Value| {
        let value = Arc::new(value);
        raw_tool("account", "", any_object(), move |_: Arguments, _| {
            let value = value.clone();
            async move { Ok::<_, BoxError>((*value).clone()) }
        })
        .secret_results(["/pin", "/keys/*"])
    };
    let value = json!({"pin": 17, "keys": ["k1", "k2-long-enough"], "name": "k1 of 17"});
    let Logged { pipeline, log, .. } = logged([account(value.clone())]);
    let result = pipeline.run(request("account", "{}")).await;
    assert_eq!(result.value(), Some(&value));
    let shown = r#"{"keys":["[redacted]","[redacted]"],"name":"k1 of 17","pin":"[redacted]"}"#;
    assert!(
        lines(&log)
            .join("")
            .contains(&Value::from(shown).to_string()),
        "{:?}",
        lines(&log)
    );

    // A rendering of one's own, and metadata: by value.
    let value = json!({"pin": "ab12", "keys": ["k2-long-enough"]});
    let rendered = account(value)
        .render(|value| {
            let text = format!(
                "pin {} key {}!",
                value["pin"].as_str().unwrap(),
                value["keys"][0]
            );
            Ok(vec![
                ContentBlock::text(text),
                ContentBlock::text("ab123 stays"),
            ])
        })
        .presentation_meta(|value| Ok(json!({"key": value["keys"][0], "n": 1})));
    let Logged { pipeline, log, .. } = logged([rendered]);
    pipeline.run(request("account", "{}")).await;
    let text = lines(&log).join("");
    assert!(
        text.contains(r#"pin [redacted] key \"[redacted]\"!"#),
        "{text}"
    );
    assert!(
        text.contains("ab123 stays") && text.contains(r#""meta":{"key":"[redacted]","n":1}"#),
        "{text}"
    );

    let whole = account(json!({"pin": 1})).secret_results([""]);
    let Logged { pipeline, log, .. } = logged([whole]);
    assert_eq!(
        pipeline.run(request("account", "{}")).await.text(),
        r#"{"pin":1}"#
    );
    assert!(lines(&log)[2].contains(r#""content":[{"type":"text","text":"[redacted]"}]"#));
}

#[test]
fn a_secret_with_digits_in_it_hides_no_years() {
    let places = SecretPlaces::new(["/k"], []).unwrap();
    let arguments = r#"{"k": ["v1-2024-abcd", 87654321, 7]}"#;
    let text = "in 2024, v1-2024-abcd and 87654321 of 7";
    assert_eq!(
        places.text(arguments, text).unwrap(),
        "in 2024, [redacted] and [redacted] of 7"
    );
}

#[tokio::test]
async fn errors_that_quote_a_secret_are_masked() {
    let failing = raw_tool(
        "deploy",
        "",
        token_schema(),
        |args: Arguments, _| async move {
            let token = args.value()["token"].clone();
            Err::<Value, _>(BoxError::from(format!(
                "refused {token}, in full {}",
                args.text()
            )))
        },
    )
    .secret_arguments(["/token"]);
    let panicking = raw_tool(
        "boom",
        "",
        token_schema(),
        |args: Arguments, _| async move {
            assert_eq!(args.text(), "", "it panics");
            Ok::<_, BoxError>(Value::Null)
        },
    )
    .secret_arguments(["/token"]);
    let Logged { pipeline, log, .. } = logged([failing, panicking]);
    let result = pipeline.run(request("deploy", ARGUMENTS)).await;
    assert!(result.text().contains(SECRET), "the model's");
    // A secret that JSON has to escape.
    let quoted = r#"{"to": "x", "token": "line\none\"two\" three"}"#;
    pipeline.run(request("deploy", quoted)).await;
    pipeline.run(request("boom", ARGUMENTS)).await;
    let text = lines(&log).join("\n");
    assert!(!text.contains("horse") && !text.contains("three"), "{text}");
    assert!(
        text.contains(r#"refused \"[redacted]\", in full"#),
        "{text}"
    );
}

#[tokio::test]
async fn what_breaks_the_schema_is_not_quoted_to_anybody() {
    #[derive(Deserialize, schemars::JsonSchema)]
    struct Typed {
        #[allow(dead_code, reason = "decoded")]
        pin: u8,
        #[allow(dead_code, reason = "decoded")]
        to: u8,
    }
    let strict = raw_tool(
        "strict",
        "",
        json!({
            "type": "object",
            "properties": {
                "pin": {"type": "integer", "maximum": 9999},
                "kind": {"enum": ["a", "b"]},
                "token": {"type": "string", "pattern": "^t_", "maxLength": 4},
            },
            "additionalProperties": false,
        }),
        |_: Arguments, _| async { Ok::<_, BoxError>(Value::Null) },
    )
    .secret_arguments(["/pin", "/token", "/kind"]);
    let typed = tool_fn("typed", "", |_: Typed, _: ToolContext| async {
        Ok::<_, BoxError>(1)
    })
    .validation(Validation::Decoding)
    .secret_arguments(["/pin"]);
    let Logged { pipeline, log, .. } = logged([strict, typed]);
    for (tool, text, also) in [
        (
            "strict",
            r#"{"pin": 12345, "token": "s3cr", "kind": "q7"}"#,
            "must be one of",
        ),
        ("strict", r#"{"pin": "12345"}"#, "must be an integer"),
        (
            "strict",
            r#"{"pin": 12345, "other": 1}"#,
            "not a declared property",
        ),
        (
            "strict",
            r#"{"token": "s3cr", "pin": 12345"#,
            "not JSON at line 1",
        ),
        ("strict", r#""12345""#, "must be an object"),
        (
            "typed",
            r#"{"pin": 12345, "to": 1}"#,
            "at \"/pin\": a secret that does not fit",
        ),
        (
            "typed",
            r#"{"pin": "12345", "to": 1}"#,
            "at \"/pin\": a secret that does not fit",
        ),
        ("typed", r#"{"pin": 1}"#, "missing field `to`"),
    ] {
        let result = pipeline.run(request(tool, text)).await;
        assert_eq!(
            result.code(),
            Some(codes::INVALID_ARGS),
            "{}",
            result.text()
        );
        assert!(result.text().contains(also), "{also}: {}", result.text());
        for secret in ["12345", "s3cr", "q7"] {
            assert!(!result.text().contains(secret), "{text}: {}", result.text());
        }
    }
    // What is no secret is told as ever.
    let result = pipeline
        .run(request("typed", r#"{"pin": 1, "to": 777}"#))
        .await;
    assert!(result.text().contains("777"), "{}", result.text());
    let text = lines(&log).join("\n");
    for secret in ["12345", "s3cr", "q7"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[tokio::test]
async fn people_are_asked_with_the_view_and_policies_with_the_original() {
    let log = SessionLog::in_memory();
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    let (approver, mut questions) = ChannelApprover::new(NonZeroUsize::MIN);
    let answerers = Answerers::audited(recorder.clone());
    answerers.register(approver.answerer()).keep();
    let guarded = Arc::new(Mutex::new(Vec::new()));
    let seen = guarded.clone();
    let pipeline = Pipeline::builder(registry([deploy()]))
        .pre_decision(|call: &CallView| {
            let token = call.arguments().unwrap().value()["token"].clone();
            Decision::ask(format!("the token {token} is used"))
        })
        .approval(answerers)
        .guard(move |call: &CallView| {
            seen.lock().unwrap().push(call.raw_arguments().to_owned());
            None::<Denial>
        })
        .recorder(recorder)
        .build();
    let asked = async {
        let question = questions.recv().await.unwrap();
        let request = question.request();
        assert_eq!(request.shown_arguments(), SHOWN);
        assert_eq!(
            request.arguments().unwrap().text(),
            ARGUMENTS,
            "what will run"
        );
        assert_eq!(request.reason(), Some("the token \"[redacted]\" is used"));
        assert!(!format!("{question:?} {request:?}").contains(SECRET));
        let saved = question.saved();
        assert_eq!(saved.arguments(), SHOWN);
        assert!(saved.is_redacted());
        assert!(!serde_json::to_string(&saved).unwrap().contains(SECRET));
        question.allow().unwrap();
    };
    let (result, ()) = tokio::join!(pipeline.run(from_agent(ARGUMENTS)), asked);
    assert!(!result.is_error(), "{}", result.text());
    assert_eq!(*guarded.lock().unwrap(), [ARGUMENTS]);
    let text = lines(&log).join("\n");
    assert!(
        text.contains("approval/asked") && !text.contains(SECRET),
        "{text}"
    );
}

/// A question that a process left open, as its log has it.
async fn left_open(arguments: &'static str) -> (Vec<Record>, SavedQuestion) {
    let log = SessionLog::in_memory();
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    let (approver, mut questions) = ChannelApprover::new(NonZeroUsize::MIN);
    let answerers = Answerers::audited(recorder.clone());
    answerers.register(approver.answerer()).keep();
    let pipeline = Pipeline::builder(registry([deploy()]))
        .pre_decision(|_: &CallView| Decision::ask("it deploys"))
        .approval(answerers)
        .recorder(recorder)
        .build();
    let mut call = Box::pin(pipeline.run(from_agent(arguments)));
    let question = tokio::select! {
        _ = &mut call => unreachable!("nobody answers"),
        question = questions.recv() => question.unwrap(),
    };
    let left = (log.records().unwrap(), question.saved());
    drop(call);
    left
}

#[tokio::test]
async fn a_saved_question_is_bound_to_what_was_sent_and_to_what_it_shows() {
    let (records, saved) = left_open(ARGUMENTS).await;
    // The log alone gives the same question.
    let unfinished = Unfinished::of(&records);
    assert_eq!(unfinished.questions(), std::slice::from_ref(&saved));
    assert!(unfinished.calls()[0].redacted);

    // It survives being written, and no change.
    let text = serde_json::to_string(&saved).unwrap();
    assert_eq!(serde_json::from_str::<SavedQuestion>(&text).unwrap(), saved);
    for (from, to) in [
        ("prod", "test"),
        ("\"sent\":\"", "\"sent\":\"0"),
        ("deploy", "delete"),
    ] {
        assert!(text.contains(from), "{text}");
        let altered = text.replacen(from, to, 1);
        assert!(
            serde_json::from_str::<SavedQuestion>(&altered).is_err(),
            "{altered}"
        );
    }

    // The same call finds its answer; one with another token does not.
    let other = ARGUMENTS.replace("battery", "staples");
    for (arguments, runs) in [(ARGUMENTS.to_owned(), true), (other, false)] {
        let answers = SavedAnswers::new();
        let answer = BoundAnswer::to(&saved, ApprovalOutcome::AllowedOnce);
        answers.add(&saved, answer).unwrap();
        let answerers = Answerers::new();
        answerers.register_first(answers.answerer()).keep();
        let pipeline = Pipeline::builder(registry([deploy()]))
            .pre_decision(|_: &CallView| Decision::ask("it deploys"))
            .approval(answerers)
            .build();
        let result = pipeline.run(from_agent(arguments)).await;
        assert_eq!(!result.is_error(), runs, "{}", result.text());
    }
}

#[tokio::test]
async fn cards_show_the_view_live_and_from_the_log() {
    #[derive(Deserialize)]
    struct Shown {
        to: String,
        token: String,
    }
    let tool = deploy()
        .present_call(|args: Shown| {
            let title = format!("Deploy to {} with {}", args.to, args.token);
            Some(CallCard::Generic(GenericCall::new(title)))
        })
        .present_result(|args: Value, result: &Presented<'_>| {
            let card = GenericResult {
                content: Some(result.content.to_vec()),
                ..GenericResult::default()
            };
            assert_eq!(args["token"], "[redacted]");
            Some(ResultCard::Generic(card))
        });
    let registry = registry([tool]);
    let Logged { pipeline, log, .. } = logged_in(registry.clone());
    let result = pipeline.run(request("deploy", ARGUMENTS)).await;

    let sent = Arguments::from_text(ARGUMENTS).unwrap();
    let live = (
        registry.call_card("deploy", &sent, None).unwrap(),
        registry
            .result_card("deploy", &sent, &Presented::of(&result), None)
            .unwrap(),
    );
    assert_eq!(live.0.title(), "Deploy to prod with [redacted]");
    let views = card::from_log(&log.records().unwrap(), &registry, None);
    let logged: Vec<Value> = views
        .iter()
        .map(|view| serde_json::to_value(&view.card).unwrap())
        .collect();
    assert_eq!(logged[0], serde_json::to_value(&live.0).unwrap());
    assert_eq!(logged[1], serde_json::to_value(&live.1).unwrap());
    assert!(
        logged[1].to_string().contains("used \\\"[redacted]\\\""),
        "{}",
        logged[1]
    );
}

#[tokio::test]
async fn a_card_does_not_need_the_secret_to_fit_its_schema() {
    let numeric = raw_tool(
        "pay",
        "",
        json!({
            "type": "object",
            "properties": {"pin": {"type": "integer"}, "n": {"type": "integer"}},
            "required": ["pin", "n"],
        }),
        |_: Arguments, _| async { Ok::<_, BoxError>(Value::Null) },
    )
    .secret_arguments(["/pin"])
    .present_call(|args: Value| Some(CallCard::Generic(GenericCall::new(args.to_string()))));
    let registry = registry([numeric]);
    let card = |text: &str| {
        let sent = Arguments::from_text(text.to_owned()).unwrap();
        registry
            .call_card("pay", &sent, None)
            .map(|card| card.title().to_owned())
    };
    assert_eq!(
        card(r#"{"pin":1234,"n":1}"#).unwrap(),
        r#"{"n":1,"pin":"[redacted]"}"#
    );
    assert_eq!(card(r#"{"pin":1234,"n":"x"}"#), None, "the rest must fit");
    assert_eq!(card("{\"pin\":1234"), None);
}

#[derive(Clone, Default)]
struct Traced(Arc<Mutex<String>>);

impl Visit for &Traced {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        use std::fmt::Write as _;
        let _ = write!(self.0.lock().unwrap(), "{field}={value:?} ");
    }
}

impl<S: Subscriber> Layer<S> for Traced {
    fn on_new_span(&self, attributes: &span::Attributes<'_>, _: &span::Id, _: Context<'_, S>) {
        attributes.record(&mut &*self);
    }
    fn on_record(&self, _: &span::Id, values: &span::Record<'_>, _: Context<'_, S>) {
        values.record(&mut &*self);
    }
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut &*self);
    }
}

#[tokio::test]
async fn spans_and_events_say_nothing_of_it() {
    let traced = Traced::default();
    let subscriber = tracing_subscriber::registry().with(traced.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let answerers = Answerers::new();
    answerers
        .register(|request: ApprovalRequest| async move {
            Err::<Option<ApprovalAnswer>, _>(BoxError::from(format!(
                "no answer to {}",
                request.arguments().unwrap().text()
            )))
        })
        .keep();
    let tool = deploy().present_call(|args: Value| -> Option<CallCard> { panic!("{args}") });
    let registry = registry([tool]);
    let pipeline = Pipeline::builder(registry.clone())
        .post_execute(|_: &PostRequest| PostDecision::accept())
        .pre_decision(|call: &CallView| match call.id().as_str() {
            "asks" => Decision::ask("why not"),
            _ => Decision::Allow,
        })
        .approval(answerers)
        .observer(|call: &CallView, result: &ToolResult| {
            Err::<(), _>(BoxError::from(format!(
                "saw {} {}",
                call.raw_arguments(),
                result.text()
            )))
        })
        .build();
    for id in ["asks", "runs"] {
        let call = CallRequest::new(id, "deploy", ARGUMENTS, CancellationToken::new());
        let result = pipeline.run(call.with_scope(Scope::new("agent"))).await;
        assert_eq!(result.is_error(), id == "asks");
    }
    let sent = Arguments::from_text(ARGUMENTS).unwrap();
    assert_eq!(registry.call_card("deploy", &sent, None), None);
    let text = traced.0.lock().unwrap().clone();
    for said in [
        "execute_tool",
        "an answerer failed",
        "observer failed",
        "present_call panicked",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("horse"), "{text}");
}

#[tokio::test]
async fn debug_of_a_call_prints_the_view_in_all_its_forms() {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let keep = |what: String| printed.lock().unwrap().push(what);
    let (a, b, c, d) = (
        printed.clone(),
        printed.clone(),
        printed.clone(),
        printed.clone(),
    );
    let tool = raw_tool(
        "deploy",
        "",
        token_schema(),
        move |args: Arguments, ctx: ToolContext| {
            a.lock().unwrap().push(format!("{ctx:?}"));
            async move { Ok::<_, BoxError>(args.value()["token"].clone()) }
        },
    )
    .secret_arguments(["/token"]);
    let pipeline = Pipeline::builder(registry([tool]))
        .pre_decision(move |call: &CallView| {
            b.lock().unwrap().push(format!("{call:?}"));
            Decision::Allow
        })
        .guard(move |call: &CallView| {
            c.lock().unwrap().push(format!("{call:#?}"));
            None::<Denial>
        })
        .post_execute(move |post: &PostRequest| {
            d.lock().unwrap().push(format!("{post:?}"));
            PostDecision::accept()
        })
        .build();
    pipeline.run(request("deploy", ARGUMENTS)).await;
    keep("end".to_owned());
    let printed = printed.lock().unwrap();
    assert_eq!(printed.len(), 5);
    for text in printed.iter().take(4) {
        assert!(
            text.contains("[redacted]") && !text.contains("horse"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn nested_calls_have_their_own_view() {
    let outer = raw_tool(
        "outer",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            let nested = ctx.call_tool("deploy", ARGUMENTS).await?;
            Ok::<_, BoxError>(json!({"nested": !nested.is_error()}))
        },
    );
    let Logged { pipeline, log, .. } = logged([outer, deploy()]);
    let result = pipeline.run(request("outer", "{}")).await;
    assert_eq!(result.text(), r#"{"nested":true}"#);
    assert_eq!(arguments(&log), ["{}", SHOWN]);
    assert!(!lines(&log).join("").contains("horse"));
}

#[tokio::test]
async fn a_call_keeps_its_view_when_the_tool_goes() {
    let registry = Registry::new();
    let registration = Arc::new(Mutex::new(None));
    let taken = registration.clone();
    let tool = raw_tool("deploy", "", token_schema(), move |args: Arguments, _| {
        // Gone while it runs; its result must not be logged in the clear.
        drop(taken.lock().unwrap().take());
        async move { Ok::<_, BoxError>(args.value()["token"].clone()) }
    })
    .secret_arguments(["/token"]);
    *registration.lock().unwrap() = Some(registry.register(tool).unwrap());
    let Logged { pipeline, log, .. } = logged_in(registry.clone());
    let result = pipeline.run(request("deploy", ARGUMENTS)).await;
    assert_eq!(result.text(), SECRET);
    assert!(!registry.contains("deploy", None));
    assert!(!lines(&log).join("").contains("horse"), "{:?}", lines(&log));
}

#[tokio::test]
async fn calls_that_never_begin_are_logged_with_the_view() {
    let Logged {
        pipeline,
        log,
        recorder,
    } = logged([deploy()]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let call = CallRequest::new("1", "deploy", ARGUMENTS, cancel.clone());
    let scheduler = pipeline.scheduler().journal(recorder);
    let report = scheduler.batch([call], cancel).run().await;
    assert!(report.committed[0].result.is_synthetic());
    assert_eq!(arguments(&log), [SHOWN]);
}

#[tokio::test]
async fn messages_that_a_call_leaves_are_masked_in_the_log_and_for_people() {
    let tool = raw_tool(
        "deploy",
        "",
        token_schema(),
        |args: Arguments, ctx: ToolContext| async move {
            let text = format!("remember {}", args.text());
            ctx.defer_context(ContextMessage::text("tool", "deploy", text));
            Ok::<_, BoxError>(Value::Null)
        },
    )
    .secret_arguments(["/token"]);
    let Logged {
        pipeline,
        log,
        recorder,
    } = logged([tool]);
    let result = pipeline.run(request("deploy", ARGUMENTS)).await;
    let contexts = result.contexts();
    assert!(
        format!("{contexts:?}").contains(SECRET),
        "the model reads it"
    );
    let shown = recorder.shown_contexts(contexts);
    assert_eq!(shown[0][0].as_text().unwrap(), format!("remember {SHOWN}"));
    recorder.contexts(contexts).unwrap();
    let text = lines(&log).join("\n");
    assert!(
        text.contains("context/message") && !text.contains(SECRET),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_at_once_each_hide_their_own() {
    let Logged { pipeline, log, .. } = logged([deploy().parallel()]);
    let cancel = CancellationToken::new();
    let calls = (0..64).map(|n| {
        let text = json!({"to": "prod", "token": format!("secret-number-{n:04}")}).to_string();
        CallRequest::new(format!("c{n}"), "deploy", text, cancel.clone())
    });
    let report = pipeline
        .scheduler()
        .batch(calls.collect::<Vec<_>>(), cancel.clone())
        .run()
        .await;
    assert_eq!(report.committed.len(), 64);
    let text = lines(&log).join("\n");
    assert_eq!(text.matches("tool/result").count(), 64);
    assert!(!text.contains("secret-number"), "{text}");
}

/// A rule of a host's own that panics.
struct Panics;

impl Redaction for Panics {
    fn arguments(&self, _: &str) -> Option<String> {
        panic!("no view")
    }
    fn text(&self, _: &str, _: &str) -> Option<String> {
        panic!("no text")
    }
    fn result(&self, _: &str, _: Option<&Value>, _: &mut ShownResult) {
        panic!("no result")
    }
}

#[tokio::test]
async fn a_redaction_that_panics_hides_everything_and_stops_nothing() {
    let log = SessionLog::in_memory();
    let reason = Arc::new(Mutex::new(None));
    let told = reason.clone();
    let pipeline = Pipeline::builder(registry([support::echo("echo")]))
        .redact(Panics)
        .pre_decision(|call: &CallView| Decision::ask(call.raw_arguments().to_owned()))
        .approval(move |request: &ApprovalRequest| {
            *told.lock().unwrap() = request.reason().map(ToOwned::to_owned);
            ApprovalAnswer::from(ApprovalOutcome::AllowedOnce)
        })
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();
    let call = request("echo", ARGUMENTS).with_scope(Scope::new("agent"));
    let result = pipeline.run(call).await;
    assert!(result.text().contains(SECRET), "{}", result.text());
    assert_eq!(reason.lock().unwrap().as_deref(), Some("[redacted]"));
    assert_eq!(arguments(&log), ["\"[redacted]\""]);
    assert!(!lines(&log).join("").contains("horse"));
}

/// JSON of a few levels; its texts are unlike one another and long enough to
/// be looked for.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zA-Z\"\\\\\u{e9}\u{1f511}/~ ]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[ab~/\"\\*0-2]{0,2}", inner, 0..5)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn pointers() -> impl Strategy<Value = Vec<String>> {
    let segment = prop_oneof!["[ab~/\"\\*0-2]{0,2}", Just("*".to_owned())];
    let pointer = prop::collection::vec(segment, 0..4).prop_map(|segments| {
        let escaped = |it: &String| format!("/{}", it.replace('~', "~0").replace('/', "~1"));
        segments.iter().map(escaped).collect::<String>()
    });
    prop::collection::vec(pointer, 0..4)
}

/// What must be seen, by the rule as it is written down: recursive, over values.
fn expected(value: &Value, pointers: &[Vec<String>]) -> Value {
    let hidden = || Value::from("[redacted]");
    let numeric = |it: &str| {
        it == "*"
            || it == "0"
            || (!it.is_empty() && !it.starts_with('0') && it.bytes().all(|b| b.is_ascii_digit()))
    };
    if pointers.iter().any(Vec::is_empty) {
        return hidden();
    }
    let below = |step: &str| -> Vec<Vec<String>> {
        let leads = |it: &&Vec<String>| it[0] == "*" || it[0] == step;
        pointers
            .iter()
            .filter(leads)
            .map(|it| it[1..].to_vec())
            .collect()
    };
    match value {
        Value::String(_) | Value::Number(_) if !pointers.is_empty() => hidden(),
        Value::Array(_) if pointers.iter().any(|it| !numeric(&it[0])) => hidden(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| expected(item, &below(&index.to_string())))
            .collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), expected(member, &below(name))))
            .collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The view is what the rule says, and nothing else of the value changes.
    #[test]
    fn the_view_is_the_rules(value in tree(), pointers in pointers()) {
        let text = value.to_string();
        let places = SecretPlaces::new(pointers.iter().map(String::as_str), []).unwrap();
        let segments: Vec<Vec<String>> = pointers
            .iter()
            .map(|pointer| {
                let steps = pointer.split('/').skip(1);
                steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
            })
            .collect();
        let shown = places.arguments(&text);
        let seen: Value = serde_json::from_str(shown.as_deref().unwrap_or(&text)).unwrap();
        prop_assert_eq!(&seen, &expected(&value, &segments));
        // A view of the view is the same, and so is one that is made again.
        if let Some(shown) = &shown {
            prop_assert_eq!(&places.arguments(&text), &Some(shown.clone()));
            let again = places.arguments(shown);
            prop_assert!(again.is_none_or(|again| again == *shown));
        }
    }

    /// No text survives, wherever it is and however the call repeats it.
    #[test]
    fn a_secret_leaf_is_nowhere(value in tree(), name in "[ab]{1,2}") {
        let secret = "s3cret\"leaf\\of/this";
        let text = json!({"k": {name: [value, secret]}}).to_string();
        let places = SecretPlaces::new(["/k/*"], []).unwrap();
        let shown = places.arguments(&text).unwrap();
        prop_assert!(!shown.contains("s3cret"));
        let said = format!("{secret} and {}", json!(secret));
        let said = places.text(&text, &said).unwrap();
        prop_assert!(!said.contains("s3cret"), "{}", said);
    }

    /// Text of any kind neither panics nor leaks more than its length.
    #[test]
    fn any_text_at_all(text in "\\PC{0,60}", pointers in pointers()) {
        let places = SecretPlaces::new(pointers.iter().map(String::as_str), []).unwrap();
        let _ = places.arguments(&text);
        let _ = places.text(&text, &text);
    }
}
