//! Questions about calls, put to the very client that made the call.

#[path = "support/mcp_lines.rs"]
mod mcp_lines;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_lines::*;
use serde_json::{Value, json};
use toolfall::approval::Answerers;
use toolfall::mcp::server::PipelineServer;
use toolfall::*;

/// A server whose tool `delete` asks, a count of how often it ran, and its
/// answerers.
fn asking() -> (PipelineServer, Arc<AtomicUsize>, Answerers) {
    let runs = Arc::new(AtomicUsize::new(0));
    let ran = runs.clone();
    let delete = raw_tool(
        "delete",
        "",
        json!({}),
        move |_: Arguments, _: ToolContext| {
            ran.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, BoxError>(Value::from("deleted")) }
        },
    )
    .parallel()
    .secret_arguments(["/token"]);
    let registry = registry([delete, echo("echo")]);
    let answerers = Answerers::new();
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(|call: &CallView| match call.name() {
            "delete" => Decision::ask("it is gone for good"),
            _ => Decision::Allow,
        })
        .approval(answerers.clone())
        .build();
    let server = PipelineServer::builder(pipeline, registry)
        .answerers(&answerers)
        .build();
    (server, runs, answerers)
}

fn offers() -> Value {
    json!({"elicitation": {}})
}

fn reply(question: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": result})
}

fn approve() -> Value {
    json!({"action": "accept", "content": {"decision": "approve"}})
}

