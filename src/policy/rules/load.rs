//! Rules from TOML and from JSON.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::RuleError;
use super::list::RuleList;
use super::written::WrittenRules;

/// Larger files are no lists of rules, in bytes.
const MOST: u64 = 4 << 20;

/// Text that does not say rules: where it goes wrong, and how.
///
/// `Display` is `FILE:LINE:COLUMN: …`, as far as they are known; where a value
/// of JSON is wrong, a JSON pointer stands for line and column.
#[derive(Debug)]
pub struct RuleTextError {
    file: Option<PathBuf>,
    at: At,
    detail: String,
}

#[derive(Debug)]
enum At {
    Unknown,
    Line(usize, usize),
    Pointer(String),
}

impl RuleList {
    /// The rules in `text`, which is TOML of the shape of [`WrittenRules`].
    ///
    /// ```
    /// use serde_json::json;
    /// use toolfall::policy::{RuleList, Verdict};
    ///
    /// let rules = RuleList::from_toml(r#"
    ///     [[rules]]
    ///     name = "small sums"
    ///     verdict = "allow"
    ///     tools = ["send_money"]
    ///     arguments = [{ at = "/amount", at_least = 0, at_most = 50 }]
    /// "#)?;
    /// assert_eq!(rules.verdict("send_money", &json!({"amount": 5e1})).0, Verdict::Allow);
    /// assert_eq!(rules.verdict("send_money", &json!({"amount": 51})).0, Verdict::Ask);
    ///
    /// let wrong = RuleList::from_toml("[[rules]]\nname = 'a'\nverdict = 'maybe'\n").unwrap_err();
    /// assert!(wrong.to_string().starts_with("line 3, column 11: unknown variant `maybe`"));
    /// # Ok::<(), toolfall::BoxError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RuleTextError`] for text that is no TOML, has keys or values that are
    /// not known, or a rule that cannot be used.
    pub fn from_toml(text: &str) -> Result<Self, RuleTextError> {
        from_toml(text, None)
    }

    /// The rules in `text`, which is JSON of the shape of [`WrittenRules`].
    ///
    /// # Errors
    ///
    /// As [`from_toml`](Self::from_toml).
    pub fn from_json(text: &str) -> Result<Self, RuleTextError> {
        from_json(text, None)
    }

    /// The rules in `file`: JSON if its name ends in `.json`, else TOML.
    /// Relative roots are taken from the file's folder. Blocks while it reads.
    ///
    /// # Errors
    ///
    /// [`RuleTextError`], which names the file: as
    /// [`from_toml`](Self::from_toml), and if it cannot be read, is no UTF-8
    /// or has more than 4 MiB.
    pub fn from_file(file: impl AsRef<Path>) -> Result<Self, RuleTextError> {
        let file = file.as_ref();
        let named = |mut error: RuleTextError| {
            error.file = Some(file.to_owned());
            error
        };
        let text = read(file).map_err(|detail| named(RuleTextError::new(At::Unknown, detail)))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let folder = std::path::absolute(folder.join(".")).unwrap_or_else(|_| folder.to_owned());
        let json = file
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        let load = if json { from_json } else { from_toml };
        load(&text, Some(&folder)).map_err(named)
    }
}

impl RuleError {
    /// The bytes of `text` that it is about, where `text` is the TOML that the
    /// rules were read from, and `table` a JSON pointer to them: `""`, or
    /// `/policy` if the rules are in its table `policy`.
    pub fn span(&self, text: &str, table: &str) -> Option<Range<usize>> {
        let root = DeTable::parse(text).ok()?;
        let mut names = table.split('/').chain(self.pointer.split('/'));
        let mut names = names.by_ref().filter(|name| !name.is_empty());
        let mut at: &Spanned<DeValue<'_>> = root.get_ref().get(names.next()?)?;
        for name in names {
            // The nearest that is written: a key may have been left out.
            let next = match at.get_ref() {
                DeValue::Array(elements) => name.parse().ok().and_then(|i: usize| elements.get(i)),
                DeValue::Table(members) => members.get(name),
                _ => None,
            };
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        Some(at.span())
    }
}

fn from_toml(text: &str, folder: Option<&Path>) -> Result<RuleList, RuleTextError> {
    let rules: WrittenRules = toml::from_str(text).map_err(|error| {
        let at = error
            .span()
            .map_or(At::Unknown, |span| line(text, span.start));
        RuleTextError::new(at, error.message().replace('\n', " "))
    })?;
    let compiled = compile(rules, folder);
    compiled.map_err(|error| {
        let span = error.span(text, "");
        let at = span.map_or(At::Unknown, |span| line(text, span.start));
        RuleTextError::new(at, error.to_string())
    })
}

fn from_json(text: &str, folder: Option<&Path>) -> Result<RuleList, RuleTextError> {
    let rules: WrittenRules = serde_json::from_str(text).map_err(|error| {
        let told = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let detail = told.strip_suffix(&place).unwrap_or(&told).to_owned();
        RuleTextError::new(At::Line(error.line(), error.column()), detail)
    })?;
    let compiled = compile(rules, folder);
    compiled.map_err(|error| {
        RuleTextError::new(At::Pointer(error.pointer().to_owned()), error.to_string())
    })
}

fn compile(rules: WrittenRules, folder: Option<&Path>) -> Result<RuleList, RuleError> {
    match folder {
        Some(folder) => rules.relative_to(folder).compile(),
        None => rules.compile(),
    }
}

/// The place of a byte, lines and columns counted from 1, columns in
/// characters.
fn line(text: &str, byte: usize) -> At {
    let Some(before) = text.get(..byte) else {
        return At::Unknown;
    };
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    At::Line(
        before.matches('\n').count() + 1,
        before[start..].chars().count() + 1,
    )
}

fn read(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(MOST + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("expected a file of rules: {error}"))?;
    if bytes.len() as u64 > MOST {
        return Err(format!(
            "expected at most {MOST} bytes of rules, found more"
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("expected UTF-8 text, found something else after {at} bytes")
    })
}

impl RuleTextError {
    fn new(at: At, detail: String) -> Self {
        Self {
            file: None,
            at,
            detail,
        }
    }

    /// The file, if the rules were in one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The line where it goes wrong, counted from 1, if that is known.
    pub fn line(&self) -> Option<usize> {
        match self.at {
            At::Line(line, _) => Some(line),
            _ => None,
        }
    }
}

impl fmt::Display for RuleTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = &self.detail;
        match (&self.file, &self.at) {
            (Some(file), At::Unknown) => write!(f, "{}: {detail}", file.display()),
            (Some(file), At::Line(line, column)) => {
                write!(f, "{}:{line}:{column}: {detail}", file.display())
            }
            (Some(file), At::Pointer(at)) => write!(f, "{}: at {at}: {detail}", file.display()),
            (None, At::Unknown) => f.write_str(detail),
            (None, At::Line(line, column)) => {
                write!(f, "line {line}, column {column}: {detail}")
            }
            (None, At::Pointer(at)) => write!(f, "at {at}: {detail}"),
        }
    }
}

impl std::error::Error for RuleTextError {}
