//! Servers that are programs of the system's.

use std::ffi::OsString;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolfall_layers::printable;

use super::connector::{ConnectError, Connector, Wire};
use crate::process::{Group, environment};

/// What a program sees of this process's environment, unless it is said
/// otherwise: enough to be found and to find its files. The rest may hold
/// secrets that are none of a server's business.
const PASSED: [&str; 11] = [
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
];
/// So much of one line of a program's errors is told, in bytes.
const LONGEST: usize = 8 << 10;
/// So long the end of the errors of a program that has ended is waited for.
const LAST_ERRORS: Duration = Duration::from_millis(250);

type Hear = Arc<dyn Fn(&str) + Send + Sync>;

/// A server that is started as a program, and spoken to over its standard
/// input and output.
///
/// It is the leader of a process group of its own. When the connection ends,
/// its standard input is closed; a program that goes on is asked to end and
/// then killed, with all that it started.
///
/// ```
/// use toolfall::mcp::client::Stdio;
///
/// let server = Stdio::new("mcp-server-git")
///     .args(["--repository", "."])
///     .env("GIT_TOKEN", "secret")
///     .on_stderr(|line| eprintln!("git: {line}"));
/// assert!(!format!("{server:?}").contains("secret"));
/// ```
#[derive(Clone)]
pub struct Stdio {
    program: OsString,
    args: Vec<OsString>,
    folder: Option<PathBuf>,
    inherit: bool,
    passed: Vec<OsString>,
    set: Vec<(OsString, OsString)>,
    grace: Duration,
    hear: Option<Hear>,
}

impl Stdio {
    /// The program at a path, or of a name that the system looks up.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            folder: None,
            inherit: false,
            passed: PASSED.map(OsString::from).to_vec(),
            set: Vec::new(),
            grace: Duration::from_secs(2),
            hear: None,
        }
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The folder that it runs in. This process's, unless it is said.
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets a variable in the program's environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set.push((name.into(), value.into()));
        self
    }

    /// Passes variables of this process on to the program, besides `HOME`,
    /// `LANG`, `LC_ALL`, `LC_CTYPE`, `LOGNAME`, `PATH`, `SHELL`, `TERM`,
    /// `TMPDIR`, `TZ` and `USER`.
    pub fn pass_env<V: Into<OsString>>(mut self, names: impl IntoIterator<Item = V>) -> Self {
        self.passed.extend(names.into_iter().map(Into::into));
        self
    }

    /// Passes these variables of this process on, and no others.
    pub fn only_env<V: Into<OsString>>(mut self, names: impl IntoIterator<Item = V>) -> Self {
        self.inherit = false;
        self.passed = names.into_iter().map(Into::into).collect();
        self
    }

    /// Passes all variables of this process on, secrets and all.
    pub fn inherit_env(mut self) -> Self {
        self.inherit = true;
        self
    }

    /// How long the program may take to end after its input was closed, and
    /// once more after it was asked to. 2 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Hears what the program writes on its standard error, line by line, of
    /// each at most 8 KiB. It must not block. The lines are traced as well.
    pub fn on_stderr(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.hear = Some(Arc::new(hear));
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .stdin(process::Stdio::piped())
            .stdout(process::Stdio::piped())
            .stderr(process::Stdio::piped())
            .kill_on_drop(true);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        environment(&mut command, self.inherit, &self.passed, &self.set);
        command
    }

    fn start(&self) -> Result<Wire, ConnectError> {
        let failed = |error: std::io::Error| {
            let program = printable(&self.program.to_string_lossy(), 200);
            ConnectError::new(format!("the program {program} cannot be started")).because(error)
        };
        let mut group = Group::start(&mut self.command()).map_err(failed)?;
        let child = &mut group.child;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(std::io::Error::other("it has no pipes")));
        };
        let stop = CancellationToken::new();
        let (over, is_over) = oneshot::channel::<()>();
        let keep = keep(group, stop.clone(), self.grace, stderr, self.hear.clone());
        tokio::spawn(async move {
            keep.await;
            drop(over);
        });
        let gone = is_over.map(|_| ());
        Ok(Wire::new(stdout, stdin)
            .gone(gone)
            .stop(move || stop.cancel()))
    }
}

impl Connector for Stdio {
    fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>> {
        let server = self.clone();
        Box::pin(async move { server.start() })
    }
}

impl fmt::Debug for Stdio {
    /// Without the arguments and the values of variables, which may be
    /// secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio")
            .field("program", &self.program)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// Waits until the program has ended, by itself or after `stop`. Dropped, it
/// kills the program's group.
async fn keep(
    mut group: Group,
    stop: CancellationToken,
    grace: Duration,
    stderr: impl AsyncRead + Unpin + Send + 'static,
    hear: Option<Hear>,
) {
    let errors = tokio::spawn(errors(stderr, hear));
    // A task that is only looked at through this is ended by it.
    let mut errors = AbortOnDrop(errors);
    let stopped = tokio::select! {
        biased;
        status = group.wait() => {
            tracing::debug!(?status, "an MCP server's program ended");
            false
        }
        () = stop.cancelled() => true,
    };
    // Its input is closed, and most end by that.
    if stopped && timeout(grace, group.wait()).await.is_err() {
        let quiet = async {
            let _ = (&mut errors.0).await;
        };
        let status = group.end(grace, quiet).await;
        tracing::debug!(?status, "an MCP server's program was made to end");
    }
    if !errors.0.is_finished() {
        let _ = timeout(LAST_ERRORS, &mut errors.0).await;
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn errors(from: impl AsyncRead + Unpin, hear: Option<Hear>) {
    let tell = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        tracing::debug!(target: "toolfall::mcp::stderr", "{}", printable(&line, LONGEST));
        if let Some(hear) = &hear {
            // Who hears is not ours; the program's errors are read on.
            let _ = catch_unwind(AssertUnwindSafe(|| hear(&line)));
        }
    };
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        let chunk = match from.fill_buf().await {
            Ok(chunk) if !chunk.is_empty() => chunk,
            _ => break,
        };
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            let room = LONGEST.saturating_sub(line.len());
            line.extend_from_slice(&text[..text.len().min(room)]);
            if ended {
                tell(line.trim_ascii_end());
                line.clear();
            }
        }
        let length = chunk.len();
        from.consume(length);
    }
    if !line.is_empty() {
        tell(&line);
    }
}
