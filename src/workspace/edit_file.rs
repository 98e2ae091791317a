//! `edit_file`: replaces one passage of a text file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Workspace;
use super::cards;
use super::error::FileError;
use crate::card::DiffEntry;
use crate::{BoxError, ContentBlock, ToolContext, ToolDef, tool_fn};

/// So many places of an ambiguous passage are told.
const TOLD: usize = 5;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The file, relative to the workspace's root.
    path: String,
    /// The passage to replace, exactly as it stands in the file, white space
    /// included. It must stand there once.
    #[schemars(length(min = 1))]
    old_text: String,
    /// What to put in its place.
    new_text: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Edited {
    /// The file, as asked for.
    path: String,
    /// The line in which the passage began.
    line: usize,
    /// The file's size now, in bytes.
    bytes: usize,
    /// What changed, with the lines around it; nothing if that is too much.
    diffs: Vec<DiffEntry>,
}

pub(super) fn tool(workspace: &Workspace) -> ToolDef {
    let workspace = workspace.clone();
    let tool = tool_fn(
        "edit_file",
        "Replaces one passage of a text file of the workspace. The passage must stand in the file \
         exactly once.",
        move |args: Args, ctx: ToolContext| {
            workspace.blocking(ctx.cancellation(), move |workspace, cancelled| {
                edit(workspace, args, cancelled)
            })
        },
    )
    .edits()
    .render(render);
    cards::edit_file(tool)
}

fn edit(
    workspace: &Workspace,
    args: Args,
    cancelled: &CancellationToken,
) -> Result<Edited, FileError> {
    let text = workspace.read_text(&args.path)?;
    let at = only_place(&text, &args)?;
    if args.old_text == args.new_text {
        return Err(FileError::new(
            "NO_MATCH",
            "expected new_text to differ from old_text, found the same text",
        ));
    }
    let after = &text[at + args.old_text.len()..];
    let edited = [&text[..at], &args.new_text, after].concat();
    let target = workspace.target(&args.path)?;
    if cancelled.is_cancelled() {
        return Err(FileError::cancelled());
    }
    workspace.replace(&args.path, &target, &edited)?;
    Ok(Edited {
        line: line_of(&text, at),
        bytes: edited.len(),
        diffs: cards::changes(&args.path, &text, &edited),
        path: args.path,
    })
}

/// Where the passage stands, if it stands there once.
fn only_place(text: &str, args: &Args) -> Result<usize, FileError> {
    let places = places(text, &args.old_text);
    match places.as_slice() {
        [at] => Ok(*at),
        [] => Err(FileError::new(
            "NO_MATCH",
            format!(
                "expected old_text to stand in {:?}, found it nowhere{}",
                args.path,
                hint(text, &args.old_text)
            ),
        )),
        several => {
            let lines: Vec<String> = several
                .iter()
                .take(TOLD)
                .map(|at| line_of(text, *at).to_string())
                .collect();
            let more = if several.len() > TOLD { ", …" } else { "" };
            Err(FileError::new(
                "AMBIGUOUS",
                format!(
                    "expected old_text to stand in {:?} once, found it at lines {}{more}; give \
                     more of the text around it",
                    args.path,
                    lines.join(", ")
                ),
            ))
        }
    }
}

/// The places of `part`, overlapping ones too; a few are enough.
fn places(text: &str, part: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    let step = part.chars().next().map_or(1, char::len_utf8);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(part)) {
        places.push(from + at);
        if places.len() > TOLD || part.is_empty() {
            break;
        }
        from += at + step;
    }
    places
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// What may be the matter, where that can be told for certain.
fn hint(text: &str, part: &str) -> &'static str {
    let unix = |text: &str| text.replace("\r\n", "\n");
    let blank = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if unix(text).contains(&unix(part)) {
        "; its line breaks differ (the one has CRLF, the other LF)"
    } else if blank(text).contains(&blank(part)) {
        "; it stands there with other white space"
    } else {
        ""
    }
}

fn render(value: &Value) -> Result<Vec<ContentBlock>, BoxError> {
    let edited = Edited::deserialize(value)?;
    Ok(vec![ContentBlock::text(format!(
        "edited {} at line {} ({} bytes now)",
        edited.path, edited.line, edited.bytes
    ))])
}
