//! A registry beside a list of what is registered.

#[path = "scope_model_checks.rs"]
mod checks;

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use proptest::sample::Index;
use serde_json::{Value, json};
use tokio::sync::watch;
use toolfall::{
    Arguments, BoxError, Filter, Registration, Registry, Scope, ToolContext, ToolDef, raw_tool,
};

pub(crate) const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A tool that answers with its description.
pub(crate) fn tool(name: &'static str, mark: &str) -> ToolDef {
    let answer = Arc::new(mark.to_owned());
    tracked(name, &answer)
}

fn tracked(name: &'static str, answer: &Arc<String>) -> ToolDef {
    let held = answer.clone();
    raw_tool(
        name,
        answer.to_string(),
        json!({"type": "object"}),
        move |_: Arguments, _: ToolContext| {
            let answer = Value::String(held.to_string());
            async move { Ok::<Value, BoxError>(answer) }
        },
    )
}

struct Opened {
    handle: Option<Scope>,
    parent: Option<usize>,
    disposed: bool,
}

enum What {
    Tool(&'static str),
    Mask(Option<BTreeSet<&'static str>>, BTreeSet<&'static str>),
}

/// One thing that was registered, and is as long as it is `live`.
struct Entry {
    scope: Option<usize>,
    what: What,
    mark: String,
    live: bool,
    registration: Option<Registration>,
}

impl Entry {
    fn tool(&self) -> Option<&'static str> {
        match self.what {
            What::Tool(name) => Some(name),
            What::Mask(..) => None,
        }
    }

    fn hides(&self, name: &str) -> bool {
        match &self.what {
            What::Tool(_) => false,
            What::Mask(allow, deny) => {
                deny.contains(name) || allow.as_ref().is_some_and(|allow| !allow.contains(name))
            }
        }
    }
}

