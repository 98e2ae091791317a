//! What becomes of a server's answers: content, values, failures.

#[path = "support/mcp_tool.rs"]
mod support;

use serde_json::{Value, json};
use support::{Fake, answering, definition, parsed, result, run, seen};
use toolfall::mcp::tool::{AnswerMeta, ToolOptions};
use toolfall::{CallView, ContentBlock, Pipeline, ToolDef, codes};

const NOTHING: &str = "(raw returned no model-visible content)";

/// conformance: MCP-11
#[tokio::test]
async fn texts_become_one_block_and_nothing_is_told() {
    let two = json!([{"type": "text", "text": "line1"}, {"type": "text", "text": "line2"}]);
    assert_eq!(seen(two).await, ["line1\nline2"]);
    assert_eq!(seen(json!([{"type": "text"}])).await, [NOTHING]);
    assert_eq!(seen(json!([])).await, [NOTHING]);
}

/// conformance: MCP-12
#[tokio::test]
async fn a_failure_is_the_tools_own_words_and_has_no_value() {
    let blocks = json!([{"type": "text", "text": "no such city"}, {"type": "video"}]);
    let answer = json!({"content": blocks, "isError": true, "structuredContent": {"x": 1}});
    let result = result(answer).await;
    assert_eq!(
        result.text(),
        "Error: no such city\n[unsupported MCP content type: video]"
    );
    assert_eq!(
        (result.value(), result.code()),
        (None, Some("MCP_TOOL_ERROR"))
    );

    let fake = Fake::answering(json!({"content": []}));
    let mut task = definition("raw");
    task["execution"] = json!({"taskSupport": "required"});
    let tool = parsed(task);
    assert!(tool.requires_task());
    let result = run(tool.into_tool(ToolOptions::new(), fake.clone())).await;
    assert!(result.text().contains("requires task-based execution"));
    assert_eq!(result.code(), Some("MCP_TASK_REQUIRED"));
    assert_eq!(fake.sent(), []);

    let mut optional = definition("raw");
    optional["execution"] = json!({"taskSupport": "optional"});
    let result = run(parsed(optional).into_tool(ToolOptions::new(), fake)).await;
    assert!(!result.is_error());
}

/// conformance: MCP-13
#[tokio::test]
async fn the_value_is_closed_and_keeps_every_block_as_it_was() {
    let blocks = json!([
        1, "two", null, [3], {"type": "hologram", "data": {"deep": [1]}},
        {"type": "text", "text": "x", "annotations": {"priority": 1}, "_meta": {"a": 1}},
    ]);
    let answer = json!({
        "content": blocks, "structuredContent": {"a": 1}, "_meta": {"b": 2},
        "nextCursor": "c", "resultType": "complete",
    });
    let value = json!({"content": blocks, "structuredContent": {"a": 1}});
    assert_eq!(result(answer).await.value(), Some(&value));

    let bare = json!({"content": []});
    assert_eq!(result(bare.clone()).await.value(), Some(&bare));

    let call = |answer: Value| async move { result(answer).await.code().map(str::to_owned) };
    for content in [json!("x"), json!({"type": "text", "text": "x"}), json!(1)] {
        let code = call(json!({"content": content})).await;
        assert_eq!(code.as_deref(), Some("MCP_MALFORMED"));
    }
}

/// A tool with this output schema that answers `structured`.
fn advertising(schema: Value, structured: Value) -> ToolDef {
    let mut advertised = definition("raw");
    advertised["outputSchema"] = schema;
    let mut answer = json!({"content": [{"type": "text", "text": "x"}]});
    if !structured.is_null() {
        answer["structuredContent"] = structured;
    }
    parsed(advertised).into_tool(ToolOptions::new(), Fake::answering(answer))
}

