//! What people see of the tools: metadata, and the cards made of it.
//!
//! Metadata goes into the log beside the content, so all of it is bounded.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::card::diff::hunks;
use crate::card::search::{self, Budget};
use crate::card::{
    CallCard, DiffCall, DiffEntry, DiffResult, Diffs, GenericCall, Kind, Location, NumberedLine,
    Presented, ReadResult, ResultCard, SearchResult, narrow, reading,
};
use crate::{BoxError, ContentBlock, ToolDef};

/// The most text of a diff that is kept, in bytes.
const MOST_DIFF: usize = 64 << 10;

/// What changed from `old` to `new`. All of it or nothing: a diff does not
/// show that a part of it is missing. Nothing of a file that was not there:
/// the call shows all of that.
pub(super) fn changes(path: &str, old: &str, new: &str) -> Vec<DiffEntry> {
    if old.is_empty() {
        return Vec::new();
    }
    let diffs = hunks(path, old, new);
    let size = |diff: &DiffEntry| {
        let old = diff.old_text.as_ref().map_or(0, String::len);
        diff.path.len() + old + diff.new_text.len()
    };
    match diffs.iter().map(size).sum::<usize>() {
        0..=MOST_DIFF => diffs,
        _ => Vec::new(),
    }
}

#[derive(Deserialize)]
struct Read {
    path: String,
    first_line: Option<u64>,
    max_lines: Option<u64>,
}

pub(super) fn read_file(tool: ToolDef) -> ToolDef {
    #[derive(Deserialize)]
    struct Window {
        path: String,
        first_line: u64,
        lines: Vec<String>,
        total_lines: u64,
    }
    tool.presentation_meta(|value| {
        let window = Window::deserialize(value)?;
        let numbers = window.first_line..;
        let lines = numbers.zip(window.lines);
        let lines = lines.map(|(number, text)| NumberedLine { number, text });
        meta(&ReadResult {
            offset: window.first_line,
            lines: lines.collect(),
            total_lines: window.total_lines,
            lang: reading::language(&window.path).map(str::to_owned),
            path: window.path,
            ..ReadResult::default()
        })
    })
    .present_call(|args: Read| Some(reading::call(&args.path, args.first_line, args.max_lines)))
    .present_result(|_: Value, result| window(result).map(ResultCard::Read))
}

/// The window that a result shows, if its text is still the one that was read.
fn window(result: &Presented<'_>) -> Option<ReadResult> {
    let mut window: ReadResult = found(result)?;
    let text = result.only_text()?;
    let is_there = match window.lines.first() {
        Some(line) => {
            let rest = text.strip_prefix(&format!("{}\t{}", line.number, line.text))?;
            rest.is_empty() || rest.starts_with('\n')
        }
        None => text == super::read_file::EMPTY,
    };
    if !is_there {
        return None;
    }
    let lines: Vec<&str> = window.lines.iter().map(|line| &*line.text).collect();
    window.content = Some(vec![ContentBlock::text(lines.join("\n"))]);
    Some(window)
}

#[derive(Deserialize)]
struct Write {
    path: String,
    content: String,
}

impl Write {
    fn diffs(&self) -> Vec<DiffEntry> {
        vec![DiffEntry::new(&self.path, "", &self.content)]
    }
}

pub(super) fn write_file(tool: ToolDef) -> ToolDef {
    tool.presentation_meta(diffs)
        .present_call(|args: Write| Some(diff_call("Write", &args.path, args.diffs())))
        .present_result(|args: Write, result| {
            if result.is_error {
                return None;
            }
            diff_result(Diffs::of(result.meta).unwrap_or_else(|| args.diffs()))
        })
}

#[derive(Deserialize)]
struct Edit {
    path: String,
    old_text: String,
    new_text: String,
}

pub(super) fn edit_file(tool: ToolDef) -> ToolDef {
    tool.presentation_meta(diffs)
        .present_call(|args: Edit| {
            let diff = DiffEntry::new(&args.path, &args.old_text, args.new_text);
            Some(diff_call("Edit", &args.path, vec![diff]))
        })
        .present_result(|_: Value, result| {
            if result.is_error {
                return None;
            }
            diff_result(Diffs::of(result.meta)?)
        })
}

// The projector's own signature.
#[allow(clippy::unnecessary_wraps)]
fn diffs(value: &Value) -> Result<Value, BoxError> {
    Ok(json!({"diffs": value["diffs"]}))
}

fn diff_call(verb: &str, path: &str, diffs: Vec<DiffEntry>) -> CallCard {
    CallCard::Diff(DiffCall {
        title: format!("{verb} {path}"),
        diffs,
        locations: Some(vec![Location::of(path)]),
    })
}

// What a presenter returns.
#[allow(clippy::unnecessary_wraps)]
fn diff_result(diffs: Vec<DiffEntry>) -> Option<ResultCard> {
    Some(ResultCard::Diff(DiffResult { title: None, diffs }))
}

#[derive(Deserialize)]
struct Search {
    pattern: String,
    path: Option<String>,
}

impl Search {
    fn card(self, what: &str) -> CallCard {
        let card = GenericCall::new(format!("{what} {}", self.pattern))
            .kind(Kind::Search)
            .raw_input(self.pattern);
        CallCard::Generic(match self.path {
            Some(path) => card.at(Location::of(path)),
            None => card,
        })
    }
}

pub(super) fn grep(tool: ToolDef) -> ToolDef {
    #[derive(Deserialize)]
    struct Line {
        path: String,
        number: u64,
        text: String,
    }
    #[derive(Deserialize)]
    struct Found {
        lines: Vec<Line>,
        total: u64,
    }
    tool.presentation_meta(|value| {
        let found = Found::deserialize(value)?;
        let lines = found.lines.iter();
        let lines = lines.map(|line| (&*line.path, line.number, &*line.text));
        meta(&search::matches(lines, found.total, Budget::default()))
    })
    .present_call(|args: Search| Some(args.card("Search for")))
    .present_result(|_: Value, result| {
        Some(ResultCard::Search(SearchResult::Matches(found(result)?)))
    })
}

pub(super) fn glob(tool: ToolDef) -> ToolDef {
    #[derive(Deserialize)]
    struct Found {
        files: Vec<String>,
        total: u64,
    }
    tool.presentation_meta(|value| {
        let found = Found::deserialize(value)?;
        let files = found.files.iter().map(String::as_str);
        meta(&search::paths(files, found.total, Budget::default()))
    })
    .present_call(|args: Search| Some(args.card("Find files")))
    .present_result(|_: Value, result| {
        Some(ResultCard::Search(SearchResult::Paths(found(result)?)))
    })
}

pub(super) fn list_dir(tool: ToolDef) -> ToolDef {
    #[derive(Deserialize)]
    struct Args {
        path: Option<String>,
    }
    tool.present_call(|args: Args| {
        let path = args.path.unwrap_or_else(|| ".".to_owned());
        let card = GenericCall::new(format!("List {path}")).kind(Kind::Read);
        Some(CallCard::Generic(card.at(Location::of(path))))
    })
}

/// What a success found, by its metadata.
fn found<T: DeserializeOwned>(result: &Presented<'_>) -> Option<T> {
    narrow(result.meta.filter(|_| !result.is_error)?)
}

fn meta(card: &impl serde::Serialize) -> Result<Value, BoxError> {
    Ok(serde_json::to_value(card)?)
}
