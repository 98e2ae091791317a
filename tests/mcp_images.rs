//! Images of servers' answers: kept and referred to, or told of.

#[path = "support/mcp_tool.rs"]
mod support;

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use support::{Fake, alone, definition, parsed, request, run};
use tokio::sync::Notify;
use toolfall::mcp::tool::{
    ImageModel, ImageStore, ImageStoreError, Images, NewImage, StoredImage, ToolOptions,
};
use toolfall::{
    BoxError, CallView, ContentBlock, Pipeline, PostDecision, PostRequest, ToolContext, ToolDef,
    ToolResult, raw_tool,
};

const PNG: &str = "iVBORw0KGgo=";
const GIF: &str = "R0lGODlh";

type Found = Result<Option<ImageModel>, String>;

/// A model that is looked up and a store that keeps what it is given.
#[derive(Clone)]
struct Studio {
    found: Found,
    /// Set where the lookup waits until it is told to go on.
    gate: Option<Arc<Notify>>,
    refusal: Option<fn() -> ImageStoreError>,
    is_mounted: bool,
    saved: Arc<Mutex<Vec<Vec<NewImage>>>>,
}

impl Studio {
    fn new(found: Found) -> Self {
        Self {
            found,
            gate: None,
            refusal: None,
            is_mounted: true,
            saved: Arc::default(),
        }
    }

    /// A model that takes images.
    fn seeing() -> Self {
        Self::new(Ok(Some(ImageModel::new("eye-1", Some(true)))))
    }

    fn refusing(refusal: fn() -> ImageStoreError) -> Self {
        Self {
            refusal: Some(refusal),
            ..Self::seeing()
        }
    }

    fn saved(&self) -> Vec<Vec<NewImage>> {
        self.saved.lock().unwrap().clone()
    }
}

impl Images for Studio {
    fn model(&self, _: &CallView) -> BoxFuture<'static, Result<Option<ImageModel>, BoxError>> {
        let (found, gate) = (self.found.clone(), self.gate.clone());
        Box::pin(async move {
            if let Some(gate) = gate {
                gate.notify_one();
                std::future::pending::<()>().await;
            }
            found.map_err(Into::into)
        })
    }

    fn store(&self) -> Option<Arc<dyn ImageStore>> {
        self.is_mounted.then(|| Arc::new(self.clone()) as _)
    }
}

impl ImageStore for Studio {
    fn save(
        &self,
        _: &CallView,
        images: Vec<NewImage>,
    ) -> BoxFuture<'static, Result<Vec<StoredImage>, ImageStoreError>> {
        let studio = self.clone();
        Box::pin(async move {
            if let Some(refusal) = studio.refusal {
                return Err(refusal());
            }
            let kept = (1..=images.len())
                .map(|place| {
                    StoredImage::new(format!("attachment:{place}"), format!("image {place}"))
                })
                .collect();
            studio.saved.lock().unwrap().push(images);
            Ok(kept)
        })
    }
}

