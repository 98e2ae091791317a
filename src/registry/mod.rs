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
//!
//! # Scopes
//!
//! A tool may be registered for one [`Scope`], an agent for instance, and
//! what is nested in it. A nearer tool shadows a farther one of its name:
//!
//! ```
//! # use serde_json::{Value, json};
//! # use toolfall::{Arguments, BoxError, Registry, Scope, ToolContext, ToolDef, raw_tool};
//! # fn tool(name: &'static str) -> ToolDef {
//! #     raw_tool(name, "", json!({"type": "object"}), |arguments: Arguments, _: ToolContext| async move {
//! #         Ok::<Value, BoxError>(arguments.value().clone())
//! #     })
//! # }
//! use toolfall::Filter;
//!
//! let registry = Registry::new();
//! registry.register(tool("read"))?.keep();
//! registry.register(tool("bash"))?.keep();
//!
//! let preset = Scope::new("reviewers");
//! let agent = preset.nested("reviewer 7");
//! registry.register_in(&agent, tool("comment"))?.keep();
//! let mask = registry.restrict(&preset, &Filter::deny(["bash"]))?;
//! assert_eq!(registry.names(Some(&agent)), ["read", "comment"]);
//! assert_eq!(registry.names(None), ["read", "bash"]);
//!
//! drop(mask);
//! assert!(registry.contains("bash", Some(&agent)));
//!
//! registry.dispose(&preset);
//! assert!(registry.names(Some(&agent)).is_empty());
//! # Ok::<(), BoxError>(())
//! ```
//!
//! # Masks, and what they are not
//!
//! [`Registry::restrict`] hides inherited tools from a scope: they are absent
//! from its schemas, and a call of one is answered like a call of a tool that
//! does not exist. Masks along a chain of scopes intersect, so nobody nested
//! in a scope gets back what is hidden from it; what a scope registers itself
//! is not touched by its own masks, only by nobody else's. A mask decides
//! what a scope is made of, not what its tools may do: that is what policies
//! and guards are for.
//!
//! [`RestrictionSet`] is the other way to say it, for presets in which a
//! nearer scope may give back what a farther one took away. Use masks where a
//! parent must be able to rely on them, and a `RestrictionSet` where the
//! people who write the presets trust each other and want "everything but
//! these, except here": it is a calculation on names, and what it lets
//! through becomes a mask.

mod assembly;
mod catalog;
#[cfg(feature = "mcp-client")]
mod claim;
mod layer;
mod mask;
mod near;
mod order;
mod presentation;
mod presenting;
mod published;
mod registration;
mod replace;
mod reserved;
mod restriction_set;
mod snapshot;
mod sync;
#[cfg(feature = "code")]
mod transport;
mod views;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use toolfall_layers::{Catalog, Definition as _, Scope, ScopeId};

pub use self::assembly::{AssembleError, Assembled, Assembly, Section};
pub(crate) use self::catalog::entry_of;
#[cfg(feature = "mcp-client")]
pub(crate) use self::claim::Claim;
use self::layer::Layer;
pub use self::mask::{Filter, RestrictError};
pub use self::order::{OrderError, ToolOrder};
#[cfg(feature = "code")]
pub(crate) use self::presentation::Transport;
pub use self::presentation::{PresentError, Presentation, PresentationError};
use self::published::Published;
pub use self::registration::{RegisterError, Registration};
#[cfg(feature = "mcp-client")]
pub(crate) use self::replace::compiled;
pub use self::restriction_set::RestrictionSet;
use self::snapshot::Snapshot;
#[cfg(feature = "code")]
pub(crate) use self::transport::WeakRegistry;
pub use self::views::ToolSchema;
use crate::tool::{ToolDef, ToolEntry};

/// A live set of tools. Cheap to clone; clones share the tools.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

