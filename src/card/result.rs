//! What a result looks like.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::narrow::{some, there};
use crate::ContentBlock;

/// One change of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffEntry {
    /// The file.
    pub path: String,
    /// What was there; `None`, written `null`, if nothing was.
    #[serde(deserialize_with = "there")]
    pub old_text: Option<String>,
    /// What is there now.
    pub new_text: String,
}

impl DiffEntry {
    /// A change from `old` to `new`; from an empty text it is one from nothing.
    pub fn new(path: impl Into<String>, old: &str, new: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            old_text: (!old.is_empty()).then(|| old.to_owned()),
            new_text: new.into(),
        }
    }
}

/// What a result looks like. Its JSON names the shape in `card`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "card", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ResultCard {
    /// Content, perhaps under a title.
    Generic(GenericResult),
    /// What a program printed, and how it ended.
    Terminal(TerminalResult),
    /// Changes of files.
    Diff(DiffResult),
    /// What a search found.
    Search(SearchResult),
    /// A window of a file.
    Read(ReadResult),
    /// What came from the web.
    Web(WebResult),
}

/// Content, perhaps under a title.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GenericResult {
    /// A title that takes the place of the call's.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
    /// What to show.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub content: Option<Vec<ContentBlock>>,
}

/// What a program printed, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalResult {
    /// A title that takes the place of the call's.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
    /// What it printed.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub output: Option<String>,
    /// How it ended, if that is known: `exitCode` or `signal` in JSON.
    #[serde(flatten)]
    pub ending: Option<Ending>,
}

/// How a program ended: one or the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// By itself, with this status.
    ExitCode(i32),
    /// By a signal of this name, `SIGKILL` for instance.
    Signal(String),
}

/// Changes of files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffResult {
    /// A title that takes the place of the call's.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
    /// The changes.
    pub diffs: Vec<DiffEntry>,
}

/// What a search found: lines, or paths. Told apart by their fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SearchResult {
    /// Lines, by file.
    Matches(SearchMatches),
    /// Paths.
    Paths(PathResults),
}

/// Lines that a search found, by file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchMatches {
    /// The files, in the order of their first match.
    pub files: Vec<FileMatches>,
    /// Whether there are more than are shown.
    pub truncated: bool,
    /// How many matches there are, shown or not.
    pub total: u64,
}

/// The matches in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMatches {
    /// The file.
    pub path: String,
    /// Its lines.
    pub matches: Vec<LineMatch>,
}

/// A line that matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineMatch {
    /// Its number, counted from 1.
    pub line_number: u64,
    /// The line.
    pub line: String,
}

/// Paths that a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathResults {
    /// The paths.
    pub paths: Vec<String>,
    /// Whether there are more than are shown.
    pub truncated: bool,
    /// How many there are, shown or not.
    pub total: u64,
}

/// A window of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadResult {
    /// A title that takes the place of the call's.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
    /// The file.
    pub path: String,
    /// The number of the first line shown, counted from 1.
    pub offset: u64,
    /// The lines.
    pub lines: Vec<NumberedLine>,
    /// How many lines the file has.
    pub total_lines: u64,
    /// The language, by its short name, for colours.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub lang: Option<String>,
    /// The text alone, for those who do not draw windows.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub content: Option<Vec<ContentBlock>>,
}

/// A line with its number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedLine {
    /// The number, counted from 1.
    pub number: u64,
    /// The line, without its break.
    pub text: String,
}

/// What came from the web: a search's sources, or a page. Told apart by
/// their fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WebResult {
    /// A search.
    Search(WebSearch),
    /// A page.
    Fetch(WebFetch),
}

/// What a search of the web found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSearch {
    /// What was asked.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
    /// Where the answer comes from.
    pub sources: Vec<Source>,
    /// The answer, if the search gave one.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub answer: Option<String>,
    /// Whether there is more than is shown.
    pub truncated: bool,
}

/// A page that a search of the web found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its address.
    pub url: String,
    /// Its title.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
}

/// A page of the web.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebFetch {
    /// A title that takes the place of the call's.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
    /// Its address.
    pub url: String,
    /// The status of the answer.
    pub status_code: u16,
    /// Whether there is more than was kept.
    pub truncated: bool,
}
