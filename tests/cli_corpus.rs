//! Recorded batches through the real binary, with replay tools: every call
//! gets exactly one result, and schemas judge as the labels say.

#[path = "support/cli.rs"]
mod support;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Place, code};

/// A call's place: batch, turn, place in the turn.
type Key = (String, Option<u64>, u64);

/// What the rows of `files` ask for, the calls that providers ran left out.
fn wanted(files: &[PathBuf]) -> HashMap<Key, Value> {
    let mut wanted = HashMap::new();
    for file in files {
        let text = std::fs::read_to_string(file).expect("the data is there");
        for row in support::lines(&text) {
            let mut places: BTreeMap<Option<u64>, u64> = BTreeMap::new();
            for call in row["calls"].as_array().expect("calls") {
                if call["block"].is_string() {
                    continue;
                }
                let turn = call["turn"].as_u64();
                let place = places.entry(turn).or_default();
                let id = row["id"].as_str().expect("an id").to_owned();
                wanted.insert((id, turn, *place), call.clone());
                *place += 1;
            }
        }
    }
    wanted
}

/// Runs `files` and compares every result with its label. `known` are ids of
/// rows whose calls name a tool that the row does not offer (yet).
fn replay(name: &str, files: &[PathBuf], known: &[&str]) {
    let place = Place::new();
    let mut args = vec!["run", "--replay", "--json", "--log", "log"];
    args.extend(
        files
            .iter()
            .map(|file| file.to_str().expect("a plain path")),
    );
    let ran = place.run(&args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let mut wanted = wanted(files);
    let all = wanted.len();
    let mut left_out: Vec<(String, String)> = Vec::new();
    for line in ran.typed("tool_left_out") {
        let text = |member: &str| line[member].as_str().unwrap_or_default().to_owned();
        assert!(text("why").contains("schema that cannot be used"), "{line}");
        left_out.push((text("batch"), text("name")));
    }
    let mut figures: BTreeMap<(String, String), usize> = BTreeMap::new();
    for result in ran.results() {
        let batch = result["batch"].as_str().expect("a batch").to_owned();
        let key = (
            batch,
            result["turn"].as_u64(),
            result["place"].as_u64().expect("a place"),
        );
        let call = wanted
            .remove(&key)
            .unwrap_or_else(|| panic!("a second result, or one of no call: {key:?}"));
        assert_eq!(result["name"], call["name"]);
        assert_eq!(result["call_id"], call["call_id"]);
        let sent = call["arguments_json"].as_str().unwrap_or_default();
        assert_eq!(result["arguments_json"], sent, "{key:?}");
        let code = code(&result);
        let label = call["schema_valid"].to_string();
        *figures.entry((label, code.to_owned())).or_default() += 1;
        let tool = (
            key.0.clone(),
            call["name"].as_str().unwrap_or_default().to_owned(),
        );
        if left_out.contains(&tool) || known.contains(&key.0.as_str()) && code == "UNKNOWN_TOOL" {
            assert_eq!(code, "UNKNOWN_TOOL");
            continue;
        }
        // Where arguments refer to earlier results, the label is of what the
        // references stand for.
        let refers = call["refs"].as_array().is_some_and(|refs| !refs.is_empty());
        match call["schema_valid"].as_bool().filter(|_| !refers) {
            Some(true) => assert_eq!(code, "ok", "{key:?}: {result}"),
            Some(false) => assert_eq!(code, "INVALID_ARGS", "{key:?}: {result}"),
            None => assert!(
                matches!(code, "ok" | "INVALID_ARGS" | "UNKNOWN_TOOL"),
                "{key:?}: {result}"
            ),
        }
    }
    assert!(wanted.is_empty(), "without a result: {:?}", wanted.keys());
    let checked = place.run(&["check", "log"]);
    assert_eq!(checked.status, 0, "{}", checked.out);
    println!("{name}: {all} calls, {all} results; (label, outcome): {figures:?}");
}

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(file)
}

/// This row calls `tail` at turn 1, and offers it from turn 3 on.
const EARLY: &str = "bfcl/multi_turn_miss_func_49";

#[test]
fn bfcl_batches_are_judged_as_labelled() {
    let files = ["bfcl/single_turn.jsonl", "bfcl/multi_turn.jsonl"].map(data);
    replay("bfcl, the copied part", &files, &[EARLY]);
}

#[test]
fn recorded_provider_calls_are_judged_as_labelled() {
    replay("wire", &[data("wire/recorded_calls.jsonl")], &[]);
}

#[test]
fn the_whole_corpus_too_where_it_is_there() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let corpus = std::env::var_os("TOOLFALL_CORPUS").map_or(beside, PathBuf::from);
    for (name, files) in [
        (
            "bfcl, whole",
            &["bfcl/single_turn.jsonl", "bfcl/multi_turn.jsonl"][..],
        ),
        ("wire, whole", &["wire/recorded_calls.jsonl"]),
        ("engine, whole", &["engine/calls.jsonl"]),
        ("policy, whole", &["policy/tasks.jsonl"]),
        ("chains, whole", &["chains/chains.jsonl"]),
    ] {
        let files: Vec<PathBuf> = files.iter().map(|file| corpus.join(file)).collect();
        if files.iter().all(|file| file.exists()) {
            replay(name, &files, &[EARLY]);
        }
    }
}
