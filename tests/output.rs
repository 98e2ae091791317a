//! What becomes of the value that a body returns.

#[path = "support/facade.rs"]
mod support;

use serde::Serialize;
use serde_json::{Value, json};
use support::{Counter, Log, any_object, registry, request, returns};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, CallView, ContentBlock, FailureKind, Pipeline, PostDecision, PostRequest,
    ToolContext, ToolDef, ToolResult, codes, raw_tool, tool_fn,
};

fn text(name: &'static str) -> ToolDef {
    returns(name, "hi".into(), &Counter::default()).output_schema(json!({"type": "string"}))
}

/// conformance: FINAL-10, FINAL-11, OUT-02, OUT-03
#[tokio::test]
async fn metadata_is_there_if_it_is_projected_and_somebody_looks() {
    let projected = Counter::default();
    let count = projected.clone();
    let shown = text("shown").presentation_meta(move |value| {
        count.add();
        Ok(json!({ "length": value.as_str().unwrap().len() }))
    });
    let outer = tool_fn("outer", "", |_: Value, ctx: ToolContext| async move {
        let nested = ctx.call_tool("shown", "{}").await?;
        assert_eq!((nested.value(), nested.meta()), (Some(&json!("hi")), None));
        Ok::<_, BoxError>(nested.text())
    });
    let pipeline = Pipeline::builder(registry([text("plain"), shown, outer])).build();
    let plain = pipeline.run(request("plain", "{}")).await;
    assert!(!plain.is_error() && !plain.concludes_turn());
    assert_eq!((plain.value(), plain.meta()), (Some(&json!("hi")), None));
    assert_eq!(plain.content(), [ContentBlock::text("hi")]);
    assert!(plain.contexts().is_empty());
    let result = pipeline.run(request("shown", "{}")).await;
    assert_eq!(result.meta(), Some(&json!({"length": 2})));
    assert_eq!(projected.get(), 1);
    assert_eq!(pipeline.run(request("outer", "{}")).await.text(), "hi");
    assert_eq!(projected.get(), 1, "not even asked for a nested call");
}

#[derive(schemars::JsonSchema)]
struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("the pipe is closed"))
    }
}

/// A value too deep to keep, made without recursion.
fn deep() -> Value {
    let mut value = json!(1);
    for _ in 0..5_000 {
        value = Value::Array(vec![value]);
    }
    value
}

fn broken() -> Vec<(ToolDef, &'static str)> {
    let lossless = "value is not lossless JSON";
    let rendered = |name| text(name);
    vec![
        (
            returns("kind", 42.into(), &Counter::default())
                .output_schema(json!({"type": "string"})),
            "\"value\" must be a string",
        ),
        (
            returns("two", json!({"a": 1, "b": 2}), &Counter::default()).output_schema(json!({
                "type": "object", "properties": {"a": {"type": "string"}},
                "required": ["c"], "additionalProperties": false,
            })),
            "missing required property \"value.c\"; \"value.a\" must be a string; \
             \"value.b\" is not a declared property (additionalProperties: false)",
        ),
        (
            tool_fn("nan", "", |_: Value, _: ToolContext| async {
                Ok::<_, BoxError>(f64::NAN)
            }),
            lossless,
        ),
        (
            tool_fn("unwritable", "", |_: Value, _: ToolContext| async {
                Ok::<_, BoxError>(Unwritable)
            }),
            "value snapshot failed: the pipe is closed",
        ),
        (
            raw_tool(
                "deep",
                "",
                any_object(),
                |_: Arguments, _: ToolContext| async { Ok::<Value, BoxError>(deep()) },
            ),
            lossless,
        ),
        (
            rendered("render").render(|_| Err("no ink".into())),
            "output.render failed: no ink",
        ),
        (
            rendered("render_panics").render(|_| panic!("no paper")),
            "output.render failed: no paper",
        ),
        (
            rendered("render_odd").render(|_| std::panic::panic_any(3)),
            "output.render failed: <unprintable thrown value>",
        ),
        (
            rendered("meta").presentation_meta(|_| Err("no frame".into())),
            "output.presentationMeta failed: no frame",
        ),
        (
            rendered("meta_panics").presentation_meta(|_| panic!("no wall")),
            "output.presentationMeta failed: no wall",
        ),
        (
            rendered("meta_deep").presentation_meta(|_| Ok(deep())),
            "output.presentationMeta returned non-lossless JSON",
        ),
    ]
}

