//! The tools of a server as they were listed last, all of them or none.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use toolfall_layers::Scope;
use toolfall_layers::panic::{catch, display};

use super::error::StartError;
use crate::mcp::tool::{Caller, McpTool, Quarantine, ToolOptions};
use crate::registry::compiled;
use crate::tool::ToolEntry;
use crate::{RegisterError, Registration, Registry};

/// So many definitions are read until others get the thread.
const AT_ONCE: usize = 16;

/// A listing, read.
pub(super) struct Listing {
    pub(super) tools: Vec<McpTool>,
    pub(super) quarantined: Vec<Quarantine>,
}

impl Listing {
    /// Reads the definitions of `server`. What cannot be used is set aside,
    /// and hinders nothing else; but a name that is there twice is no listing.
    ///
    /// Cancel safe: nothing is changed.
    pub(super) async fn read(server: &str, definitions: Vec<Value>) -> Result<Self, StartError> {
        let mut tools: Vec<McpTool> = Vec::new();
        let mut quarantined = Vec::new();
        for (place, definition) in definitions.into_iter().enumerate() {
            if place % AT_ONCE == AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            match McpTool::parse(server, definition) {
                Ok(tool) => tools.push(tool),
                Err(quarantine) => quarantined.push(quarantine),
            }
        }
        let mut names = HashSet::new();
        if let Some(tool) = tools.iter().find(|tool| !names.insert(tool.raw_name())) {
            return Err(StartError::duplicate(tool.raw_name()));
        }
        Ok(Self { tools, quarantined })
    }

    /// Makes tools of the registry of the tools. One that the registry would
    /// not take for itself is set aside like one that cannot be read.
    ///
    /// Cancel safe: nothing is changed.
    pub(super) async fn compile(
        &mut self,
        options: &ToolOptions,
        caller: &Arc<impl Caller>,
    ) -> Vec<Arc<ToolEntry>> {
        let mut entries = Vec::with_capacity(self.tools.len());
        let mut usable = Vec::with_capacity(self.tools.len());
        for (place, tool) in std::mem::take(&mut self.tools).into_iter().enumerate() {
            if place % AT_ONCE == AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            // What the host adds is the host's own code.
            let made = catch(|| tool.clone().into_tool(options.clone(), caller.clone()));
            let made = match made {
                Ok(tool) => compiled(tool).map_err(|error| super::events::in_full(&error)),
                Err(panic) => Err(display(&panic)),
            };
            match made {
                Ok(entry) => {
                    entries.push(entry);
                    usable.push(tool);
                }
                Err(reason) => {
                    let name = Some(tool.raw_name());
                    self.quarantined.push(Quarantine::new(name, "", reason));
                }
            }
        }
        self.tools = usable;
        entries
    }
}

/// What is registered of a server.
pub(super) struct Generation {
    registry: Registry,
    scope: Option<Scope>,
    held: Vec<Registration>,
    /// What `held` holds, to know what changes nothing.
    digests: Vec<(String, String)>,
}

impl Generation {
    /// Nothing yet, on `registry` for `scope`.
    pub(super) fn new(registry: Registry, scope: Option<Scope>) -> Self {
        Self {
            registry,
            scope,
            held: Vec::new(),
            digests: Vec::new(),
        }
    }

    /// Puts the tools of a listing in the places of those before, in one
    /// change of the registry; an error changes nothing. The same tools again
    /// are no change.
    pub(super) fn replace(
        &mut self,
        tools: &[McpTool],
        entries: Vec<Arc<ToolEntry>>,
    ) -> Result<(), RegisterError> {
        let digest = |tool: &McpTool| (tool.raw_name().to_owned(), tool.digest().to_owned());
        let digests: Vec<_> = tools.iter().map(digest).collect();
        if digests == self.digests {
            return Ok(());
        }
        self.registry
            .swap(self.scope.as_ref(), &mut self.held, entries)?;
        self.digests = digests;
        Ok(())
    }

    /// Takes everything away, in one change.
    pub(super) fn clear(&mut self) {
        let cleared = self.registry.swap(None, &mut self.held, Vec::new());
        // Without new tools there is nothing that could be refused; but what
        // is dropped here goes in any case.
        if cleared.is_err() {
            self.held.clear();
        }
        self.digests.clear();
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.clear();
    }
}