fn image(media_type: &str, data: &str) -> Value {
    json!({"type": "image", "data": data, "mimeType": media_type})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn mixed() -> Value {
    json!({"content": [
        text("one"), image("image/png", PNG), text("two"), image("image/gif", GIF), text("three"),
    ]})
}

fn drawing(studio: &Studio, answer: Value) -> ToolDef {
    let options = ToolOptions::new().images(Arc::new(studio.clone()));
    parsed(definition("raw")).into_tool(options, Fake::answering(answer))
}

async fn drawn(studio: &Studio, blocks: Value) -> ToolResult {
    run(drawing(studio, json!({"content": blocks}))).await
}

fn unavailable(media_type: &str, reason: &str) -> String {
    format!(
        "[image unavailable: {media_type}; {reason}; raw image data remains available to \
         programmatic callers]"
    )
}

fn link(place: u32, media_type: &str) -> ContentBlock {
    ContentBlock::ResourceLink {
        uri: format!("attachment:{place}"),
        name: format!("image {place}"),
        mime_type: Some(media_type.to_owned()),
    }
}

/// conformance: MCP-19
#[tokio::test]
async fn images_are_kept_in_order_and_referred_to() {
    let studio = Studio::seeing();
    let result = run(drawing(&studio, mixed())).await;
    assert_eq!(
        result.content(),
        [
            ContentBlock::text("one"),
            link(1, "image/png"),
            ContentBlock::text("two"),
            link(2, "image/gif"),
            ContentBlock::text("three"),
        ]
    );
    let saved = studio.saved();
    let types: Vec<_> = saved[0].iter().map(|image| image.media_type).collect();
    assert_eq!((saved.len(), types), (1, vec!["image/png", "image/gif"]));
    assert_eq!(saved[0][0].bytes, b"\x89PNG\r\n\x1a\n");
    assert_eq!(saved[0][1].bytes, b"GIF89a");
    let content = serde_json::to_string(result.content()).unwrap();
    assert!(!content.contains(PNG) && !content.contains(GIF));
    assert_eq!(result.value(), Some(&mixed()));
}

/// conformance: MCP-20
#[tokio::test]
async fn an_image_that_is_not_admitted_is_told_of() {
    let blocks = json!([text("before"), image("image/png", PNG), {"type": "image", "data": PNG}]);
    let studio = Studio::new(Ok(None));
    let result = drawn(&studio, blocks).await;
    assert!(!result.is_error());
    let reason = "the current model route could not be resolved";
    let lines = [
        "before".to_owned(),
        unavailable("image/png", reason),
        unavailable("unknown media type", reason),
    ];
    assert_eq!(result.content(), [ContentBlock::text(lines.join("\n"))]);
}

/// conformance: MCP-21
#[tokio::test]
async fn who_cannot_see_images_is_told_why() {
    let mut unmounted = Studio::seeing();
    unmounted.is_mounted = false;
    let model = |takes_images| Studio::new(Ok(Some(ImageModel::new("blind-1", takes_images))));
    let blind = "model \"blind-1\" does not declare image input";
    for (studio, reason) in [
        (unmounted, "no attachment store is mounted"),
        (
            Studio::new(Ok(None)),
            "the current model route could not be resolved",
        ),
        (
            Studio::new(Err("no network".to_owned())),
            "the current model route could not be verified",
        ),
        (model(None), blind),
        (model(Some(false)), blind),
    ] {
        let result = drawn(&studio, json!([image("image/png", PNG)])).await;
        assert_eq!(result.text(), unavailable("image/png", reason));
        assert!(!result.is_error() && studio.saved().is_empty());
    }
    let fake = Fake::answering(json!({"content": [image("image/png", PNG)]}));
    let result = run(parsed(definition("raw")).into_tool(ToolOptions::new(), fake)).await;
    assert_eq!(
        result.text(),
        unavailable("image/png", "no attachment store is mounted")
    );
}

struct Panics;

impl Images for Panics {
    fn model(&self, _: &CallView) -> BoxFuture<'static, Result<Option<ImageModel>, BoxError>> {
        Box::pin(async { panic!("the lookup panics") })
    }

    fn store(&self) -> Option<Arc<dyn ImageStore>> {
        Some(Arc::new(Studio::seeing()))
    }
}

#[tokio::test]
async fn a_lookup_that_panics_does_not_fail_the_call() {
    let fake = Fake::answering(json!({"content": [image("image/png", PNG)]}));
    let options = ToolOptions::new().images(Arc::new(Panics));
    let result = run(parsed(definition("raw")).into_tool(options, fake)).await;
    let reason = "the current model route could not be verified";
    assert_eq!(result.text(), unavailable("image/png", reason));
}

/// conformance: MCP-22
#[tokio::test]
async fn one_invalid_image_keeps_all_of_its_answer_out() {
    let wrong_type = "the declared media type is not PNG, JPEG, WebP, or GIF";
    let no_base64 = "the image data is not canonical base64";
    let sibling = "another image in the same result was invalid";
    for (invalid, media_type, reason) in [
        (image("image/svg+xml", PNG), "image/svg+xml", wrong_type),
        (image("image/png; x", PNG), "image/png; x", wrong_type),
        (image("image/png", "***"), "image/png", no_base64),
        (image("image/png", "AB=="), "image/png", no_base64),
        (image("image/png", "AA"), "image/png", no_base64),
        (image("image/png", ""), "image/png", no_base64),
        (
            json!({"type": "image", "mimeType": "image/png"}),
            "image/png",
            no_base64,
        ),
        (
            json!({"type": "image", "mimeType": "image/png", "data": 5}),
            "image/png",
            no_base64,
        ),
    ] {
        let studio = Studio::seeing();
        let result = drawn(&studio, json!([image("image/webp", GIF), invalid])).await;
        let lines = [
            unavailable("image/webp", sibling),
            unavailable(media_type, reason),
        ];
        assert_eq!(result.text(), lines.join("\n"));
        assert!(!result.is_error());
        assert_eq!(studio.saved(), [] as [Vec<NewImage>; 0]);
    }
}