/// conformance: FINAL-02, FINAL-03, FINAL-05, FINAL-06, FINAL-07, FINAL-08, FINAL-09, OUT-04,
/// OUT-05, OUT-06, OUT-07, OUT-08, OUT-35, OUT-36, JSON-29
#[tokio::test]
async fn a_broken_output_contract_is_the_tools_failure() {
    let observed = Log::<bool>::default();
    let posted = Log::<String>::default();
    let (told, judged) = (observed.clone(), posted.clone());
    let (tools, expected): (Vec<_>, Vec<_>) = broken().into_iter().unzip();
    let names: Vec<String> = tools.iter().map(|tool| tool.name().to_owned()).collect();
    let pipeline = Pipeline::builder(registry(tools))
        .post_execute(move |post: &PostRequest| {
            assert_eq!(post.outcome().value(), None);
            judged.push(post.outcome().code().unwrap());
            PostDecision::accept()
        })
        .observer(move |_: &CallView, result: &ToolResult| told.push(result.is_error()))
        .build();
    for (name, violation) in names.into_iter().zip(expected) {
        let message = format!("tool \"{name}\" returned invalid output: {violation}");
        let call = toolfall::CallRequest::new("c", name, "{}", CancellationToken::new());
        let result = pipeline.run(call).await;
        assert_eq!(result.message(), Some(&*message));
        assert_eq!(result.text(), format!("Error: {message}"));
        let info = result.info().unwrap();
        assert_eq!(
            (info.name(), info.code()),
            ("ToolOutputError", codes::INVALID_TOOL_OUTPUT)
        );
        assert_eq!(result.kind(), Some(FailureKind::InvalidOutput));
        assert_eq!((result.value(), result.meta()), (None, None));
        assert_eq!(observed.take(), [true]);
        assert_eq!(posted.take(), [codes::INVALID_TOOL_OUTPUT]);
    }
}

/// conformance: POST-02, POST-03, POST-04, POST-06, OUT-09, OUT-10, OUT-11
#[tokio::test]
async fn a_replaced_value_is_judged_and_rendered_and_replaced_content_is_not() {
    let rendered = Counter::default();
    let count = rendered.clone();
    let tool = text("say")
        .render(move |value| {
            count.add();
            Ok(vec![ContentBlock::text(format!(
                "<{}>",
                value.as_str().unwrap()
            ))])
        })
        .presentation_meta(|value| Ok(json!({ "of": value })));
    let pipeline = Pipeline::builder(registry([tool]))
        .post_execute(|post: &PostRequest| match post.call().id().as_str() {
            "content" => PostDecision::replace_content(vec![ContentBlock::text("shown")]),
            "value" => PostDecision::replace_value("other".into()),
            "both" => {
                PostDecision::replace_value("other".into()).with_context(support::context("c"))
            }
            "bad" => PostDecision::replace_value(7.into()),
            _ => PostDecision::accept(),
        })
        .build();
    let run = |id: &'static str| pipeline.call(id, "say", "{}", CancellationToken::new());

    let result = run("plain").await;
    assert_eq!((result.text().as_str(), rendered.get()), ("<hi>", 1));
    let result = run("content").await;
    assert_eq!(
        (result.text(), result.value()),
        ("shown".to_owned(), Some(&json!("hi")))
    );
    assert_eq!(
        (result.meta(), rendered.get()),
        (Some(&json!({"of": "hi"})), 2)
    );
    let result = run("value").await;
    assert_eq!(
        (result.text(), result.value()),
        ("<other>".to_owned(), Some(&json!("other")))
    );
    assert_eq!(result.meta(), Some(&json!({"of": "other"})));
    assert!(result.contexts().is_empty());
    let result = run("both").await;
    assert_eq!(
        (result.text(), support::texts(result.contexts())),
        ("<other>".into(), vec!["c".into()])
    );
    let result = run("bad").await;
    assert_eq!(
        result.message(),
        Some("tool \"say\" returned invalid output: \"value\" must be a string")
    );
    assert_eq!(
        (result.code(), result.value()),
        (Some("INVALID_TOOL_OUTPUT"), None)
    );
}

#[tokio::test]
async fn the_default_rendering_shows_text_as_it_is_and_the_rest_as_json() {
    let tools = [
        returns("text", "a\n\"b\"".into(), &Counter::default()),
        returns("json", json!({"a": [1]}), &Counter::default()),
    ];
    let pipeline = Pipeline::builder(registry(tools)).build();
    assert_eq!(pipeline.run(request("text", "{}")).await.text(), "a\n\"b\"");
    assert_eq!(
        pipeline.run(request("json", "{}")).await.text(),
        "{\"a\":[1]}"
    );
}

#[tokio::test]
async fn without_an_output_schema_any_json_is_taken() {
    for value in [json!(null), json!(1), json!([{}])] {
        let tool = returns("any", value.clone(), &Counter::default());
        let pipeline = Pipeline::builder(registry([tool])).build();
        assert_eq!(
            pipeline.run(request("any", "{}")).await.value(),
            Some(&value)
        );
    }
}
