//! The ledger as a file.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Definitions, Entry, Ledger, MAX_TOOLS};
use crate::mcp::tool::digest::Digests;

/// Larger files are refused, in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;
const VERSION: u32 = 1;

/// Why a ledger could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionsError {
    /// The file system refused.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file holds no ledger.
    #[error("{}: expected a ledger of tool definitions: {detail}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        detail: String,
    },
}

impl DefinitionsError {
    fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    servers: BTreeMap<String, BTreeMap<String, WrittenEntry>>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenEntry {
    accepted: Digests,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<Digests>,
}

impl Definitions {
    /// Reads a ledger that was [saved](Self::save); where there is no file, it
    /// is an empty one. Blocks.
    ///
    /// # Errors
    ///
    /// [`DefinitionsError`] if the file cannot be read or is no ledger. An
    /// empty ledger in its place would accept whatever servers say next.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, DefinitionsError> {
        let path = path.as_ref();
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::new()),
            Err(error) => return Err(DefinitionsError::io("open", path)(error)),
        };
        let malformed = |detail: String| DefinitionsError::Malformed {
            path: path.to_owned(),
            detail,
        };
        let mut text = String::new();
        file.take(MAX_FILE + 1)
            .read_to_string(&mut text)
            .map_err(DefinitionsError::io("read", path))?;
        if text.len() as u64 > MAX_FILE {
            return Err(malformed(format!("at most {MAX_FILE} bytes, found more")));
        }
        let written: Written =
            serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        if written.version != VERSION {
            let found = written.version;
            return Err(malformed(format!("version {VERSION}, found {found}")));
        }
        let mut ledger = Ledger::default();
        for (server, tools) in written.servers {
            for (tool, WrittenEntry { accepted, seen }) in tools {
                if !ledger.add(&server, &tool, Entry { accepted, seen }) {
                    return Err(malformed(format!("at most {MAX_TOOLS} tools, found more")));
                }
            }
        }
        let definitions = Self::new();
        *definitions.lock() = ledger;
        Ok(definitions)
    }

    /// Writes the ledger as JSON, whole or not at all: a new file takes the
    /// place of the old one. Blocks.
    ///
    /// # Errors
    ///
    /// [`DefinitionsError`] if that cannot be done; the old file stays then.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), DefinitionsError> {
        let path = path.as_ref();
        let mut text = serde_json::to_string_pretty(&self.written())
            .map_err(|error| DefinitionsError::io("write", path)(error.into()))?;
        text.push('\n');
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{:016x}.tmp", fresh()));
        let temporary = path.with_file_name(name);
        let written = write_new(&temporary, text.as_bytes()).and_then(|()| {
            fs::rename(&temporary, path).map_err(DefinitionsError::io("replace", path))
        });
        if written.is_err() {
            // It is nobody's; that it cannot be removed is the lesser failure.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn written(&self) -> Written {
        let ledger = self.lock();
        let servers = ledger.entries.iter().map(|(server, tools)| {
            let tools = tools.iter().map(|(tool, entry)| {
                let entry = WrittenEntry {
                    accepted: entry.accepted.clone(),
                    seen: entry.seen.clone(),
                };
                (tool.clone(), entry)
            });
            (server.clone(), tools.collect())
        });
        Written {
            version: VERSION,
            servers: servers.collect(),
        }
    }
}

/// Writes a file that is not there yet, for its owner alone, to the disk.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), DefinitionsError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options
        .open(path)
        .map_err(DefinitionsError::io("create", path))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(DefinitionsError::io("write", path))
}

/// A number for a name that nobody else uses.
fn fresh() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
