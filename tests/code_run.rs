//! `run_code`: what a program gets, and what a model reads of it.

#![cfg(feature = "code")]

#[path = "support/code.rs"]
mod code;
#[path = "support/facade.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use code::{Run, Scripted, coded, ended, program, returned, run_code, run_code_by, threw};
use serde_json::{Value, json};
use support::{Counter, Log, any_object, context, echo, registry, request, returns, texts};
use tokio_util::sync::CancellationToken;
use toolfall::card::{CallCard, Kind};
use toolfall::code::{
    BindingArguments, CodeConfig, CodeMode, ErrorClass, Misuse, RunFailureKind, RunOutcome,
    RuntimeSlot, rendered,
};
use toolfall::registry::Presentation;
use toolfall::sdk::ToolDeclaration;
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, ContentBlock, Decision, Filter, Pipeline,
    PostDecision, PostRequest, Registry, Scope, ToolContext, ToolDef, ToolResult, codes, raw_tool,
};

/// The result of `run_code` over `tools`, whatever the program.
async fn ran(tools: impl IntoIterator<Item = ToolDef>, runtime: Scripted) -> ToolResult {
    let coded = coded(registry(tools), Presentation::Both, runtime);
    let pipeline = Pipeline::builder(coded.registry.clone()).build();
    pipeline.run(run_code()).await
}

async fn ran_to(outcome: RunOutcome) -> ToolResult {
    ran(
        [],
        Scripted::new(move |_| std::future::ready(outcome.clone())),
    )
    .await
}

fn fails(name: &'static str, message: &'static str) -> ToolDef {
    raw_tool(
        name,
        "",
        any_object(),
        move |_: Arguments, _: ToolContext| async move { Err::<Value, _>(BoxError::from(message)) },
    )
}

/// conformance: CODE-01, CODE-02
#[tokio::test]
async fn a_run_needs_a_program_a_description_and_a_runtime() {
    let runtime = Scripted::new(|_| std::future::ready(ended()));
    let coded = coded(Registry::new(), Presentation::Both, runtime.clone());
    let definition = coded.registry.get("run_code", None).unwrap();
    let parameters = definition.parameters();
    assert_eq!(parameters["required"], json!(["code", "description"]));
    for name in ["code", "description"] {
        assert_eq!(parameters["properties"][name]["type"], "string");
    }
    let output = ToolDeclaration::from(&definition).output.unwrap();
    assert_eq!(output["required"], json!(["logs"]));
    assert_eq!(output["properties"]["logs"]["items"]["type"], "string");
    assert_eq!(output["properties"]["result"], json!({}));
    assert_eq!(output["additionalProperties"], false);

    let pipeline = Pipeline::builder(coded.registry.clone()).build();
    for missing in [r#"{"code": "1"}"#, r#"{"description": "x"}"#, "{}"] {
        let result = pipeline.run(request("run_code", missing)).await;
        assert_eq!(result.code(), Some(codes::INVALID_ARGS), "{missing}");
    }
    let blank = r#"{"code": "1", "description": " \n"}"#;
    let result = pipeline.run(request("run_code", blank)).await;
    let says = "invalid description: expected a non-empty string";
    assert!(
        result.is_error() && result.text().contains(says),
        "{result:?}"
    );
    assert_eq!(runtime.requests().len(), 0);

    let result = pipeline.run(run_code()).await;
    assert_eq!(result.value(), Some(&json!({"logs": []})));

    let (registry, slot) = (Registry::new(), RuntimeSlot::new());
    let mode = CodeMode::new(slot, CodeConfig::presenting(Presentation::Code));
    mode.attach(&registry).unwrap().keep();
    let pipeline = Pipeline::builder(registry).build();
    let result = pipeline.run(run_code()).await;
    assert!(
        result.text().contains("requires a code runtime"),
        "{}",
        result.text()
    );
}

