//! The tools that the official conformance suite of MCP calls, over HTTP.
//!
//! ```text
//! cargo run --example mcp_fixture --features mcp-server -- 127.0.0.1:3912
//! npx @modelcontextprotocol/conformance server --url http://127.0.0.1:3912/mcp \
//!     --expected-failures tests/conformance/mcp-server-0.1.16.yml
//! ```

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolfall::approval::Answerers;
use toolfall::mcp::server::{HttpOptions, PipelineServer};
use toolfall::{
    Arguments, BoxError, CallView, ContentBlock, Decision, EmbeddedResource, Pipeline, Progress,
    Registry, ResourceContents, ToolContext, ToolDef, raw_tool,
};

/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// Silence, of no length.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

fn image() -> ContentBlock {
    ContentBlock::Image {
        data: PNG.to_owned(),
        mime_type: "image/png".to_owned(),
    }
}

fn resource(uri: &str, mime: &str, text: &str) -> ContentBlock {
    let resource = EmbeddedResource {
        uri: uri.to_owned(),
        mime_type: Some(mime.to_owned()),
        contents: ResourceContents::Text(text.to_owned()),
    };
    ContentBlock::Resource { resource }
}

/// A tool without arguments that always shows `content`.
fn showing(name: &'static str, content: Vec<ContentBlock>) -> ToolDef {
    let none = |_: Arguments, _: ToolContext| async { Ok::<_, BoxError>(Value::Null) };
    raw_tool(
        name,
        "Shows the same each time",
        json!({"type": "object"}),
        none,
    )
    .render(move |_| Ok(content.clone()))
}

async fn progress(_: Arguments, ctx: ToolContext) -> Result<Value, BoxError> {
    for done in [0.0, 50.0, 100.0] {
        ctx.progress(Progress {
            done,
            total: Some(100.0),
            message: None,
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok("all three steps were told".into())
}

async fn failing(_: Arguments, _: ToolContext) -> Result<Value, BoxError> {
    Err("This tool intentionally returns an error for testing".into())
}

async fn approved(_: Arguments, _: ToolContext) -> Result<Value, BoxError> {
    Ok("the user approved the call".into())
}

async fn named(arguments: Arguments, _: ToolContext) -> Result<Value, BoxError> {
    Ok(arguments.value().clone())
}

/// What the suite wants to see is a question; ours is for an approval.
fn asking(name: &'static str) -> ToolDef {
    let schema = json!({"type": "object", "properties": {"message": {"type": "string"}}});
    raw_tool(name, "Runs once the user has approved it", schema, approved).dangerous()
}

/// Takes a tool away that another call brought, or brings it.
fn changing(registry: Registry) -> ToolDef {
    let brought = Arc::new(Mutex::new(None));
    let change = move |_: Arguments, _: ToolContext| {
        let (registry, brought) = (registry.clone(), brought.clone());
        async move {
            let mut brought = brought.lock().map_err(|_| "a call panicked before")?;
            *brought = match brought.take() {
                Some(_) => None,
                None => Some(registry.register(showing("test_brought", Vec::new()))?),
            };
            Ok::<_, BoxError>(Value::from("the tools have changed"))
        }
    };
    let nothing = json!({"type": "object"});
    raw_tool(
        "test_trigger_tool_change",
        "Brings or takes a tool",
        nothing,
        change,
    )
}

fn tools() -> Vec<ToolDef> {
    let nothing = || json!({"type": "object"});
    vec![
        showing(
            "test_simple_text",
            vec![ContentBlock::text(
                "This is a simple text response for testing.",
            )],
        ),
        showing("test_image_content", vec![image()]),
        showing(
            "test_audio_content",
            vec![ContentBlock::Audio {
                data: WAV.to_owned(),
                mime_type: "audio/wav".to_owned(),
            }],
        ),
        showing(
            "test_embedded_resource",
            vec![resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )],
        ),
        showing(
            "test_multiple_content_types",
            vec![
                ContentBlock::text("Multiple content types test:"),
                image(),
                resource(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                ),
            ],
        ),
        raw_tool(
            "test_tool_with_progress",
            "Tells how far it is",
            nothing(),
            progress,
        ),
        raw_tool("test_error_handling", "Always fails", nothing(), failing),
        asking("test_elicitation"),
        asking("test_input_required_result_elicitation"),
        asking("test_input_required_result_request_state"),
        asking("test_input_required_result_tampered_state"),
        raw_tool(
            "test_custom_headers",
            "Has an argument that a header repeats",
            json!({
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            }),
            named,
        ),
        raw_tool(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": {
                    "address": {
                        "$anchor": "addressDef",
                        "type": "object",
                        "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                    },
                },
                "properties": {
                    "name": {"type": "string"},
                    "address": {"$ref": "#/$defs/address"},
                    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                    "phone": {"type": "string"},
                    "email": {"type": "string"},
                },
                "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
                "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
                "then": {"required": ["phone"]},
                "else": {"required": ["email"]},
                "additionalProperties": false,
            }),
            named,
        ),
    ]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let address = std::env::args().nth(1);
    let address = address.unwrap_or_else(|| "127.0.0.1:3912".to_owned());
    let registry = Registry::new();
    for registration in registry.register_all(tools())? {
        registration.keep();
    }
    registry.register(changing(registry.clone()))?.keep();
    let answerers = Answerers::new();
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(|call: &CallView| match call.definition() {
            Some(tool) if tool.is_dangerous() => Decision::ask("the suite wants to be asked"),
            _ => Decision::Allow,
        })
        .approval(answerers.clone())
        .build();
    let server = PipelineServer::builder(pipeline, registry)
        .name("toolfall-fixture")
        .answerers(&answerers)
        .build();
    // The suite also comes as a page of this very machine.
    let options = HttpOptions::new()
        .allow_origin("http://localhost:*")
        .allow_origin("http://127.0.0.1:*");
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, server.router(options)).await?;
    Ok(())
}
