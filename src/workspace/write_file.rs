//! `write_file`: makes or replaces a file.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Workspace;
use super::cards;
use super::error::FileError;
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
            workspace.blocking(ctx.cancellation(), move |workspace, cancelled| {
                write(workspace, args, cancelled)
            })
        },
    )
    .edits()
    .render(render);
    cards::write_file(tool)
}

fn write(
    workspace: &Workspace,
    args: Args,
    cancelled: &CancellationToken,
) -> Result<Written, FileError> {
    let place = Workspace::judge(&args.path)?;
    if args.make_folders
        && let Some(folder) = place.parent()
        && folder != Path::new("")
    {
        workspace
            .dir
            .create_dir_all(folder)
            .map_err(|error| FileError::io(&folder.to_string_lossy(), &error))?;
    }
    let target = workspace.target(&args.path)?;
    if cancelled.is_cancelled() {
        return Err(FileError::cancelled());
    }
    // What cannot be read is shown as if nothing had been there.
    let before = workspace.read_text(&args.path).unwrap_or_default();
    let replaced = workspace.replace(&args.path, &target, &args.content)?;
    Ok(Written {
        bytes: args.content.len(),
        diffs: cards::changes(&args.path, &before, &args.content),
        path: args.path,
        replaced,
    })
}

fn render(value: &Value) -> Result<Vec<ContentBlock>, BoxError> {
    let written = Written::deserialize(value)?;
    let how = if written.replaced { "replaced" } else { "made" };
    Ok(vec![ContentBlock::text(format!(
        "{how} {} ({} bytes)",
        written.path, written.bytes
    ))])
}
