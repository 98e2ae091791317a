//! What a person allows for more than one call.
//!
//! An approver answers once. A [`Grant`] is an answer that holds on: for the
//! very same call, for a tool, or for the calls that a rule matches; for a
//! time, a number of uses, a scope; until it is revoked. [`Grants`] is a
//! pre-decision policy around another: where that one asks and a grant of the
//! host's [`GrantStore`] covers the call, it allows. It never touches a
//! denial, an allow or a failure, and asks the store about nothing but an ask.
//!
//! A use is spent when the ask is turned into an allow, also if another stage
//! refuses the call afterwards or it is cancelled. Grants know tools by their
//! names: where scopes see different tools of one name, put a grant
//! [within](Grant::within) a scope, and revoke it when the tool is replaced.
//!
//! # Which grant decided
//!
//! An allow has no place for a rule's name, so the grant's name travels with
//! the call: [`GrantedBy`] among its extensions, for observers, recorders and
//! guards. An ask or a denial that stands keeps the name of the inner
//! policy's rule.
//!
//! # Example
//!
//! ```
//! use std::num::NonZeroU32;
//! use std::sync::{Arc, Mutex};
//! use std::time::Duration;
//!
//! use tokio_util::sync::CancellationToken;
//! use toolfall::policy::grants::{Grant, GrantedBy, Grants, MemoryGrants};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let store = MemoryGrants::new();
//! let careful = Grants::new(store.clone(), |_: &CallView| Decision::ask("is that fine?"));
//!
//! // This person says: yes, and the same call twice more within the hour.
//! let answers = store.clone();
//! let granted = Arc::new(Mutex::new(Vec::new()));
//! let log = granted.clone();
//! let pipeline = Pipeline::builder(Registry::new())
//!     .pre_decision(careful)
//!     .approval(move |asked: &ApprovalRequest| {
//!         let grant = Grant::exact("twice more", asked.call())
//!             .uses(NonZeroU32::new(2).unwrap())
//!             .expires_after(Duration::from_secs(3600));
//!         match answers.add(grant) {
//!             Ok(()) => ApprovalOutcome::AllowedOnce,
//!             Err(_) => ApprovalOutcome::Rejected,
//!         }
//!     })
//!     .observer(move |call: &CallView, _: &ToolResult| {
//!         if let Some(by) = call.extensions().get::<GrantedBy>() {
//!             log.lock().unwrap().push(format!("{}: {}", call.id(), by.names()[0]));
//!         }
//!     })
//!     .build();
//!
//! let agent = Scope::new("agent");
//! for id in ["1", "2", "3"] {
//!     let request = CallRequest::new(id, "status", "{}", CancellationToken::new());
//!     let result = pipeline.run(request.with_scope(agent.clone())).await;
//!     assert_eq!(result.code(), Some("UNKNOWN_TOOL"), "it got past the policy");
//! }
//! assert_eq!(*granted.lock().unwrap(), ["2: twice more", "3: twice more"]);
//! assert!(store.names().is_empty(), "all uses are spent");
//! # }
//! ```

mod grant;
mod memory;
mod policy;

pub use self::grant::{Grant, GrantError};
pub use self::memory::MemoryGrants;
pub use self::policy::{GrantedBy, Granting, Grants};
use crate::{BoxError, CallView};

/// Where the host keeps its grants.
///
/// [`MemoryGrants`] keeps them for the life of the process. It is asked
/// synchronously, inside the decision stage: a store that is far away keeps a
/// copy at hand.
pub trait GrantStore: Send + Sync {
    /// Spends one use of a grant that [covers](Grant::covers) `call` now, and
    /// returns the grant's name; `None` if there is none.
    ///
    /// Finding and spending are one step: of two calls at once only one gets
    /// the last use, and no grant that was revoked before is ever spent.
    ///
    /// # Errors
    ///
    /// A store that cannot tell. The call fails then, and nothing runs. A
    /// panic counts as a failure.
    fn spend(&self, call: &CallView) -> Result<Option<String>, BoxError>;
}

impl<T: GrantStore + ?Sized> GrantStore for std::sync::Arc<T> {
    fn spend(&self, call: &CallView) -> Result<Option<String>, BoxError> {
        T::spend(self, call)
    }
}
