//! Programs and folders that the file names.

use std::path::{Path, PathBuf};

use toml::Spanned;

use super::{Config, Source};
use crate::error::Error;

impl Config {
    /// A program and its arguments. A path is meant from the file's own
    /// folder, and must be there; a bare name is looked for in `PATH` when the
    /// program is started.
    pub(super) fn program<'a>(
        &self,
        source: &Source,
        words: &'a Spanned<Vec<String>>,
    ) -> Result<(PathBuf, &'a [String]), Error> {
        let fail = |message: &str| source.error(Some(words.span()), message);
        let Some((program, rest)) = words.get_ref().split_first() else {
            return Err(fail(
                "expected a program and its arguments, found an empty list",
            ));
        };
        if !program.contains('/') {
            return Ok((PathBuf::from(program), rest));
        }
        let found = self.beside(Path::new(program));
        let found = found.canonicalize().map_err(|error| {
            fail(&format!(
                "expected a program at {}: {error}",
                found.display()
            ))
        })?;
        Ok((found, rest))
    }

    /// A folder, the file's own if none is named.
    pub(super) fn folder(&self, named: Option<&Path>) -> PathBuf {
        let folder = self.beside(named.unwrap_or(Path::new("")));
        if folder.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            folder
        }
    }
}
