//! Tools that are programs of their own.
//!
//! A [`CommandTool`] starts a program for each call, without a shell: it gets
//! the arguments as one JSON value on standard input and answers one JSON
//! value on standard output. Exit status 0 is a success. Any other is a
//! failure with the code `COMMAND_FAILED`, the status and the end of what the
//! program wrote on standard error.
//!
//! Each program runs in a process group of its own. When the call is
//! cancelled, or its budget is spent, the group is asked to end (`TERM`),
//! given a [grace](CommandTool::grace), and killed. Whatever else of the
//! group is left when the program has ended is killed too. A process that
//! leaves its group (`setsid`) is beyond reach, and is not waited for.
//!
//! Failures carry the name `CommandError` and one of these codes:
//! `COMMAND_NOT_STARTED`, `COMMAND_FAILED`, `COMMAND_OUTPUT_TOO_LARGE`,
//! `INVALID_TOOL_OUTPUT` (standard output is not one JSON value that can be
//! kept exactly).
//!
//! ```
//! use serde_json::json;
//! use tokio_util::sync::CancellationToken;
//! use toolfall::command::CommandTool;
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let registry = Registry::new();
//! let same = CommandTool::new("same", "Says it again", json!({"type": "object"}), "cat");
//! registry.register(same.into_tool())?.keep();
//!
//! let pipeline = Pipeline::builder(registry).build();
//! let result = pipeline.call("1", "same", r#"{"a":[1,2]}"#, CancellationToken::new()).await;
//! assert_eq!(result.text(), r#"{"a":[1,2]}"#);
//! # Ok(()) }
//! ```

mod output;
pub(crate) mod process;
mod run;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use self::process::Spec;
use crate::{Arguments, ToolContext, ToolDef, raw_tool};

/// A program as a tool, before it is registered. See the [module docs](self).
#[derive(Clone, Debug)]
pub struct CommandTool {
    name: Cow<'static, str>,
    description: Cow<'static, str>,
    parameters: Value,
    spec: Spec,
    budget: Option<Duration>,
    parallel: bool,
    harmless: bool,
}

impl CommandTool {
    /// A tool that runs `program`, looked for in `PATH` unless it is a path.
    /// Its arguments are described by the JSON Schema `parameters`.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        parameters: Value,
        program: impl Into<OsString>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            spec: Spec::new(program.into()),
            budget: None,
            parallel: false,
            harmless: false,
        }
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

    /// Runs the program in `folder` instead of this process's own.
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.spec.folder = Some(folder.into());
        self
    }

    /// Hides this process's environment from the program, but for `passed`.
    /// Without this it sees everything.
    pub fn only_env<V: Into<OsString>>(mut self, passed: impl IntoIterator<Item = V>) -> Self {
        self.spec.inherit = false;
        self.spec.passed.extend(passed.into_iter().map(Into::into));
        self
    }

    /// Sets a variable in the program's environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.spec.set.push((name.into(), value.into()));
        self
    }

    /// How long a cancelled program has to end by itself; two seconds unless
    /// said otherwise. Measured by tokio's clock.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.spec.grace = grace;
        self
    }

    /// How many bytes the program may write on standard output; 1 MiB unless
    /// said otherwise. One that writes more is killed and has failed.
    pub fn stdout_limit(mut self, bytes: usize) -> Self {
        self.spec.stdout_limit = bytes;
        self
    }

    /// How many bytes of standard error are kept, the last ones; 64 KiB
    /// unless said otherwise. The rest is read and forgotten.
    pub fn stderr_limit(mut self, bytes: usize) -> Self {
        self.spec.stderr_limit = bytes;
        self
    }

    /// Gives each run `budget`; counts where the stack has a
    /// [`TimeoutLayer`](crate::TimeoutLayer).
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Lets runs overlap with other parallel calls.
    pub fn parallel(mut self) -> Self {
        self.parallel = true;
        self
    }

    /// Declares that no run can do harm and that none changes files.
    ///
    /// Nobody can see that from outside, so without this the tool declares
    /// that it is [dangerous](ToolDef::dangerous) and makes
    /// [edits](ToolDef::edits).
    pub fn harmless(mut self) -> Self {
        self.harmless = true;
        self
    }

    /// The tool.
    pub fn into_tool(self) -> ToolDef {
        let Self {
            name,
            description,
            parameters,
            spec,
            budget,
            parallel,
            harmless,
        } = self;
        let spec = Arc::new(spec);
        let tool = raw_tool(
            name,
            description,
            parameters,
            move |arguments: Arguments, ctx: ToolContext| run::run(spec.clone(), arguments, ctx),
        );
        let tool = match budget {
            Some(budget) => tool.budget(budget),
            None => tool,
        };
        let tool = if harmless {
            tool
        } else {
            tool.dangerous().edits()
        };
        if parallel { tool.parallel() } else { tool }
    }
}
