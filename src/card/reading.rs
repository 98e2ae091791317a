//! Titles and languages of files that are read.

use super::{CallCard, GenericCall, Kind, Location};

/// The call that reads a file, or so many lines of it from one line on.
///
/// ```
/// use toolfall::card::reading::call;
///
/// assert_eq!(call("a.rs", Some(12), Some(40)).title(), "Read a.rs (12 - 51)");
/// assert_eq!(call("a.rs", Some(5), None).title(), "Read a.rs (from line 5)");
/// assert_eq!(call("a.rs", None, Some(10)).title(), "Read a.rs (1 - 10)");
/// ```
pub fn call(path: &str, first_line: Option<u64>, lines: Option<u64>) -> CallCard {
    let from = first_line.unwrap_or(1);
    let title = match (first_line, lines) {
        (None, None) => format!("Read {path}"),
        (Some(from), None) => format!("Read {path} (from line {from})"),
        (_, Some(lines)) => {
            let last = from.saturating_add(lines).saturating_sub(1);
            format!("Read {path} ({from} - {last})")
        }
    };
    let location = Location {
        path: path.to_owned(),
        line: Some(from),
    };
    CallCard::Generic(GenericCall::new(title).kind(Kind::Read).at(location))
}

/// The short name of the language that a file is written in, by the ending of
/// its name.
pub fn language(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    Some(match extension.to_ascii_lowercase().as_str() {
        "rs" => "rust",
        "ts" | "mts" | "cts" => "ts",
        "tsx" => "tsx",
        "js" | "mjs" | "cjs" => "js",
        "jsx" => "jsx",
        "py" | "pyi" => "python",
        "go" => "go",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" => "cpp",
        "cs" => "csharp",
        "java" => "java",
        "kt" | "kts" => "kotlin",
        "swift" => "swift",
        "rb" => "ruby",
        "php" => "php",
        "sh" | "bash" | "zsh" => "sh",
        "sql" => "sql",
        "html" | "htm" => "html",
        "css" => "css",
        "scss" => "scss",
        "json" | "jsonl" => "json",
        "toml" => "toml",
        "yaml" | "yml" => "yaml",
        "xml" | "svg" => "xml",
        "md" | "markdown" => "md",
        "lua" => "lua",
        "ex" | "exs" => "elixir",
        "hs" => "haskell",
        "scala" => "scala",
        "proto" => "proto",
        _ => return None,
    })
}
