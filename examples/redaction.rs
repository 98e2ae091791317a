//! Keeping secrets from people, logs and the model.
//!
//! A tool says where its secrets are, and the person who is asked and the log
//! see a redacted view of them, while the tool gets the original. Well-known
//! secrets in results are masked for the model, too.
//!
//! `cargo run --example redaction --features redaction`

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolfall::redaction::SecretShapes;
use toolfall::session::{SessionLog, SessionRecorder};
use toolfall::{
    ApprovalAnswer, ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView,
    Decision, Pipeline, Registry, Scope, raw_tool,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let registry = Registry::new();
    let deploy = raw_tool(
        "deploy",
        "Deploys an application",
        json!({
            "type": "object",
            "properties": {"to": {"type": "string"}, "token": {"type": "string"}},
            "required": ["to", "token"],
        }),
        |arguments: Arguments, _| async move {
            // The body gets what the model sent.
            assert_eq!(arguments.value()["token"], "correct-horse-battery");
            // What it says is careless twice.
            Ok::<_, BoxError>(json!({
                "used": arguments.value()["token"],
                "database": "postgres://app:hunter2@db.internal/prod",
            }))
        },
    )
    .secret_arguments(["/token"]);
    registry.register(deploy)?.keep();

    let log = SessionLog::in_memory();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let person = {
        let asked = asked.clone();
        move |request: &ApprovalRequest| {
            let line = format!("{} {}", request.tool(), request.shown_arguments());
            asked.lock().unwrap().push(line);
            ApprovalAnswer::from(ApprovalOutcome::AllowedOnce)
        }
    };
    let pipeline = Pipeline::builder(registry)
        // For the model: in results.
        .post_execute(SecretShapes::known())
        .pre_decision(|call: &CallView| match call.arguments() {
            // Who decides sees the original: a rule must be able to match.
            Some(arguments) if arguments.value()["token"] == "correct-horse-battery" => {
                Decision::ask("a token is used")
            }
            _ => Decision::deny("a token is wanted"),
        })
        .approval(person)
        // For people and the log: in every tool's arguments and results.
        .redact(SecretShapes::known())
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();

    let arguments = r#"{"to": "production", "token": "correct-horse-battery"}"#;
    let call = CallRequest::new("1", "deploy", arguments, CancellationToken::new());
    // Only a call with a scope has somebody who can be asked.
    let result = pipeline.run(call.with_scope(Scope::new("agent"))).await;

    println!("the model reads    {}", result.text());
    assert_eq!(
        result.text(),
        r#"{"database":"postgres://app:[redacted: url-credentials]@db.internal/prod","used":"correct-horse-battery"}"#
    );

    let asked = asked.lock().unwrap().join("\n");
    println!("the person was asked  {asked}");
    assert_eq!(
        asked,
        r#"deploy {"to": "production", "token": "[redacted]"}"#
    );

    for record in log.records()? {
        let line = serde_json::to_string(&record)?;
        println!("the log has        {line}");
        assert!(!line.contains("correct-horse") && !line.contains("hunter2"));
    }
    Ok(())
}
