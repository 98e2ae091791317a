//! The command line.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use schemars::JsonSchema;
use serde::Deserialize;

/// Runs the tool calls of a language model, and checks the logs of it.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run batches of calls, print every result, write the session log.
    Run(Run),
    /// Check a session log: one result for every call, in order.
    Check(Check),
    /// Show the calls of a session log and their results again.
    Show(Show),
    /// Print the tools as TypeScript or Python, as who writes programs is told of them.
    Sdk(Sdk),
    /// Serve the tools to MCP clients: every call is decided, bounded and logged.
    Serve(Serve),
    /// Put one MCP server behind rules, without any file.
    Wrap(Wrap),
    /// Turn an MCP client's server configuration into a toolfall.toml.
    Import(Import),
    /// Print the JSON Schema of toolfall.toml, for editors and other checks.
    ConfigSchema,
    /// Run one program for another process, over standard input and output.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    CodeWorker,
}

/// Arguments of `toolfall run`.
// Each is a flag of its own, and nearly all combinations make sense.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Parser)]
#[command(after_help = "\
Batches are JSON Lines, {\"id\", \"calls\": [{\"call_id\", \"name\", \"arguments_json\"}]}, perhaps \
with an \"agent\", or the replies of a provider (Chat Completions, Responses, Messages), one a \
line or one a file. The batches of a file are all read before the first one runs.

Exit status: 0 when every call has its result, 1 when the log or the output could not be \
written, 2 on bad input, 3 when a budget (ends_run in [budget]) or the person who was asked \
ended the run, 130 when cancelled (every call has its result then too).")]
pub(crate) struct Run {
    /// Files of batches; standard input if there is none, or for `-`.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The configuration [default: toolfall.toml beside the first FILE, then here].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print JSON Lines, also on a terminal.
    #[arg(long, conflicts_with = "human")]
    pub(crate) json: bool,

    /// Print for people, also where there is no terminal.
    #[arg(long)]
    pub(crate) human: bool,

    /// Whether questions are put to you [default: the configuration's, else ask].
    #[arg(long, value_name = "WHEN")]
    pub(crate) approve: Option<Approve>,

    /// What the run permits, by the name of a preset [default: the configuration's].
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,

    /// The agent of batches that name none; an [[agent]] of the configuration.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// The session log [default: the configuration's, else toolfall-session.jsonl].
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// How many calls run at a time [default: the configuration's, else 10].
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) max_parallel: Option<NonZeroUsize>,

    /// The folder that the file tools are confined to, instead of the configuration's.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Run nothing real: answer the calls of each batch for the tools that it lists, from the
    /// answers recorded with them ("result" or "error" of a call). A call without one is answered
    /// {"recorded": false, "arguments": …}. File and command tools and hooks are left out; the other
    /// policies of the configuration, if there is one, still count.
    #[arg(long)]
    pub(crate) replay: bool,

    /// Print results only: no progress, no notes, no summary.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

fn positive(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse()
        .map_err(|_| "expected a whole number from 1 on")
}

/// Whether a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Approve {
    /// On the terminal; without one, calls that need it are denied.
    Ask,
    /// Nobody is asked: calls that need it are denied.
    Never,
}

/// Arguments of `toolfall check`.
#[derive(Debug, Parser)]
#[command(after_help = "\
Exit status: 0 when every call has exactly one result, in order; 1 when not; 2 when the log \
cannot be read.")]
pub(crate) struct Check {
    /// The session log.
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// Print JSON Lines.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing; the exit status tells.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Arguments of `toolfall show`.
#[derive(Debug, Parser)]
#[command(after_help = "\
Nothing runs. The file tools' results are shown as `run` shows them on a terminal: diffs, windows \
of lines, matches by file; any other by its content.

Exit status: 0 when all of it was shown, 1 when the output could not be written, 2 when the log \
cannot be read.")]
pub(crate) struct Show {
    /// The session log.
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// Print JSON Lines, with the cards in them.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `toolfall sdk`.
#[derive(Debug, Parser)]
#[command(after_help = "\
The tools are those that `run` would have: of [files], [bash], [[command]] and [[replay]], without \
what is hidden from the agent. Nothing runs.

Exit status: 0 when the text was printed, 1 when it could not be written, 2 on bad input.")]
pub(crate) struct Sdk {
    /// The language of the programs.
    #[arg(long, value_name = "LANGUAGE", default_value = "typescript")]
    pub(crate) language: Language,

