//! Bounds on what one run may spend: calls, calls of one tool, failures in a
//! row, invented names in a row.
//!
//! [`Budgets`] keeps an account for each [`Scope`], held weakly,
//! and one for calls without a scope, or [one for all](Budgets::common). Its [`layer`](Budgets::layer) admits a
//! call before anything inside it runs, and takes note of how it ended. The
//! admission is one step, so that concurrent calls never share what is left.
//! A call past a budget is answered with a failure of code
//! [`BUDGET_EXCEEDED`], which says which budget and its limit; nothing inside
//! the layer runs.
//!
//! - **Calls** count when they are admitted, also if they are denied or fail
//!   afterwards, and nested calls count like others. Refused ones do not.
//! - **Failures in a row** count as calls end. A success starts the count
//!   anew; a cancelled call, or one whose future was dropped, changes nothing.
//!   Once the limit is reached the run admits no further call, whatever calls
//!   that were under way then come to.
//! - **Unknown names in a row** count likewise; any call of a tool that exists
//!   starts the count anew, except that denials change nothing.
//! - **A run** begins with [`Budgets::begin_run`], which the host calls when a
//!   user has spoken. Calls that are under way then end on the old account.
//!
//! # Ending the turn
//!
//! A policy's denial cannot conclude the model's turn. A host that wants to stop asks
//! [`Budgets::exceeded`] after each batch, and sends no further request if it
//! names a budget that matters to it.
//!
//! # Where to put it
//!
//! Among the decision layers, first, every call counts; behind a policy, only
//! those that it does not deny. In a place around the body, inside a retry,
//! attempts count. What passes inside it must be ready without long waits:
//! like the decision stages, it readies the inner service after admission.
//!
//! # Example
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::policy::budget::{BUDGET_EXCEEDED, Budget, Budgets, Limits};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let budgets = Budgets::new(Limits::new().calls(100).tool("deploy", 1));
//! let pipeline = Pipeline::builder(Registry::new()).decision_layer(budgets.layer()).build();
//!
//! let call = || pipeline.call("1", "deploy", "{}", CancellationToken::new());
//! assert_eq!(call().await.code(), Some("UNKNOWN_TOOL"));
//! assert_eq!(budgets.exceeded(None), None);
//!
//! let refused = call().await;
//! assert_eq!(refused.code(), Some(BUDGET_EXCEEDED));
//! assert_eq!(
//!     refused.message(),
//!     Some("the budget of calls of tool \"deploy\" is spent (limit 1)"),
//! );
//! let exceeded = budgets.exceeded(None).unwrap();
//! assert_eq!(exceeded.budget, Budget::Tool("deploy".to_owned()));
//!
//! budgets.begin_run(None);
//! assert_eq!(call().await.code(), Some("UNKNOWN_TOOL"));
//! # }
//! ```

mod account;
mod layer;
mod limits;
mod service;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub use self::account::Spent;
use self::account::{Account, Shared};

pub use self::layer::BudgetLayer;
pub use self::limits::{Budget, Exceeded, Limits};
pub use self::service::{BudgetService, ResponseFuture};
use crate::Scope;
use crate::policy::per_scope::PerScope;

/// The code of a call that was refused because a budget is spent.
pub const BUDGET_EXCEEDED: &str = "BUDGET_EXCEEDED";

/// The accounts, and what they are held to; see the [module docs](self).
///
/// Clones share the accounts.
#[derive(Clone)]
pub struct Budgets(Arc<Inner>);

struct Inner {
    limits: Limits,
    /// Whether all scopes spend from one account.
    common: bool,
    scoped: PerScope<Account>,
    unscoped: Mutex<Shared>,
}

impl Budgets {
    /// Accounts without any spending, held to `limits`.
    pub fn new(limits: Limits) -> Self {
        Self::with(limits, false)
    }

    /// One account for the calls of all scopes together, held to `limits`;
    /// which scope is asked about makes no difference then.
    pub fn common(limits: Limits) -> Self {
        Self::with(limits, true)
    }

    fn with(limits: Limits, common: bool) -> Self {
        Self(Arc::new(Inner {
            limits,
            common,
            scoped: PerScope::new(),
            unscoped: Mutex::default(),
        }))
    }

    /// The layer that admits and notes calls. All layers of one `Budgets`
    /// spend from the same accounts.
    pub fn layer(&self) -> BudgetLayer {
        BudgetLayer::new(self.clone())
    }

    /// Begins a new run for `scope`, or for calls without one: nothing is
    /// spent yet. Calls under way keep to the old run.
    pub fn begin_run(&self, scope: Option<&Scope>) {
        match self.accounted(scope) {
            Some(scope) => self.0.scoped.forget(scope),
            None => *self.unscoped() = Shared::default(),
        }
    }

    /// The budget that was exceeded first since the run began. One of calls
    /// is exceeded by the first call that is refused for it, one of failures
    /// by the failure that reaches the limit.
    pub fn exceeded(&self, scope: Option<&Scope>) -> Option<Exceeded> {
        self.existing(scope)?.exceeded()
    }

    /// What the run has spent so far.
    pub fn spent(&self, scope: Option<&Scope>) -> Spent {
        self.existing(scope)
            .map_or_else(Spent::default, |account| account.spent())
    }

    /// How many scopes that still live have an account. Frees the accounts of
    /// those that do not, as the first call of any new scope does too.
    pub fn live_accounts(&self) -> usize {
        self.0.scoped.live()
    }

    fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The scope whose account `scope` spends from, if it has its own.
    fn accounted<'a>(&self, scope: Option<&'a Scope>) -> Option<&'a Scope> {
        scope.filter(|_| !self.0.common)
    }

    fn account(&self, scope: Option<&Scope>) -> Shared {
        match self.accounted(scope) {
            Some(scope) => self.0.scoped.of(scope),
            None => self.unscoped().clone(),
        }
    }

    fn existing(&self, scope: Option<&Scope>) -> Option<Shared> {
        match self.accounted(scope) {
            Some(scope) => self.0.scoped.get(scope),
            None => Some(self.unscoped().clone()),
        }
    }

    fn unscoped(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.0
            .unscoped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Budgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budgets")
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}
