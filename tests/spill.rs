//! Long results go to a store, row by row, through the assembled pipeline.

#[path = "support/facade.rs"]
mod facade;
#[path = "support/spill.rs"]
mod support;

use facade::{Counter, context, registry, request, returns, texts};
use serde_json::{Value, json};
use support::{Does, HINT, Spilling, Stub, registered, spilling, text, warnings};
use toolfall::policy::{Next, Waterfall};
use toolfall::spill::{Spill, SpillConfig, SpillPolicy, SpillSlot, SpillSource, Spilled};
use toolfall::{
    Arguments, BoxError, CallView, ContentBlock, Pipeline, PostDecision, PostRequest, ToolContext,
    ToolDef, ToolResult, raw_tool,
};

type Post = Waterfall<PostRequest, PostDecision>;

/// The result of a tool `name` that returns `value`, under `listeners`.
async fn called(listeners: &Post, name: &'static str, value: Value) -> ToolResult {
    let registry = registry([returns(name, value, &Counter::default())]);
    let pipeline = Pipeline::builder(registry)
        .post_execute(listeners.clone())
        .build();
    pipeline.run(request(name, "{}")).await
}

fn long() -> Value {
    text("HEAD".repeat(200) + &"TAIL".repeat(200))
}

/// conformance: SPILL-01, SPILL-02
#[tokio::test]
async fn a_slot_has_one_store() {
    let (slot, stub) = (SpillSlot::new(), Stub::new(Does::Saves));
    let source = SpillSource::new("big", "call_1", "result");
    let spill = Spill::new("sess-1", source, "big.txt", "héllo");
    let error = slot.save(spill.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), "no spill store is mounted");

    let mount = slot.mount(stub.clone()).unwrap();
    let saved = slot.save(spill.clone()).await.unwrap();
    assert_eq!(saved, Spilled::new("/spill/big.txt", 6, HINT));
    assert_eq!(stub.saved(), [spill]);

    let error = slot.mount(Stub::new(Does::Saves)).unwrap_err();
    assert!(error.to_string().starts_with("expected no spill store"));
    assert!(slot.is_mounted(), "the first one stays");
    drop(mount);
    assert!(!slot.is_mounted());
    slot.mount(stub).unwrap().keep();
    assert!(slot.is_mounted());
}

/// conformance: SPILL-10
#[tokio::test]
async fn without_a_length_nothing_is_registered() {
    let config = SpillConfig::from_json(&json!({})).unwrap();
    let (slot, stub) = (SpillSlot::new(), Stub::new(Does::Saves));
    slot.mount(stub.clone()).unwrap().keep();
    let policy = SpillPolicy::new(slot, &config).owner(|_| Some("sess-1".into()));
    let listeners = Waterfall::new(PostDecision::accept());
    assert!(policy.register(&listeners).is_none());
    assert!(listeners.is_empty());
    let kept = called(&listeners, "big", text("x".repeat(1000))).await;
    assert_eq!(kept.text().len(), 1000);
    assert_eq!(stub.saved(), []);

    for (bad, wanted) in [
        (json!({"maxInlineBytes": -1}), "-1"),
        (json!({"maxInlineBytes": 1.5}), "1.5"),
    ] {
        let error = SpillConfig::from_json(&bad).unwrap_err();
        let says = "spill-policy: maxInlineBytes must be a non-negative integer";
        assert_eq!(error.to_string(), format!("{says} (got {wanted})"));
    }
    for bad in [json!(7), json!({"maxInlineByte": 7})] {
        let error = SpillConfig::from_json(&bad).unwrap_err().to_string();
        assert!(error.starts_with("spill-policy: expected "), "{error}");
    }
}

