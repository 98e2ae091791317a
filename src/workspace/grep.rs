//! `grep`: lines that match a regular expression.

use std::fmt::Write as _;
use std::io;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Workspace;
use super::cards;
use super::error::FileError;
use super::text::cut;
use super::walk::path_glob;
use crate::{BoxError, ContentBlock, ToolContext, ToolDef, tool_fn};

/// A compiled expression, and a line that is searched, are at most this big.
const MOST_BYTES: usize = 8 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The regular expression, in Rust's syntax.
    pattern: String,
    /// The file or folder to search, relative to the workspace's root. The
    /// root if left out.
    #[serde(default)]
    path: Option<String>,
    /// Searches only files whose path matches this glob.
    #[serde(default)]
    files: Option<String>,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
    /// Whether to look at hidden files too.
    #[serde(default)]
    hidden: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Line {
    /// The file, relative to the workspace's root.
    path: String,
    /// The line's number, counted from 1.
    number: u64,
    /// The line; a long one is cut.
    text: String,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Found {
    /// The lines, by file and number.
    lines: Vec<Line>,
    /// How many lines match.
    total: usize,
    /// How many files hold one.
    files: usize,
}

pub(super) fn tool(workspace: &Workspace) -> ToolDef {
    let workspace = workspace.clone();
    let tool = tool_fn(
        "grep",
        "Searches the workspace's text files for a regular expression, line by line. Ignored files \
         (.gitignore) and binary files are left out.",
        move |args: Args, ctx: ToolContext| {
            workspace.blocking(ctx.cancellation(), move |workspace, cancelled| {
                search(workspace, &args, cancelled)
            })
        },
    )
    .render(render)
    .parallel()
    .repeatable();
    cards::grep(tool)
}

fn search(
    workspace: &Workspace,
    args: &Args,
    cancelled: &CancellationToken,
) -> Result<Found, FileError> {
    let matcher = matcher(args)?;
    let only = args.files.as_deref().map(path_glob).transpose()?;
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MOST_BYTES))
        .line_number(true)
        .build();
    let mut found = Found::default();
    let start = args.path.as_deref().unwrap_or(".");
    workspace.walk(start, args.hidden, cancelled, |path| {
        if only.as_ref().is_some_and(|glob| !glob.is_match(path)) {
            return Ok(true);
        }
        let file = match workspace.open_file(path) {
            Ok(file) => file,
            // Asked for by name, its absence is worth telling; met on the
            // way, it is not.
            Err(error) if path == start => return Err(error),
            Err(_) => return Ok(true),
        };
        let before = found.total;
        let mut sink = Lines {
            path,
            found: &mut found,
            workspace,
            cancelled,
        };
        // A file with a line beyond the limit is left where it ends.
        let _ = searcher.search_file(&matcher, &file.into_std(), &mut sink);
        if cancelled.is_cancelled() {
            return Err(FileError::cancelled());
        }
        found.files += usize::from(found.total > before);
        Ok(true)
    })?;
    Ok(found)
}

fn matcher(args: &Args) -> Result<RegexMatcher, FileError> {
    RegexMatcherBuilder::new()
        .case_insensitive(args.ignore_case)
        .size_limit(MOST_BYTES)
        .dfa_size_limit(MOST_BYTES)
        .line_terminator(Some(b'\n'))
        .build(&args.pattern)
        .map_err(|error| {
            FileError::new(
                "BAD_PATTERN",
                format!(
                    "expected a regular expression for single lines, found {:?}: {error}",
                    args.pattern
                ),
            )
        })
}

/// Takes the lines of one file down.
struct Lines<'a> {
    path: &'a str,
    found: &'a mut Found,
    workspace: &'a Workspace,
    cancelled: &'a CancellationToken,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.found.total += 1;
        let limits = &self.workspace.limits;
        if self.found.lines.len() < limits.matches {
            let text = String::from_utf8_lossy(found.bytes());
            self.found.lines.push(Line {
                path: self.path.to_owned(),
                number: found.line_number().unwrap_or_default(),
                text: cut(text.trim_end_matches(['\r', '\n']), limits.line_chars / 4),
            });
        }
        Ok(!self.cancelled.is_cancelled())
    }
}

fn render(value: &Value) -> Result<Vec<ContentBlock>, BoxError> {
    let found = Found::deserialize(value)?;
    let mut text = String::new();
    for line in &found.lines {
        writeln!(text, "{}:{}:{}", line.path, line.number, line.text)?;
    }
    if found.total == 0 {
        text.push_str("(no line matches)");
    } else if found.lines.len() < found.total {
        write!(
            text,
            "({} of {} lines, in {} files)",
            found.lines.len(),
            found.total,
            found.files
        )?;
    } else {
        text.pop();
    }
    Ok(vec![ContentBlock::text(text)])
}