struct Inner {
    tools: Published<Snapshot>,
    /// Whether a tool with a finalizer was ever registered.
    finalizers: AtomicBool,
    /// Whether a tool with secrets was ever registered.
    redactions: AtomicBool,
    /// Whether a tool with a budget was ever registered.
    budgets: AtomicBool,
    /// The servers whose tools are, or will be, registered.
    #[cfg(feature = "mcp-client")]
    claims: claim::Claims,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            tools: Published::new(Snapshot::default()),
            finalizers: AtomicBool::new(false),
            redactions: AtomicBool::new(false),
            budgets: AtomicBool::new(false),
            #[cfg(feature = "mcp-client")]
            claims: claim::Claims::default(),
        }))
    }

    /// Adds a tool for every caller; it stays until the registration is
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`RegisterError`] if the name is taken or reserved, a schema cannot be
    /// used, the budget is zero, or a secret's place is no pointer. Nothing changes then.
    pub fn register(&self, tool: ToolDef) -> Result<Registration, RegisterError> {
        self.add(None, tool)
    }

    /// Adds a tool for `scope` and what is nested in it; it stays until the
    /// registration is dropped or the scope is disposed. There, it shadows a
    /// tool of the same name from farther out.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register), and if the scope was disposed.
    pub fn register_in(&self, scope: &Scope, tool: ToolDef) -> Result<Registration, RegisterError> {
        self.add(Some(scope), tool)
    }

    fn add(&self, scope: Option<&Scope>, tool: ToolDef) -> Result<Registration, RegisterError> {
        let tool = Arc::new(registration::compile(tool)?);
        self.announce_kinds(&tool);
        self.change(|tools| tools.insert(scope, tool.clone()))?;
        Ok(Registration::tool(self, scope, tool))
    }

    /// Adds many tools for every caller in one change, or none of them.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register), for the first tool that cannot be
    /// added.
    pub fn register_all(
        &self,
        tools: impl IntoIterator<Item = ToolDef>,
    ) -> Result<Vec<Registration>, RegisterError> {
        self.add_all(None, tools)
    }

    /// Adds many tools for `scope` in one change, or none of them.
    ///
    /// # Errors
    ///
    /// As [`register_in`](Self::register_in), for the first tool that cannot
    /// be added.
    pub fn register_all_in(
        &self,
        scope: &Scope,
        tools: impl IntoIterator<Item = ToolDef>,
    ) -> Result<Vec<Registration>, RegisterError> {
        self.add_all(Some(scope), tools)
    }

    fn add_all(
        &self,
        scope: Option<&Scope>,
        tools: impl IntoIterator<Item = ToolDef>,
    ) -> Result<Vec<Registration>, RegisterError> {
        let added = tools
            .into_iter()
            .map(|tool| registration::compile(tool).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        if added.is_empty() {
            return Ok(Vec::new());
        }
        for tool in &added {
            self.announce_kinds(tool);
        }
        self.change(|tools| {
            added
                .iter()
                .try_for_each(|tool| tools.insert(scope, tool.clone()))
        })?;
        Ok(added
            .into_iter()
            .map(|tool| Registration::tool(self, scope, tool))
            .collect())
    }

    /// Hides inherited tools from `scope` and from what is nested in it,
    /// until the registration is dropped or the scope is disposed.
    ///
    /// Masks of one scope, and along a chain of scopes, intersect. Names are
    /// checked against everything that the scope would inherit without masks;
    /// its own tools are exempt and cannot be named.
    ///
    /// # Errors
    ///
    /// [`RestrictError`] for an empty filter, for names that are not
    /// inherited or are reserved, and for a scope that was disposed.
    pub fn restrict(&self, scope: &Scope, filter: &Filter) -> Result<Registration, RestrictError> {
        let mask = self.change(|tools| tools.restrict(scope, filter))?;
        Ok(Registration::mask(self, scope, mask))
    }

    /// Takes away everything that `scope` and the scopes nested in it
    /// registered, in one change, and for good.
    ///
    /// Bodies that run go on to their end. Every later call from there is a
    /// call of an unknown tool, also of tools that the scope inherited: what
    /// its masks hid does not come to light. Disposing again does nothing.
    pub fn dispose(&self, scope: &Scope) {
        self.change_if(|tools| tools.dispose(scope));
    }

    /// Takes something out of a layer; what is gone already is no change.
    fn take(&self, scope: Option<ScopeId>, take: impl FnOnce(&mut Layer) -> bool) {
        self.change_if(|tools| tools.take(scope, take));
    }

    fn change_if(&self, change: impl FnOnce(&mut Snapshot) -> bool) {
        let _: Result<(), ()> = self.change(|tools| change(tools).then_some(()).ok_or(()));
    }

    /// Before anybody can find such a tool.
    fn announce_kinds(&self, tool: &ToolEntry) {
        if tool.has_finalizer() {
            self.0.finalizers.store(true, Ordering::Release);
        }
        if tool.redaction().is_some() {
            self.0.redactions.store(true, Ordering::Release);
        }
        if tool.budget().is_some() {
            self.0.budgets.store(true, Ordering::Release);
        }
    }

    /// Whatever changes, the layers of scopes that are gone go as well.
    /// Afterwards: what a late registration takes away must still be there.
    fn change<R, E>(&self, change: impl FnOnce(&mut Snapshot) -> Result<R, E>) -> Result<R, E> {
        self.0.tools.change(|tools| {
            let answer = change(tools)?;
            tools.sweep();
            Ok(answer)
        })
    }

    /// The registry as the result stage takes it.
    pub fn catalog(&self) -> Arc<dyn Catalog> {
        Arc::new(self.clone())
    }

    /// A number that grows with every change, to wait for changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.tools.changes()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("tools", &self.0.tools.load().global().all().count())
            .field("scopes", &self.scopes())
            .finish_non_exhaustive()
    }
}