pub(crate) struct World {
    registry: Registry,
    changes: watch::Receiver<u64>,
    expected_changes: u64,
    scopes: Vec<Opened>,
    entries: Vec<Entry>,
    bodies: Vec<Weak<String>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let registry = Registry::new();
        Self {
            changes: registry.changes(),
            registry,
            expected_changes: 0,
            scopes: Vec::new(),
            entries: Vec::new(),
            bodies: Vec::new(),
        }
    }

    /// One of the scopes on which there is a handle.
    fn pick(&self, index: Index) -> Option<usize> {
        let held: Vec<usize> = (0..self.scopes.len())
            .filter(|scope| self.scopes[*scope].handle.is_some())
            .collect();
        (!held.is_empty()).then(|| held[index.index(held.len())])
    }

    fn handle(&self, scope: usize) -> Scope {
        self.scopes[scope].handle.clone().unwrap()
    }

    /// The scope and its ancestors, the farthest first.
    fn path(&self, scope: Option<usize>) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = scope;
        while let Some(scope) = next {
            path.insert(0, scope);
            next = self.scopes[scope].parent;
        }
        path
    }

    fn is_disposed(&self, scope: Option<usize>) -> bool {
        let mut path = self.path(scope).into_iter();
        path.any(|scope| self.scopes[scope].disposed)
    }

    /// Whether nobody holds the scope, or one nested in it.
    fn is_gone(&self, scope: usize) -> bool {
        !(0..self.scopes.len()).any(|held| {
            self.scopes[held].handle.is_some() && self.path(Some(held)).contains(&scope)
        })
    }

    fn live(&self, scope: Option<usize>) -> impl Iterator<Item = &Entry> {
        let entries = self.entries.iter();
        entries.filter(move |entry| entry.live && entry.scope == scope)
    }

    fn own(&self, scope: Option<usize>) -> Vec<(&'static str, &str)> {
        self.live(scope)
            .filter_map(|entry| Some((entry.tool()?, entry.mark.as_str())))
            .collect()
    }

    /// The names and marks that the scope sees, in order.
    fn visible(&self, scope: Option<usize>) -> Vec<(&'static str, &str)> {
        if self.is_disposed(scope) {
            return Vec::new();
        }
        let mut seen = self.own(None);
        for scope in self.path(scope) {
            seen.retain(|(name, _)| !self.live(Some(scope)).any(|entry| entry.hides(name)));
            for own in self.own(Some(scope)) {
                match seen.iter_mut().find(|(name, _)| *name == own.0) {
                    Some(shadowed) => *shadowed = own,
                    None => seen.push(own),
                }
            }
        }
        seen
    }

    /// Counts a change; what belonged to scopes that are gone goes with it.
    fn changed(&mut self) {
        self.expected_changes += 1;
        for place in 0..self.entries.len() {
            if let Some(scope) = self.entries[place].scope
                && self.is_gone(scope)
            {
                self.entries[place].live = false;
            }
        }
    }

    pub(crate) fn open(&mut self, parent: Option<Index>) {
        let parent = parent.and_then(|index| self.pick(index));
        let handle = match parent {
            Some(parent) => self.handle(parent).nested("nested"),
            None => Scope::new("top"),
        };
        self.scopes.push(Opened {
            handle: Some(handle),
            parent,
            disposed: false,
        });
    }

    pub(crate) fn register(&mut self, scope: Option<Index>, names: &[usize], at_once: bool) {
        let scope = scope.and_then(|index| self.pick(index));
        let names: Vec<&'static str> = names.iter().map(|name| NAMES[*name]).collect();
        let first = self.entries.len();
        let marks: Vec<String> = (first..first + names.len())
            .map(|mark| format!("#{mark}"))
            .collect();
        let mut tools = Vec::new();
        for (name, mark) in names.iter().zip(&marks) {
            let answer = Arc::new(mark.clone());
            tools.push(tracked(name, &answer));
            self.bodies.push(Arc::downgrade(&answer));
        }
        let handle = scope.map(|scope| self.handle(scope));
        let added = match (&handle, at_once) {
            (None, true) => self.registry.register_all(tools),
            (Some(scope), true) => self.registry.register_all_in(scope, tools),
            (None, false) => self.registry.register(tools.remove(0)).map(|one| vec![one]),
            (Some(scope), false) => {
                let one = self.registry.register_in(scope, tools.remove(0));
                one.map(|one| vec![one])
            }
        };
        if names.is_empty() {
            assert!(added.unwrap().is_empty());
            return;
        }
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        let taken = self.own(scope).iter().any(|(own, _)| names.contains(own));
        let fits = !self.is_disposed(scope) && !taken && distinct.len() == names.len();
        assert_eq!(added.is_ok(), fits, "{names:?}: {:?}", added.err());
        let Ok(added) = added else { return };
        for ((name, mark), registration) in names.into_iter().zip(marks).zip(added) {
            self.entries.push(Entry {
                scope,
                what: What::Tool(name),
                mark,
                live: true,
                registration: Some(registration),
            });
        }
        self.changed();
    }

    pub(crate) fn restrict(
        &mut self,
        scope: Index,
        allow: Option<&BTreeSet<usize>>,
        deny: &BTreeSet<usize>,
        any: bool,
    ) {
        let Some(scope) = self.pick(scope) else {
            return;
        };
        let above = self.path(self.scopes[scope].parent).into_iter().map(Some);
        let inherited: BTreeSet<&'static str> = std::iter::once(None)
            .chain(above)
            .flat_map(|scope| self.own(scope))
            .map(|(name, _)| name)
            .collect();
        let listed: Vec<&'static str> = inherited.iter().copied().collect();
        let name = |name: &usize| match listed.len() {
            count if count > 0 && !any => listed[*name % count],
            _ => NAMES[*name],
        };
        let names = |set: &BTreeSet<usize>| set.iter().map(name).collect();
        let allow: Option<BTreeSet<&'static str>> = allow.map(names);
        let deny: BTreeSet<&'static str> = names(deny);
        let filter = match &allow {
            Some(allow) => Filter::allow(allow.iter().copied()),
            None => Filter::default(),
        };
        let filter = filter.and_deny(deny.iter().copied());
        let answer = self.registry.restrict(&self.handle(scope), &filter);

        let mut all = allow.iter().flatten().chain(&deny);
        let known = all.all(|name| inherited.contains(name));
        let hides = allow.is_some() || !deny.is_empty();
        let fits = known && hides && !self.is_disposed(Some(scope));
        assert_eq!(answer.is_ok(), fits, "{:?}", answer.err());
        let Ok(registration) = answer else { return };
        self.entries.push(Entry {
            scope: Some(scope),
            what: What::Mask(allow, deny),
            mark: String::new(),
            live: true,
            registration: Some(registration),
        });
        self.changed();
    }

    /// Drops one of the registrations that are held.
    pub(crate) fn drop_one(&mut self, index: Index) {
        let held: Vec<usize> = (0..self.entries.len())
            .filter(|entry| self.entries[*entry].registration.is_some())
            .collect();
        if held.is_empty() {
            return;
        }
        let entry = &mut self.entries[held[index.index(held.len())]];
        drop(entry.registration.take());
        if std::mem::replace(&mut entry.live, false) {
            self.changed();
        }
    }

    pub(crate) fn dispose(&mut self, scope: Index) {
        let Some(scope) = self.pick(scope) else {
            return;
        };
        self.registry.dispose(&self.handle(scope));
        if self.is_disposed(Some(scope)) {
            return;
        }
        self.scopes[scope].disposed = true;
        for place in 0..self.entries.len() {
            if self.path(self.entries[place].scope).contains(&scope) {
                self.entries[place].live = false;
            }
        }
        self.changed();
    }

    pub(crate) fn forget(&mut self, scope: Index) {
        if let Some(scope) = self.pick(scope) {
            self.scopes[scope].handle = None;
        }
    }
}
