//! Tests, ready to be asked.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::argv::Argv;
use super::equal::{same, within};
use super::error::RuleErrorKind;
use super::glob::BadGlob;
use super::holds::Holds;
use super::path::{Open, PathTest, plain};
use super::test::{Kind, Test};
use super::text::Pattern;

#[derive(Clone, Debug)]
pub(super) enum Compiled {
    OneOf(Vec<Value>, bool),
    Text(Pattern),
    Path(PathTest),
    Within(Option<f64>, Option<f64>),
    Argv(Argv),
    Present,
    Absent,
    Empty,
    Filled,
}

impl Compiled {
    pub(super) fn new(test: Test) -> Result<Self, RuleErrorKind> {
        let case = test.ignore_case;
        Ok(match test.kind {
            Kind::OneOf(values) => Self::OneOf(values, case),
            Kind::Glob(glob) => Self::Text(Pattern::glob(&glob, false, case)?),
            Kind::Regex(regex) => {
                Self::Text(
                    Pattern::regex(&regex, case).map_err(|error| RuleErrorKind::Regex {
                        regex,
                        detail: error.to_string(),
                    })?,
                )
            }
            Kind::Path(glob) => {
                let open = Open::of(&plain(&glob));
                Self::Path(PathTest::Plain(path_glob(&glob, case)?, open))
            }
            Kind::Below(root, glob) => {
                let glob = path_glob(glob.as_deref().unwrap_or("**"), case)?;
                Self::Path(PathTest::Below(absolute(root)?, glob))
            }
            Kind::Outside(root) => {
                Self::Path(PathTest::Outside(absolute(root)?, path_glob("**", case)?))
            }
            Kind::Within(least, most) => {
                if let Some(limit) = [least, most].into_iter().flatten().find(|x| !x.is_finite()) {
                    return Err(RuleErrorKind::Limit {
                        limit: limit.to_string(),
                    });
                }
                Self::Within(least, most)
            }
            Kind::Argv(patterns) if patterns.is_empty() => return Err(RuleErrorKind::NoWords),
            Kind::Argv(patterns) => Self::Argv(Argv::new(&patterns, case)?),
            Kind::Present => Self::Present,
            Kind::Absent => Self::Absent,
            Kind::Empty => Self::Empty,
            Kind::Filled => Self::Filled,
        })
    }

    /// Whether it holds for what is at the place, `None` being nothing.
    pub(super) fn holds(&self, value: Option<&Value>) -> Holds {
        let Some(value) = value else {
            return matches!(self, Self::Absent | Self::Empty).into();
        };
        match self {
            Self::OneOf(wanted, case) => wanted
                .iter()
                .map(|wanted| same(wanted, value, *case))
                .max()
                .unwrap_or(Holds::No),
            Self::Text(pattern) => text(value, |text| pattern.holds(text)),
            Self::Path(path) => text(value, |text| path.holds(text)),
            Self::Within(least, most) => within(value, *least, *most),
            Self::Argv(argv) => argv.holds(value),
            Self::Present => Holds::Yes,
            Self::Absent => Holds::No,
            Self::Empty => is_empty(value).into(),
            Self::Filled => (!is_empty(value)).into(),
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn text(value: &Value, holds: impl Fn(&str) -> Holds) -> Holds {
    match value {
        Value::String(text) => holds(text),
        Value::Null => Holds::No,
        // Some tools make text of a number, and take a list of one for the one.
        _ => Holds::Unknown,
    }
}

fn path_glob(glob: &str, ignore_case: bool) -> Result<Pattern, BadGlob> {
    Pattern::glob(&plain(glob), true, ignore_case)
}

/// The root, if it does not depend on where the process happens to be.
fn absolute(root: PathBuf) -> Result<PathBuf, RuleErrorKind> {
    if Path::is_absolute(&root) {
        Ok(root)
    } else {
        Err(RuleErrorKind::Root { root })
    }
}
