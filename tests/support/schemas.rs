//! Schemas of real tools: the copied ones, and the others where they are.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder with more data than is copied, if it is there.
pub(crate) fn beside() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let folder = std::env::var_os("TOOLFALL_CORPUS").map_or(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Every parameter schema of the copied tools once, in order.
pub(crate) fn copied() -> Vec<Value> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut seen = BTreeSet::new();
    let mut schemas = Vec::new();
    for file in [
        "bfcl/single_turn.jsonl",
        "bfcl/toolsets.jsonl",
        "policy/toolsets.jsonl",
    ] {
        for row in lines(&data.join(file)) {
            for tool in row["tools"].as_array().into_iter().flatten() {
                if seen.insert(tool["parameters"].to_string()) {
                    schemas.push(tool["parameters"].clone());
                }
            }
        }
    }
    schemas
}

/// What servers announce, where the folder is there.
pub(crate) fn announced() -> Option<Vec<Value>> {
    Some(lines(&beside()?.join("mcp/tools.jsonl")))
}
