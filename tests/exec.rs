//! Identity, arguments and errors of one call, as a user of the pipeline
//! sees them.

#[path = "support/facade.rs"]
mod support;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use support::{Counter, Log, any_object, echo, registry, request, returns};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, CodedError, Decision, Denial, Effect,
    ExecutionToken, FailureKind, Pipeline, PostDecision, PostRequest, ToolContext, ToolDef,
    ToolResult, raw_tool, tool_fn,
};

/// A tool that fails as `fail` says.
fn failing<E: Into<BoxError> + 'static>(
    name: &'static str,
    fail: impl Fn() -> E + Clone + Send + Sync + 'static,
) -> ToolDef {
    raw_tool(
        name,
        "Fails",
        any_object(),
        move |_: Arguments, _: ToolContext| {
            let fail = fail.clone();
            async move { Err::<Value, E>(fail()) }
        },
    )
}

/// conformance: EXEC-01, FINAL-22, FINAL-23, OUT-02, OUT-37
#[tokio::test]
async fn a_plain_call_returns_what_the_body_did() {
    let seen = Log::<ToolResult>::default();
    let told = seen.clone();
    let pipeline = Pipeline::builder(registry([echo("echo")]))
        .observer(move |_: &CallView, result: &ToolResult| told.push(result.clone()))
        .build();
    let result = pipeline.run(request("echo", r#"{"a":[1,2.5,null]}"#)).await;
    assert!(!result.is_error());
    assert_eq!(result.value(), Some(&json!({"a": [1, 2.5, null]})));
    assert_eq!(result.text(), r#"{"a":[1,2.5,null]}"#);
    assert_eq!(
        (result.message(), result.info(), result.kind()),
        (None, None, None)
    );
    assert_eq!((result.meta(), result.contexts().len()), (None, 0));
    assert!(!result.concludes_turn() && !result.is_synthetic());
    assert_eq!(result.effect(), Effect::Stopped);
    let seen = seen.take();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].ptr_eq(&result));
}

/// conformance: EXEC-02, EXEC-05, EXEC-07, EXEC-09, EXEC-33, GUARD-12
#[tokio::test]
async fn every_stage_sees_one_token_and_one_value() {
    type Seen = (&'static str, ExecutionToken, usize);
    let seen = Log::<Seen>::default();
    let note = |seen: &Log<Seen>, stage, call: &CallView| {
        let arguments = call.arguments().unwrap();
        seen.push((
            stage,
            call.token(),
            std::ptr::from_ref(arguments.value()) as usize,
        ));
        assert_eq!(
            (call.parent(), call.root_id(), call.id()),
            (None, call.id(), call.root_id())
        );
    };
    let [pre, guard, post, observer, body] = std::array::from_fn(|_| seen.clone());
    let tool = raw_tool(
        "t",
        "",
        any_object(),
        move |arguments: Arguments, ctx: ToolContext| {
            let at = std::ptr::from_ref(arguments.value()) as usize;
            body.push(("body", ctx.call().token(), at));
            assert_eq!(ctx.call().parent(), None);
            async { Ok::<Value, BoxError>(1.into()) }
        },
    );
    let pipeline = Pipeline::builder(registry([tool]))
        .pre_decision(move |call: &CallView| {
            note(&pre, "pre", call);
            Decision::Allow
        })
        .guard(move |call: &CallView| {
            note(&guard, "guard", call);
            (call.arguments().unwrap().value() == &json!({"no": 1})).then(|| Denial::new("no"))
        })
        .post_execute(move |post_request: &PostRequest| {
            note(&post, "post", post_request.call());
            PostDecision::accept()
        })
        .observer(move |call: &CallView, _: &ToolResult| note(&observer, "observer", call))
        .build();

    pipeline.run(request("t", "{}")).await;
    let allowed = seen.take();
    pipeline.run(request("t", r#"{"no":1}"#)).await;
    let denied = seen.take();
    let stages = |seen: &[Seen]| seen.iter().map(|(stage, ..)| *stage).collect::<Vec<_>>();
    assert_eq!(
        stages(&allowed),
        ["pre", "guard", "body", "post", "observer"]
    );
    assert_eq!(stages(&denied), ["pre", "guard", "post", "observer"]);
    for call in [&allowed, &denied] {
        assert!(
            call.iter()
                .all(|(_, token, at)| (*token, *at) == (call[0].1, call[0].2))
        );
    }
    assert!(allowed[0].1 != denied[0].1);
}

/// conformance: EXEC-04
#[tokio::test]
async fn a_token_has_no_text() {
    let token = Log::<ExecutionToken>::default();
    let seen = token.clone();
    let pipeline = Pipeline::builder(registry([echo("echo")]))
        .observer(move |call: &CallView, _: &ToolResult| seen.push(call.token()))
        .build();
    pipeline.run(request("echo", "{}")).await;
    pipeline.run(request("echo", "{}")).await;
    let tokens = token.take();
    assert!(tokens[0] == tokens[0] && tokens[0] != tokens[1]);
    assert_eq!(format!("{:?}", tokens[0]), format!("{:?}", tokens[1]));
}

/// conformance: EXEC-06, EXEC-08
#[tokio::test]
async fn the_callers_own_value_stays_the_callers() {
    let pipeline = Pipeline::builder(registry([echo("echo")])).build();
    let mut mine = json!({"list": [1]});
    let call = request("echo", Arguments::from_serialize(&mine));
    mine["list"].as_array_mut().unwrap().push(json!(2));
    let result = pipeline.run(call).await;
    assert_eq!(result.value(), Some(&json!({"list": [1]})));
    assert_eq!(mine, json!({"list": [1, 2]}));
}

/// Another number every time it is read.
struct Drifting(Counter);

impl Serialize for Drifting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.add();
        let read = u64::try_from(self.0.get()).unwrap_or(u64::MAX);
        std::collections::BTreeMap::from([("read", read)]).serialize(serializer)
    }
}

/// conformance: EXEC-15
#[tokio::test]
async fn what_a_caller_hands_over_is_read_once() {
    let seen = Log::<Value>::default();
    let [pre, observer] = std::array::from_fn(|_| seen.clone());
    let pipeline = Pipeline::builder(registry([echo("echo")]))
        .pre_decision(move |call: &CallView| {
            pre.push(call.arguments().unwrap().value().clone());
            Decision::Allow
        })
        .observer(move |call: &CallView, _: &ToolResult| {
            observer.push(call.arguments().unwrap().value().clone());
        })
        .build();
    let drifting = Drifting(Counter::default());
    let result = pipeline
        .run(request("echo", Arguments::from_serialize(&drifting)))
        .await;
    assert_eq!(drifting.0.get(), 1);
    assert_eq!(result.value(), Some(&json!({"read": 1})));
    assert_eq!(seen.take(), [json!({"read": 1}), json!({"read": 1})]);
}

/// conformance: EXEC-48
#[tokio::test]
async fn a_body_closure_needs_no_word_about_its_context() {
    let tool = tool_fn("t", "", |_: Value, ctx| async move {
        let token: &CancellationToken = ctx.cancellation();
        Ok::<_, BoxError>(token.is_cancelled())
    });
    let pipeline = Pipeline::builder(registry([tool])).build();
    assert_eq!(pipeline.run(request("t", "{}")).await.text(), "false");
}

/// A map whose keys are no strings.
#[derive(Serialize)]
struct Keyed(std::collections::BTreeMap<(u8, u8), u8>);

struct Lossy;

impl Serialize for Lossy {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("the disk is on fire"))
    }
}