/// conformance: MCP-14
#[tokio::test]
async fn structured_content_is_held_to_the_advertised_schema() {
    let answer = json!({
        "type": "object", "properties": {"answer": {"type": "number"}}, "required": ["answer"],
    });
    let right = run(advertising(answer.clone(), json!({"answer": 42}))).await;
    assert_eq!(
        right.value().unwrap()["structuredContent"],
        json!({"answer": 42})
    );

    let wrong = run(advertising(answer.clone(), json!({"answer": "42"}))).await;
    assert_eq!(wrong.code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert!(
        wrong.text().contains("value.structuredContent.answer"),
        "{}",
        wrong.text()
    );

    let missing = run(advertising(answer, Value::Null)).await;
    assert_eq!(missing.code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert!(
        missing.text().contains("structuredContent"),
        "{}",
        missing.text()
    );
}

/// A `null` that was sent is a value; one that was not is missing.
#[tokio::test]
async fn structured_null_is_told_apart_from_nothing() {
    let answered = |answer: Value| async move {
        let mut advertised = definition("raw");
        advertised["outputSchema"] = json!({"type": ["object", "null"]});
        run(parsed(advertised).into_tool(ToolOptions::new(), Fake::answering(answer))).await
    };
    let null = json!({"content": [], "structuredContent": null});
    let sent = answered(null.clone()).await;
    assert_eq!(sent.value(), Some(&null), "{}", sent.text());
    let missing = answered(json!({"content": []})).await;
    assert_eq!(missing.code(), Some(codes::INVALID_TOOL_OUTPUT));
}

/// References of an advertised schema lead to where they led before.
#[tokio::test]
async fn references_of_an_advertised_schema_keep_their_meaning() {
    let tree = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.test/tree.json",
        "type": "object",
        "properties": {
            "name": {"$ref": "#/definitions/Name"},
            "children": {"type": "array", "items": {"$ref": "#"}},
            "$ref": {"const": {"$ref": "#/definitions/Name"}},
        },
        "required": ["name"],
        "definitions": {"Name": {"type": "string", "minLength": 1}},
    });
    let right =
        json!({"name": "a", "children": [{"name": "b"}], "$ref": {"$ref": "#/definitions/Name"}});
    let result = run(advertising(tree.clone(), right)).await;
    assert!(!result.is_error(), "{}", result.text());
    for (wrong, place) in [
        (json!({"name": ""}), "value.structuredContent.name"),
        (
            json!({"name": "a", "children": [{}]}),
            "value.structuredContent.children",
        ),
        (
            json!({"name": "a", "$ref": {"$ref": "#"}}),
            "value.structuredContent",
        ),
    ] {
        let result = run(advertising(tree.clone(), wrong)).await;
        assert_eq!(result.code(), Some(codes::INVALID_TOOL_OUTPUT));
        assert!(result.text().contains(place), "{}", result.text());
    }
}

/// conformance: MCP-15
#[tokio::test]
async fn a_schema_that_is_not_understood_constrains_nothing() {
    let nested = (0..100).fold(json!({}), |inner, _| json!({"not": inner}));
    for schema in [
        json!({"type": "objekt"}),
        json!({"$ref": "https://example.test/elsewhere.json"}),
        json!({"type": "object", "properties": {"a": {"$recursiveRef": "#"}}}),
        json!("object"),
        json!([]),
        nested,
    ] {
        let mut advertised = definition("raw");
        advertised["outputSchema"] = schema.clone();
        assert!(
            parsed(advertised).unused_output_schema().is_some(),
            "{schema}"
        );
        for structured in [json!({"any": "thing"}), json!([1]), json!("x"), Value::Null] {
            let result = run(advertising(schema.clone(), structured)).await;
            assert!(!result.is_error(), "{schema}: {}", result.text());
        }
    }
    // Whatever a library on the way thinks of it, this is what counts.
    let strict = json!({"type": "object", "properties": {"a": {"const": 1}}});
    let result = run(advertising(strict, json!({"a": 2}))).await;
    assert_eq!(result.code(), Some(codes::INVALID_TOOL_OUTPUT));
}