/// conformance: SPILL-11, SPILL-12, SPILL-13
#[tokio::test]
async fn both_ends_and_a_notice_fill_the_cap() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let listeners = registered(&policy);
    let result = called(&listeners, "big", long()).await;
    assert!(!result.is_error());
    let head = format!("{}HE", "HEAD".repeat(12));
    let tail = format!("L{}", "TAIL".repeat(12));
    let notice = "(Omitted 1501 bytes. Full formatted result stored at: /spill/big.txt. \
                  Use the stub retrieval path.)";
    let shown = format!("{head}{tail}\n\n{notice}");
    assert_eq!(result.content(), [ContentBlock::text(shown)]);
    assert_eq!(result.text().len(), 200);
    assert_eq!(result.value(), Some(&long()), "a program sees all of it");
    let source = SpillSource::new("big", "call_1", "result");
    let whole = long().as_str().unwrap().to_owned();
    assert_eq!(
        stub.saved(),
        [Spill::new("sess-1", source, "big.txt", whole)]
    );

    // One digit less than the notice that room was reserved for.
    let result = called(&listeners, "big", text("x".repeat(1000))).await;
    let text = result.text();
    assert_eq!(text.len(), 199);
    assert!(text.starts_with(&"x".repeat(99)) && text.contains("\n\n(Omitted 901 bytes. "));
    drop(mount);
}

/// conformance: SPILL-11, SPILL-13
#[tokio::test]
async fn failures_stay_failures_and_a_small_cap_leaves_the_notice_alone() {
    // The notice with 4 digits has 99 bytes; a preview needs two more.
    for cap in [99, 100, 101] {
        let Spilling { policy, mount, .. } = spilling(cap, Does::Saves);
        let result = called(&registered(&policy), "big", long()).await;
        assert_eq!(result.text().len(), 99);
        assert!(result.text().starts_with("(Omitted 1600 bytes. "));
        drop(mount);
    }

    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let fails = raw_tool(
        "big",
        "",
        facade::any_object(),
        |_: Arguments, _: ToolContext| async { Err::<Value, _>(BoxError::from("no ".repeat(500))) },
    );
    let pipeline = Pipeline::builder(registry([fails]))
        .post_execute(registered(&policy))
        .build();
    let result = pipeline.run(request("big", "{}")).await;
    assert!(result.is_error() && result.text().len() <= 200);
    assert!(result.text().starts_with("Error: no no "));
    assert!(stub.saved()[0].content.starts_with("Error: no no "));
    drop(mount);
}

/// conformance: SPILL-14
#[tokio::test]
async fn a_notice_that_does_not_fit_leaves_the_result() {
    for (cap, bytes) in [(4, 5), (8, 5_000), (0, 1), (98, 1600)] {
        let Spilling {
            stub,
            policy,
            mount,
        } = spilling(cap, Does::Saves);
        let result = called(&registered(&policy), "big", text("x".repeat(bytes))).await;
        assert_eq!(result.text(), "x".repeat(bytes));
        assert!(!result.is_error());
        assert_eq!(stub.saved().len(), 1, "stored for nothing, as accepted");
        let warned = warnings();
        assert_eq!(warned.len(), 1);
        assert!(
            warned[0].contains(&format!("fits in {cap} bytes")),
            "{warned:?}"
        );
        drop(mount);
    }
}

/// A tool whose result is shown as `content`.
fn shows(name: &'static str, content: Vec<ContentBlock>) -> ToolDef {
    returns(name, json!({}), &Counter::default()).render(move |_| Ok(content.clone()))
}

fn image() -> ContentBlock {
    serde_json::from_value(json!({"type": "image", "data": "AA==", "mimeType": "image/png"}))
        .unwrap()
}

/// conformance: SPILL-15
#[tokio::test]
async fn what_is_short_no_text_read_or_nested_stays() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let listeners = registered(&policy);
    for bytes in [0, 1, 200] {
        let result = called(&listeners, "big", text("x".repeat(bytes))).await;
        assert_eq!(result.text().len(), bytes);
    }
    let result = called(&listeners, "read", long()).await;
    assert_eq!(result.text().len(), 1600);

    let outer = raw_tool(
        "outer",
        "",
        facade::any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            let inner = ctx.call_tool("inner", "{}").await?;
            Ok::<_, BoxError>(Value::from(inner.text().len()))
        },
    );
    let mixed = vec![ContentBlock::text("x".repeat(1000)), image()];
    let registry = registry([
        shows("mixed", mixed.clone()),
        outer,
        returns("inner", long(), &Counter::default()),
    ]);
    let pipeline = Pipeline::builder(registry).post_execute(listeners).build();
    assert_eq!(pipeline.run(request("mixed", "{}")).await.content(), mixed);
    assert_eq!(pipeline.run(request("outer", "{}")).await.text(), "1600");
    assert_eq!(stub.saved(), [], "nothing was stored");

    // Which tools read is the host's to say.
    let listeners = registered(&policy.exempt(["big"]));
    assert_eq!(called(&listeners, "big", long()).await.text().len(), 1600);
    assert_eq!(called(&listeners, "read", long()).await.text().len(), 200);
    drop(mount);
}

