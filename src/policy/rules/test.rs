//! Tests on one place in the arguments, as they are written.

use std::path::PathBuf;

use serde_json::Value;

/// A test on what is at one place in a call's arguments.
///
/// It holds, it does not hold, or that cannot be told: see
/// [what a test can tell](super#what-a-test-can-tell). Every test but
/// [`absent`](Self::absent) and [`empty`](Self::empty) fails where nothing
/// is; those that read text, paths, words or numbers fail at a `null`, and
/// cannot tell at a value of another type.
#[derive(Clone, Debug)]
pub struct Test {
    pub(super) kind: Kind,
    pub(super) ignore_case: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    OneOf(Vec<Value>),
    Glob(String),
    Regex(String),
    Path(String),
    Below(PathBuf, Option<String>),
    Outside(PathBuf),
    Within(Option<f64>, Option<f64>),
    Argv(Vec<String>),
    Present,
    Absent,
    Empty,
    Filled,
}

impl Test {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            ignore_case: false,
        }
    }

    /// The value is `value`, whatever way its numbers are written: `1`, `1.0`
    /// and `1e0` are the same. `"1"` and `1` cannot be told apart, nor `true`
    /// from `1` or `"yes"`, nor a value that is no list from a list that has
    /// it.
    pub fn equals(value: impl Into<Value>) -> Self {
        Self::one_of([value.into()])
    }

    /// The value is one of `values`, each as in [`equals`](Self::equals).
    pub fn one_of<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Self {
        Self::new(Kind::OneOf(values.into_iter().map(Into::into).collect()))
    }

    /// The value is a string that matches `glob`, whole; `*` matches any run
    /// of characters, `/` among them. `?` and `[…]` stand for a character of
    /// ASCII; whether a glob with them matches other text cannot be told.
    pub fn glob(glob: impl Into<String>) -> Self {
        Self::new(Kind::Glob(glob.into()))
    }

    /// The value is a string that matches `regex`, whole: for a text that
    /// contains it, write `.*` around. `.` matches line ends too. Syntax and
    /// running time are those of the crate `regex`; compiled it may take
    /// 1 MiB.
    pub fn regex(regex: impl Into<String>) -> Self {
        Self::new(Kind::Regex(regex.into()))
    }

    /// The value is a string that, read as a path, matches `glob`; `*` stays
    /// within one name and `**` crosses them.
    ///
    /// The path is put in its plain form first, without `.` and doubled `/`.
    /// Nothing is asked of the file system, so links are not seen, and a
    /// path with a `..` after a name cannot be told. Beginnings with `..` are
    /// kept: `../x` matches `../**`. Of one that does not match it cannot be
    /// told whether it leads back to a place that does, nor of an absolute
    /// path where the glob is relative; a glob that begins with `**` is about
    /// both.
    pub fn path(glob: impl Into<String>) -> Self {
        Self::new(Kind::Path(glob.into()))
    }

    /// The value is a string that, read as a path from `root`, leads to a
    /// place below `root`, which must be absolute; or to `root` itself.
    ///
    /// The path is resolved as the file system would, with `..` and links. What
    /// does not exist is where it would be made. A link that leads to
    /// nothing, in a circle or to a process's own place (`/proc/self/cwd`)
    /// cannot be told, nor a folder that may not be
    /// read. Asks the file system, and blocks for as long as that takes. What
    /// is there may have changed by the time the tool looks, and hard links
    /// are not seen: the tool must be confined as well.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self::new(Kind::Below(root.into(), None))
    }

    /// As [`below`](Self::below), and the path from `root` to that place
    /// matches `glob`, as in [`path`](Self::path); `root` itself is `.`.
    pub fn path_below(root: impl Into<PathBuf>, glob: impl Into<String>) -> Self {
        Self::new(Kind::Below(root.into(), Some(glob.into())))
    }

    /// The opposite of [`below`](Self::below), for strings.
    pub fn outside(root: impl Into<PathBuf>) -> Self {
        Self::new(Kind::Outside(root.into()))
    }

    /// The value is a number not above `most`.
    pub fn at_most(most: impl Into<f64>) -> Self {
        Self::new(Kind::Within(None, Some(most.into())))
    }

    /// The value is a number not below `least`.
    pub fn at_least(least: impl Into<f64>) -> Self {
        Self::new(Kind::Within(Some(least.into()), None))
    }

    /// The value is a command whose words match `patterns`, globs as in
    /// [`glob`](Self::glob), one for each word; a last `**` stands for any
    /// further words. It is an array of words, or one line.
    ///
    /// A line is taken apart at spaces, with `'…'` and `"…"` as in a shell.
    /// One of which a shell might make something else cannot be told:
    /// operators, redirections, variables, substitutions, globs, escapes,
    /// assignments, comments, line ends. A program given by its path cannot be
    /// told from the one that a pattern without a path names. See
    /// [commands](super#commands) for why prefixes of lines are not matched.
    pub fn argv<P: Into<String>>(patterns: impl IntoIterator<Item = P>) -> Self {
        Self::new(Kind::Argv(patterns.into_iter().map(Into::into).collect()))
    }

    /// There is a value, `null` included.
    pub fn present() -> Self {
        Self::new(Kind::Present)
    }

    /// There is nothing, not even `null`.
    pub fn absent() -> Self {
        Self::new(Kind::Absent)
    }

    /// There is nothing, or `null`, `""`, `[]` or `{}`.
    pub fn empty() -> Self {
        Self::new(Kind::Empty)
    }

    /// The opposite of [`empty`](Self::empty).
    pub fn filled() -> Self {
        Self::new(Kind::Filled)
    }

    /// Takes large and small letters for the same, in text, paths and words.
    pub fn ignore_case(mut self) -> Self {
        self.ignore_case = true;
        self
    }

    pub(super) fn within(least: Option<f64>, most: Option<f64>) -> Self {
        Self::new(Kind::Within(least, most))
    }
}
