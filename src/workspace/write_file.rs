//! `write_file`: makes or replaces a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Workspace;
use super::cards;
use crate::card::DiffEntry;
use crate::{BoxError, ContentBlock, ToolContext, ToolDef, tool_fn};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The file, relative to the workspace's root.
    path: String,
    /// All of its text.
    content: String,
    /// Whether to make the folders above it that are missing.
    #[serde(default)]
    make_folders: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Written {
    /// The file, as asked for.
    path: String,
    /// Its size, in bytes.
    bytes: usize,
    /// Whether there was a file before.
    replaced: bool,
    /// What changed in a text that was there before, with the lines around
    /// it; nothing if that is too much.
    diffs: Vec<DiffEntry>,
}

pub(super) fn tool(workspace: &Workspace) -> ToolDef {
    let workspace = workspace.clone();
    let tool = tool_fn(
        "write_file",
        "Writes a text file of the workspace: makes it, or replaces all of it.",
        move |args: Args, ctx: ToolContext| {
            workspace.gated(&ctx, move |files, cancelled| {
                let Args {
                    path,
                    content,
                    make_folders,
                } = args;
                let written = files.write_below(&path, &content, make_folders, cancelled)?;
                Ok(Written {
                    path,
                    bytes: content.len(),
                    replaced: written.replaced,
                    diffs: written.diffs,
                })
            })
        },
    )
    .edits()
    .render(render);
    cards::write_file(tool)
}

fn render(value: &Value) -> Result<Vec<ContentBlock>, BoxError> {
    let written = Written::deserialize(value)?;
    let how = if written.replaced { "replaced" } else { "made" };
    Ok(vec![ContentBlock::text(format!(
        "{how} {} ({} bytes)",
        written.path, written.bytes
    ))])
}