/// conformance: CODE-03, CODE-05, NEST-16
#[tokio::test]
async fn the_runtime_gets_one_namespace_of_the_visible_tools() {
    let runtime = Scripted::new(|run: Run| async move {
        let spelt = ["run_code", "tools.run_code", "toString", "zulu"];
        let mut refused = Vec::new();
        for name in spelt {
            refused.push(run.call(name, json!({})).await.unwrap_err());
        }
        assert_eq!(refused[0], "unknown tool \"run_code\"");
        assert!(refused.iter().all(|it| it.starts_with("unknown tool ")));
        returned(run.call("__proto__", json!({"a": 1})).await.unwrap())
    });
    let result = ran(["write", "__proto__", "alpha"].map(echo), runtime.clone()).await;
    assert_eq!(result.value().unwrap()["result"], json!({"a": 1}));

    let [request] = &runtime.requests()[..] else {
        panic!("one run")
    };
    assert_eq!(request.program, "(a closure)");
    let [namespace] = &request.namespaces[..] else {
        panic!("one namespace")
    };
    assert_eq!(namespace.global, "tools");
    assert_eq!(namespace.members, ["__proto__", "alpha", "write"]);
    let class = ErrorClass {
        name: "ToolCallError".to_owned(),
        member_property: "toolName".to_owned(),
    };
    assert_eq!(namespace.error_class, Some(class));
    assert_eq!(request.check(), Ok(()));
    assert!(request.cancel.token().is_cancelled(), "the run is over");
}

/// conformance: CODE-04, REG-81
#[tokio::test]
async fn a_program_calls_what_its_scope_sees() {
    let lists = Scripted::new(|run: Run| async move { returned(json!(run.members())) });
    let filters = [
        (None, json!(["echo", "hidden"])),
        (Some(Filter::allow(["echo"])), json!(["echo"])),
        (Some(Filter::deny(["hidden"])), json!(["echo"])),
    ];
    for presentation in [Presentation::Code, Presentation::Both] {
        for (filter, wanted) in &filters {
            let coded = coded(
                registry(["echo", "hidden"].map(echo)),
                presentation,
                lists.clone(),
            );
            let scope = Scope::new("agent");
            if let Some(filter) = filter {
                coded.registry.restrict(&scope, filter).unwrap().keep();
            }
            let pipeline = Pipeline::builder(coded.registry.clone()).build();
            let result = pipeline.run(code::run_code_from(&scope)).await;
            assert_eq!(&result.value().unwrap()["result"], wanted);
        }
    }
}

/// conformance: CODE-06, CODE-07
#[tokio::test]
async fn a_model_reads_what_was_printed_and_returned() {
    let logs = || vec!["printed".to_owned()];
    let both = [
        (RunOutcome::completed(logs(), None), "printed"),
        (returned(json!("returned")), "returned"),
        (
            RunOutcome::completed(logs(), Some(json!("returned"))),
            "printed\nreturned",
        ),
        (ended(), "(run_code completed with no output)"),
        (RunOutcome::completed(logs(), Some(json!(""))), "printed"),
        (
            RunOutcome::completed(vec![String::new()], None),
            "(run_code completed with no output)",
        ),
        (
            RunOutcome::completed(vec!["a".into(), "b".into()], None),
            "a\nb",
        ),
    ];
    for (outcome, reads) in both {
        let result = ran_to(outcome).await;
        assert!(!result.is_error());
        assert_eq!(result.content(), [ContentBlock::text(reads)]);
    }

    let values = [
        (
            json!({"n": 42, "ok": true}),
            "{\n  \"n\": 42,\n  \"ok\": true\n}",
        ),
        (
            json!({"outer": [{"inner": true}]}),
            "{\n  \"outer\": [\n    {\n      \"inner\": true\n    }\n  ]\n}",
        ),
        (json!(["x", 2]), "[\n  \"x\",\n  2\n]"),
        (json!({}), "{}"),
        (json!([]), "[]"),
        (json!(null), "null"),
        (json!("raw \"text\""), "raw \"text\""),
    ];
    for (value, reads) in values {
        let result = ran_to(returned(value.clone())).await;
        assert_eq!(result.text(), reads);
        assert_eq!(result.value(), Some(&json!({"logs": [], "result": value})));
    }
    assert_eq!(ran_to(ended()).await.value(), Some(&json!({"logs": []})));
}

