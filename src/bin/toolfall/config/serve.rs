//! `[serve]`: what `toolfall serve` says of itself, and who may reach it.

use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::Config;
use super::place::read_text;
use crate::error::Error;

/// How the pipeline is served to MCP clients by `toolfall serve`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Serve {
    /// What the server calls itself.
    #[schemars(extend("default" = "toolfall"))]
    name: Option<String>,
    /// What a client may tell its model of the server.
    instructions: Option<String>,
    /// The agent of all clients, an `[[agent]]`; `--agent` goes before it.
    agent: Option<String>,
    /// The address to listen on, as `127.0.0.1:8848`; without it, and without
    /// `--http`, standard input and output are served.
    #[schemars(with = "Option<String>")]
    http: Option<Spanned<String>>,
    /// A file whose text is the token that clients must send
    /// (`Authorization: Bearer …`). Required for other addresses than loopback.
    #[schemars(with = "Option<PathBuf>")]
    token_file: Option<PathBuf>,
    /// Names under which the server is reached, besides those of loopback.
    #[serde(default)]
    allow_hosts: Vec<String>,
    /// Origins of pages whose requests are answered.
    #[serde(default)]
    allow_origins: Vec<String>,
}

/// What the table comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Serving {
    pub(crate) name: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) http: Option<SocketAddr>,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) allow_hosts: Vec<String>,
    pub(crate) allow_origins: Vec<String>,
}

impl Config {
    /// What the file says of serving.
    pub(crate) fn serving(&self) -> Result<Serving, Error> {
        let (Some(source), Some(serve)) = (&self.source, &self.written.serve) else {
            return Ok(Serving::default());
        };
        let http = match &serve.http {
            None => None,
            Some(written) => Some(written.get_ref().parse().map_err(|_| {
                let message = format!(
                    "expected an address and a port as 127.0.0.1:8848, found {:?}",
                    written.get_ref()
                );
                source.error(Some(written.span()), &message)
            })?),
        };
        Ok(Serving {
            name: serve.name.clone(),
            instructions: serve.instructions.clone(),
            agent: serve.agent.clone(),
            http,
            token_file: serve.token_file.as_deref().map(|file| self.beside(file)),
            allow_hosts: serve.allow_hosts.clone(),
            allow_origins: serve.allow_origins.clone(),
        })
    }
}

/// The token in `file`.
pub(crate) fn token(file: &std::path::Path) -> Result<String, Error> {
    let text = read_text(file, "a token")?;
    let token = text.trim();
    if token.is_empty() || token.chars().any(|letter| !letter.is_ascii_graphic()) {
        let message = "expected a token of visible ASCII characters in one line";
        return Err(Error::at(file, 1, message));
    }
    Ok(token.to_owned())
}
