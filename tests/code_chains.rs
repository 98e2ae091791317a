//! Recorded chains of calls as programs, in both languages, with the same end
//! as call by call.
//!
//! The repository keeps some of the chains. Where the whole collection lies
//! beside it, `cargo test --test code_chains -- --ignored --nocapture` runs
//! all of them in every runtime.
#![cfg(target_os = "linux")]

#[path = "support/chains.rs"]
mod chains;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chains::{Chain, ChainCall};
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolfall::code::python::PythonRuntime;
use toolfall::code::quickjs::QuickJsRuntime;
use toolfall::code::{CodeConfig, CodeMode, CodeRuntime, RuntimeSlot};
use toolfall::pipeline::BoxPipeline;
use toolfall::registry::Presentation;
use toolfall::{
    Arguments, BoxError, Pipeline, Registry, ToolContext, ToolDef, Validation, raw_tool,
};

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chains/chains.jsonl")
}

/// All chains that resolve, with what their calls give.
fn resolved(path: &Path) -> Vec<(Chain, BTreeMap<String, Value>)> {
    let chains = chains::read(path).into_iter();
    let with_results = chains.filter_map(|chain| {
        let results = chain.results()?;
        Some((chain, results))
    });
    with_results.collect()
}

/// A tool that knows what the calls of one chain gave, by their arguments.
fn replay(name: String, known: Arc<BTreeMap<(String, String), Value>>) -> ToolDef {
    let key = name.clone();
    let schema = json!({"type": "object"});
    raw_tool(
        name,
        "Replays",
        schema,
        move |arguments: Arguments, _: ToolContext| {
            let key = (key.clone(), arguments.value().to_string());
            let known = known.get(&key).cloned();
            async move { known.ok_or_else(|| BoxError::from(format!("not recorded: {}", key.1))) }
        },
    )
    .validation(Validation::Decoding)
    .parallel()
}

/// A pipeline over the chain's tools, whose programs run in what is mounted.
fn pipeline(chain: &Chain, results: &BTreeMap<String, Value>, slot: RuntimeSlot) -> BoxPipeline {
    let recorded = |call: &ChainCall| {
        let key = (call.name.clone(), call.arguments(results).to_string());
        (key, results[&call.label].clone())
    };
    // Of calls that are the same, the first one's result is the result.
    let known: BTreeMap<_, _> = chain.calls.iter().rev().map(recorded).collect();
    let known = Arc::new(known);
    let registry = Registry::new();
    let mut names: Vec<&String> = chain.calls.iter().map(|call| &call.name).collect();
    names.sort();
    names.dedup();
    for name in names {
        let tool = replay(name.clone(), known.clone());
        registry.register(tool).expect("a valid tool").keep();
    }
    let mode = CodeMode::new(slot, CodeConfig::presenting(Presentation::Both));
    mode.attach(&registry)
        .expect("nothing is attached yet")
        .keep();
    Pipeline::builder(registry).build().boxed()
}

/// What the chain gives call by call, each through the pipeline.
async fn call_by_call(chain: &Chain, pipeline: &BoxPipeline) -> Value {
    let mut results = BTreeMap::new();
    for call in chain.levels().into_iter().flatten() {
        let arguments = call.arguments(&results);
        if let Some(recorded) = call.recorded() {
            assert_eq!(arguments, recorded, "{} {}", chain.id, call.label);
        }
        let id = call.label.clone();
        let text = arguments.to_string();
        let cancel = CancellationToken::new();
        let result = pipeline.call(id, call.name.clone(), text, cancel).await;
        let value = result.value().cloned();
        let value = value.unwrap_or_else(|| panic!("{}: {}", chain.id, result.text()));
        results.insert(call.label.clone(), value);
    }
    chain.value(&results)
}

async fn as_program(chain: &Chain, pipeline: &BoxPipeline, program: String) -> Value {
    let arguments = json!({"code": program, "description": "A recorded chain"}).to_string();
    let cancel = CancellationToken::new();
    let result = pipeline.call("run", "run_code", arguments, cancel).await;
    let value = result.value().and_then(|value| value.get("result"));
    value
        .cloned()
        .unwrap_or_else(|| panic!("{}: {}\n{program}", chain.id, result.text()))
}

/// Runs every chain both ways; says how many there were.
async fn compare(
    path: &Path,
    what: &str,
    runtime: impl CodeRuntime,
    source: fn(&Chain) -> String,
) -> usize {
    let slot = RuntimeSlot::new();
    slot.mount(runtime).expect("the place is free").keep();
    let began = Instant::now();
    let chains = resolved(path);
    let runs = chains.iter().map(|(chain, results)| {
        let slot = slot.clone();
        async move {
            let pipeline = pipeline(chain, results, slot);
            let expected = call_by_call(chain, &pipeline).await;
            let found = as_program(chain, &pipeline, source(chain)).await;
            assert_eq!(found, expected, "{}\n{}", chain.id, source(chain));
            (chain.calls.len(), usize::from(chain.resolves()))
        }
    });
    let ends: Vec<(usize, usize)> = stream::iter(runs).buffered(2).collect().await;
    let calls: usize = ends.iter().map(|(calls, _)| calls).sum();
    let recorded: usize = ends.iter().map(|(_, recorded)| recorded).sum();
    println!(
        "{what}: {} chains ({recorded} with recorded arguments only) of {calls} calls, {:?}",
        ends.len(),
        began.elapsed()
    );
    ends.len()
}

fn typescript() -> QuickJsRuntime {
    let program = env!("CARGO_BIN_EXE_toolfall");
    let builder = QuickJsRuntime::builder().program(program).prestart(2);
    builder.build().expect("the binary is there")
}

fn python() -> Option<PythonRuntime> {
    match PythonRuntime::builder().prestart(2).build() {
        Ok(runtime) => Some(runtime),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

#[tokio::test]
async fn chains_in_typescript_give_what_they_give_call_by_call() {
    let in_process = QuickJsRuntime::in_process().build().expect("a runtime");
    let kept = kept();
    let there = compare(
        &kept,
        "TypeScript in a thread",
        in_process,
        Chain::typescript,
    )
    .await;
    let child = compare(
        &kept,
        "TypeScript in a child",
        typescript(),
        Chain::typescript,
    )
    .await;
    // Two of the kept ones want one place to hold two things.
    assert_eq!((there, child), (109, 109));
}

#[tokio::test]
async fn chains_in_python_give_what_they_give_call_by_call() {
    let Some(python) = python() else { return };
    let ran = compare(&kept(), "Python", python, Chain::python).await;
    assert_eq!(ran, 109);
}

#[tokio::test]
#[ignore = "takes minutes, and needs the whole collection beside the repository"]
async fn all_chains_in_every_runtime() {
    let whole = "../shared/corpus/chains/chains.jsonl";
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join(whole);
    if !whole.exists() {
        println!("skipped: there is no {}", whole.display());
        return;
    }
    let in_process = QuickJsRuntime::in_process().build().expect("a runtime");
    let mut counts = vec![
        compare(
            &whole,
            "TypeScript in a thread",
            in_process,
            Chain::typescript,
        )
        .await,
        compare(
            &whole,
            "TypeScript in a child",
            typescript(),
            Chain::typescript,
        )
        .await,
    ];
    if let Some(python) = python() {
        counts.push(compare(&whole, "Python", python, Chain::python).await);
    }
    assert!(counts.iter().all(|count| *count == 1000), "{counts:?}");
}
