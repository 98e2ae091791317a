//! `[[mcp]]`: servers whose tools are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
#[cfg(unix)]
use toolfall::mcp::client::Stdio;
use toolfall::mcp::client::{Http, McpServer, Reconnect};
use toolfall::mcp::tool::ToolOptions;

use super::redaction::Secrets;
use super::variables::expanded;
use super::{Config, Source};
use crate::error::{Error, chain};

/// A server of the Model Context Protocol: a program that is started
/// (`command`), or an address (`url`). Its tools are called
/// `mcp__<name>__<tool>`. `${NAME}` in its texts is a variable of the
/// environment, `${NAME:-default}` has a default, and `$${` stands for `${`.
// Each is a choice of its own, and nearly all combinations make sense.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Mcp {
    /// Its name, 1 to 32 letters, digits, `_` and `-`; no two servers share one.
    #[schemars(with = "String", length(min = 1, max = 32))]
    name: Spanned<String>,
    /// The program. With a `/` it is a path from the file's folder, else it is
    /// looked for in `PATH`. On Unix only.
    #[schemars(with = "Option<String>")]
    command: Option<Spanned<String>>,
    /// The arguments of the program; no shell reads them.
    #[serde(default)]
    #[schemars(with = "Vec<String>", extend("default" = []))]
    args: Vec<Spanned<String>>,
    /// Variables that are set for the program.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>", extend("default" = {}))]
    env: BTreeMap<String, Spanned<String>>,
    /// Variables of the environment that the program gets as well: without
    /// them it gets `PATH`, `HOME`, the user, the language and the like.
    #[serde(default)]
    pass_env: Vec<String>,
    /// Whether the program gets the whole environment, secrets and all.
    #[serde(default)]
    inherit_env: bool,
    /// The folder that the program starts in; the file's own without it.
    #[schemars(with = "Option<String>")]
    cwd: Option<Spanned<String>>,
    /// The address of the server, which speaks streamable HTTP.
    #[schemars(with = "Option<String>")]
    url: Option<Spanned<String>>,
    /// Headers of every request to the address.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>", extend("default" = {}))]
    headers: BTreeMap<String, Spanned<String>>,
    /// Whether nothing begins without the server. Without it the others go on,
    /// and it is tried again.
    #[serde(default)]
    strict: bool,
    /// How long the answer to one call is waited for, in milliseconds from 1 on.
    #[schemars(extend("default" = 60_000))]
    timeout_ms: Option<NonZeroU64>,
    /// How long a connection and its listing may take, in milliseconds from 1 on.
    #[schemars(extend("default" = 30_000))]
    connect_timeout_ms: Option<NonZeroU64>,
    /// What happens when the connection is lost.
    #[schemars(with = "Option<Again>")]
    reconnect: Option<Spanned<Again>>,
    /// Whether the server's hints are believed where they loosen something:
    /// tools that say that they only read may then overlap and be repeated.
    #[serde(default)]
    trust_hints: bool,
    /// Whether the tools keep the names that the server gives them. For a file
    /// with one server: other tools may have the same names.
    #[serde(default)]
    raw_names: bool,
    /// Whether the server speaks as before 2026 from the first message on.
    #[serde(default)]
    legacy: bool,
    /// Whether the server is left out.
    #[serde(default)]
    disabled: bool,
}

/// What happens when a connection is lost.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Again {
    /// Whether it is made anew.
    #[serde(default = "yes")]
    enabled: bool,
    /// The wait before the first attempt, in milliseconds; it doubles with each.
    #[schemars(extend("default" = 500))]
    initial_ms: Option<NonZeroU64>,
    /// The longest wait, in milliseconds.
    #[schemars(extend("default" = 30_000))]
    max_ms: Option<NonZeroU64>,
    /// How many attempts there are.
    #[schemars(extend("default" = 10))]
    attempts: Option<NonZeroU32>,
}

const fn yes() -> bool {
    true
}

/// A server of the file.
pub(crate) struct Upstream {
    pub(crate) server: McpServer,
    /// Everything that the file says of it, with the values of the variables:
    /// another text is another server. It may hold secrets.
    pub(crate) key: String,
    /// Whether nothing begins without it.
    pub(crate) is_strict: bool,
}

