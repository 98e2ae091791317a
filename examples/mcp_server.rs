//! A few tools for MCP clients, over standard input and output.
//!
//! ```text
//! cargo run --example mcp_server --features mcp-server
//! ```
//!
//! The tool `delete` asks: the client's own user if the client offers
//! elicitation; else nobody is there, and the call is refused.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use toolfall::approval::Answerers;
use toolfall::mcp::server::PipelineServer;
use toolfall::{BoxError, CallView, Decision, Pipeline, Progress, Registry, ToolContext, tool_fn};

#[derive(Deserialize, schemars::JsonSchema)]
struct Numbers {
    a: f64,
    b: f64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    sum: f64,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Steps {
    /// How many steps to take.
    steps: u8,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Note {
    /// The note to delete.
    note: String,
}

fn tools() -> Result<Registry, BoxError> {
    let registry = Registry::new();
    let add = tool_fn(
        "add",
        "Adds two numbers",
        |it: Numbers, _: ToolContext| async move { Ok::<_, BoxError>(Sum { sum: it.a + it.b }) },
    );
    let walk = tool_fn(
        "walk",
        "Takes steps, slowly",
        |it: Steps, ctx: ToolContext| async move {
            for step in 1..=it.steps {
                tokio::time::sleep(Duration::from_millis(50)).await;
                ctx.progress(Progress {
                    done: f64::from(step),
                    total: Some(f64::from(it.steps)),
                    message: Some(format!("step {step}")),
                });
            }
            Ok::<_, BoxError>(format!("walked {} steps", it.steps))
        },
    );
    let notes = Arc::new(Mutex::new(vec!["milk".to_owned(), "bread".to_owned()]));
    let delete = tool_fn(
        "delete",
        "Deletes a note",
        move |it: Note, _: ToolContext| {
            let mut notes = notes
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let before = notes.len();
            notes.retain(|note| *note != it.note);
            let deleted = before - notes.len();
            async move { Ok::<_, BoxError>(format!("deleted {deleted} of {before} notes")) }
        },
    );
    registry.register(add.parallel())?.keep();
    registry.register(walk.parallel())?.keep();
    registry.register(delete.dangerous())?.keep();
    Ok(registry)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let registry = tools()?;
    let answerers = Answerers::new();
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(|call: &CallView| match call.name() {
            "delete" => Decision::ask("a note that is gone is gone"),
            _ => Decision::Allow,
        })
        .approval(answerers.clone())
        .build();
    let server = PipelineServer::builder(pipeline, registry)
        .name("notes")
        .answerers(&answerers)
        .build();
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    server
        .serve(input, output, CancellationToken::new())
        .await?;
    Ok(())
}
