//! One hook, before it is put in a set.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::command::process::Spec;

/// The variables of this process that a hook sees unless told otherwise.
const PASSED: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ",
];

/// What becomes of a call whose hook cannot be relied on; see
/// [`HookFault`](super::HookFault).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OnFault {
    /// The call, or its result, is refused.
    Deny,
    /// As if the hook had not been there; a warning is logged.
    Ignore,
}

/// A program that is asked before or after a tool.
///
/// It is started directly, without a shell, unless it is made with
/// [`shell`](Self::shell).
#[derive(Clone, Debug)]
pub struct Hook {
    pub(super) id: Option<String>,
    pub(super) matcher: Option<String>,
    pub(super) timeout: Option<Duration>,
    pub(super) on_fault: Option<OnFault>,
    pub(super) spec: Spec,
}

impl Hook {
    /// A hook that runs `program`, looked for in `PATH` unless it is a path.
    pub fn program(program: impl Into<OsString>) -> Self {
        Self {
            id: None,
            matcher: None,
            timeout: None,
            on_fault: None,
            spec: Spec {
                inherit: false,
                passed: PASSED.map(OsString::from).to_vec(),
                stdout_limit: 256 << 10,
                stderr_limit: 16 << 10,
                ..Spec::new(program.into())
            },
        }
    }

    /// A hook that has `sh` run `command`.
    pub fn shell(command: impl Into<OsString>) -> Self {
        Self::program("sh").arg("-c").arg(command)
    }

    /// Its name in records and messages; without one it is called after its
    /// point and place, `PreToolUse[0]`.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Narrows it to the tools that `pattern` matches, in the set's dialect;
    /// see [`ToolMatcher`](super::ToolMatcher).
    pub fn matcher(mut self, pattern: impl Into<String>) -> Self {
        self.matcher = Some(pattern.into());
        self
    }

    /// Adds an argument of the program; nothing splits or expands it.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.spec.args.push(arg.into());
        self
    }

    /// Adds arguments of the program.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.spec.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Runs the program in `folder` instead of the session's own.
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.spec.folder = Some(folder.into());
        self
    }

    /// Shows the program these variables of this process and no others.
    /// Without this they are `PATH`, `HOME`, `USER`, `LOGNAME`, `LANG`,
    /// `LC_ALL`, `LC_CTYPE`, `TMPDIR` and `TZ`.
    pub fn only_env<V: Into<OsString>>(mut self, passed: impl IntoIterator<Item = V>) -> Self {
        self.spec.passed = passed.into_iter().map(Into::into).collect();
        self
    }

    /// Sets a variable in the program's environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.spec.set.push((name.into(), value.into()));
        self
    }

    /// How long it may run, by tokio's clock; without this the set's default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long a hook that is stopped has to end by itself before its group
    /// is killed; two seconds unless said otherwise.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.spec.grace = grace;
        self
    }

    /// How many bytes it may write on standard output; 256 KiB unless said
    /// otherwise. More is a fault.
    pub fn stdout_limit(mut self, bytes: usize) -> Self {
        self.spec.stdout_limit = bytes;
        self
    }

    /// How many bytes of standard error are kept, the last ones; 16 KiB
    /// unless said otherwise.
    pub fn stderr_limit(mut self, bytes: usize) -> Self {
        self.spec.stderr_limit = bytes;
        self
    }

    /// What a fault does. Without this it denies in front of a call and is
    /// ignored everywhere else.
    pub fn on_fault(mut self, on_fault: OnFault) -> Self {
        self.on_fault = Some(on_fault);
        self
    }
}
