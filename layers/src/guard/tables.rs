//! The guards at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use super::Guard;
use crate::call::{Scope, ScopeId, WeakScope};

pub(super) type Entry = Arc<dyn Guard + Send + Sync>;

/// One table for everybody and one for each scope that has guards.
#[derive(Clone, Default)]
pub(super) struct Tables {
    next: u64,
    global: Table,
    scoped: HashMap<ScopeId, (WeakScope, Table)>,
}

/// Guards in the order of registration.
#[derive(Clone, Default)]
pub(super) struct Table {
    /// Another number after every time that the table ran empty.
    born: u64,
    list: Arc<Vec<(u64, Entry)>>,
}

impl Table {
    pub(super) const fn born(&self) -> u64 {
        self.born
    }

    /// The first guard from the place `from` on.
    pub(super) fn from(&self, from: u64) -> Option<(u64, Entry)> {
        let place = self.list.partition_point(|(id, _)| *id < from);
        self.list.get(place).cloned()
    }

    fn remove(&mut self, id: u64, next: &mut u64) {
        if let Ok(place) = self.list.binary_search_by_key(&id, |(id, _)| *id) {
            Arc::make_mut(&mut self.list).remove(place);
            if self.list.is_empty() {
                self.born = *next;
                *next += 1;
            }
        }
    }
}

impl Tables {
    pub(super) fn table(&self, scope: Option<ScopeId>) -> Option<&Table> {
        match scope {
            None => Some(&self.global),
            Some(scope) => self.scoped.get(&scope).map(|(_, table)| table),
        }
    }

    /// Whether no scope has guards of its own.
    pub(super) fn is_plain(&self) -> bool {
        self.scoped.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        let scoped = self.scoped.values().map(|(_, table)| table.list.len());
        self.global.list.len() + scoped.sum::<usize>()
    }

    /// Adds a guard and gives its place. Guards of scopes that are gone, of
    /// which no call can come any more, end here.
    pub(super) fn insert(&mut self, scope: Option<&Scope>, guard: Entry) -> u64 {
        self.scoped.retain(|_, (scope, _)| !scope.is_gone());
        let id = self.next;
        self.next += 1;
        let table = match scope {
            None => &mut self.global,
            Some(scope) => {
                let fresh = || {
                    let table = Table {
                        born: id,
                        list: Arc::default(),
                    };
                    (scope.downgrade(), table)
                };
                &mut self.scoped.entry(scope.id()).or_insert_with(fresh).1
            }
        };
        Arc::make_mut(&mut table.list).push((id, guard));
        id
    }

    pub(super) fn remove(&mut self, scope: Option<ScopeId>, id: u64) {
        let Some(scope) = scope else {
            self.global.remove(id, &mut self.next);
            return;
        };
        if let Some((_, table)) = self.scoped.get_mut(&scope) {
            table.remove(id, &mut self.next);
            if table.list.is_empty() {
                self.scoped.remove(&scope);
            }
        }
    }

    pub(super) fn dispose(&mut self, scope: &Scope) {
        self.scoped
            .retain(|_, (owner, _)| owner.upgrade().is_some_and(|owner| !owner.is_within(scope)));
    }
}
