//! `toolfall`: runs batches of tool calls through the pipeline, checks the
//! logs that this leaves, shows them again, and prints the schema of its
//! configuration and how its tools are declared to who writes programs.
//!
//! # Exit status
//!
//! | status | `run` | `check` | `show` |
//! |---|---|---|---|
//! | 0 | every call has its result, whatever it is | every call has exactly one result, in order | it was shown |
//! | 1 | the log or the output could not be written | it has not | the output could not be written |
//! | 2 | bad input: arguments, configuration, batch, log | the log cannot be read | the log cannot be read |
//! | 3 | a budget or a person ended the run; what was begun has its results | | |
//! | 130 | cancelled by Ctrl-C or `TERM`; every call still has its result | | |

mod args;
mod check;
mod compose;
mod config;
mod error;
mod import;
mod input;
mod interrupt;
mod prompt;
mod render;
mod run;
mod screen;
mod sdk;
mod serve;
mod show;
mod wrap;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use self::args::{Args, Command};

/// So long what is left of a run may take after its end.
const LAST: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    toolfall::code::quickjs::worker();
    let args = Args::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_env("TOOLFALL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(filter)
        .without_time()
        .with_target(false)
        .init();
    let done = match args.command {
        Command::Run(args) => on_runtime(run::run(args)),
        Command::Serve(args) => on_runtime(serve::serve(args)),
        Command::Wrap(args) => on_runtime(wrap::wrap(args)),
        Command::Check(args) => check::check(&args),
        Command::Show(args) => show::show(&args),
        Command::Sdk(args) => sdk::sdk(&args),
        Command::Import(args) => import::import(&args),
        Command::ConfigSchema => config_schema(),
        #[cfg(target_os = "linux")]
        Command::CodeWorker => toolfall::code::quickjs::serve(),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("toolfall: {error}");
            ExitCode::from(error.status())
        }
    }
}

fn config_schema() -> Result<u8, error::Error> {
    use std::io::Write as _;
    let text = serde_json::to_string_pretty(&config::schema())
        .map_err(|error| error::Error::own("the schema cannot be written", &error))?;
    // Whoever closed the pipe has read enough.
    let written = writeln!(std::io::stdout().lock(), "{text}");
    Ok(u8::from(written.is_err()))
}

fn on_runtime(run: impl Future<Output = Result<u8, error::Error>>) -> Result<u8, error::Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error::Error::own("the runtime cannot be started", &error))?;
    let done = runtime.block_on(run);
    // Bodies that are still there are dropped, and their programs killed.
    runtime.shutdown_timeout(LAST);
    done
}