impl Config {
    /// Whether a tool of a server may have this name, though it is not there.
    pub(crate) fn may_come(&self, name: &str) -> bool {
        let mut live = self.written.mcp.iter().filter(|mcp| !mcp.disabled);
        live.any(|mcp| mcp.raw_names || name.starts_with("mcp__"))
    }

    /// Whether one of the file's servers may bring a tool of this name.
    pub(super) fn may_bring(&self, name: &str) -> bool {
        let mut live = self.written.mcp.iter().filter(|mcp| !mcp.disabled);
        live.any(|mcp| mcp.raw_names || name.starts_with(&prefix(mcp)))
    }

    /// The servers of the file, without those that are disabled. With `native`
    /// what they answer is kept block by block, for another client; else it is
    /// made for models.
    pub(crate) fn upstreams(&self, native: bool) -> Result<Vec<Upstream>, Error> {
        let mut upstreams = Vec::new();
        let mut names = BTreeSet::new();
        let Some(source) = &self.source else {
            return Ok(upstreams);
        };
        for mcp in &self.written.mcp {
            let name = mcp.name.get_ref();
            if !names.insert(name) {
                let message = format!("expected a name that no other server has, found {name:?}");
                return Err(source.error(Some(mcp.name.span()), &message));
            }
            let upstream = self.upstream(source, mcp, native)?;
            if !mcp.disabled {
                upstreams.push(upstream);
            }
        }
        Ok(upstreams)
    }

    fn upstream(&self, source: &Source, mcp: &Mcp, native: bool) -> Result<Upstream, Error> {
        let name = mcp.name.get_ref();
        let fail = |message: &str| source.error(Some(mcp.name.span()), message);
        let mut key = format!(
            "{:?}",
            (
                mcp.strict,
                mcp.timeout_ms,
                mcp.connect_timeout_ms,
                mcp.trust_hints,
                mcp.raw_names
            )
        );
        let _ = write!(key, "{:?}", (mcp.legacy, &mcp.pass_env, mcp.inherit_env));
        let again = mcp.reconnect.as_ref().map(Spanned::get_ref);
        let _ = write!(key, "{again:?}");
        // What is left out may name variables that are not there.
        let text = |text: &Spanned<String>, key: &mut String| {
            if mcp.disabled {
                return Ok(text.get_ref().clone());
            }
            let read = expanded(text.get_ref(), |name| std::env::var(name).ok());
            let read = read.map_err(|message| source.error(Some(text.span()), &message))?;
            let _ = write!(key, "{read:?}");
            Ok::<_, Error>(read.into_owned())
        };
        let server = match (&mcp.command, &mcp.url) {
            (Some(command), None) => {
                if !mcp.headers.is_empty() {
                    return Err(fail("expected no headers of a program, found some"));
                }
                self.program_of(source, mcp, command, &text, &mut key)?
            }
            (None, Some(url)) => {
                let odd = !mcp.args.is_empty() || !mcp.env.is_empty() || mcp.cwd.is_some();
                if odd || mcp.inherit_env || !mcp.pass_env.is_empty() {
                    let message = "expected no args, env, pass_env, inherit_env or cwd beside a url, found some";
                    return Err(fail(message));
                }
                let whole = text(url, &mut key)?;
                let at = |range: Range<usize>| {
                    move |error| source.error(Some(range.clone()), &chain(&error))
                };
                let mut http = if mcp.disabled && whole.contains("${") {
                    Http::new("http://localhost").map_err(at(url.span()))?
                } else {
                    Http::new(whole).map_err(at(url.span()))?
                };
                for (header, value) in &mcp.headers {
                    let whole = text(value, &mut key)?;
                    key.push_str(header);
                    http = http.header(header, whole).map_err(at(value.span()))?;
                }
                McpServer::http(name, http).map_err(|error| fail(&chain(&error)))?
            }
            (None, None) => return Err(fail("expected `command` or `url`, found neither")),
            (Some(_), Some(url)) => {
                let message = "expected `command` or `url`, found both";
                return Err(source.error(Some(url.span()), message));
            }
        };
        let prefix = prefix(mcp);
        let secrets = self.secrets(|tool| mcp.raw_names || tool.starts_with(&prefix));
        let _ = write!(key, "{secrets:?}");
        let server = settled(mcp, server, native, secrets);
        server.check().map_err(|error| {
            let at = mcp
                .reconnect
                .as_ref()
                .map_or(mcp.name.span(), Spanned::span);
            source.error(Some(at), &chain(&error))
        })?;
        Ok(Upstream {
            server,
            key,
            is_strict: mcp.strict,
        })
    }