fn deep(levels: usize) -> String {
    format!("{{\"v\":{}{}}}", "[".repeat(levels), "]".repeat(levels))
}

/// conformance: EXEC-10, EXEC-11, EXEC-12, EXEC-13, EXEC-17, EXEC-19, EXEC-20, EXEC-23, EXEC-24,
/// EXEC-27, OUT-27, JSON-29, JSON-30, JSON-31
#[tokio::test]
async fn arguments_that_cannot_be_kept_reach_no_policy() {
    let (stages, seen) = (Counter::default(), Log::<String>::default());
    let [pre, guard, post] = std::array::from_fn(|_| stages.clone());
    let told = seen.clone();
    let pipeline = Pipeline::builder(registry([returns("t", 1.into(), &stages)]))
        .pre_decision(move |_: &CallView| {
            pre.add();
            Decision::Allow
        })
        .guard(move |_: &CallView| {
            guard.add();
            None::<Denial>
        })
        .post_execute(move |_: &PostRequest| {
            post.add();
            PostDecision::accept()
        })
        .observer(move |call: &CallView, result: &ToolResult| {
            assert!(call.arguments().is_none() && call.parent().is_none());
            assert!(!call.was_entered() && result.is_error());
            told.push(format!("{} {}", call.id(), call.name()));
        })
        .build();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let keyed = Keyed([((1, 2), 3)].into());
    let table: Vec<(&str, Result<Arguments, _>)> = vec![
        ("NaN", Arguments::from_serialize(&json_of(f64::NAN))),
        (
            "an infinity",
            Arguments::from_serialize(&json_of(f64::INFINITY)),
        ),
        ("keys that are no text", Arguments::from_serialize(&keyed)),
        ("a serialiser that fails", Arguments::from_serialize(&Lossy)),
        (
            "a long integer",
            Arguments::from_text(r#"{"n":18446744073709551616}"#),
        ),
        ("a name twice", Arguments::from_text(r#"{"a":1,"a":2}"#)),
        ("5,000 levels", Arguments::from_text(deep(5_000))),
        ("1,000,000 levels", Arguments::from_text(deep(1_000_000))),
    ];
    for (what, arguments) in table {
        for (name, token) in [
            ("t", CancellationToken::new()),
            ("nobody", cancelled.clone()),
        ] {
            let result = pipeline
                .run(CallRequest::new("c", name, arguments.clone(), token))
                .await;
            let message = result.message().unwrap();
            let exact = "tool execution arguments must be losslessly JSON-serializable";
            assert!(message.starts_with(exact), "{what}: {message}");
            assert!(what != "a serialiser that fails" || message.contains("the disk is on fire"));
            assert_eq!(result.kind(), Some(FailureKind::InvalidArguments));
            assert_eq!(result.effect(), Effect::NotStarted);
            assert_eq!(seen.take(), [format!("c {name}")], "{what}");
        }
    }
    assert_eq!(stages.get(), 0);
}

fn json_of(number: f64) -> std::collections::BTreeMap<&'static str, f64> {
    [("n", number)].into()
}

/// conformance: EXEC-22, EXEC-25, JSON-28
#[tokio::test]
async fn what_can_be_kept_is_kept_exactly() {
    let pipeline = Pipeline::builder(registry([echo("echo")])).build();
    for text in [
        r#"{"x":-0.0}"#,
        r#"{"__proto__":{"constructor":1},"constructor":null}"#,
        r#"{"n":18446744073709551615,"m":-9223372036854775808}"#,
        r#"{"f":1.25,"t":"\u0000 text","l":[[],{}]}"#,
    ] {
        let result = pipeline.run(request("echo", text)).await;
        let sent: Value = serde_json::from_str(text).unwrap();
        assert_eq!(result.value(), Some(&sent), "{text}");
    }
    let result = pipeline.run(request("echo", r#"{"x":-0.0}"#)).await;
    assert!(
        result.value().unwrap()["x"]
            .as_f64()
            .unwrap()
            .is_sign_negative()
    );
    // The deepest that is taken.
    let result = pipeline.run(request("echo", deep(127))).await;
    assert_eq!(result.text(), deep(127));
}

/// conformance: EXEC-29
#[tokio::test]
async fn nothing_at_all_means_no_arguments() {
    let pipeline = Pipeline::builder(registry([echo("echo")])).build();
    for nothing in ["", " \n\t", "null", " null "] {
        let result = pipeline.run(request("echo", nothing)).await;
        assert_eq!(result.value(), Some(&json!({})), "{nothing:?}");
    }
    let result = pipeline
        .run(request("echo", Arguments::from_model(None)))
        .await;
    assert_eq!(result.value(), Some(&json!({})));
}

/// conformance: EXEC-34, EXEC-35, EXEC-36, OUT-33, DISP-28
#[tokio::test]
async fn an_unknown_tool_passes_every_stage_but_the_body() {
    let stages = Log::<String>::default();
    let [pre, around, post] = std::array::from_fn(|_| stages.clone());
    let pipeline = Pipeline::builder(registry([echo("read_file")]))
        .pre_decision(move |_: &CallView| {
            pre.push("pre");
            Decision::Allow
        })
        .around(tower::util::MapResponseLayer::new(
            move |outcome: toolfall::ToolOutcome| {
                around.push(format!("around {}", outcome.code().unwrap()));
                outcome
            },
        ))
        .post_execute(move |_: &PostRequest| {
            post.push("post");
            PostDecision::accept()
        })
        .build();
    let result = pipeline.run(request("nope", "{}")).await;
    assert_eq!(result.text(), "Error: unknown tool \"nope\"");
    let info = result.info().unwrap();
    assert_eq!(
        (info.name(), info.code()),
        ("ToolNotFoundError", "UNKNOWN_TOOL")
    );
    assert_eq!(stages.take(), ["pre", "around UNKNOWN_TOOL", "post"]);

    let ghost = toolfall::ToolOutcome::unknown_tool("ghost");
    assert_eq!(ghost.message(), Some("unknown tool \"ghost\""));
    assert_eq!(ghost.info().unwrap().name(), "ToolNotFoundError");

    // A near miss gets a hint beside the exact message.
    let result = pipeline.run(request("ReadFile", "{}")).await;
    assert_eq!(result.message(), Some("unknown tool \"ReadFile\""));
    assert_eq!(
        result.content()[1].as_text(),
        Some("Did you mean \"read_file\"?")
    );
}

#[derive(Debug)]
struct Wrapped(CodedError);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the upload failed")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[derive(Debug)]
struct Unprintable;

impl fmt::Display for Unprintable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("cannot be shown")
    }
}

impl Error for Unprintable {}

/// conformance: EXEC-38, EXEC-39, EXEC-42, EXEC-43, EXEC-44, EXEC-45, OUT-32, OUT-36
#[tokio::test]
async fn a_body_fails_in_its_own_words() {
    let quota = || CodedError::new("QuotaError", "QUOTA", "the quota is used up");
    let panics = |name, panic: fn() -> Value| {
        raw_tool(
            name,
            "",
            any_object(),
            move |_: Arguments, _: ToolContext| async move { Ok::<Value, BoxError>(panic()) },
        )
    };
    let early = raw_tool("early", "", any_object(), |_: Arguments, _: ToolContext| {
        assert!(std::env::args().count() == 0, "before the first await");
        async { Ok::<Value, BoxError>(1.into()) }
    });
    let tools = [
        failing("plain", || "it broke"),
        failing("coded", quota),
        failing("wrapped", move || Wrapped(quota())),
        failing("unprintable", || Unprintable),
        panics("str", || panic!("went wrong")),
        panics("string", || panic!("went {}", "wrong")),
        panics("other", || std::panic::panic_any(7)),
        early,
        echo("echo"),
    ];
    let pipeline = Pipeline::builder(registry(tools)).build();
    let unprintable = "<unprintable thrown value>";
    for (name, message, info) in [
        ("plain", "it broke", None),
        (
            "coded",
            "the quota is used up",
            Some(("QuotaError", "QUOTA")),
        ),
        (
            "wrapped",
            "the upload failed",
            Some(("QuotaError", "QUOTA")),
        ),
        ("unprintable", unprintable, None),
        ("str", "went wrong", None),
        ("string", "went wrong", None),
        ("other", unprintable, None),
        ("early", "before the first await", None),
    ] {
        let result = pipeline.run(request(name, "{}")).await;
        assert_eq!(result.message(), Some(message), "{name}");
        assert_eq!(result.text(), format!("Error: {message}"));
        assert_eq!(
            result.info().map(|info| (info.name(), info.code())),
            info,
            "{name}"
        );
        assert_eq!(result.kind(), Some(FailureKind::Body));
        assert_eq!((result.value(), result.effect()), (None, Effect::Stopped));
        assert_eq!(pipeline.run(request("echo", "{}")).await.text(), "{}");
    }
}

/// conformance: EXEC-53, EXEC-54
#[tokio::test]
async fn clones_run_side_by_side_and_share_nothing_of_a_call() {
    let wait = Arc::new(tokio::sync::Barrier::new(8));
    let tool = tool_fn("meet", "", move |name: String, ctx: ToolContext| {
        let wait = wait.clone();
        async move {
            ctx.defer_context(support::context(&name));
            wait.wait().await;
            Ok::<_, BoxError>(name)
        }
    })
    .validation(toolfall::Validation::Decoding);
    let pipeline = Pipeline::builder(registry([tool])).build();
    let calls = (0..8).map(|number| {
        let pipeline = pipeline.clone();
        async move { pipeline.run(request("meet", format!("\"{number}\""))).await }
    });
    let results = futures_util::future::join_all(calls).await;
    for (number, result) in results.iter().enumerate() {
        assert_eq!(result.text(), number.to_string());
        assert_eq!(support::texts(result.contexts()), [number.to_string()]);
    }
}
