//! One coherent view of all tools.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use toolfall_layers::{Scope, ScopeId};

use super::layer::{Layer, Placed, ScopeLayer};
use super::mask::{Filter, Mask, RestrictError};
use super::presentation::{Attached, Declared};
use super::registration::RegisterError;
use super::{PresentError, Presentation};
use crate::tool::ToolEntry;

/// The tools for everybody, and a layer for each scope that holds something.
///
/// A change copies the map of layers and the one layer that changes.
#[derive(Clone, Default)]
pub(super) struct Snapshot {
    next: u64,
    global: Arc<Layer>,
    scoped: HashMap<ScopeId, Arc<ScopeLayer>, RandomState>,
    transport: Option<Attached>,
}

/// The scope was disposed, or one that it is nested in.
pub(super) struct Disposed;

impl Snapshot {
    /// The tool that a call from `scope` reaches under `name`.
    ///
    /// A nearer tool shadows a farther one, and a scope's masks hide what
    /// comes from farther out, whatever its distance.
    pub(super) fn find(&self, name: &str, scope: Option<&Scope>) -> Option<&Arc<ToolEntry>> {
        let scope = scope.filter(|_| !self.scoped.is_empty());
        let chain = || {
            let chain = scope.into_iter().flat_map(Scope::chain);
            chain.map(|scope| self.scoped.get(&scope.id()))
        };
        let mut nearer = 0;
        let mut found = None;
        for scoped in chain() {
            if let Some(scoped) = scoped {
                if scoped.disposed {
                    return None;
                }
                found = scoped.layer.get(name);
                if found.is_some() {
                    break;
                }
            }
            nearer += 1;
        }
        let found = found.or_else(|| self.global.get(name))?;
        // Only what is nearer than the tool inherits it.
        let mut inheriting = chain().take(nearer).flatten();
        let hidden = inheriting.any(|scoped| scoped.layer.hides(found));
        (!hidden).then_some(&found.what)
    }

    /// What `scope` sees: the tools for everybody in the order of their
    /// registration, then those of the farthest ancestor, and so on. One that
    /// shadows another has the other's place.
    pub(super) fn visible(&self, scope: Option<&Scope>) -> Vec<&Arc<ToolEntry>> {
        let mut tools = self.global.in_order();
        for scoped in self.chain(scope) {
            if scoped.disposed {
                return Vec::new();
            }
            scoped.layer.apply(&mut tools);
        }
        tools.into_iter().map(|tool| &tool.what).collect()
    }

    /// How the tools are presented to a model in `scope`: as the nearest scope
    /// declares that declares anything.
    pub(super) fn presentation(&self, scope: Option<&Scope>) -> Presentation {
        let Some(attached) = &self.transport else {
            return Presentation::Native;
        };
        let scope = scope.filter(|_| !self.scoped.is_empty());
        let chain = scope.into_iter().flat_map(Scope::chain);
        let mut declared = None;
        for layer in chain.filter_map(|scope| self.scoped.get(&scope.id())) {
            if layer.disposed {
                return Presentation::Native;
            }
            declared = declared.or_else(|| layer.layer.declared());
        }
        match declared {
            Some(declared) if declared.when_ready && !attached.transport.is_ready() => {
                Presentation::Native
            }
            Some(declared) => declared.presentation,
            None => attached.presentation,
        }
    }

    pub(super) fn transport(&self) -> Option<&Attached> {
        self.transport.as_ref()
    }

    #[cfg(feature = "code")]
    pub(super) fn transport_mut(&mut self) -> &mut Option<Attached> {
        &mut self.transport
    }

    pub(super) fn declare(
        &mut self,
        scope: &Scope,
        declared: Arc<Declared>,
    ) -> Result<(), PresentError> {
        let name = || scope.name().to_owned();
        let layer = self
            .layer(Some(scope))
            .map_err(|Disposed| PresentError::Disposed { scope: name() })?;
        if let Some(known) = layer.declared() {
            return Err(PresentError::Declared {
                wanted: declared.presentation,
                declared: known.presentation,
                scope: name(),
            });
        }
        layer.declare(declared);
        Ok(())
    }

