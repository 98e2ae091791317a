//! What the run permits, in the session log.

use toolfall::Scope;
use toolfall::approval::Answerers;
use toolfall::permission::{Presets, SelectError, SessionPermission};
use toolfall::session::SessionLog;

use crate::error::{Error, log_error};

/// Has the default of `presets` for the calls of `scope`, whatever earlier
/// runs of the same log had: what the configuration says counts.
pub(super) fn begin(
    presets: &Presets,
    answerers: &Answerers,
    scope: &Scope,
    log: &SessionLog,
) -> Result<SessionPermission, Error> {
    let mode = answerers
        .session(scope, log.clone())
        .map_err(|error| log_error(&error))?;
    let session = presets.create(mode).map_err(|error| log_error(&error))?;
    session
        .select(&presets.default_preset())
        .map_err(|error| match error {
            SelectError::Log(error) => log_error(&error),
            error => Error::input(error.to_string()),
        })?;
    Ok(session)
}
