//! `edit_file`: replaces a passage of a text file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Edit, Workspace, cards};
use crate::card::DiffEntry;
use crate::{BoxError, ContentBlock, ToolContext, ToolDef, tool_fn};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The file, relative to the workspace's root.
    path: String,
    /// The passage to replace, exactly as it stands in the file, white space
    /// included. It must stand there once, unless `replace_all`.
    old_text: String,
    /// What to put in its place.
    new_text: String,
    /// Whether to replace every place.
    #[serde(default)]
    replace_all: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Edited {
    /// The file, as asked for.
    path: String,
    /// The line in which the first place began.
    line: usize,
    /// How many places were replaced.
    places: usize,
    /// The file's size now, in bytes.
    bytes: usize,
    /// What changed, with the lines around it; nothing if that is too much.
    diffs: Vec<DiffEntry>,
}

pub(super) fn tool(workspace: &Workspace) -> ToolDef {
    let workspace = workspace.clone();
    let tool = tool_fn(
        "edit_file",
        "Replaces a passage of a text file of the workspace. The passage must stand in the file \
         exactly once, unless all places are to be replaced.",
        move |args: Args, ctx: ToolContext| {
            workspace.gated(&ctx, move |files, cancelled| {
                let mut edit = Edit::new(args.old_text, args.new_text);
                if args.replace_all {
                    edit = edit.everywhere();
                }
                let edited = files.edit(&args.path, &edit, cancelled)?;
                Ok(Edited {
                    path: args.path,
                    line: edited.line,
                    places: edited.places,
                    bytes: edited.bytes,
                    diffs: edited.diffs,
                })
            })
        },
    )
    .edits()
    .render(render);
    cards::edit_file(tool)
}

fn render(value: &Value) -> Result<Vec<ContentBlock>, BoxError> {
    let edited = Edited::deserialize(value)?;
    let first = if edited.places > 1 {
        format!("{} places, the first in ", edited.places)
    } else {
        String::new()
    };
    Ok(vec![ContentBlock::text(format!(
        "edited {} at {first}line {} ({} bytes now)",
        edited.path, edited.line, edited.bytes
    ))])
}
