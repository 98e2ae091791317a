//! What one scope registered for itself and for what is nested in it.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use foldhash::{HashSet, HashSetExt as _};
use toolfall_layers::WeakScope;

use super::mask::Mask;
use super::presentation::Declared;
use crate::tool::ToolEntry;

/// Tools and masks of one scope, or of everybody.
#[derive(Clone, Default)]
pub(super) struct Layer {
    tools: HashMap<Arc<str>, Placed, RandomState>,
    masks: Vec<Placed<Mask>>,
    presentation: Option<Arc<Declared>>,
}

/// Something with its place in the order of all registrations.
pub(super) struct Placed<T = ToolEntry> {
    pub(super) order: u64,
    pub(super) what: Arc<T>,
}

impl<T> Clone for Placed<T> {
    fn clone(&self) -> Self {
        Self {
            order: self.order,
            what: self.what.clone(),
        }
    }
}

impl Placed {
    pub(super) fn name(&self) -> &str {
        self.what.def.name()
    }
}

impl Layer {
    pub(super) fn get(&self, name: &str) -> Option<&Placed> {
        self.tools.get(name)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// The tools in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Placed> {
        self.tools.values()
    }

    /// The tools in the order of registration.
    pub(super) fn in_order(&self) -> Vec<&Placed> {
        let mut tools: Vec<&Placed> = self.all().collect();
        tools.sort_unstable_by_key(|placed| placed.order);
        tools
    }

    /// Makes of what a scope inherits what it sees: its masks hide, its own
    /// tools take the places of those that they shadow, or follow.
    pub(super) fn apply<'a>(&'a self, tools: &mut Vec<&'a Placed>) {
        if !self.masks.is_empty() {
            tools.retain(|tool| !self.hides(tool));
        }
        if self.tools.is_empty() {
            return;
        }
        let mut shadowing = HashSet::new();
        for place in &mut *tools {
            if let Some(own) = self.get(place.name()) {
                *place = own;
                shadowing.insert(own.name());
            }
        }
        let own = self.in_order().into_iter();
        tools.extend(own.filter(|tool| !shadowing.contains(tool.name())));
    }

    /// Whether one of the scope's masks hides a tool that it inherits.
    pub(super) fn hides(&self, tool: &Placed) -> bool {
        let hides = |mask: &Placed<Mask>| mask.what.hides(tool, mask.order);
        self.masks.iter().any(hides)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.masks.is_empty() && self.presentation.is_none()
    }

    /// Adds a tool whose name is not taken here.
    pub(super) fn insert(&mut self, order: u64, tool: Arc<ToolEntry>) {
        let name = tool.def.name().into();
        self.tools.insert(name, Placed { order, what: tool });
    }

    /// Removes exactly `tool`, never a later one of the same name.
    pub(super) fn remove(&mut self, tool: &Arc<ToolEntry>) -> bool {
        let name = tool.def.name();
        let is_it = self
            .get(name)
            .is_some_and(|known| Arc::ptr_eq(&known.what, tool));
        if is_it {
            self.tools.remove(name);
        }
        is_it
    }

    /// How the scope says that its tools are presented.
    pub(super) fn declared(&self) -> Option<&Declared> {
        self.presentation.as_deref()
    }

    /// Declares a presentation where there is no declaration.
    pub(super) fn declare(&mut self, declared: Arc<Declared>) {
        self.presentation = Some(declared);
    }

    /// Takes exactly `declared` away.
    pub(super) fn undeclare(&mut self, declared: &Arc<Declared>) -> bool {
        let known = self.presentation.as_ref();
        let is_it = known.is_some_and(|known| Arc::ptr_eq(known, declared));
        if is_it {
            self.presentation = None;
        }
        is_it
    }

    pub(super) fn mask(&mut self, order: u64, mask: Arc<Mask>) {
        self.masks.push(Placed { order, what: mask });
    }

    pub(super) fn unmask(&mut self, mask: &Arc<Mask>) -> bool {
        let before = self.masks.len();
        self.masks.retain(|known| !Arc::ptr_eq(&known.what, mask));
        self.masks.len() < before
    }
}

/// The layer of a scope, with what became of the scope.
#[derive(Clone)]
pub(super) struct ScopeLayer {
    pub(super) scope: WeakScope,
    pub(super) layer: Layer,
    /// Nothing is left of a scope that was disposed, and its calls find no
    /// tools: without this mark they would find those that its masks hid.
    pub(super) disposed: bool,
}
