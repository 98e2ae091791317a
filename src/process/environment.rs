//! What a program sees of this process's environment.

use std::ffi::OsString;

use tokio::process::Command;

/// One rule for every program that is started: all of this process's own
/// variables or only those named, and what is set for the program, which
/// wins.
pub(crate) fn environment(
    command: &mut Command,
    inherit: bool,
    passed: &[OsString],
    set: &[(OsString, OsString)],
) {
    if !inherit {
        command.env_clear();
        for name in passed {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
    }
    command.envs(set.iter().map(|(name, value)| (name, value)));
}
