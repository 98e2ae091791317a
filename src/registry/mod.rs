//! Which tools there are, and which a caller may see.
//!
//! The registry is live: tools come and go while calls run. Readers take a
//! snapshot without a lock; a running body finishes on the definition it
//! began with. Registrations are guards: dropping one takes exactly that
//! entry away.
//!
//! ```
//! use serde_json::{Value, json};
//! use toolfall::{Arguments, BoxError, Registry, ToolContext, raw_tool};
//!
//! let registry = Registry::new();
//! let echo = raw_tool("echo", "Says it again", json!({"type": "object"}),
//!     |arguments: Arguments, _: ToolContext| async move { Ok::<Value, BoxError>(arguments.value().clone()) });
//! let registration = registry.register(echo)?;
//! assert!(registry.contains("echo", None));
//!
//! drop(registration);
//! assert!(!registry.contains("echo", None));
//! # Ok::<(), BoxError>(())
//! ```

mod near;
mod registration;
mod snapshot;

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::watch;
use toolfall_layers::{CallView, Catalog, Definition, Scope, ToolOutcome};

pub use self::registration::{RegisterError, Registration};
use self::snapshot::Snapshot;
use crate::CallRequest;
use crate::tool::{ExecutionMode, ToolDef, ToolEntry};

/// A live set of tools. Cheap to clone; clones share the tools.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

struct Inner {
    tools: ArcSwap<Snapshot>,
    generation: AtomicU64,
    /// Whether a tool with a finalizer was ever registered.
    finalizers: AtomicBool,
    /// Whether a tool with a budget was ever registered.
    budgets: AtomicBool,
    /// Held while a new snapshot is made, never while user code runs.
    writing: Mutex<()>,
    changes: watch::Sender<u64>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

/// What a model is told of a tool; nothing else is.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ToolSchema {
    /// The name to call.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of the arguments.
    pub parameters: Value,
}

impl Registry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            tools: ArcSwap::default(),
            generation: AtomicU64::new(0),
            finalizers: AtomicBool::new(false),
            budgets: AtomicBool::new(false),
            writing: Mutex::new(()),
            changes: watch::Sender::new(0),
        }))
    }

    /// Adds a tool for every caller; it stays until the registration is
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`RegisterError`] if the name is taken, a schema cannot be used, or
    /// the budget is zero. Nothing changes then.
    pub fn register(&self, tool: ToolDef) -> Result<Registration, RegisterError> {
        let entry = Arc::new(registration::compile(tool)?);
        self.change(|tools| tools.insert(entry.clone()))?;
        Ok(Registration::new(self, &entry))
    }

    /// Adds many tools in one change, or none of them.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register), for the first tool that cannot be
    /// added.
    pub fn register_all(
        &self,
        tools: impl IntoIterator<Item = ToolDef>,
    ) -> Result<Vec<Registration>, RegisterError> {
        let entries = tools
            .into_iter()
            .map(|tool| registration::compile(tool).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        self.change(|tools| {
            entries
                .iter()
                .try_for_each(|entry| tools.insert(entry.clone()))
        })?;
        Ok(entries
            .iter()
            .map(|entry| Registration::new(self, entry))
            .collect())
    }

    fn change<E>(&self, change: impl FnOnce(&mut Snapshot) -> Result<(), E>) -> Result<(), E> {
        let (replaced, generation) = {
            let _writing = self
                .0
                .writing
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let mut tools = Snapshot::clone(&self.0.tools.load());
            change(&mut tools)?;
            // Before anybody can find such a tool.
            for entry in tools.entries() {
                if entry.has_finalizer() {
                    self.0.finalizers.store(true, Ordering::Release);
                }
                if entry.budget().is_some() {
                    self.0.budgets.store(true, Ordering::Release);
                }
            }
            let replaced = self.0.tools.swap(Arc::new(tools));
            let generation = self.0.generation.fetch_add(1, Ordering::AcqRel) + 1;
            (replaced, generation)
        };
        // Old entries end here, outside the lock: a tool's drop is user code.
        drop(replaced);
        self.0.changes.send_replace(generation);
        Ok(())
    }

    pub(crate) fn remove(&self, entry: &Arc<ToolEntry>) {
        // An entry that is gone already needs no announcement.
        let _: Result<(), ()> =
            self.change(|tools| if tools.remove(entry) { Ok(()) } else { Err(()) });
    }

    pub(crate) fn find(&self, name: &str, _scope: Option<&Scope>) -> Option<Arc<ToolEntry>> {
        self.0.tools.load().get(name).cloned()
    }

    /// Whether a caller in `scope` sees a tool of that name.
    pub fn contains(&self, name: &str, scope: Option<&Scope>) -> bool {
        self.find(name, scope).is_some()
    }

    /// The definition of a tool, as a caller in `scope` sees it.
    pub fn get(&self, name: &str, scope: Option<&Scope>) -> Option<ToolDef> {
        self.find(name, scope).map(|entry| entry.def.clone())
    }

    /// What a model in `scope` is told, sorted by name: independent of the
    /// order of registration.
    pub fn schemas(&self, _scope: Option<&Scope>) -> Vec<ToolSchema> {
        let tools = self.0.tools.load();
        let mut schemas: Vec<ToolSchema> = tools
            .entries()
            .map(|entry| ToolSchema {
                name: entry.def.name().to_owned(),
                description: entry.def.description().to_owned(),
                parameters: entry.def.parameters().clone(),
            })
            .collect();
        schemas.sort_by(|a, b| a.name.cmp(&b.name));
        schemas
    }

    /// Whether `request` may overlap with other calls of its batch, as things
    /// are now. Unknown tools and arguments that do not validate may not.
    pub fn mode(&self, request: &CallRequest) -> ExecutionMode {
        match (
            self.find(request.name(), request.scope()),
            request.arguments(),
        ) {
            (Some(entry), Ok(arguments)) => entry.mode(arguments),
            _ => ExecutionMode::Exclusive,
        }
    }

    /// The registry as the result stage takes it.
    pub fn catalog(&self) -> Arc<dyn Catalog> {
        Arc::new(self.clone())
    }

    /// A number that grows with every change, to wait for changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }
}

impl Catalog for Registry {
    fn resolve(&self, call: &CallView) -> Option<Arc<dyn Definition>> {
        let entry = self.find(call.name(), call.scope())?;
        Some(entry)
    }

    fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    fn has_finalizers(&self) -> bool {
        self.0.finalizers.load(Ordering::Acquire)
    }

    fn has_budgets(&self) -> bool {
        self.0.budgets.load(Ordering::Acquire)
    }

    fn unknown(&self, call: &CallView) -> ToolOutcome {
        let tools = self.0.tools.load();
        near::unknown(call.name(), tools.entries().map(|entry| entry.def.name()))
    }
}

/// The registered tool behind a definition that a registry handed out.
pub(crate) fn entry_of(definition: Arc<dyn Definition>) -> Option<Arc<ToolEntry>> {
    let any: Arc<dyn Any + Send + Sync> = definition;
    any.downcast().ok()
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("tools", &self.0.tools.load().entries().count())
            .finish_non_exhaustive()
    }
}
