//! Many tools in the places of many others, in one change.

use std::collections::HashMap;
use std::sync::Arc;

use toolfall_layers::{Scope, ScopeId};

use super::registration::{Held, compile};
use super::snapshot::Snapshot;
use super::{RegisterError, Registration, Registry};
use crate::tool::{ToolDef, ToolEntry};

impl Registry {
    /// Puts `tools` in the places of the tools that `old` keeps registered,
    /// for every caller and in one change: no reader finds neither, and none
    /// finds both. Afterwards `old` holds the registrations of the new tools.
    ///
    /// A new tool with the name of an old one has its place in the order too.
    /// What else `old` holds (masks, tools of other registries) is taken away
    /// right after the change.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use toolfall::{Arguments, BoxError, Registry, ToolContext, ToolDef, raw_tool};
    ///
    /// # fn tool(name: &'static str) -> ToolDef {
    /// #     raw_tool(name, "", json!({"type": "object"}), |_: Arguments, _: ToolContext| async {
    /// #         Ok::<_, BoxError>(Value::Null)
    /// #     })
    /// # }
    /// let registry = Registry::new();
    /// let mut held = registry.register_all([tool("add"), tool("greet")])?;
    /// registry.replace_all(&mut held, [tool("greet"), tool("multiply")])?;
    /// assert_eq!(registry.names(None), ["greet", "multiply"]);
    ///
    /// drop(held);
    /// assert!(registry.names(None).is_empty());
    /// # Ok::<(), BoxError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register), for the first tool that cannot be
    /// added. Then nothing changes, and `old` stays as it is.
    pub fn replace_all(
        &self,
        old: &mut Vec<Registration>,
        tools: impl IntoIterator<Item = ToolDef>,
    ) -> Result<(), RegisterError> {
        self.swap(None, old, compile_all(tools)?)
    }

    /// [`replace_all`](Self::replace_all), with the new tools for `scope` and
    /// what is nested in it; the old ones go wherever they were.
    ///
    /// # Errors
    ///
    /// As [`register_in`](Self::register_in), for the first tool that cannot
    /// be added. Then nothing changes, and `old` stays as it is.
    pub fn replace_all_in(
        &self,
        scope: &Scope,
        old: &mut Vec<Registration>,
        tools: impl IntoIterator<Item = ToolDef>,
    ) -> Result<(), RegisterError> {
        self.swap(Some(scope), old, compile_all(tools)?)
    }

    /// [`replace_all`](Self::replace_all) of tools that are compiled.
    pub(crate) fn swap(
        &self,
        scope: Option<&Scope>,
        old: &mut Vec<Registration>,
        new: Vec<Arc<ToolEntry>>,
    ) -> Result<(), RegisterError> {
        for tool in &new {
            self.announce_kinds(tool);
        }
        let leaving: Vec<(Option<ScopeId>, &Arc<ToolEntry>)> = old
            .iter()
            .filter(|registration| registration.is_of(self))
            .filter_map(|registration| match &registration.held {
                Some(Held::Tool(tool)) => Some((registration.scope, tool)),
                _ => None,
            })
            .collect();
        if !(leaving.is_empty() && new.is_empty()) {
            self.change(|tools| tools.replace(scope, &leaving, &new))?;
        }
        let new = new.into_iter();
        let new = new.map(|tool| Registration::tool(self, scope, tool));
        // Those that are dropped here find nothing left to take away.
        *old = new.collect();
        Ok(())
    }
}

fn compile_all(
    tools: impl IntoIterator<Item = ToolDef>,
) -> Result<Vec<Arc<ToolEntry>>, RegisterError> {
    let tools = tools.into_iter();
    tools.map(|tool| compile(tool).map(Arc::new)).collect()
}

/// What a tool needs to be registered, checked before.
#[cfg(feature = "mcp-client")]
pub(crate) fn compiled(tool: ToolDef) -> Result<Arc<ToolEntry>, RegisterError> {
    compile(tool).map(Arc::new)
}

impl Snapshot {
    /// Takes out what is `leaving`, and adds `new` to the layer of `scope`.
    fn replace(
        &mut self,
        scope: Option<&Scope>,
        leaving: &[(Option<ScopeId>, &Arc<ToolEntry>)],
        new: &[Arc<ToolEntry>],
    ) -> Result<(), RegisterError> {
        let owner = scope.map(Scope::id);
        let mut places = HashMap::new();
        for (from, tool) in leaving {
            let name = tool.def.name();
            if *from == owner
                && let Some(place) = self.place_of(*from, tool)
            {
                places.insert(name, place);
            }
            self.take(*from, |layer| layer.remove(tool));
        }
        for tool in new {
            let place = places.get(tool.def.name()).copied();
            self.insert_at(scope, place, tool.clone())?;
        }
        Ok(())
    }
}
