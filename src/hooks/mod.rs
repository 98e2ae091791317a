//! External programs that are asked before and after a tool.
//!
//! A [`HookSet`] holds [`Hook`]s in one of two [`Dialect`]s, Claude Code's
//! and Codex's, so that programs written for those run here.
//! [`HookSet::pre`] is a pre-decision policy, [`HookSet::post`] a
//! post-execute policy; what a host's own loop has beside tools is run with
//! [`HookSet::run_event`].
//!
//! A hook is started without a shell unless it is made with [`Hook::shell`],
//! in the session's folder, with a few variables of this process's
//! environment. It reads one JSON object on standard input. It says with
//! exit code 0 and a JSON object on standard output what it decides, or with
//! exit code 2 and a sentence on standard error that it is against it. The
//! hooks of a point run one after another, and the strictest answer counts;
//! an allow is never a bypass of another policy.
//!
//! # When a hook fails
//!
//! One that cannot be started, ends with another exit code, is killed, does
//! not end in time, writes too much, or writes anything else than such an
//! object has a [`HookFault`]. In front of a call a fault **denies**; after
//! one, and at a host's events, it is ignored with a warning.
//! [`Hook::on_fault`] says otherwise for one hook. The dialects' own programs
//! ignore most faults everywhere:
//! [`HookSetBuilder::default_on_fault`] has them do so here.
//!
//! Every hook runs in a process group of its own. When it is out of time or
//! its call is cancelled, the group is asked to end, given a
//! [grace](Hook::grace), killed, and waited for; a dropped call kills it.
//!
//! # Example
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::hooks::{Dialect, Hook, HookSet};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let hooks = HookSet::builder(Dialect::ClaudeCode)
//!     .pre(Hook::shell("grep -q /etc && { echo 'not there' >&2; exit 2; }; exit 0").matcher("read"))
//!     .build()?;
//!
//! let registry = Registry::new();
//! let read = tool_fn("read", "Reads a file", |path: std::collections::BTreeMap<String, String>, _| async move {
//!     Ok::<_, BoxError>(format!("the contents of {}", path["path"]))
//! });
//! registry.register(read)?.keep();
//! let pipeline = Pipeline::builder(registry)
//!     .pre_decision(hooks.pre())
//!     .post_execute(hooks.post())
//!     .build();
//!
//! let ran = pipeline.call("1", "read", r#"{"path":"a.txt"}"#, CancellationToken::new()).await;
//! assert_eq!(ran.text(), "the contents of a.txt");
//! let denied = pipeline.call("2", "read", r#"{"path":"/etc/passwd"}"#, CancellationToken::new()).await;
//! assert_eq!(denied.text(), "Error: not there");
//! # Ok(()) }
//! ```
//!
//! # Example: from a configuration
//!
//! A [`HookSetBuilder`] is read by serde, from JSON or TOML alike. Fields
//! that are not known are refused, with their place.
//!
//! ```
//! use toolfall::hooks::HookSetBuilder;
//!
//! let builder: HookSetBuilder = serde_json::from_str(r#"{
//!     "dialect": "claude-code",
//!     "hooks": [{
//!         "on": "PreToolUse",
//!         "matcher": "Edit|Write",
//!         "program": ["python3", "check.py", "--strict"],
//!         "timeout_ms": 3000,
//!         "on_fault": "deny",
//!         "only_env": ["PATH"],
//!         "env": {"MODE": "strict"}
//!     }]
//! }"#).unwrap();
//! assert_eq!(builder.build().unwrap().len(), 1);
//!
//! let wrong = r#"{"hooks": [{"on": "PreToolUse", "comand": "true"}]}"#;
//! let error = serde_json::from_str::<HookSetBuilder>(wrong).unwrap_err();
//! assert!(error.to_string().starts_with("unknown field `comand`"));
//! ```

mod builder;
mod detached;
mod dialect;
mod error;
mod event;
mod fault;
mod hook;
mod ledger;
mod matcher;
mod merge;
mod output;
mod payload;
mod policy;
mod record;
mod run;
mod session;
mod set;
mod settings;
mod written;

pub use self::builder::HookSetBuilder;
pub use self::detached::DetachedHooks;
pub use self::dialect::{Dialect, HookPoint};
pub use self::error::HookSetError;
pub use self::event::{HookEvent, HookReport};
pub use self::fault::HookFault;
pub use self::hook::{Hook, OnFault};
pub use self::ledger::{HookLedger, HookLedgerError};
pub use self::matcher::{MatcherError, ToolMatcher};
pub use self::merge::Merged;
pub use self::output::{HookDecision, HookOutput};
pub use self::policy::{PostHooks, PreHooks};
pub use self::record::{HookRecord, decision_word, stderr_summary};
pub use self::run::HookRun;
pub use self::session::HookSession;
pub use self::set::HookSet;
pub use self::settings::{HookSettings, HookSettingsError, Places, Skipped};
