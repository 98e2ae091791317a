//! What is started.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// A program of the system's that speaks the guest's side of the
/// [protocol](crate::code::protocol) on its standard input and output; what
/// it writes on its standard error becomes logs.
#[derive(Clone, Debug)]
pub struct Launcher {
    program: OsString,
    args: Vec<OsString>,
    pub(super) sandbox: Sandbox,
    pub(super) own_memory: u64,
    pub(super) boot: Duration,
}

/// What is put around a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sandbox {
    /// Nothing but its limits and its group.
    #[default]
    None,
    /// Bubblewrap, by the path of its program: name spaces of its own for
    /// processes, network and the rest, and a read-only file system with an
    /// empty `/tmp`. What the user may read can be read. All processes end
    /// with the first one.
    Bwrap(OsString),
}

/// How the sandbox is made; the program and its arguments follow.
const BWRAP: [&str; 15] = [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--ro-bind",
    "/",
    "/",
    "--tmpfs",
    "/tmp",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--chdir",
    "/",
    "--",
];

impl Sandbox {
    /// Tries to run `program`, which is to end at once and well, in the
    /// sandbox. Blocks until it has.
    ///
    /// # Errors
    ///
    /// What the system says, or the sandbox.
    pub fn check(&self, program: &str, args: &[&str]) -> std::io::Result<()> {
        let Self::Bwrap(bwrap) = self else {
            return Ok(());
        };
        let ended = std::process::Command::new(bwrap)
            .args(BWRAP)
            .arg(program)
            .args(args)
            .env_clear()
            .stdin(Stdio::null())
            .output()?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        let said = toolfall_layers::printable(said.trim(), 500);
        Err(std::io::Error::other(format!("{}: {said}", ended.status)))
    }
}

impl Launcher {
    /// The program at a path, or of a name that the system looks up.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            sandbox: Sandbox::None,
            own_memory: 0,
            boot: Duration::from_secs(10),
        }
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Puts a sandbox around the process.
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// The bytes of address space that the process itself needs, on top of
    /// what a program may have. None unless it is said.
    pub fn own_memory(mut self, bytes: u64) -> Self {
        self.own_memory = bytes;
        self
    }

    /// How long the process may take until it answers. 10 s.
    pub fn boot(mut self, limit: Duration) -> Self {
        self.boot = limit;
        self
    }

    /// What is started, for messages.
    pub(super) fn what(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    pub(super) fn command(&self) -> Command {
        let mut command = match &self.sandbox {
            Sandbox::None => Command::new(&self.program),
            Sandbox::Bwrap(bwrap) => {
                let mut command = Command::new(bwrap);
                command.args(BWRAP);
                command.arg(&self.program);
                command
            }
        };
        command
            .args(&self.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}
