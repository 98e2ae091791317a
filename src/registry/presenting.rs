//! Declaring how a scope's tools are presented, and asking.

use std::sync::Arc;

use toolfall_layers::Scope;

use super::presentation::Declared;
use super::reserved::is_reserved;
use super::{
    AssembleError, PresentError, Presentation, Registration, Registry, Section, ToolSchema,
};
#[cfg(feature = "mcp-server")]
use crate::tool::ToolEntry;

/// What a model is told: its tools, and what the transport adds.
type Told = (Vec<ToolSchema>, Vec<Section>);

impl Registry {
    /// Declares how the tools are presented to the models of `scope` and of
    /// the scopes nested in it that declare nothing themselves, until the
    /// registration is dropped or the scope is disposed.
    ///
    /// It counts for what is told and for what may be called alike, and only
    /// while code mode is attached: before and after that every scope is
    /// native. Scopes without a declaration have the presentation that code
    /// mode was attached with.
    ///
    /// # Errors
    ///
    /// [`PresentError`]: without a scope, for a second declaration of one
    /// scope, and for a scope that was disposed.
    pub fn present<'a>(
        &self,
        scope: impl Into<Option<&'a Scope>>,
        presentation: Presentation,
    ) -> Result<Registration, PresentError> {
        self.declare(scope.into(), presentation, false)
    }

    /// As [`present`](Self::present), but for as long as nothing runs
    /// programs the scope is native.
    ///
    /// # Errors
    ///
    /// As [`present`](Self::present).
    pub fn present_when_ready<'a>(
        &self,
        scope: impl Into<Option<&'a Scope>>,
        presentation: Presentation,
    ) -> Result<Registration, PresentError> {
        self.declare(scope.into(), presentation, true)
    }

    fn declare(
        &self,
        scope: Option<&Scope>,
        presentation: Presentation,
        when_ready: bool,
    ) -> Result<Registration, PresentError> {
        let scope = scope.ok_or(PresentError::Unscoped {
            wanted: presentation,
        })?;
        let declared = Arc::new(Declared {
            presentation,
            when_ready,
        });
        self.change(|tools| tools.declare(scope, declared.clone()))?;
        Ok(Registration::declared(self, scope, declared))
    }

    /// How the tools are presented to a model in `scope`.
    pub fn presentation(&self, scope: Option<&Scope>) -> Presentation {
        self.0.tools.load().presentation(scope)
    }

    /// Whether a call of `name` that nothing encloses can never run: the tool
    /// is there for programs alone.
    pub(super) fn is_collapsed(&self, name: &str, scope: Option<&Scope>) -> bool {
        let tools = self.0.tools.load();
        !is_reserved(name)
            && tools.presentation(scope) == Presentation::Code
            && tools.find(name, scope).is_some()
    }

    /// What a model in `scope` is told: tools in no order yet, and what the
    /// transport adds.
    pub(super) fn told(&self, scope: Option<&Scope>) -> Result<Told, AssembleError> {
        // One snapshot for all of it: tools and their declarations agree.
        let tools = self.0.tools.load();
        let mut visible: Vec<_> = tools.visible(scope).iter().map(|tool| &tool.def).collect();
        visible.sort_by(|a, b| a.name().cmp(b.name()));
        let presentation = tools.presentation(scope);
        let Some(attached) = tools
            .transport()
            .filter(|_| presentation != Presentation::Native)
        else {
            return Ok((
                visible.into_iter().map(ToolSchema::of).collect(),
                Vec::new(),
            ));
        };
        let transport = &attached.transport;
        let sections = transport.sections(presentation, &visible)?;
        if presentation == Presentation::Code {
            visible.clear();
        }
        let entry = transport.entry();
        visible.push(&entry.def);
        Ok((visible.into_iter().map(ToolSchema::of).collect(), sections))
    }

    /// The tools that a model in `scope` may call by name, sorted by name.
    #[cfg(feature = "mcp-server")]
    pub(crate) fn callable(&self, scope: Option<&Scope>) -> Vec<Arc<ToolEntry>> {
        let tools = self.0.tools.load();
        let mut callable: Vec<Arc<ToolEntry>> = Vec::new();
        let presentation = tools.presentation(scope);
        if presentation != Presentation::Code {
            callable.extend(tools.visible(scope).into_iter().cloned());
        }
        if presentation != Presentation::Native {
            callable.extend(tools.transport().map(|attached| attached.transport.entry()));
        }
        callable.sort_by(|a, b| a.def.name().cmp(b.def.name()));
        callable
    }
}
