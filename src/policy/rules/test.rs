//! Tests on one place in the arguments.

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

/// A test on one value in a call's arguments.
#[derive(Clone, Debug)]
pub struct Test(pub(super) Kind);

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Equals(Value),
    Glob(String),
    Path(String),
    Present,
}

impl Test {
    /// The value is `value`, whatever way its numbers are written.
    pub fn equals(value: impl Into<Value>) -> Self {
        Self(Kind::Equals(value.into()))
    }

    /// The value is a string that matches `glob`; `*` matches any run of
    /// characters, `/` among them.
    pub fn glob(glob: impl Into<String>) -> Self {
        Self(Kind::Glob(glob.into()))
    }

    /// The value is a string that, read as a path, matches `glob`; `*` stays
    /// within one name and `**` crosses them.
    ///
    /// The path is put in its plain form first: without `.`, doubled `/` and
    /// `name/..`. A path that leads above its beginning keeps its `..`.
    pub fn path(glob: impl Into<String>) -> Self {
        Self(Kind::Path(glob.into()))
    }

    /// There is a value, `null` included.
    pub fn present() -> Self {
        Self(Kind::Present)
    }
}

/// A test, ready to be asked.
#[derive(Clone, Debug)]
pub(super) enum Compiled {
    Equals(Value),
    Glob(GlobMatcher),
    Path(GlobMatcher),
    Present,
}

impl Compiled {
    pub(super) fn new(test: Test) -> Result<Self, globset::Error> {
        Ok(match test.0 {
            Kind::Equals(value) => Self::Equals(value),
            Kind::Glob(glob) => Self::Glob(text_glob(&glob)?),
            Kind::Path(glob) => Self::Path(
                GlobBuilder::new(&plain(&glob))
                    .literal_separator(true)
                    .build()?
                    .compile_matcher(),
            ),
            Kind::Present => Self::Present,
        })
    }

    pub(super) fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Equals(wanted) => same(wanted, value),
            Self::Glob(glob) => value.as_str().is_some_and(|text| glob.is_match(text)),
            Self::Path(glob) => value
                .as_str()
                .is_some_and(|text| glob.is_match(plain(text))),
            Self::Present => true,
        }
    }
}

/// A glob over plain text, where `/` is a character like any other.
pub(super) fn text_glob(glob: &str) -> Result<GlobMatcher, globset::Error> {
    let glob = GlobBuilder::new(glob).literal_separator(false).build()?;
    Ok(glob.compile_matcher())
}

/// Equality of JSON: `1` and `1.0` are the same number.
///
/// Recurses no deeper than the arguments are nested, which is bounded.
fn same(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => wanted == found,
    }
}

/// The path without what says nothing: `.`, empty names, `name/..`.
fn plain(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let joined = names.join("/");
    if path.starts_with('/') {
        format!("/{joined}")
    } else if joined.is_empty() {
        ".".to_owned()
    } else {
        joined
    }
}
