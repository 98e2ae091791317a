//! Policies that are lists of rules.
//!
//! A [`RuleList`] decides a call by the first of its [`Rule`]s that matches:
//! by globs on the tool's name and by tests on the arguments. What no rule
//! matches gets the list's default, which is to ask. Every refusal and every
//! question names the rule it came from.
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::policy::{Rule, RuleList, Test, Verdict};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let rules = RuleList::new([
//!     Rule::deny("secrets")
//!         .tool("*_file")
//!         .argument("/path", Test::path("secrets/**"))
//!         .because("secrets stay closed"),
//!     Rule::allow("reading").tool("{read_file,list_dir}"),
//! ])?
//! .otherwise(Verdict::Deny);
//!
//! let registry = Registry::new();
//! registry.register(tool_fn("read_file", "Reads", |_: serde_json::Value, _: ToolContext| async {
//!     Ok::<_, BoxError>("text".to_owned())
//! }))?.keep();
//! let pipeline = Pipeline::builder(registry).pre_decision(rules).build();
//!
//! let token = CancellationToken::new;
//! let read = pipeline.call("1", "read_file", r#"{"path":"a.txt"}"#, token()).await;
//! assert_eq!(read.text(), "text");
//! let closed = pipeline.call("2", "read_file", r#"{"path":"./secrets/key"}"#, token()).await;
//! assert_eq!(closed.text(), "Error: secrets stay closed");
//! assert_eq!(closed.decided_by().unwrap().to_string(), r#"policy "secrets""#);
//! # Ok(()) }
//! ```
//!
//! # What a rule can promise
//!
//! Rules read what the model wrote, before the tool sees it. [`Test::path`]
//! puts a path in its plain form first, so that `./secrets/../secrets/key`
//! cannot slip through, but it knows nothing of links. To keep something
//! closed for certain, allow what is needed and deny the rest, and let the
//! tool itself be confined, as those of [`Workspace`](crate::workspace::Workspace)
//! are.

mod list;
mod rule;
mod test;

pub use self::list::{RuleError, RuleList};
pub use self::rule::{Rule, Verdict};
pub use self::test::Test;
