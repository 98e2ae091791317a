//! Lists the tools of an MCP server over HTTP, and calls some of them.
//!
//! ```text
//! cargo run --features mcp-client --example mcp_client -- \
//!     [--legacy] [--call TOOL JSON]... [--echo TOOL MEMBER OTHER] http://127.0.0.1:3000/mcp
//! ```
//!
//! `--echo` calls a tool with what another one expects, its schema, in one
//! member of the arguments: a way to see that nothing of it got lost. Each call takes the same pipeline that any tool takes. Ends with status 1
//! if the server cannot be used or a call fails.

use std::process::ExitCode;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolfall::mcp::client::{Http, McpServer};
use toolfall::mcp::tool::public_name;
use toolfall::{BoxError, CallRequest, Decision, Pipeline, Registry};

const SERVER: &str = "peer";

/// What the command line says.
#[derive(Default)]
struct Wanted {
    legacy: bool,
    calls: Vec<(String, String)>,
    echo: Option<[String; 3]>,
    url: String,
}

fn wanted() -> Result<Wanted, BoxError> {
    let mut wanted = Wanted::default();
    let mut arguments = std::env::args().skip(1);
    let missing = || "expected [--legacy] [--call TOOL JSON]... [--echo TOOL MEMBER OTHER] URL";
    while let Some(argument) = arguments.next() {
        let mut next = || arguments.next().ok_or_else(missing);
        match argument.as_str() {
            "--legacy" => wanted.legacy = true,
            "--call" => {
                let (tool, json) = (next()?, next()?);
                wanted.calls.push((tool, json));
            }
            "--echo" => wanted.echo = Some([next()?, next()?, next()?]),
            _ => wanted.url = argument,
        }
    }
    if wanted.url.is_empty() {
        return Err(missing().into());
    }
    Ok(wanted)
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<bool, BoxError> {
    let mut wanted = wanted()?;
    let mut server = McpServer::http(SERVER, Http::new(&wanted.url)?)?.strict();
    if wanted.legacy {
        server = server.legacy();
    }
    let registry = Registry::new();
    let source = server.load(&registry).await?;
    for tool in source.tools().iter() {
        println!("{}: {}", tool.public_name(), tool.description());
    }
    for tool in source.quarantined().iter() {
        println!("left out: {tool}");
    }
    if let Some([tool, member, other]) = wanted.echo.take() {
        let other = registry.get(&public_name(SERVER, &other), None);
        let schema = other.ok_or("there is no such tool")?.parameters().clone();
        wanted
            .calls
            .push((tool, json!({member: schema}).to_string()));
    }
    let pipeline = Pipeline::builder(registry)
        .pre_decision(|_: &_| Decision::Allow)
        .build();
    let mut succeeded = true;
    for (number, (tool, arguments)) in wanted.calls.into_iter().enumerate() {
        let request = CallRequest::new(
            number.to_string(),
            public_name(SERVER, &tool),
            arguments,
            CancellationToken::new(),
        );
        let result = pipeline.run(request).await;
        succeeded &= !result.is_error();
        println!("{tool}: {}", result.text());
    }
    source.dispose().await;
    Ok(succeeded)
}
