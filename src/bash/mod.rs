//! A tool that runs command lines in a shell.
//!
//! A [`BashTool`] gives a command line to `bash -c`, without input and in a
//! process group of its own, and returns what was written, output and errors
//! in one stream as on a terminal, with how it ended. A command that fails is
//! no failure of the tool: the model reads the exit status.
//!
//! What is written is kept within a [budget](BashTool::output_limit) while
//! the command runs, its beginning and its end; what is no UTF-8 becomes
//! replacement characters, which are counted. When the call is cancelled, or
//! the command's time is over, the group is asked to end (`TERM`), given a
//! [grace](BashTool::grace), and killed, and whatever else of the group is
//! left when the shell has ended is killed too. A process that leaves its
//! group (`setsid`) is beyond reach.
//!
//! The command begins in the tool's root, or in a folder below it, and sees
//! few variables of this process. That is no sandbox: a shell can go and read
//! wherever the user may. The tool declares itself
//! [dangerous](crate::ToolDef::dangerous) and says that it makes edits.
//!
//! Failures carry the name `BashError` and one of these codes:
//! `BASH_NOT_STARTED`, `BASH_FOLDER`, `BASH_FAILED`.
//!
//! ```
//! use std::time::Duration;
//! use tokio_util::sync::CancellationToken;
//! use toolfall::bash::BashTool;
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! # let folder = tempfile::tempdir()?;
//! let registry = Registry::new();
//! let bash = BashTool::new(folder.path())?.timeout(Duration::from_secs(30));
//! registry.register(bash.into_tool())?.keep();
//!
//! let pipeline = Pipeline::builder(registry).build();
//! let arguments = r#"{"command":"echo one; echo two >&2; exit 3"}"#;
//! let result = pipeline.call("1", "bash", arguments, CancellationToken::new()).await;
//! assert_eq!(result.text(), "one\ntwo\n\n[exit code: 3]");
//! assert_eq!(result.value().unwrap()["exit_code"], 3);
//! # Ok(()) }
//! ```

mod arguments;
mod report;
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::arguments::BashArguments;
pub use self::report::BashReport;
use crate::card::shell;
use crate::command::process::Spec;
use crate::{BoxError, ContentBlock, ToolContext, ToolDef, tool_fn};

/// Variables of this process that a command sees unless told otherwise.
const PASSED: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR", "TZ",
];

/// A shell as a tool, before it is registered. See the [module docs](self).
#[derive(Clone, Debug)]
pub struct BashTool {
    root: Arc<Path>,
    spec: Spec,
    timeout: Duration,
    max_timeout: Duration,
    output_limit: usize,
}

impl BashTool {
    /// A tool whose commands begin in `root`. Blocks for a moment.
    ///
    /// # Errors
    ///
    /// There is no such folder.
    pub fn new(root: impl AsRef<Path>) -> std::io::Result<Self> {
        let root: PathBuf = root.as_ref().canonicalize()?;
        if !root.is_dir() {
            let message = format!("expected a folder, found {}", root.display());
            return Err(std::io::Error::new(
                std::io::ErrorKind::NotADirectory,
                message,
            ));
        }
        let mut spec = Spec::new(OsString::from("bash"));
        spec.inherit = false;
        spec.passed = PASSED.iter().map(OsString::from).collect();
        Ok(Self {
            root: root.into(),
            spec,
            timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(600),
            output_limit: 30_000,
        })
    }

    /// The shell, instead of the `bash` in `PATH`; it is given `-c` and the
    /// command line.
    pub fn program(mut self, program: impl Into<OsString>) -> Self {
        self.spec.program = program.into();
        self
    }

    /// How long a command has that names no time; 2 minutes unless set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The longest time that a command may name; 10 minutes unless set.
    pub fn max_timeout(mut self, timeout: Duration) -> Self {
        self.max_timeout = timeout;
        self
    }

    /// So much time is between `TERM` and `KILL`; 2 seconds unless set.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.spec.grace = grace;
        self
    }

    /// So many bytes of what a command writes are kept, half of them from the
    /// beginning and half from the end; 30,000 unless set.
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.output_limit = bytes;
        self
    }

    /// Passes these variables of this process on, and no others.
    pub fn only_env<V: Into<OsString>>(mut self, names: impl IntoIterator<Item = V>) -> Self {
        self.spec.passed = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.spec.set.push((name.into(), value.into()));
        self
    }

    /// The tool `bash`.
    pub fn into_tool(self) -> ToolDef {
        let tool = Arc::new(self);
        tool_fn(
            "bash",
            "Runs a command line with bash and returns what it writes, output and errors in one, \
             with its exit status. Nothing is on its standard input.",
            move |arguments: BashArguments, ctx: ToolContext| {
                let tool = tool.clone();
                async move { run::run(&tool, arguments, &ctx).await }
            },
        )
        .render(|value| {
            let report: BashReport = serde_json::from_value(value.clone())?;
            Ok::<_, BoxError>(vec![ContentBlock::text(report.to_string())])
        })
        .present_call(|args: BashArguments| {
            let cwd = args.cwd.as_deref().map(Path::to_string_lossy);
            let description = args.description.as_deref();
            Some(shell::call(&args.command, description, cwd.as_deref()))
        })
        .present_result(|_: BashArguments, result| shell::result(result))
        .dangerous()
        .edits()
    }
}
