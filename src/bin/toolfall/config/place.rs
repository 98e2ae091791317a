//! Where in the file something is wrong.

use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Larger files are no configurations.
const MOST: u64 = 4 << 20;

/// A configuration's text, with its file.
#[derive(Debug)]
pub(crate) struct Source {
    file: PathBuf,
    text: String,
}

impl Source {
    pub(crate) fn read(file: &Path) -> Result<Self, Error> {
        Ok(Self {
            file: file.to_owned(),
            text: read_text(file, "a configuration")?,
        })
    }

    /// A text that is in no file; `file` stands for it in messages and for
    /// the folder that paths are meant from.
    pub(crate) const fn written(file: PathBuf, text: String) -> Self {
        Self { file, text }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// An error at a place in the text: `FILE:LINE:COLUMN: …`.
    pub(crate) fn error(&self, at: Option<Range<usize>>, message: &str) -> Error {
        let file = self.file.display();
        let Some(at) = at.and_then(|range| self.text.get(..range.start)) else {
            return Error::input(format!("{file}: {message}"));
        };
        let line = at.matches('\n').count() + 1;
        let start = at.rfind('\n').map_or(0, |newline| newline + 1);
        let column = at[start..].chars().count() + 1;
        Error::input(format!("{file}:{line}:{column}: {message}"))
    }
}

/// The text of a file of a bounded size.
pub(crate) fn read_text(file: &Path, what: &str) -> Result<String, Error> {
    let name = file.display();
    let mut bytes = Vec::new();
    std::fs::File::open(file)
        .and_then(|opened| opened.take(MOST + 1).read_to_end(&mut bytes))
        .map_err(|error| Error::input(format!("{name}: expected {what}: {error}")))?;
    if bytes.len() as u64 > MOST {
        return Err(Error::input(format!(
            "{name}: expected {what} of at most {MOST} bytes, found more"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..at]);
        let line = before.matches('\n').count() + 1;
        Error::input(format!("{name}:{line}: expected UTF-8 text"))
    })
}