/// conformance: SPILL-16
#[tokio::test]
async fn blocks_of_text_are_one_text_and_a_withheld_result_passes() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let listeners = registered(&policy);
    let blocks = vec![
        ContentBlock::text("a".repeat(150)),
        ContentBlock::text("é".repeat(150)),
    ];
    let registry = registry([shows("big", blocks)]);
    let pipeline = Pipeline::builder(registry.clone())
        .post_execute(listeners.clone())
        .build();
    let result = pipeline.run(request("big", "{}")).await;
    assert_eq!(result.content().len(), 1);
    assert!(result.text().len() <= 200);
    assert_eq!(*stub.saved()[0].content, "a".repeat(150) + &"é".repeat(150));

    listeners
        .register(|_: PostRequest, _: Next<_, _>| async {
            PostDecision::block_with("n".repeat(500))
        })
        .keep();
    let result = pipeline.run(request("big", "{}")).await;
    assert_eq!((result.is_error(), result.text().len()), (true, 500));
    // The same where the block is another stage's.
    let stages = Pipeline::builder(registry)
        .post_execute(policy)
        .post_execute(|_: &PostRequest| PostDecision::block_with("n".repeat(500)))
        .build();
    let result = stages.run(request("big", "{}")).await;
    assert_eq!((result.is_error(), result.text().len()), (true, 500));
    assert_eq!(stub.saved().len(), 1);
    drop(mount);
}

async fn replaces(_: PostRequest, _: Next<PostRequest, PostDecision>) -> PostDecision {
    PostDecision::replace_content(vec![ContentBlock::text("r".repeat(900))])
        .with_context(context("why"))
}

/// conformance: SPILL-17, SPILL-18
#[tokio::test]
async fn the_policy_is_outermost_and_delegates_first() {
    for before in [true, false] {
        let Spilling {
            stub,
            policy,
            mount,
        } = spilling(200, Does::Saves);
        let listeners = Waterfall::new(PostDecision::accept());
        if before {
            listeners.register(replaces).keep();
        }
        policy.register(&listeners).unwrap().keep();
        if !before {
            listeners.register(replaces).keep();
        }
        let result = called(&listeners, "big", text("short")).await;
        assert_eq!(*stub.saved()[0].content, "r".repeat(900));
        assert!(result.text().starts_with("rrr") && result.text().len() <= 200);
        assert_eq!(result.value(), Some(&text("short")));
        assert_eq!(texts(result.contexts()), ["why"]);
        drop(mount);
    }

    // A short replacement of a long result is what is measured, too.
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let listeners = registered(&policy);
    listeners
        .register(|_: PostRequest, _: Next<_, _>| async {
            PostDecision::replace_content(vec![ContentBlock::text("short")])
        })
        .keep();
    assert_eq!(called(&listeners, "big", long()).await.text(), "short");
    let value = registered(&policy);
    value
        .register(|_: PostRequest, _: Next<_, _>| async {
            PostDecision::replace_value(text("v".repeat(900))).with_context(context("new"))
        })
        .keep();
    let result = called(&value, "big", text("short")).await;
    assert_eq!(
        (result.text(), texts(result.contexts())),
        ("v".repeat(900), vec!["new".into()])
    );
    assert_eq!(stub.saved(), []);
    drop(mount);
}