/// conformance: CODE-08, CODE-09, CODE-10
#[test]
fn values_are_written_by_one_rule_at_any_depth() {
    let deep = json!([[[[[[1, {"a": 2, "b": []}]]]]]]);
    let lines = [
        "[",
        "  [",
        "    [",
        "      [",
        "        [",
        r#"          [1,{"a":2,"b":[]}]"#,
        "        ]",
        "      ]",
        "    ]",
        "  ]",
        "]",
    ];
    assert_eq!(rendered(&deep), lines.join("\n"));

    let mut value = json!("leaf");
    for _ in 0..5_000 {
        value = Value::Array(vec![value]);
    }
    let text = rendered(&value);
    assert!(text.starts_with("[\n  [\n    [") && text.ends_with(']'));
    assert!(
        text.contains("\"leaf\"") && text.len() < 11_000,
        "{}",
        text.len()
    );
    toolfall::layers::discard_value(value);

    let numbers = [
        (json!(1.0), "1"),
        (json!(1e21), "1000000000000000000000"),
        (json!(1_u64 << 60), "1152921504606846976"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!(i64::MIN), "-9223372036854775808"),
        (json!(0.5), "0.5"),
        (json!(-2.0), "-2"),
    ];
    for (number, text) in numbers {
        assert_eq!(rendered(&number), text);
        assert_eq!(rendered(&json!([number])), format!("[\n  {text}\n]"));
        assert_eq!(
            rendered(&json!([[[[[[number]]]]]])).matches(text).count(),
            1
        );
    }
}

/// conformance: CODE-11, NEST-19
#[tokio::test]
async fn a_program_that_fails_says_how_and_keeps_what_it_printed() {
    let logs = vec!["one".to_owned(), "two".to_owned()];
    let failures = [
        (
            RunOutcome::failed(logs, RunFailureKind::Timeout, "too slow"),
            "Error: code run failed (timeout): too slow\nCaptured output:\none\ntwo",
        ),
        (
            RunOutcome::failed(vec!["x".into()], RunFailureKind::OutputLimit, "too much"),
            "Error: code run failed (output-limit): too much\nCaptured output:\nx",
        ),
        (threw("no"), "Error: code run failed (exception): no"),
    ];
    for (outcome, reads) in failures {
        let result = ran_to(outcome).await;
        assert_eq!(result.content(), [ContentBlock::text(reads)]);
        let info = result.info().unwrap();
        assert_eq!(
            (info.name(), info.code()),
            ("CodeRunFailedError", "CODE_RUN_FAILED")
        );
    }

    // The effects of calls that finished stand, and somebody should know.
    let runtime = Scripted::new(|run: Run| async move {
        for _ in 0..2 {
            run.call("echo", json!({})).await.unwrap();
        }
        threw("half way")
    });
    let result = ran([echo("echo")], runtime).await;
    let says = "code run failed (exception): half way\nTool calls finished before: 2";
    assert_eq!(result.message(), Some(says));
}

/// conformance: CODE-12
#[tokio::test]
async fn a_runtime_that_fails_is_not_the_program_that_does() {
    let runtime = Scripted::or_misuse(|_| std::future::ready(Err(Misuse::Disposed)));
    let result = ran([], runtime).await;
    assert_eq!(
        result.message(),
        Some("a program cannot be run after disposal")
    );
    assert_eq!(result.code(), None);

    let runtime = Scripted::new(|_| async { panic!("the engine is broken") });
    let result = ran([], runtime).await;
    let says = "the code runtime panicked: the engine is broken";
    assert_eq!(result.message(), Some(says));
}

/// conformance: CODE-13, CODE-14, CODE-15, NEST-20
#[tokio::test]
async fn calls_are_numbered_below_the_call_that_runs_them() {
    let seen = Log::<(String, String, bool)>::default();
    let noted = seen.clone();
    let runtime = Scripted::new(|run: Run| async move {
        run.call("echo", json!({"n": 1})).await.unwrap();
        run.call_with("echo", BindingArguments::Missing)
            .await
            .unwrap_err();
        run.call("nobody", json!({})).await.unwrap_err();
        run.call("echo", json!({"n": 2})).await.unwrap();
        ended()
    });
    let coded = coded(
        registry([
            echo("echo"),
            raw_tool(
                "outer",
                "",
                any_object(),
                |_: Arguments, ctx: ToolContext| async move {
                    let result = ctx.call_tool("run_code", program()).await?;
                    Ok::<Value, BoxError>(result.is_error().into())
                },
            ),
        ]),
        Presentation::Both,
        runtime,
    );
    // A wrapper that swaps tokens: nobody below holds on to the outer call, so
    // its own token is back in force as soon as the wrapper is left.
    let swaps = support::wrapper(|call: toolfall::ClearedCall, inner| async move {
        let own = CancellationToken::new();
        let outcome = support::delegate(inner, call.with_cancellation(own.clone())).await;
        own.cancel();
        outcome
    });
    let tokens = Arc::new(std::sync::Mutex::new(Vec::new()));
    let minted = tokens.clone();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .pre_decision(move |call: &CallView| {
            minted.lock().unwrap().push((call.token(), call.parent()));
            Decision::Allow
        })
        .around(swaps)
        .observer(move |call: &CallView, _: &ToolResult| {
            let nested = call.parent().is_some();
            noted.push((call.id().to_string(), call.root_id().to_string(), nested));
        })
        .build();

    let cancel = CancellationToken::new();
    assert!(!pipeline.run(run_code_by(cancel.clone())).await.is_error());
    assert!(
        !cancel.is_cancelled(),
        "the caller's own token is left alone"
    );
    let row = |id: &str, root: &str, nested| (id.to_owned(), root.to_owned(), nested);
    let wanted = [
        row("call-1:code:1", "call-1", true),
        row("call-1:code:2", "call-1", true),
        row("call-1", "call-1", false),
    ];
    assert_eq!(seen.take(), wanted);
    let tokens = std::mem::take(&mut *tokens.lock().unwrap());
    let outer = tokens[0].0;
    assert!(tokens[1..].iter().all(|(_, parent)| *parent == Some(outer)));

    // Below another call the root stays the model's, the parent is run_code.
    pipeline.run(request("outer", "{}")).await;
    let ids = seen.take();
    assert_eq!(ids[0], row("call_1:call:1:code:1", "call_1", true));
    assert_eq!(ids[2], row("call_1:call:1", "call_1", true));
}

