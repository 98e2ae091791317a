//! What a session permits: presets, and the approval policy that applies.
//!
//! A [`Preset`] is a name for a [`SandboxMode`], how far tools may reach, and
//! an [`ApprovalMode`](crate::approval::ApprovalMode), whether questions may
//! be asked. [`Presets`] are a host's; [`SessionPermission`] is what one
//! session has. It is kept in the session's log, so a resumed session has
//! what it had, whatever the defaults are by then. Settings that no preset
//! has are the state `custom`.
//!
//! An [`ApprovalPolicy`] says which calls are allowed, asked about or denied.
//! The nearest that is set applies: the session's, else the user's, else the
//! preset's. If none is set, everything is denied. It decides in the
//! pre-decision stage with the same [`Decision`](crate::Decision) as every
//! policy; the sandbox mode adds a guard for sessions that may only read.
//!
//! Both go by what a tool declares when they are asked. If the tool is another
//! one when the body's turn comes, and declares more, or if there was none,
//! the body does not run: the call is refused with the code `TOOL_REPLACED`,
//! and judged anew when it is made again. A replacement that declares no more
//! runs, also if a person said yes to the one before: hosts whose tools come
//! from elsewhere should not let them change under a name.
//!
//! # Example
//!
//! ```
//! use serde_json::json;
//! use tokio_util::sync::CancellationToken;
//! use toolfall::approval::Answerers;
//! use toolfall::permission::{ApprovalPolicy, Confinement, PresetConfig, PresetTable, Presets};
//! use toolfall::permission::SandboxMode;
//! use toolfall::session::SessionLog;
//! use toolfall::*;
//!
//! struct Container;
//! impl Confinement for Container {
//!     fn confines(&self) -> bool { true }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let presets = Presets::load(PresetTable::default(), PresetConfig::default(), &Container)?;
//! let (answerers, agent) = (Answerers::new(), Scope::new("agent"));
//! let mode = answerers.session(&agent, SessionLog::in_memory())?;
//! let session = presets.create(mode)?;
//! assert_eq!(session.current().as_str(), "workspace-write");
//!
//! let registry = Registry::new();
//! let write = raw_tool("write", "Writes", json!({"type": "object"}), |_, _: ToolContext| async {
//!     Ok::<_, BoxError>(json!("written"))
//! });
//! registry.register(write.edits())?.keep();
//! let pipeline = Pipeline::builder(registry)
//!     .pre_decision(session.policy())
//!     .approval(answerers)
//!     .guard(session.guard())
//!     .build();
//! let call = || {
//!     CallRequest::new("1", "write", "{}", CancellationToken::new()).with_scope(agent.clone())
//! };
//! assert_eq!(pipeline.run(call()).await.text(), "written");
//!
//! session.set_sandbox(SandboxMode::ReadOnly)?;
//! assert_eq!(session.current().as_str(), "custom");
//! let refused = pipeline.run(call()).await;
//! assert_eq!(refused.text(), "Error: tool \"write\" is denied: no approval policy is set");
//!
//! session.set_policy(Some(ApprovalPolicy::AllowAll))?;
//! let refused = pipeline.run(call()).await;
//! let text = "Error: tool \"write\" changes files, and this session may only read";
//! assert_eq!(refused.text(), text);
//! # Ok(()) }
//! ```

mod command;
mod pin;
mod policy;
mod presets;
mod sandbox;
mod session;
mod session_policy;
mod table;

pub use self::command::{CommandAnswer, CommandError};
pub use self::policy::{ApprovalPolicy, EffectivePolicy, PolicySource, UnknownPolicy};
pub use self::presets::{CurrentPreset, PresetConfig, Presets};
pub use self::sandbox::{Confinement, SandboxGuard, SandboxMode, UnknownSandboxMode};
pub use self::session::{Projection, SelectError, SessionPermission};
pub use self::session_policy::SessionPolicy;
pub use self::table::{Preset, PresetError, PresetOption, PresetTable, UnknownPreset};
