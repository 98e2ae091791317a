//! `list_dir`: what a folder holds.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Workspace;
use super::cards;
use super::error::FileError;
use crate::{BoxError, ContentBlock, ToolContext, ToolDef, tool_fn};

/// So many entries are looked at before counting ends.
const MOST: usize = 100_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The folder, relative to the workspace's root. The root if left out.
    #[serde(default)]
    path: Option<String>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
struct Entry {
    /// The entry's name.
    name: String,
    /// `file`, `folder`, `link` or `other`.
    kind: String,
    /// The size of a file, in bytes.
    bytes: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Listing {
    /// The folder, as asked for.
    path: String,
    /// The entries, by name.
    entries: Vec<Entry>,
    /// How many entries the folder has.
    total: usize,
}

pub(super) fn tool(workspace: &Workspace) -> ToolDef {
    let workspace = workspace.clone();
    let tool = tool_fn(
        "list_dir",
        "Lists a folder of the workspace: names, kinds and sizes. Does not look into folders.",
        move |args: Args, ctx: ToolContext| {
            workspace.blocking(ctx.cancellation(), move |workspace, cancelled| {
                list(workspace, args, cancelled)
            })
        },
    )
    .render(render)
    .parallel()
    .repeatable();
    cards::list_dir(tool)
}

fn list(
    workspace: &Workspace,
    args: Args,
    cancelled: &CancellationToken,
) -> Result<Listing, FileError> {
    let path = args.path.unwrap_or_else(|| ".".to_owned());
    let fail = |error: &std::io::Error| FileError::io(&path, error);
    let place = Workspace::judge(&path)?;
    if workspace
        .dir
        .metadata(place)
        .is_ok_and(|found| !found.is_dir())
    {
        return Err(FileError::new(
            "WRONG_KIND",
            format!("expected a folder at {path:?}, found a file"),
        ));
    }
    let reading = workspace.dir.read_dir(place).map_err(|e| fail(&e))?;
    let mut entries = Vec::new();
    for entry in reading.take(MOST) {
        if cancelled.is_cancelled() {
            return Err(FileError::cancelled());
        }
        let entry = entry.map_err(|error| fail(&error))?;
        let kind = entry.file_type().map_err(|error| fail(&error))?;
        let bytes = match entry.metadata() {
            Ok(found) if kind.is_file() => Some(found.len()),
            // Gone in the meantime, or no file: there is no size to tell.
            _ => None,
        };
        let kind = if kind.is_dir() {
            "folder"
        } else if kind.is_symlink() {
            "link"
        } else if kind.is_file() {
            "file"
        } else {
            "other"
        };
        entries.push(Entry {
            name: entry.file_name().to_string_lossy().into_owned(),
            kind: kind.to_owned(),
            bytes,
        });
    }
    entries.sort();
    let total = entries.len();
    entries.truncate(workspace.limits.entries);
    Ok(Listing {
        path,
        entries,
        total,
    })
}

fn render(value: &Value) -> Result<Vec<ContentBlock>, BoxError> {
    let listing = Listing::deserialize(value)?;
    let mut text = String::new();
    for entry in &listing.entries {
        text.push_str(&entry.name);
        match (entry.kind.as_str(), entry.bytes) {
            ("folder", _) => text.push('/'),
            ("file", Some(bytes)) => write!(text, "\t{bytes} bytes")?,
            (kind, _) => write!(text, "\t{kind}")?,
        }
        text.push('\n');
    }
    let (shown, total) = (listing.entries.len(), listing.total);
    match (shown, total) {
        (_, 0) => text.push_str("(the folder is empty)"),
        (_, MOST) => write!(text, "({shown} of at least {total} entries)")?,
        _ if shown < total => write!(text, "({shown} of {total} entries)")?,
        _ => {
            text.pop();
        }
    }
    Ok(vec![ContentBlock::text(text)])
}
