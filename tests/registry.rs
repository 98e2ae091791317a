//! Tools that come and go.

#[path = "support/facade.rs"]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Counter, any_object, context, echo, registry, request, returns};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, Pipeline, RegisterError, Registry, ToolContext, ToolDef, raw_tool, tool_fn,
};

/// conformance: REG-01, REG-02, REG-04, SCHEMA-36, TIME-17
#[test]
fn a_model_is_told_three_things_of_a_tool() {
    let full = echo("full")
        .output_schema(json!({}))
        .budget(Duration::from_secs(1))
        .repeatable()
        .parallel()
        .render(|_| Ok(Vec::new()))
        .presentation_meta(|_| Ok(Value::Null))
        .finalizer(|_, _| Ok(None));
    let registry = registry([echo("plain"), full]);
    let mut told = registry.schemas(None);
    for schema in &told {
        let fields = serde_json::to_value(schema).unwrap();
        let fields: Vec<&String> = fields.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["description", "name", "parameters"]);
        assert_eq!(
            (schema.description.as_str(), &schema.parameters),
            ("Says it again", &any_object())
        );
    }
    told[0].parameters["mine"] = json!(true);
    assert_eq!(registry.schemas(None)[0].parameters, any_object());
}

/// conformance: REG-87, REG-88
#[test]
fn the_list_does_not_depend_on_the_order_of_registration() {
    let names = |order: [&'static str; 3]| -> Vec<String> {
        let registry = registry(order.map(echo));
        registry
            .schemas(None)
            .into_iter()
            .map(|schema| schema.name)
            .collect()
    };
    assert_eq!(names(["zulu", "alpha", "mike"]), ["alpha", "mike", "zulu"]);
    assert_eq!(names(["mike", "zulu", "alpha"]), ["alpha", "mike", "zulu"]);
}

/// conformance: REG-09, SCHEMA-39
#[test]
fn a_name_is_taken_once() {
    let registry = registry([echo("t")]);
    let error = registry.register(echo("t")).map(drop).unwrap_err();
    assert!(matches!(&error, RegisterError::NameTaken { name } if name == "t"));
    let told = error.to_string();
    assert!(
        told.contains("already registered") && told.contains("in that agent's scope"),
        "{told}"
    );

    // Many at once are all registered or none.
    let error = registry
        .register_all([echo("a"), echo("t"), echo("b")])
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, RegisterError::NameTaken { .. }));
    let error = registry
        .register_all([echo("a"), echo("a")])
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, RegisterError::NameTaken { .. }));
    assert!(!registry.contains("a", None) && !registry.contains("b", None));
    let both = registry.register_all([echo("a"), echo("b")]).unwrap();
    assert!(registry.contains("a", None) && both.len() == 2);

    for name in ["", "a\nb", &"n".repeat(257)] {
        let error = registry
            .register(echo("x").with_name(name.to_owned()))
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, RegisterError::Name { .. }), "{error}");
        assert!(!error.to_string().contains(char::is_control));
    }
}

/// conformance: REG-06, SCHEMA-38
#[test]
fn parameters_that_cannot_be_kept_are_refused_when_they_come() {
    let mut parameters = json!({"type": "string"});
    for _ in 0..200 {
        parameters = json!({ "not": parameters });
    }
    let tool = raw_tool(
        "lossy-schema",
        "",
        parameters,
        |_: Arguments, _: ToolContext| async { Ok::<Value, BoxError>(Value::Null) },
    );
    let registry = Registry::new();
    let error = registry.register(tool).map(drop).unwrap_err();
    let told = "tool \"lossy-schema\" parameters must be lossless JSON before schema projection";
    assert!(error.to_string().starts_with(told), "{error}");
    assert!(registry.schemas(None).is_empty());
}

/// conformance: REG-11, REG-12, REG-15, REG-16
#[test]
fn dropping_a_registration_takes_exactly_that_tool_away() {
    let registry = registry([echo("stays")]);
    let first = registry.register(echo("t")).unwrap();
    assert_eq!(registry.get("t", None).unwrap().name(), "t");
    assert!(registry.get("nobody", None).is_none());
    drop(first);
    assert!(!registry.contains("t", None) && registry.contains("stays", None));

    // In the order of fields, and on a thread without a runtime.
    let owner = [echo("t"), echo("u")].map(|tool| registry.register(tool).unwrap());
    std::thread::spawn(move || drop(owner)).join().unwrap();
    assert!(!registry.contains("t", None) && !registry.contains("u", None));

    // A registration that is kept, or forgotten, leaves the tool there.
    registry.register(echo("t")).unwrap().keep();
    std::mem::forget(registry.register(echo("u")).unwrap());
    assert!(registry.contains("t", None) && registry.contains("u", None));

    // One that outlives the registry does nothing.
    let other = Registry::new();
    let late = other.register(echo("t")).unwrap();
    drop(other);
    drop(late);
}