/// conformance: MCP-23
#[tokio::test]
async fn what_the_store_refuses_is_told_without_its_secrets() {
    let blocks = json!([image("image/png", PNG), image("image/jpeg", PNG)]);
    let policy: fn() -> _ = || ImageStoreError::Refused("too many images".to_owned());
    let failure: fn() -> _ = || ImageStoreError::Failed("disk /srv/private is full".into());
    for (refusal, reason) in [
        (
            policy,
            "image admission rejected the result: too many images",
        ),
        (failure, "durable image storage rejected the result"),
    ] {
        let result = drawn(&Studio::refusing(refusal), blocks.clone()).await;
        let lines = ["image/png", "image/jpeg"].map(|it| unavailable(it, reason));
        assert_eq!(result.text(), lines.join("\n"));
        assert!(!result.is_error());
    }
}

/// conformance: MCP-24
#[tokio::test]
async fn failures_and_cancelled_calls_keep_no_image() {
    let studio = Studio::seeing();
    let answer = json!({"content": [image("image/png", PNG)], "isError": true});
    let result = run(drawing(&studio, answer)).await;
    let reason = "this result was not admitted to durable model context";
    let note = unavailable("image/png", reason);
    assert_eq!(result.text(), format!("Error: {note}"));
    assert!(studio.saved().is_empty());

    let mut slow = Studio::seeing();
    let asked = Arc::new(Notify::new());
    slow.gate = Some(asked.clone());
    let tool = drawing(&slow, mixed());
    let call = request(tool.name(), "{}");
    let cancel = call.cancellation().clone();
    let running = tokio::spawn(async move { support::pipeline(tool).run(call).await });
    asked.notified().await;
    cancel.cancel();
    let result = running.await.unwrap();
    assert_eq!(result.text(), "Error: tool call aborted");
    assert!(slow.saved().is_empty());
}

/// conformance: MCP-25
#[tokio::test]
async fn what_a_policy_makes_of_an_image_result_wins() {
    let decide = |decision: fn(&PostRequest) -> PostDecision| async move {
        let studio = Studio::seeing();
        let tool = drawing(&studio, mixed());
        let call = request(tool.name(), "{}");
        let pipeline = Pipeline::builder(alone(tool))
            .post_execute(move |post: &PostRequest| decision(post))
            .build();
        pipeline.run(call).await
    };
    let content = decide(|_| PostDecision::replace_content(vec![ContentBlock::text("mine")])).await;
    assert_eq!(content.content(), [ContentBlock::text("mine")]);

    let value = decide(|_| PostDecision::replace_value(json!({"content": [text("mine")]}))).await;
    assert_eq!(value.content(), [ContentBlock::text("mine")]);
    let other = decide(|post| {
        let mut value = post.outcome().value().unwrap().clone();
        value["content"][0] = text("mine");
        PostDecision::replace_value(value)
    });
    let other = other.await;
    let kinds: Vec<_> = other.content().iter().map(ContentBlock::kind).collect();
    assert_eq!(
        kinds,
        ["text"],
        "no attachment of a value that was replaced"
    );
    assert!(
        other
            .text()
            .starts_with("mine\n[image unavailable: image/png; this result was not")
    );

    let blocked = decide(|_| PostDecision::block_with("withheld")).await;
    assert_eq!(
        (blocked.text().as_str(), blocked.is_error()),
        ("withheld", true)
    );
}

#[tokio::test]
async fn nothing_is_kept_of_what_no_model_sees() {
    let studio = Studio::seeing();
    let registry = alone(drawing(&studio, mixed()));
    let outer = raw_tool(
        "outer",
        "",
        json!({"type": "object"}),
        |_, ctx: ToolContext| async move {
            let inner = ctx.call_tool("mcp__srv__raw", "{}").await?;
            Ok::<Value, BoxError>(inner.value().cloned().unwrap_or_default())
        },
    );
    registry.register(outer).unwrap().keep();
    let result = Pipeline::builder(registry)
        .build()
        .run(request("outer", "{}"))
        .await;
    assert_eq!(result.value(), Some(&mixed()));
    assert!(studio.saved().is_empty());

    // A value that breaks its schema is refused, and leaves nothing behind.
    let mut strict = definition("raw");
    strict["outputSchema"] = json!({"type": "object"});
    let options = ToolOptions::new().images(Arc::new(studio.clone()));
    let tool = parsed(strict).into_tool(options, Fake::answering(mixed()));
    assert!(run(tool).await.is_error());
    assert!(studio.saved().is_empty());
}
