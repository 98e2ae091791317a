//! Where clients come from: standard input and output, or an address.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use toolfall::mcp::server::{HttpOptions, PipelineServer};

use super::{note, streams};
use crate::config::{Serving, token};
use crate::error::Error;

/// Holds the token, where no file does.
const TOKEN: &str = "TOOLFALL_TOKEN";

/// Where to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Standard input and output.
    Stdio,
    /// An address.
    Http(SocketAddr),
}

/// What a listener needs.
pub(super) struct Listener {
    listener: TcpListener,
    options: HttpOptions,
}

impl Listener {
    /// Listens at `address`; other addresses than loopback want a token.
    pub(super) async fn open(
        address: SocketAddr,
        serving: &Serving,
        token_file: Option<&std::path::Path>,
    ) -> Result<Self, Error> {
        let token = match token_file.or(serving.token_file.as_deref()) {
            Some(file) => Some(token(file)?),
            None => std::env::var(TOKEN)
                .ok()
                .filter(|token| !token.trim().is_empty()),
        };
        if token.is_none() && !address.ip().is_loopback() {
            return Err(Error::input(format!(
                "expected a token for {address}, which is no loopback address: give --token-file \
                 FILE, or set {TOKEN}"
            )));
        }
        let mut options = HttpOptions::new();
        if let Some(token) = token {
            options = options.bearer_token(token.trim());
        }
        if !address.ip().is_unspecified() && !address.ip().is_loopback() {
            options = options.allow_host(address.ip().to_string());
        }
        for host in &serving.allow_hosts {
            options = options.allow_host(host);
        }
        for origin in &serving.allow_origins {
            options = options.allow_origin(origin);
        }
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| Error::own(&format!("{address} cannot be listened on"), &error))?;
        Ok(Self { listener, options })
    }

    /// Serves until `shutdown`.
    pub(super) async fn serve(
        self,
        server: PipelineServer,
        shutdown: CancellationToken,
    ) -> Result<(), Error> {
        if let Ok(address) = self.listener.local_addr() {
            note(&format!("serving at http://{address}/mcp"));
        }
        let router = server.router(self.options.shutdown(shutdown.clone()));
        axum::serve(self.listener, router)
            .with_graceful_shutdown(shutdown.cancelled_owned())
            .await
            .map_err(|error| Error::own("the address cannot be served", &error))
    }
}

/// Serves one client until its input ends, or `shutdown`.
pub(super) async fn stdio(
    server: PipelineServer,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let (input, output) = streams::standard();
    let ended = server.serve(input, output, shutdown).await;
    ended.map_err(|error| Error::own("standard input and output cannot be served", &error))
}
