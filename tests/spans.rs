//! The spans that a tracing subscriber sees of calls.

#[path = "support/facade.rs"]
mod support;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use support::{any_object, echo, registry, request};
use tokio_util::sync::CancellationToken;
use toolfall::{
    ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView, CodedError,
    Decision, Pipeline, PostDecision, PostRequest, Scope, ToolContext, ToolResult, raw_tool,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

type Fields = BTreeMap<&'static str, String>;

#[derive(Clone, Debug, Default)]
struct Span {
    name: &'static str,
    parent: Option<u64>,
    fields: Fields,
    closed: bool,
}

#[derive(Default)]
struct Seen {
    spans: BTreeMap<u64, Span>,
    /// Each event's words and the names of the spans around it, outermost
    /// first.
    events: Vec<(String, Vec<&'static str>)>,
}

/// Keeps every span and event of one test's thread.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Seen>>);

struct Words<'a>(&'a mut Fields);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let mut span = Span {
            name: attributes.metadata().name(),
            parent: ctx
                .span(id)
                .and_then(|span| Some(span.parent()?.id().into_u64())),
            ..Span::default()
        };
        attributes.record(&mut Words(&mut span.fields));
        self.0.lock().unwrap().spans.insert(id.into_u64(), span);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut seen = self.0.lock().unwrap();
        values.record(&mut Words(
            &mut seen.spans.get_mut(&id.into_u64()).unwrap().fields,
        ));
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut Words(&mut fields));
        let around = ctx
            .event_scope(event)
            .into_iter()
            .flat_map(tracing_subscriber::registry::Scope::from_root);
        let around = around.map(|span| span.name()).collect();
        let words = fields.remove("message").unwrap_or_default();
        self.0.lock().unwrap().events.push((words, around));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.0
            .lock()
            .unwrap()
            .spans
            .get_mut(&id.into_u64())
            .unwrap()
            .closed = true;
    }
}

impl Recorder {
    fn install() -> (Self, DefaultGuard) {
        let recorder = Self::default();
        let subscriber = tracing_subscriber::registry().with(recorder.clone());
        (recorder, tracing::subscriber::set_default(subscriber))
    }

    /// Each span's name with its parents' names, outermost first.
    fn paths(&self) -> Vec<String> {
        let seen = self.0.lock().unwrap();
        seen.spans
            .values()
            .map(|span| {
                let mut path = span.name.to_owned();
                let mut parent = span.parent;
                while let Some(above) = parent.and_then(|id| seen.spans.get(&id)) {
                    path = format!("{} > {path}", above.name);
                    parent = above.parent;
                }
                path
            })
            .collect()
    }

    fn calls(&self) -> Vec<Fields> {
        let seen = self.0.lock().unwrap();
        let calls = seen
            .spans
            .values()
            .filter(|span| span.name == "execute_tool");
        calls.map(|span| span.fields.clone()).collect()
    }

    fn events(&self) -> Vec<(String, Vec<&'static str>)> {
        std::mem::take(&mut self.0.lock().unwrap().events)
    }

    fn all_closed(&self) -> bool {
        self.0
            .lock()
            .unwrap()
            .spans
            .values()
            .all(|span| span.closed)
    }
}

/// conformance: EXEC-04
#[tokio::test]
async fn one_span_for_each_call_with_the_conventional_fields() {
    let (recorder, _guard) = Recorder::install();
    let fails = raw_tool(
        "fails",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async {
            Err::<Value, _>(CodedError::new("DiskError", "DISK", "it broke"))
        },
    );
    let pipeline = Pipeline::builder(registry([echo("echo"), fails])).build();
    let scoped = CallRequest::new("c-1", "echo", "{}", CancellationToken::new())
        .with_scope(Scope::new("reviewer"));
    pipeline.run(scoped).await;
    pipeline.run(request("fails", "{}")).await;
    pipeline.run(request("made up", "{}")).await;
    pipeline.run(request("made up again", "{}")).await;

    let calls = recorder.calls();
    let field = |call: usize, name: &str| calls[call].get(name).map(String::as_str);
    assert_eq!(calls.len(), 4);
    for call in 0..4 {
        assert_eq!(field(call, "gen_ai.operation.name"), Some("execute_tool"));
        assert_eq!(field(call, "gen_ai.tool.type"), Some("function"));
        assert_eq!(field(call, "otel.kind"), Some("internal"));
    }
    assert_eq!(field(0, "otel.name"), Some("execute_tool echo"));
    assert_eq!(field(0, "gen_ai.tool.name"), Some("echo"));
    assert_eq!(field(0, "gen_ai.tool.call.id"), Some("c-1"));
    assert_eq!(field(0, "gen_ai.agent.name"), Some("reviewer"));
    assert_eq!(
        (field(0, "otel.status_code"), field(0, "error.type")),
        (Some("OK"), None)
    );
    assert_eq!(
        (field(1, "otel.status_code"), field(1, "error.type")),
        (Some("ERROR"), Some("DISK"))
    );
    assert_eq!(field(1, "gen_ai.agent.name"), None);
    // Names that nobody registered share one label.
    assert_eq!(
        (field(2, "gen_ai.tool.name"), field(3, "gen_ai.tool.name")),
        (Some("_unknown"), Some("_unknown"))
    );
    assert_eq!(field(2, "otel.name"), Some("execute_tool _unknown"));
    assert_eq!(field(2, "error.type"), Some("UNKNOWN_TOOL"));
    let words = format!("{calls:?}{:?}", recorder.events());
    assert!(
        !words.contains("Token") && !words.contains("made up"),
        "{words}"
    );
    assert!(recorder.all_closed());
}