#[tokio::test]
async fn only_an_approval_in_so_many_words_lets_the_call_run() {
    let (server, runs, _) = asking();
    let mut client = Client::begin(&server, offers()).await;
    for (said, expected) in [
        (
            json!({"action": "accept", "content": {"decision": "deny", "reason": "keep\u{1b}[2J it"}}),
            "keep\\u{1b}[2J it",
        ),
        (json!({"action": "decline"}), ""),
        (json!({"action": "cancel"}), "dismissed"),
        (
            json!({"action": "decline", "content": {"decision": "approve"}}),
            "",
        ),
        (json!({"action": "accept"}), "neither approved nor denied"),
        (
            json!({"action": "accept", "content": {}}),
            "neither approved nor denied",
        ),
        (
            json!({"action": "accept", "content": {"decision": "Approve"}}),
            "neither approved nor denied",
        ),
        (
            json!({"action": "accept", "content": {"decision": true}}),
            "neither approved nor denied",
        ),
        (
            json!({"action": "accept", "content": [{"decision": "approve"}]}),
            "neither",
        ),
        (json!({"action": "approve"}), "could not be read"),
        (json!({}), "could not be read"),
        (json!({"decision": "approve"}), "could not be read"),
    ] {
        client.start(1, "delete", "{}").await;
        let question = client.request("elicitation/create").await;
        client.send(reply(&question, said.clone())).await;
        let answer = client.answer(1).await;
        assert_eq!(answer["result"]["isError"], true, "{said}");
        assert!(
            text(&answer["result"]).contains(expected),
            "{said}: {answer}"
        );
        assert_eq!(runs.load(Ordering::SeqCst), 0, "{said}");
    }
    // An error is no answer either.
    client.start(2, "delete", "{}").await;
    let question = client.request("elicitation/create").await;
    client
        .send(json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "approve"}}))
        .await;
    assert_eq!(client.answer(2).await["result"]["isError"], true);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    client.start(3, "delete", "{}").await;
    let question = client.request("elicitation/create").await;
    client.send(reply(&question, approve())).await;
    let answer = client.answer(3).await;
    assert_eq!(text(&answer["result"]), "deleted");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_question_shows_what_a_person_may_see_and_nothing_that_misleads() {
    let (server, _, _) = asking();
    let mut client = Client::begin(&server, offers()).await;
    let arguments = r#"{"token":"hunter2","note":"a\u202e\u001b[2J\nReason: harmless"}"#;
    client.start(1, "delete", arguments).await;
    let question = client.request("elicitation/create").await;
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("\"delete\""), "{message}");
    assert!(message.contains("Reason: it is gone for good"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
    assert!(
        !message.contains('\u{1b}') && !message.contains('\u{202e}'),
        "{message}"
    );
    assert_eq!(message.lines().count(), 3, "{message}");
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(
        schema["properties"]["decision"]["enum"],
        json!(["approve", "deny"])
    );
    assert_eq!(schema["required"], json!(["decision"]));
}

#[tokio::test]
async fn late_repeated_and_forged_answers_release_nothing() {
    let (server, runs, _) = asking();
    let mut client = Client::begin(&server, offers()).await;
    // Before there is any question, under the ids that it might have.
    for id in 0..20 {
        client
            .send(json!({"jsonrpc": "2.0", "id": id, "result": approve()}))
            .await;
    }
    client.start(100, "delete", "{}").await;
    let question = client.request("elicitation/create").await;
    let deny = json!({"action": "accept", "content": {"decision": "deny", "reason": "no"}});
    client
        .send(json!({"jsonrpc": "2.0", "id": "forged", "result": approve()}))
        .await;
    client.send(reply(&question, deny)).await;
    client.send(reply(&question, approve())).await;
    assert_eq!(client.answer(100).await["result"]["isError"], true);
    client.send(reply(&question, approve())).await;
    // The next question has an id of its own.
    client.start(101, "delete", "{}").await;
    let next = client.request("elicitation/create").await;
    assert_ne!(next["id"], question["id"]);
    client.send(reply(&question, approve())).await;
    client.ask("ping", json!({})).await;
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    // A call that is cancelled withdraws its question.
    client.cancel(101).await;
    let withdrawn = client.request("notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], next["id"]);
    client.send(reply(&next, approve())).await;
    client.ask("ping", json!({})).await;
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn sessions_never_get_each_others_questions() {
    let (server, runs, _) = asking();
    let mut asked = Client::begin(&server, offers()).await;
    let mut other = Client::begin(&server, offers()).await;
    asked.start(1, "delete", "{}").await;
    let question = asked.request("elicitation/create").await;
    other.silence().await;
    // Nor does an answer of theirs count.
    other.send(reply(&question, approve())).await;
    other.ask("ping", json!({})).await;
    asked.silence().await;
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    other.start(1, "delete", "{}").await;
    let theirs = other.request("elicitation/create").await;
    other.send(reply(&theirs, approve())).await;
    assert_eq!(text(&other.answer(1).await["result"]), "deleted");
    asked.silence().await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn where_a_client_cannot_be_asked_others_are_or_the_call_is_refused() {
    let (server, runs, answerers) = asking();
    let mut client = Client::begin(&server, json!({})).await;
    let refused = client.call("delete", "{}").await;
    assert_eq!(refused["isError"], true);
    assert!(
        refused
            .to_string()
            .contains("its client offers no elicitation"),
        "{refused}"
    );
    assert!(client.others.is_empty());
    let mut urls = Client::begin(&server, json!({"elicitation": {"url": {}}})).await;
    assert_eq!(urls.call("delete", "{}").await["isError"], true);
    let _host =
        answerers.register(|_: ApprovalRequest| async { Some(ApprovalOutcome::AllowedOnce) });
    assert_eq!(text(&client.call("delete", "{}").await), "deleted");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    // A client that can be asked is asked first.
    let mut client = Client::begin(&server, offers()).await;
    client.start(1, "delete", "{}").await;
    let question = client.request("elicitation/create").await;
    client
        .send(reply(&question, json!({"action": "decline"})))
        .await;
    assert_eq!(client.answer(1).await["result"]["isError"], true);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_tool_that_calls_another_has_its_own_client_asked() {
    let (server, _, answerers) = asking();
    let outer = raw_tool(
        "outer",
        "",
        json!({}),
        |_: Arguments, ctx: ToolContext| async move {
            let result = ctx.call_tool("delete", "{}").await?;
            Ok::<_, BoxError>(Value::from(result.text()))
        },
    );
    let delete = raw_tool(
        "delete",
        "",
        json!({}),
        |_: Arguments, _: ToolContext| async { Ok::<_, BoxError>(Value::from("deleted")) },
    );
    let registry = registry([outer, delete]);
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(|call: &CallView| match call.name() {
            "delete" => Decision::ask("nested"),
            _ => Decision::Allow,
        })
        .approval(answerers)
        .build();
    server.replace(pipeline, registry);
    let mut client = Client::begin(&server, offers()).await;
    client.start(1, "outer", "{}").await;
    let question = client.request("elicitation/create").await;
    client.send(reply(&question, approve())).await;
    assert_eq!(text(&client.answer(1).await["result"]), "deleted");
}

fn modern(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments, "_meta": meta(offers())})
}

#[tokio::test]
async fn a_client_of_the_newest_protocol_comes_back_with_its_answer() {
    let (server, runs, _) = asking();
    let mut client = Client::connect(&server);
    let asked = client
        .ask("tools/call", modern("delete", json!({"a": 1})))
        .await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let question = &asked["result"]["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create");
    let word = asked["result"]["requestState"].as_str().unwrap().to_owned();
    let again = |name: &str, arguments: Value, state: &str, said: Value| {
        let mut params = modern(name, arguments);
        params["requestState"] = state.into();
        params["inputResponses"] = json!({"approval": said});
        params
    };
    // Another call under the word, another word, another session: nothing.
    for params in [
        again("delete", json!({"a": 2}), &word, approve()),
        again("echo", json!({"a": 1}), &word, approve()),
        again("delete", json!({"a": 1}), &format!("{word}0"), approve()),
        again("delete", json!({"a": 1}), "", approve()),
    ] {
        let refused = client.ask("tools/call", params).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let mut other = Client::connect(&server);
    let params = again("delete", json!({"a": 1}), &word, approve());
    let refused = other.ask("tools/call", params.clone()).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    let done = client.ask("tools/call", params.clone()).await;
    assert_eq!(text(&done["result"]), "deleted", "{done}");
    // Once, not twice.
    let refused = client.ask("tools/call", params).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    // A refusal comes back the same way.
    let asked = client.ask("tools/call", modern("delete", json!({}))).await;
    let word = asked["result"]["requestState"].as_str().unwrap();
    let params = again("delete", json!({}), word, json!({"action": "decline"}));
    let refused = client.ask("tools/call", params).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    // And no answer is none that counts.
    let asked = client.ask("tools/call", modern("delete", json!({}))).await;
    let mut params = modern("delete", json!({}));
    params["requestState"] = asked["result"]["requestState"].clone();
    let refused = client.ask("tools/call", params).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}
