//! The servers behind a pipeline, as they come and go.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;
use toolfall::Registry;
use toolfall::mcp::client::{LoadError, McpSource};

use crate::config::Upstream;
use crate::error::Error;

/// A server that is there, and everything that the file said of it.
struct Loaded {
    key: String,
    source: McpSource,
}

/// A server's name, its key, whether it is strict, and what it came to.
type Came = (String, String, bool, Result<McpSource, LoadError>);

/// The servers that are there, by name.
#[derive(Default)]
pub(crate) struct Upstreams {
    loaded: BTreeMap<String, Loaded>,
    /// Those that take their time, and come when they come.
    coming: JoinSet<Came>,
}

impl Upstreams {
    /// Starts `upstreams` at the same time, and waits until each is there or
    /// known not to be; with `patience`, no longer than that for those that
    /// nothing depends on, which come later.
    pub(crate) async fn load(
        &mut self,
        registry: &Registry,
        upstreams: Vec<Upstream>,
        patience: Option<Duration>,
    ) -> Result<(), Error> {
        let mut strict = 0_usize;
        for Upstream {
            server,
            key,
            is_strict,
        } in upstreams
        {
            strict += usize::from(is_strict);
            let registry = registry.clone();
            self.coming.spawn(async move {
                let loaded = server.load(&registry).await;
                (server.name().to_owned(), key, is_strict, loaded)
            });
        }
        let patience = async {
            match patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(patience);
        let mut is_over = false;
        loop {
            let next = tokio::select! {
                next = self.coming.join_next() => next,
                () = &mut patience, if !is_over => {
                    is_over = true;
                    if strict == 0 {
                        return Ok(());
                    }
                    continue;
                }
            };
            let Some(came) = next else {
                return Ok(());
            };
            strict = strict.saturating_sub(usize::from(self.arrived(came)?));
            if is_over && strict == 0 {
                return Ok(());
            }
        }
    }

    /// Takes what comes late.
    pub(crate) async fn late(&mut self) {
        while let Some(came) = self.coming.join_next().await {
            if let Err(error) = self.arrived(came) {
                tracing::error!("{error}");
            }
        }
        std::future::pending::<()>().await;
    }

    /// Says whether it was a strict one.
    fn arrived(&mut self, came: Result<Came, tokio::task::JoinError>) -> Result<bool, Error> {
        let (name, key, is_strict, loaded) =
            came.map_err(|error| Error::own("a server cannot be loaded", &error))?;
        let source = loaded.map_err(|error| Error::own("a server cannot be loaded", &error))?;
        self.loaded.insert(name, Loaded { key, source });
        Ok(is_strict)
    }

    /// The servers of `wanted` that are there as they are wanted are taken
    /// out of it; the names of those that shall go are returned.
    pub(crate) fn compare(&self, wanted: &mut Vec<Upstream>) -> Vec<String> {
        let mut leaving = Vec::new();
        for (name, loaded) in &self.loaded {
            let is_same =
                |upstream: &Upstream| upstream.server.name() == name && upstream.key == loaded.key;
            let same = wanted.iter().position(is_same);
            match same {
                Some(place) => drop(wanted.swap_remove(place)),
                None => leaving.push(name.clone()),
            }
        }
        leaving
    }

    /// The names of the tools of the server `name`, as they are registered.
    pub(crate) fn tools_of(&self, name: &str) -> Vec<String> {
        let tools = self.loaded.get(name).map(|loaded| loaded.source.tools());
        let tools = tools.iter().flat_map(|tools| tools.iter());
        tools
            .flat_map(|tool| [tool.public_name().to_owned(), tool.raw_name().to_owned()])
            .collect()
    }

    /// Ends the server `name`, and waits until it is gone.
    pub(crate) async fn end(&mut self, name: &str) {
        if let Some(loaded) = self.loaded.remove(name) {
            loaded.source.dispose().await;
        }
    }

    /// Ends all of them at once.
    pub(crate) async fn end_all(&mut self) {
        self.coming.shutdown().await;
        let loaded = std::mem::take(&mut self.loaded);
        let ends = loaded.values().map(|loaded| loaded.source.dispose());
        futures_util::future::join_all(ends).await;
    }

    /// Whether none is there or comes.
    pub(crate) fn is_empty(&self) -> bool {
        self.loaded.is_empty() && self.coming.is_empty()
    }
}