/// conformance: MCP-16
#[tokio::test]
async fn older_answers_are_understood() {
    let object = result(json!({"toolResult": {"a": [1]}})).await;
    assert_eq!(object.text(), r#"{"a":[1]}"#);
    let none = result(json!({"toolResult": null})).await;
    assert_eq!(
        (none.text().as_str(), none.is_error()),
        ("(no output)", false)
    );
    let neither = result(json!({})).await;
    assert_eq!(
        (neither.text().as_str(), neither.is_error()),
        ("(no output)", false)
    );
    let failed = result(json!({"toolResult": "it broke", "isError": true})).await;
    assert_eq!(
        (failed.text().as_str(), failed.value()),
        ("Error: it broke", None)
    );
    assert_eq!(failed.message(), Some("it broke"));
    let both = result(json!({"toolResult": "x", "structuredContent": {"a": 1}})).await;
    let value = json!({"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}});
    assert_eq!((both.text().as_str(), both.value()), ("x", Some(&value)));
}

/// conformance: MCP-17
#[tokio::test]
async fn sounds_and_resources_are_told_of() {
    let blocks = json!([
        {"type": "audio", "data": "AAAA", "mimeType": "audio/mp3"},
        {"type": "audio", "data": "AAAA"},
        {"type": "resource", "resource": {"uri": "demo://1", "text": "hidden"}},
    ]);
    assert_eq!(
        seen(blocks).await,
        [
            "[audio result unsupported: audio/mp3; raw audio data remains available to programmatic \
          callers]\n\
          [audio result unsupported: unknown media type; raw audio data remains available to \
          programmatic callers]\n\
          [embedded resource unsupported; raw resource data remains available to programmatic \
          callers]"
        ]
    );
}

/// conformance: MCP-18
#[tokio::test]
async fn links_are_told_and_unknown_blocks_named() {
    let link =
        json!({"type": "resource_link", "name": "Design", "uri": "https://example.test/design"});
    assert_eq!(
        seen(json!([link])).await,
        ["Resource link: Design (https://example.test/design)"]
    );
    let missing = "[resource link unavailable: the MCP block is missing its name or URI]";
    for link in [
        json!({"type": "resource_link", "name": "Design"}),
        json!({"type": "resource_link", "uri": "https://example.test/design"}),
        json!({"type": "resource_link", "name": 1, "uri": "x"}),
    ] {
        assert_eq!(seen(json!([link])).await, [missing]);
    }
    assert_eq!(
        seen(json!([{"type": "video"}])).await,
        ["[unsupported MCP content type: video]"]
    );
    let odd = "[unsupported MCP content block: expected an object]";
    assert_eq!(seen(json!([1, "x", null])).await, [[odd; 3].join("\n")]);
}

#[tokio::test]
async fn structured_content_alone_is_not_taken_for_nothing() {
    for answer in [
        json!({"content": [], "structuredContent": {"a": 1}}),
        json!({"structuredContent": {"a": 1}}),
    ] {
        let result = result(answer).await;
        assert_eq!(result.text(), r#"{"a":1}"#);
        let value = json!({"content": [], "structuredContent": {"a": 1}});
        assert_eq!(result.value(), Some(&value));
    }
}

#[tokio::test]
async fn what_is_no_result_is_a_failure() {
    let task = result(json!({"task": {"taskId": "t1", "status": "working"}})).await;
    assert_eq!(task.code(), Some("MCP_TASK_REQUIRED"));
    for answer in [json!([]), json!("x"), json!(null)] {
        assert_eq!(result(answer).await.code(), Some("MCP_MALFORMED"));
    }
    // Too deep to be dropped by recursion, and it fails like any other.
    let mut deep = Value::Null;
    for _ in 0..100_000 {
        deep = Value::Array(vec![deep]);
    }
    let deep = std::sync::Mutex::new(Some(deep));
    let fake = Fake::replying(move |_| {
        let mut answer = serde_json::Map::new();
        answer.insert("content".to_owned(), deep.lock().unwrap().take().unwrap());
        Ok(Value::Object(answer))
    });
    let deep = run(parsed(definition("raw")).into_tool(ToolOptions::new(), fake)).await;
    assert_eq!(deep.code(), Some("MCP_MALFORMED"));
    for flag in [json!("true"), json!("false"), json!(0), json!({})] {
        let answer = json!({"content": [{"type": "text", "text": "x"}], "isError": flag});
        assert_eq!(result(answer).await.text(), "Error: x");
    }
}

#[tokio::test]
async fn native_content_is_the_servers_own() {
    let blocks = json!([
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        {"type": "image", "data": "AB==", "mimeType": "image/tiff"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "demo://1", "name": "one"},
        {"type": "resource", "resource": {"uri": "demo://2", "text": "two"}},
        {"type": "resource", "resource": {"uri": "demo://3", "mimeType": "a/b", "blob": "AAAA"}},
    ]);
    let odd = json!([{"type": "hologram"}, {"type": "image", "data": 1}, 5]);
    let mut all = blocks.as_array().unwrap().clone();
    all.extend(odd.as_array().unwrap().clone());
    let fake = Fake::answering(json!({"content": all}));
    let options = ToolOptions::new().native_content();
    let result = run(parsed(definition("raw")).into_tool(options.clone(), fake)).await;
    let content: Vec<Value> = result
        .content()
        .iter()
        .map(|block| serde_json::to_value(block).unwrap())
        .collect();
    assert_eq!(content[..7], blocks.as_array().unwrap()[..]);
    let texts: Vec<_> = result.content()[7..]
        .iter()
        .filter_map(ContentBlock::as_text)
        .collect();
    assert_eq!(
        texts,
        [
            "[unsupported MCP content type: hologram]",
            "[image unavailable: unknown media type; the MCP block is missing its data or media \
             type; raw image data remains available to programmatic callers]",
            "[unsupported MCP content block: expected an object]",
        ]
    );

    let none = Fake::answering(json!({"content": []}));
    let result = run(parsed(definition("raw")).into_tool(options, none)).await;
    assert_eq!(result.content(), []);
}

#[tokio::test]
async fn embedded_texts_are_read_where_the_host_says_so() {
    let blocks = json!([
        {"type": "text", "text": "a"},
        {"type": "resource", "resource": {"uri": "demo://1", "text": "the file"}},
        {"type": "resource", "resource": {"uri": "demo://2", "blob": "AAAA"}},
    ]);
    let options = ToolOptions::new().show_resources();
    for is_error in [false, true] {
        let answer = json!({"content": blocks, "isError": is_error});
        let tool = parsed(definition("raw")).into_tool(options.clone(), Fake::answering(answer));
        let text = run(tool).await.text();
        let (_, seen) = text.split_once("a\n").unwrap();
        assert!(
            seen.starts_with("the file\n[embedded resource unsupported"),
            "{seen}"
        );
    }
}

#[tokio::test]
async fn metadata_is_for_programs_alone() {
    let tool = answering(json!({
        "content": [{"type": "text", "text": "x"}], "_meta": {"io.example/cost": 3},
    }));
    let call = support::request(tool.name(), "{}");
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let pipeline = Pipeline::builder(support::alone(tool))
        .post_execute(move |settled: &toolfall::PostRequest| {
            let call: &CallView = settled.call();
            let _ = told.send(call.extensions().get::<AnswerMeta>().unwrap().0.clone());
            toolfall::PostDecision::accept()
        })
        .build();
    let result = pipeline.run(call).await;
    assert_eq!(heard.recv().await.unwrap()["io.example/cost"], 3);
    assert_eq!((result.text().as_str(), result.meta()), ("x", None));
}