/// conformance: REG-17
#[test]
fn every_change_is_told() {
    let registry = Registry::new();
    let mut changes = registry.changes();
    let mut told = || {
        let new = changes.has_changed().unwrap();
        changes.mark_unchanged();
        new
    };
    let registration = registry.register(echo("t")).unwrap();
    assert!(told());
    assert!(registry.register(echo("t")).is_err() && !told());
    drop(registration);
    assert!(told() && !told());
}

/// conformance: REG-18
#[tokio::test]
async fn a_running_body_finishes_on_the_definition_it_began_with() {
    let registry = Registry::new();
    let gate = Arc::new(tokio::sync::Notify::new());
    let opened = gate.clone();
    let old = raw_tool(
        "t",
        "",
        any_object(),
        move |_: Arguments, _: ToolContext| {
            let opened = opened.clone();
            async move {
                opened.notified().await;
                Ok::<Value, BoxError>("old".into())
            }
        },
    )
    .render(|value| {
        Ok(vec![toolfall::ContentBlock::text(format!(
            "old renders {value}"
        ))])
    });
    let registration = registry.register(old).unwrap();
    let pipeline = Pipeline::builder(registry.clone()).build();
    let mut running = tokio_test::task::spawn(pipeline.run(request("t", "{}")));
    assert!(running.poll().is_pending());
    drop(registration);
    registry
        .register(returns("t", "new".into(), &Counter::default()))
        .unwrap()
        .keep();
    gate.notify_one();
    assert_eq!(running.await.text(), "old renders \"old\"");
    assert_eq!(pipeline.run(request("t", "{}")).await.text(), "new");
}

/// conformance: REG-19
#[test]
fn a_panic_while_registering_leaves_nothing_half_made() {
    let registry = registry([echo("before")]);
    let tools = std::iter::once_with(|| echo("a"))
        .chain(std::iter::once_with(|| -> ToolDef { panic!("no tool") }));
    let caught = catch_unwind(AssertUnwindSafe(|| registry.register_all(tools).map(drop)));
    assert!(caught.is_err() && !registry.contains("a", None));
    registry.register(echo("a")).unwrap().keep();
    assert!(registry.contains("a", None) && registry.contains("before", None));
}

/// A tool whose `Drop` is user code and uses the registry.
struct Calls(Registry);

impl Drop for Calls {
    fn drop(&mut self) {
        assert!(!self.0.contains("nobody", None));
        drop(self.0.register(echo("made by drop")));
    }
}

#[test]
fn a_tools_own_drop_may_use_the_registry() {
    let registry = Registry::new();
    let calls = Arc::new(Calls(registry.clone()));
    let registration = registry
        .register(raw_tool(
            "t",
            "",
            any_object(),
            move |_: Arguments, _: ToolContext| {
                let _held = calls.clone();
                async { Ok::<Value, BoxError>(Value::Null) }
            },
        ))
        .unwrap();
    drop(registration);
    assert!(!registry.contains("t", None) && !registry.contains("made by drop", None));
}

/// conformance: REG-20
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_register_and_call_and_see_one_coherent_view() {
    let registry = registry([echo("always")]);
    let pipeline = Pipeline::builder(registry.clone()).build();
    let stop = Arc::new(AtomicBool::new(false));
    // Both come and go together, in one change.
    let pair = |version: u64| {
        ["left", "right"].map(|name| {
            tool_fn(
                name,
                format!("v{version}"),
                move |_: Value, ctx: ToolContext| async move {
                    ctx.defer_context(context(&version.to_string()));
                    tokio::task::yield_now().await;
                    Ok::<_, BoxError>(version)
                },
            )
        })
    };
    let writer = {
        let (registry, stop) = (registry.clone(), stop.clone());
        std::thread::spawn(move || {
            let mut version = 0;
            while !stop.load(Ordering::Relaxed) {
                version += 1;
                let registrations = registry.register_all(pair(version)).unwrap();
                std::thread::yield_now();
                drop(registrations);
            }
            version
        })
    };
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (registry, pipeline) = (registry.clone(), pipeline.clone());
            tokio::spawn(async move {
                let mut ran = 0;
                for _ in 0..300 {
                    let told = registry.schemas(None);
                    let versions: Vec<&str> = told
                        .iter()
                        .filter(|schema| schema.name != "always")
                        .map(|schema| schema.description.as_str())
                        .collect();
                    // A snapshot never mixes two versions.
                    assert!(
                        versions.windows(2).all(|pair| pair[0] == pair[1]),
                        "{versions:?}"
                    );
                    assert!(registry.contains("always", None));

                    let call = pipeline.call("c", "left", "{}", CancellationToken::new());
                    let result = call.await;
                    match result.code() {
                        Some("UNKNOWN_TOOL") => {}
                        None => {
                            // Body, schema and rendering are of one version.
                            ran += 1;
                            let deferred = support::texts(result.contexts());
                            assert_eq!(deferred, [result.text()]);
                        }
                        other => panic!("{other:?}: {}", result.text()),
                    }
                }
                ran
            })
        })
        .collect();
    let mut ran = 0;
    for caller in callers {
        ran += caller.await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let versions = writer.join().unwrap();
    assert!(
        versions > 1 && !registry.contains("left", None),
        "{versions} versions, {ran} ran"
    );
}