    /// The configuration [default: toolfall.toml here].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The agent that is told; an [[agent]] of the configuration.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// The folder that the file tools are confined to, instead of the configuration's.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Print the declarations alone, as a source file.
    #[arg(long)]
    pub(crate) declarations: bool,
}

/// Arguments of `toolfall serve`.
#[derive(Debug, Parser)]
#[command(after_help = "\
The tools are those of [[mcp]], [files], [bash], [[command]] and [[replay]]. Questions are put to \
the client, if it offers elicitation. HUP reads the configuration again; INT and TERM end the \
server: calls are cancelled and answered. Standard output carries the protocol alone.

Exit status: 0 when the client went or the server was ended, 1 when something of our own failed, 2 \
on bad input.")]
pub(crate) struct Serve {
    /// Serve one client at standard input and output [default where that is no terminal].
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,

    /// Serve clients over HTTP, at <http://ADDR/mcp>. Other addresses than loopback want a token.
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8848")]
    pub(crate) http: Option<SocketAddr>,

    /// A file with the token that clients must send [default: the configuration's, else the
    /// variable `TOOLFALL_TOKEN`].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// The configuration [default: toolfall.toml here].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The folder that the file tools are confined to, instead of the configuration's.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// The agent that clients are; an [[agent]] of the configuration.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Whether questions are put to a person [default: the configuration's, else ask].
    #[arg(long, value_name = "WHEN")]
    pub(crate) approve: Option<Approve>,

    /// What is permitted, by the name of a preset [default: the configuration's].
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,

    /// The session log [default: the configuration's, else toolfall-session.jsonl].
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

/// Arguments of `toolfall wrap`.
#[derive(Debug, Parser)]
#[command(after_help = "\
The server's tools keep their names, so the client's own settings still fit. You are asked about \
every call that no --allow covers, in the client if it offers elicitation; else the call is \
refused. What a server says of its own tools never allows anything.

  toolfall wrap --allow 'read_*' --allow 'list_*' -- npx -y @modelcontextprotocol/server-filesystem DIR")]
pub(crate) struct Wrap {
    /// What the server is called [default: after the command].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Allow the tools whose names match the glob, without asking. May be given many times.
    #[arg(long, value_name = "PATTERN", conflicts_with = "rules")]
    pub(crate) allow: Vec<String>,

    /// Deny the tools whose names match the glob. Goes before --allow. May be given many times.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny: Vec<String>,

    /// Rules, as in [policy]: TOML, or JSON where the name ends in .json.
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,

    /// Whether questions are put to a person.
    #[arg(long, value_name = "WHEN")]
    pub(crate) approve: Option<Approve>,

    /// How long the answer to one call is waited for [default: 60000].
    #[arg(long, value_name = "MS")]
    pub(crate) timeout_ms: Option<std::num::NonZeroU64>,

    /// The session log [default: toolfall/wrap-NAME.jsonl in the folder for state].
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// The server's command.
    #[arg(value_name = "COMMAND", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

/// Arguments of `toolfall import`.
#[derive(Debug, Parser)]
#[command(after_help = "\
PATH is the file in which an MCP client keeps its servers: \"mcpServers\" of Claude Desktop, Claude \
Code, Cursor, Windsurf, Cline and Gemini CLI, \"servers\" of .vscode/mcp.json, \"context_servers\" \
of Zed. Comments in it are fine. It is not changed, and nothing is started.

What cannot be taken over is told on standard error, and so are the lines that put toolfall into \
the client's file; with --output those go to standard output.

Exit status: 0 when the configuration was written, 1 when it could not be, 2 on bad input.")]
pub(crate) struct Import {
    /// The client's configuration.
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// Write the configuration there [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite FILE if it is there.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// The language of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// TypeScript.
    #[value(name = "typescript", alias = "ts")]
    TypeScript,
    /// Python.
    #[value(name = "python", alias = "py")]
    Python,
}

impl From<Language> for toolfall::sdk::Language {
    fn from(language: Language) -> Self {
        match language {
            Language::TypeScript => Self::TypeScript,
            Language::Python => Self::Python,
        }
    }
}