    /// The layers of `scope` and its ancestors that hold something, the
    /// farthest first.
    fn chain<'a>(&'a self, scope: Option<&Scope>) -> Vec<&'a ScopeLayer> {
        let chain = scope.into_iter().flat_map(Scope::chain);
        let mut layers: Vec<&ScopeLayer> = chain
            .filter_map(|scope| self.scoped.get(&scope.id()))
            .map(|scoped| &**scoped)
            .collect();
        layers.reverse();
        layers
    }

    pub(super) fn global(&self) -> &Layer {
        &self.global
    }

    pub(super) fn scopes(&self) -> usize {
        self.scoped
            .values()
            .filter(|scoped| !scoped.disposed)
            .count()
    }

    fn is_disposed(&self, scope: &Scope) -> bool {
        self.chain(Some(scope)).iter().any(|scoped| scoped.disposed)
    }

    /// The layer of `scope`, to change it; made now if there is none.
    fn layer(&mut self, scope: Option<&Scope>) -> Result<&mut Layer, Disposed> {
        let Some(scope) = scope else {
            return Ok(Arc::make_mut(&mut self.global));
        };
        if self.is_disposed(scope) {
            return Err(Disposed);
        }
        let scoped = self.scoped.entry(scope.id()).or_insert_with(|| {
            Arc::new(ScopeLayer {
                scope: scope.downgrade(),
                layer: Layer::default(),
                disposed: false,
            })
        });
        Ok(&mut Arc::make_mut(scoped).layer)
    }

    fn order(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn insert(
        &mut self,
        scope: Option<&Scope>,
        tool: Arc<ToolEntry>,
    ) -> Result<(), RegisterError> {
        self.insert_at(scope, None, tool)
    }

    /// Adds a tool at a place in the order that one had before, or at the end.
    pub(super) fn insert_at(
        &mut self,
        scope: Option<&Scope>,
        place: Option<u64>,
        tool: Arc<ToolEntry>,
    ) -> Result<(), RegisterError> {
        let order = place.unwrap_or_else(|| self.order());
        let name = tool.def.name();
        let layer = self
            .layer(scope)
            .map_err(|Disposed| RegisterError::disposed(name, scope))?;
        if layer.contains(name) {
            return Err(RegisterError::taken(name, scope));
        }
        layer.insert(order, tool);
        Ok(())
    }

    /// The place of exactly `tool` in the order, if it is there.
    pub(super) fn place_of(&self, scope: Option<ScopeId>, tool: &Arc<ToolEntry>) -> Option<u64> {
        let layer = match scope {
            None => &*self.global,
            Some(id) => &self.scoped.get(&id)?.layer,
        };
        let known = layer.get(tool.def.name())?;
        Arc::ptr_eq(&known.what, tool).then_some(known.order)
    }

    pub(super) fn restrict(
        &mut self,
        scope: &Scope,
        filter: &Filter,
    ) -> Result<Arc<Mask>, RestrictError> {
        let order = self.order();
        let mask = Arc::new(filter.compile(&self.inherited(scope))?);
        let layer = self
            .layer(Some(scope))
            .map_err(|Disposed| RestrictError::Disposed {
                scope: scope.name().to_owned(),
            })?;
        layer.mask(order, mask.clone());
        Ok(mask)
    }

    /// What `scope` would inherit if there were no masks and no shadows.
    fn inherited(&self, scope: &Scope) -> Vec<&Placed> {
        let above = self.chain(scope.parent());
        let scoped = above.into_iter().flat_map(|scoped| scoped.layer.all());
        self.global.all().chain(scoped).collect()
    }

    /// Takes something out of a layer; an empty layer is no layer.
    pub(super) fn take(
        &mut self,
        scope: Option<ScopeId>,
        take: impl FnOnce(&mut Layer) -> bool,
    ) -> bool {
        let Some(id) = scope else {
            return take(Arc::make_mut(&mut self.global));
        };
        let Some(scoped) = self.scoped.get_mut(&id) else {
            return false;
        };
        let scoped = Arc::make_mut(scoped);
        let taken = take(&mut scoped.layer);
        if scoped.layer.is_empty() && !scoped.disposed {
            self.scoped.remove(&id);
        }
        taken
    }

    /// Empties the layers of `scope` and of the scopes nested in it, and
    /// marks them; whether that changed anything.
    pub(super) fn dispose(&mut self, scope: &Scope) -> bool {
        if self.is_disposed(scope) {
            return false;
        }
        let mark = |scope: &Scope| {
            Arc::new(ScopeLayer {
                scope: scope.downgrade(),
                layer: Layer::default(),
                disposed: true,
            })
        };
        for scoped in self.scoped.values_mut() {
            if let Some(owner) = scoped.scope.upgrade()
                && owner.is_within(scope)
            {
                *scoped = mark(&owner);
            }
        }
        self.scoped.insert(scope.id(), mark(scope));
        true
    }

    /// Frees the layers of scopes that nobody holds: no call can come from
    /// them any more.
    pub(super) fn sweep(&mut self) {
        self.scoped.retain(|_, scoped| !scoped.scope.is_gone());
    }
}