/// Waits once.
async fn wait<T>(answer: T) -> T {
    tokio::task::yield_now().await;
    answer
}

#[tokio::test]
async fn each_stage_that_waits_has_a_span_inside_the_calls() {
    let (recorder, _guard) = Recorder::install();
    let outer = raw_tool(
        "outer",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            tracing::info!("in the body");
            ctx.call_tool("echo", "{}").await?;
            wait(()).await;
            tracing::info!("still in the body");
            Ok::<Value, BoxError>(Value::Null)
        },
    );
    let pipeline = Pipeline::builder(registry([outer, echo("echo")]))
        .pre_decision(|call: CallView| async move {
            tracing::info!("judging {}", call.name());
            wait(match call.name() {
                "outer" => Decision::ask_without_reason(),
                _ => Decision::Allow,
            })
            .await
        })
        .approval(|_: ApprovalRequest| wait(ApprovalOutcome::AllowedOnce))
        .post_execute(|_: PostRequest| wait(PostDecision::accept()))
        .observer(|_: &CallView, _: &ToolResult| -> Result<(), BoxError> {
            Err("observer broke".into())
        })
        .build();
    let host = tracing::info_span!("host");
    let call = pipeline.run(request("outer", "{}").with_scope(Scope::new("agent")));
    tracing::Instrument::instrument(call, host).await;

    let call = "host > execute_tool";
    let nested = "host > execute_tool > toolfall.body > execute_tool";
    let mut expected = vec!["host".to_owned(), call.to_owned(), nested.to_owned()];
    for stage in ["policy", "approval", "body", "post_execute"] {
        expected.push(format!("{call} > toolfall.{stage}"));
    }
    for stage in ["policy", "body", "post_execute"] {
        expected.push(format!("{nested} > toolfall.{stage}"));
    }
    let mut paths = recorder.paths();
    paths.sort();
    expected.sort();
    assert_eq!(paths, expected);

    let body = vec!["host", "execute_tool", "toolfall.body"];
    let events = recorder.events();
    let around = |words: &str| {
        let found = events.iter().find(|(said, _)| said.contains(words));
        found.map_or_else(
            || panic!("{words}: {events:?}"),
            |(_, around)| around.clone(),
        )
    };
    assert_eq!(
        around("judging outer"),
        ["host", "execute_tool", "toolfall.policy"]
    );
    assert_eq!(around("in the body"), body);
    assert_eq!(around("still in the body"), body);
    assert_eq!(around("observer broke")[..2], ["host", "execute_tool"]);
}

/// conformance: FINAL-24
#[tokio::test]
async fn an_observer_that_fails_leaves_one_warning() {
    let (recorder, _guard) = Recorder::install();
    let pipeline = Pipeline::builder(registry([echo("echo")]))
        .observer(|_: &CallView, _: &ToolResult| -> Result<(), BoxError> { Err("no ink".into()) })
        .observer(|_: &CallView, result: &ToolResult| {
            if !result.is_error() {
                std::panic::panic_any(7);
            }
        })
        .build();
    assert_eq!(pipeline.run(request("echo", "{}")).await.text(), "{}");
    let said: Vec<String> = recorder
        .events()
        .into_iter()
        .map(|(words, _)| words)
        .collect();
    let form =
        |message: &str| format!("tool \"echo\" (call_1): tools/result observer failed: {message}");
    assert_eq!(said, [form("no ink"), form("<unprintable thrown value>")]);
}

#[tokio::test(start_paused = true)]
async fn a_drained_body_keeps_its_spans() {
    let (recorder, _guard) = Recorder::install();
    let waits = raw_tool(
        "waits",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            ctx.cancellation().cancelled().await;
            wait(()).await;
            tracing::info!("cleaned up");
            Ok::<Value, BoxError>(Value::Null)
        },
    );
    let pipeline = Pipeline::builder(registry([waits]))
        .observer(|_: &CallView, result: &ToolResult| tracing::info!("told {:?}", result.code()))
        .build();
    let mut call = {
        let _host = tracing::info_span!("host").entered();
        tokio_test::task::spawn(pipeline.run(request("waits", "{}")))
    };
    let host = tracing::info_span!("host");
    host.in_scope(|| assert!(call.poll().is_pending()));
    drop(host);
    // Dropped outside every span.
    drop(call);
    tokio::time::sleep(Duration::from_millis(10)).await;
    let events = recorder.events();
    assert_eq!(
        events[0],
        (
            "cleaned up".to_owned(),
            vec!["host", "execute_tool", "toolfall.body"]
        )
    );
    let (told, around) = &events[1];
    assert_eq!(told, "told Some(\"ABORTED\")");
    assert!(around.contains(&"execute_tool"), "{around:?}");
    assert!(recorder.all_closed());
}
