//! The session log of the process.

use std::path::{Path, PathBuf};

use toolfall::session::{Options, Recovery, SessionLog, SyncPolicy};

use crate::config::{Config, Sync};
use crate::error::{Error, log_error};

/// The log's name if nothing names one.
const LOG: &str = "toolfall-session.jsonl";

/// Where the log is: where the command line says, or the file, or beside it.
pub(crate) fn log_path(given: Option<&Path>, config: &Config) -> PathBuf {
    let path = given.map(Path::to_owned).or_else(|| config.log());
    path.unwrap_or_else(|| config.beside(Path::new(LOG)))
}

/// Opens the log, and tells `note` what an earlier process left of it.
pub(crate) fn open_log(
    path: &Path,
    config: &Config,
    note: impl Fn(&str),
) -> Result<SessionLog, Error> {
    let sync = match config.sync() {
        Sync::Never => SyncPolicy::Never,
        Sync::Every => SyncPolicy::Every,
    };
    let (log, recovery) =
        SessionLog::open(path, Options::new().sync(sync)).map_err(|error| log_error(&error))?;
    tell(path, &recovery, note);
    Ok(log)
}

/// What an earlier run left open is no secret.
fn tell(path: &Path, recovery: &Recovery, note: impl Fn(&str)) {
    let path = path.display();
    if !recovery.interrupted.is_empty() {
        let (started, count) = (
            recovery
                .interrupted
                .iter()
                .filter(|call| call.started)
                .count(),
            recovery.interrupted.len(),
        );
        note(&format!(
            "{path}: closed what an earlier run left open: {count} without a result, of which \
             {started} had begun and may have had an effect"
        ));
    }
    if recovery.torn.is_some() {
        note(&format!(
            "{path}: cut off a line that an earlier run did not finish"
        ));
    }
}
