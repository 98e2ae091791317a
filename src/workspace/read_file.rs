//! `read_file`: a window of a text file.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::FileError;
use super::text::cut;
use super::{Limits, Workspace, cards};
use crate::{BoxError, ContentBlock, ToolContext, ToolDef, tool_fn};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The file, relative to the workspace's root.
    path: String,
    /// The first line to read, counted from 1. 1 if left out.
    #[serde(default)]
    #[schemars(range(min = 1))]
    first_line: Option<u64>,
    /// How many lines to read at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_lines: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Window {
    /// The file, as asked for.
    path: String,
    /// The number of the first line returned.
    first_line: usize,
    /// The lines, without their line breaks; long ones are cut.
    lines: Vec<String>,
    /// How many lines the file has.
    total_lines: usize,
}

/// What is shown of a file without a line.
pub(super) const EMPTY: &str = "(the file is empty)";

pub(super) fn tool(workspace: &Workspace) -> ToolDef {
    let workspace = workspace.clone();
    let tool = tool_fn(
        "read_file",
        "Reads a text file of the workspace, or a window of its lines. Each line comes with its \
         number.",
        move |args: Args, ctx: ToolContext| {
            let limits = workspace.limits.clone();
            workspace.gated(&ctx, move |files, cancelled| {
                let path = args.path.clone();
                files.read_with(&path, cancelled, |file| window(&file.text, &limits, args))
            })
        },
    )
    .render(render)
    .parallel()
    .repeatable();
    cards::read_file(tool)
}

fn window(text: &str, limits: &Limits, args: Args) -> Result<Window, FileError> {
    let to_usize = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let first_line = args.first_line.map_or(1, to_usize).max(1);
    let most = args
        .max_lines
        .map_or(limits.lines, to_usize)
        .clamp(1, limits.lines);
    let total_lines = text.lines().count();
    if first_line > total_lines.max(1) {
        return Err(FileError::new(
            "OUT_OF_RANGE",
            format!(
                "expected a first line of at most {total_lines}, the last line of {:?}, found \
                 {first_line}",
                args.path
            ),
        ));
    }
    let mut left = limits.read_bytes;
    let mut lines = Vec::new();
    for line in text.lines().skip(first_line - 1).take(most) {
        let line = cut(line, limits.line_chars);
        // The first line is always shown, so that there is a way on.
        if line.len() > left && !lines.is_empty() {
            break;
        }
        left = left.saturating_sub(line.len() + 1);
        lines.push(line);
    }
    Ok(Window {
        path: args.path,
        first_line,
        lines,
        total_lines,
    })
}

fn render(value: &Value) -> Result<Vec<ContentBlock>, BoxError> {
    let window = Window::deserialize(value)?;
    if window.lines.is_empty() {
        return Ok(vec![ContentBlock::text(EMPTY)]);
    }
    let mut text = String::new();
    let mut number = window.first_line;
    for line in &window.lines {
        if number > window.first_line {
            text.push('\n');
        }
        write!(text, "{number}\t{line}")?;
        number += 1;
    }
    if number <= window.total_lines {
        write!(
            text,
            "\n({} of {} lines; go on with first_line {number})",
            window.lines.len(),
            window.total_lines
        )?;
    }
    Ok(vec![ContentBlock::text(text)])
}