/// conformance: CODE-16, CODE-17, NEST-14
#[tokio::test]
async fn arguments_that_cannot_be_kept_call_nothing() {
    let runs = Counter::default();
    let runtime = Scripted::new(|run: Run| async move {
        let missing = run.call_with("count", BindingArguments::Missing).await;
        let twice = Arguments::from_text(r#"{"a": 1, "a": 2}"#);
        let twice = run.call_with("count", twice).await;
        let no_json = Arguments::from_text("{a: 1}").unwrap();
        let no_json = run.call_with("count", no_json).await;
        returned(json!([
            missing.unwrap_err(),
            twice.unwrap_err(),
            no_json.unwrap_err()
        ]))
    });
    let pre = Counter::default();
    let asked = pre.clone();
    let coded = coded(
        registry([returns("count", json!(1), &runs)]),
        Presentation::Code,
        runtime,
    );
    let pipeline = Pipeline::builder(coded.registry.clone())
        .pre_decision(move |_: &CallView| {
            asked.add();
            Decision::Allow
        })
        .build();
    let result = pipeline.run(run_code()).await;
    let told = &result.value().unwrap()["result"];
    let lossless = "tool arguments must be lossless JSON";
    let hint = format!("{lossless} (call the tool with an arguments object, e.g. `{{}}`)");
    assert_eq!(told[0], hint);
    for told in [&told[1], &told[2]] {
        let told = told.as_str().unwrap();
        assert!(told.starts_with(&format!("{lossless}: ")), "{told}");
    }
    assert_eq!((runs.get(), pre.get()), (0, 1), "only run_code was judged");
}

/// conformance: CODE-34, CODE-35, CODE-36, NEST-13, NEST-15
#[tokio::test]
async fn a_program_gets_values_and_messages() {
    let rendered = raw_tool(
        "count",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async { Ok::<_, BoxError>(json!({"n": 7})) },
    )
    .render(|_| Ok(vec![ContentBlock::text("seven")]));
    let post = Log::<String>::default();
    let posted = post.clone();
    let registry = registry([
        rendered,
        fails("fails", "deliberate failure"),
        echo("denied"),
        echo("breaks"),
    ]);
    let ephemeral = Arc::new(std::sync::Mutex::new(Some(
        registry.register(echo("ephemeral")).unwrap(),
    )));
    let runtime = Scripted::new(move |run: Run| {
        let ephemeral = ephemeral.clone();
        async move {
            let value = run.call("count", json!({})).await.unwrap();
            drop(ephemeral.lock().unwrap().take());
            let mut messages = Vec::new();
            for name in ["fails", "denied", "breaks", "ephemeral"] {
                messages.push(run.call(name, json!({})).await.unwrap_err());
            }
            returned(json!([value, messages]))
        }
    });
    let coded = coded(registry, Presentation::Code, runtime);
    let pipeline = Pipeline::builder(coded.registry.clone())
        .pre_decision(|call: &CallView| match call.name() {
            "denied" => Ok(Decision::deny("not today")),
            "breaks" => Err(BoxError::from("the policy broke")),
            _ => Ok(Decision::Allow),
        })
        .post_execute(move |request: &PostRequest| {
            posted.push(request.call().name());
            PostDecision::accept()
        })
        .build();
    let result = pipeline.run(run_code()).await;
    let wanted = json!([
        {"n": 7},
        [
            "deliberate failure",
            "not today",
            "the policy broke",
            "unknown tool \"ephemeral\"",
        ],
    ]);
    assert_eq!(result.value().unwrap()["result"], wanted);
    let posted = ["count", "fails", "denied", "ephemeral", "run_code"];
    assert_eq!(
        post.take(),
        posted,
        "a policy that fails skips what follows"
    );
}

/// conformance: CODE-43
#[tokio::test]
async fn cancellation_of_the_outer_call_counts() {
    let cancel = CancellationToken::new();
    let ended_well = cancel.clone();
    let runtime = Scripted::new(move |_| {
        ended_well.cancel();
        std::future::ready(returned(json!("done")))
    });
    let coded = coded(Registry::new(), Presentation::Code, runtime.clone());
    let pipeline = Pipeline::builder(coded.registry.clone()).build();
    let result = pipeline.run(run_code_by(cancel.clone())).await;
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(result.text(), "Error: tool call aborted");

    let result = pipeline.run(run_code_by(cancel)).await;
    assert_eq!(result.code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(result.text(), "Error: tool call aborted before dispatch");
    assert_eq!(runtime.requests().len(), 1);
}

/// conformance: CODE-44
#[tokio::test]
async fn messages_of_calls_follow_the_result_also_of_a_program_that_fails() {
    for fail in [false, true] {
        let runtime = Scripted::new(move |run: Run| async move {
            let calls = ["a", "b"].map(|n| run.call("echo", json!({"n": n})));
            futures_util::future::join_all(calls).await;
            if fail { threw("no") } else { ended() }
        });
        let coded = coded(
            registry([echo("echo").parallel()]),
            Presentation::Code,
            runtime,
        );
        let pipeline = Pipeline::builder(coded.registry.clone())
            .post_execute(|request: &PostRequest| {
                let given = request.call().arguments().unwrap().value()["n"].clone();
                match given.as_str() {
                    Some(n) => PostDecision::accept().with_context(context(n)),
                    None => PostDecision::accept(),
                }
            })
            .build();
        let result = pipeline.run(run_code()).await;
        assert_eq!(result.is_error(), fail);
        assert_eq!(texts(result.contexts()), ["a", "b"]);
    }
}

fn picture() -> ToolDef {
    raw_tool(
        "look",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async { Ok::<_, BoxError>(json!("a cat")) },
    )
    .render(|_| {
        Ok(vec![
            ContentBlock::text("before"),
            ContentBlock::Image {
                data: "aGk=".into(),
                mime_type: "image/png".into(),
            },
            ContentBlock::text("after"),
        ])
    })
}

/// conformance: CODE-45, CODE-46
#[tokio::test]
async fn pictures_of_calls_are_shown_after_the_result() {
    let looks = || {
        Scripted::new(|run: Run| async move {
            let seen = run.call("look", json!({})).await;
            returned(json!(seen.is_ok()))
        })
    };
    let decided = |decide: fn() -> PostDecision| {
        let coded = coded(registry([picture()]), Presentation::Code, looks());
        let pipeline = Pipeline::builder(coded.registry.clone())
            .post_execute(move |request: &PostRequest| match request.call().name() {
                "look" => decide(),
                _ => PostDecision::accept(),
            })
            .build();
        async move {
            let _coded = coded;
            pipeline.run(run_code()).await
        }
    };
    let result = decided(|| PostDecision::accept().with_context(context("own"))).await;
    let [first, own] = result.contexts() else {
        panic!("two messages: {:?}", result.contexts())
    };
    assert_eq!(
        (&*first.source.kind, &*first.source.name),
        ("plugin", "tools-code-mode")
    );
    let kinds: Vec<_> = first.content.iter().map(|block| block.as_text()).collect();
    assert_eq!(kinds, [Some("before"), None, Some("after")]);
    assert_eq!(own, &context("own"));
    assert_eq!(
        result.text(),
        "true",
        "the value is what the program made of it"
    );

    let result = decided(|| PostDecision::block_with("not for you")).await;
    assert!(result.contexts().is_empty() && result.text() == "false");
    let result =
        decided(|| PostDecision::replace_content(vec![ContentBlock::text("a picture")])).await;
    assert!(result.contexts().is_empty() && result.text() == "true");
}

/// conformance: CODE-47
#[tokio::test]
async fn a_call_that_ends_the_turn_ends_it_through_the_program() {
    for blocked in [false, true] {
        let finish = raw_tool(
            "finish",
            "",
            any_object(),
            |_: Arguments, ctx: ToolContext| async move {
                ctx.conclude_turn();
                Ok::<_, BoxError>(json!(null))
            },
        );
        let runtime = Scripted::new(|run: Run| async move {
            let _ = run.call("finish", json!({})).await;
            ended()
        });
        let coded = coded(registry([finish]), Presentation::Code, runtime);
        let pipeline = Pipeline::builder(coded.registry.clone())
            .post_execute(move |request: &PostRequest| {
                if blocked && request.call().name() == "finish" {
                    PostDecision::block_with("no")
                } else {
                    PostDecision::accept()
                }
            })
            .build();
        let result = pipeline.run(run_code()).await;
        assert!(!result.is_error());
        assert_eq!(result.concludes_turn(), !blocked);
    }
}

/// conformance: CODE-48
#[tokio::test]
async fn the_last_word_on_the_content_is_the_policies() {
    let runtime = Scripted::new(|_| std::future::ready(returned(json!("long"))));
    let coded = coded(Registry::new(), Presentation::Code, runtime);
    let pipeline = Pipeline::builder(coded.registry.clone())
        .post_execute(|_: &PostRequest| {
            PostDecision::replace_content(vec![ContentBlock::text("a preview")])
        })
        .build();
    let result = pipeline.run(run_code()).await;
    assert_eq!(result.content(), [ContentBlock::text("a preview")]);
    assert_eq!(result.value().unwrap()["result"], "long");
}

/// conformance: CARD-06
#[tokio::test]
async fn people_see_the_program_under_what_it_is_for() {
    let runtime = Scripted::new(|_| std::future::ready(ended()));
    let coded = coded(Registry::new(), Presentation::Both, runtime);
    let card = coded.registry.call_card("run_code", &program(), None);
    let Some(CallCard::Generic(card)) = card else {
        panic!("{card:?}")
    };
    assert_eq!((&*card.title, card.kind), ("tries", Some(Kind::Execute)));
    assert_eq!(card.raw_input, Some(json!("(a closure)")));
    assert!(
        !coded
            .registry
            .get("run_code", None)
            .unwrap()
            .presents_results()
    );
}

#[tokio::test]
async fn values_that_no_json_holds_are_refused_whoever_returns_them() {
    let runtime = Scripted::new(|_| {
        let deep = (0..200).fold(json!(1), |value, _| json!([value]));
        std::future::ready(returned(deep))
    });
    let result = ran([], runtime).await;
    assert_eq!(result.code(), Some(codes::INVALID_TOOL_OUTPUT));
}

#[tokio::test]
async fn a_deadline_of_the_parent_is_one_of_its_calls() {
    let saw = Arc::new(AtomicBool::new(false));
    let cancelled = saw.clone();
    let waits = raw_tool(
        "waits",
        "",
        any_object(),
        move |_: Arguments, ctx: ToolContext| {
            let cancelled = cancelled.clone();
            async move {
                ctx.cancellation().cancelled().await;
                cancelled.store(true, Ordering::SeqCst);
                Ok::<_, BoxError>(json!(null))
            }
        },
    );
    let runtime = Scripted::new(|run: Run| async move {
        let waiting = run.call("waits", json!({}));
        tokio::select! {
            _ = waiting => ended(),
            () = run.cancelled() => RunOutcome::failed(vec![], RunFailureKind::Abort, "aborted"),
        }
    });
    let coded = coded(registry([waits]), Presentation::Code, runtime);
    let pipeline = Pipeline::builder(coded.registry.clone())
        .timeout(toolfall::TimeoutLayer::new(
            std::time::Duration::from_millis(20),
        ))
        .build();
    let cancel = CancellationToken::new();
    let call = CallRequest::new("call-1", "run_code", program(), cancel.clone());
    let result = pipeline.run(call).await;
    assert_eq!(result.code(), Some(codes::TOOL_TIMEOUT));
    assert!(saw.load(Ordering::SeqCst) && !cancel.is_cancelled());
}