#[tokio::test]
async fn around_one_policy_is_the_same_as_among_listeners() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let registry = registry([returns("big", long(), &Counter::default())]);
    let later = policy.clone().around(|post: PostRequest| async move {
        assert_eq!(post.call().name(), "big");
        PostDecision::accept().with_context(context("later"))
    });
    let now = policy
        .clone()
        .around(|_: &PostRequest| PostDecision::accept().with_context(context("now")));
    let fails = policy
        .clone()
        .around(|_: &PostRequest| Err::<PostDecision, _>(BoxError::from("the policy fails")));
    let builder = || Pipeline::builder(registry.clone());
    let later = builder().post_execute(later).build();
    let now = builder().post_execute(now).build();
    let fails = builder().post_execute(fails).build();
    let alone = builder().post_execute(policy).build();
    let result = later.run(request("big", "{}")).await;
    assert_eq!(
        (result.text().len(), texts(result.contexts())),
        (200, vec!["later".into()])
    );
    let result = now.run(request("big", "{}")).await;
    assert_eq!(
        (result.text().len(), texts(result.contexts())),
        (200, vec!["now".into()])
    );
    assert_eq!(alone.run(request("big", "{}")).await.text().len(), 200);
    assert_eq!(stub.saved().len(), 3);
    assert!(fails.run(request("big", "{}")).await.is_error());
    assert_eq!(
        stub.saved().len(),
        3,
        "nothing is stored where the inner policy fails"
    );
    drop(mount);
}

/// conformance: SPILL-19
#[tokio::test(start_paused = true)]
async fn what_cannot_be_stored_stays_with_a_warning() {
    for (does, says) in [
        (Does::Fails, "the spill store failed: the disk is gone"),
        (Does::Panics, "the store panics"),
        (Does::PanicsLater, "the store panics later"),
        (Does::Hangs, "the spill store took longer than 30s"),
    ] {
        let Spilling { policy, mount, .. } = spilling(200, does);
        let result = called(&registered(&policy), "big", long()).await;
        assert_eq!((result.is_error(), result.value()), (false, Some(&long())));
        assert_eq!(result.text().len(), 1600);
        let warned = warnings();
        assert!(
            warned.len() == 1 && warned[0].contains(says),
            "{does:?}: {warned:?}"
        );
        assert!(warned[0].contains("tool=\"big\"") && warned[0].contains("bytes=1600"));
        drop(mount);
    }

    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let nobody = policy.clone().owner(|_| None);
    let panics = policy.clone().owner(|_| panic!("who is it"));
    drop(mount);
    for (policy, says) in [
        (policy, "no spill store is mounted"),
        (nobody, "the session of the call is not known"),
        (panics, "who is it"),
    ] {
        let result = called(&registered(&policy), "big", long()).await;
        assert_eq!((result.is_error(), result.text().len()), (false, 1600));
        let warned = warnings();
        assert!(warned.len() == 1 && warned[0].contains(says), "{warned:?}");
    }
    assert_eq!(stub.saved(), []);
}

/// conformance: SPILL-19
#[test]
fn a_runtime_without_a_clock_loses_no_result() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let Spilling { policy, .. } = spilling(200, Does::Saves);
    let result = runtime.block_on(called(&registered(&policy), "big", long()));
    assert_eq!((result.is_error(), result.text().len()), (false, 1600));
}

/// conformance: SPILL-21
#[tokio::test]
async fn a_policy_that_is_taken_away_stores_nothing() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let listeners = Waterfall::new(PostDecision::accept());
    let registration = policy.register(&listeners).unwrap();
    assert_eq!(called(&listeners, "big", long()).await.text().len(), 200);
    drop(registration);
    assert_eq!(called(&listeners, "big", long()).await.text().len(), 1600);
    assert_eq!(stub.saved().len(), 1);
    drop(mount);
}

#[tokio::test]
async fn the_owner_is_asked_about_the_call() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let policy = policy.owner(|call: &CallView| Some(format!("session of {}", call.id())));
    called(&registered(&policy), "big", long()).await;
    assert_eq!(stub.saved()[0].owner, "session of call_1");
    drop(mount);
}