    #[cfg(unix)]
    fn program_of(
        &self,
        source: &Source,
        mcp: &Mcp,
        command: &Spanned<String>,
        text: &impl Fn(&Spanned<String>, &mut String) -> Result<String, Error>,
        key: &mut String,
    ) -> Result<McpServer, Error> {
        let program = text(command, key)?;
        if program.is_empty() {
            return Err(source.error(Some(command.span()), "expected a program, found none"));
        }
        // A bare name is looked up.
        let program = if program.contains('/') {
            let path = self.beside(Path::new(&program));
            std::path::absolute(&path).unwrap_or(path)
        } else {
            PathBuf::from(program)
        };
        let mut stdio = Stdio::new(program);
        for arg in &mcp.args {
            stdio = stdio.args([text(arg, key)?]);
        }
        for (name, value) in &mcp.env {
            let whole = text(value, key)?;
            if name.is_empty() || name.contains(['=', '\0']) || whole.contains('\0') {
                let message = format!("expected the name of a variable, found {name:?}");
                return Err(source.error(Some(value.span()), &message));
            }
            key.push_str(name);
            stdio = stdio.env(name, whole);
        }
        stdio = stdio.pass_env(&mcp.pass_env);
        if mcp.inherit_env {
            stdio = stdio.inherit_env();
        }
        let cwd = match &mcp.cwd {
            Some(cwd) => Some(PathBuf::from(text(cwd, key)?)),
            None => None,
        };
        let folder = self.folder(cwd.as_deref());
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        // However the file was named: a slash at the end makes no difference.
        let folder: PathBuf = folder.components().collect();
        key.push_str(&folder.to_string_lossy());
        if let Some(cwd) = mcp
            .cwd
            .as_ref()
            .filter(|_| !mcp.disabled && !folder.is_dir())
        {
            let message = format!("expected a folder at {}, found none", folder.display());
            return Err(source.error(Some(cwd.span()), &message));
        }
        McpServer::stdio(mcp.name.get_ref(), stdio.current_dir(folder))
            .map_err(|error| source.error(Some(mcp.name.span()), &chain(&error)))
    }

    #[cfg(not(unix))]
    fn program_of(
        &self,
        source: &Source,
        _: &Mcp,
        command: &Spanned<String>,
        _: &impl Fn(&Spanned<String>, &mut String) -> Result<String, Error>,
        _: &mut String,
    ) -> Result<McpServer, Error> {
        let message = "expected no programs on this system, which has no process groups";
        Err(source.error(Some(command.span()), message))
    }
}

/// What the names of a server's tools begin with.
fn prefix(mcp: &Mcp) -> String {
    format!("mcp__{}__", mcp.name.get_ref())
}

/// The server with what is said of either kind.
fn settled(mcp: &Mcp, server: McpServer, native: bool, secrets: Secrets) -> McpServer {
    let time = |ms: NonZeroU64| Duration::from_millis(ms.get());
    let mut options = ToolOptions::new().adjust(move |tool| secrets.applied(tool));
    if native {
        options = options.native_content();
    }
    if mcp.trust_hints {
        options = options.trust_hints();
    }
    if mcp.raw_names {
        options = options.raw_names();
    }
    let mut server = server.tool_options(options);
    if mcp.strict {
        server = server.strict();
    }
    if mcp.legacy {
        server = server.legacy();
    }
    if let Some(timeout) = mcp.timeout_ms {
        server = server.timeout(time(timeout));
    }
    if let Some(timeout) = mcp.connect_timeout_ms {
        server = server.connect_timeout(time(timeout));
    }
    if let Some(again) = &mcp.reconnect {
        let again = again.get_ref();
        let mut reconnect = if again.enabled {
            Reconnect::new()
        } else {
            Reconnect::never()
        };
        if let Some(delay) = again.initial_ms {
            reconnect = reconnect.initial_delay(time(delay));
        }
        if let Some(delay) = again.max_ms {
            reconnect = reconnect.max_delay(time(delay));
        }
        if let Some(attempts) = again.attempts {
            reconnect = reconnect.max_attempts(attempts.get());
        }
        server = server.reconnect(reconnect);
    }
    server
}
