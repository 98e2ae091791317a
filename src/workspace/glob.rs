//! `glob`: files whose path matches.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Workspace;
use super::cards;
use super::error::FileError;
use super::walk::path_glob;
use crate::{BoxError, ContentBlock, ToolContext, ToolDef, tool_fn};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The glob: `*` stays within one name, `**` crosses folders. Without a
    /// `/` it matches file names in any folder.
    pattern: String,
    /// The folder to look in, relative to the workspace's root. The root if
    /// left out.
    #[serde(default)]
    path: Option<String>,
    /// Whether to look at hidden files too.
    #[serde(default)]
    hidden: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Found {
    /// The files, relative to the workspace's root, in order.
    files: Vec<String>,
    /// How many files match.
    total: usize,
}

pub(super) fn tool(workspace: &Workspace) -> ToolDef {
    let workspace = workspace.clone();
    let tool = tool_fn(
        "glob",
        "Finds files of the workspace by a glob on their path. Ignored files (.gitignore) are left \
         out.",
        move |args: Args, ctx: ToolContext| {
            workspace.blocking(ctx.cancellation(), move |workspace, cancelled| {
                find(workspace, &args, cancelled)
            })
        },
    )
    .render(render)
    .parallel()
    .repeatable();
    cards::glob(tool)
}

fn find(
    workspace: &Workspace,
    args: &Args,
    cancelled: &CancellationToken,
) -> Result<Found, FileError> {
    let start = args.path.as_deref().unwrap_or(".");
    let glob = path_glob(&args.pattern)?;
    let mut found = Found {
        files: Vec::new(),
        total: 0,
    };
    workspace.walk(start, args.hidden, cancelled, |file| {
        if glob.is_match(below(start, file)) {
            found.total += 1;
            if found.files.len() < workspace.limits.entries {
                found.files.push(file.to_owned());
            }
        }
        Ok(true)
    })?;
    Ok(found)
}

/// The path below the folder that was asked for, which the glob is about.
fn below<'a>(start: &str, file: &'a str) -> &'a str {
    let start = start.trim_start_matches("./").trim_end_matches('/');
    file.strip_prefix(start)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(file)
}

fn render(value: &Value) -> Result<Vec<ContentBlock>, BoxError> {
    let found = Found::deserialize(value)?;
    let mut text = found.files.join("\n");
    if found.total == 0 {
        text.push_str("(no file matches)");
    } else if found.files.len() < found.total {
        write!(text, "\n({} of {} files)", found.files.len(), found.total)?;
    }
    Ok(vec![ContentBlock::text(text)])
}
