//! Permission rules: allow, ask or deny, by a call's name and arguments.
//!
//! A [`RuleList`] decides a call by the strictest of its [`Rule`]s that
//! match: a deny goes before an ask, an ask before an allow, whatever their
//! order. What no rule matches gets the list's default, which is to ask.
//! Every refusal and every question names its rule, and an allowed call
//! carries it, as [`AllowedBy`].
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::policy::{AllowedBy, Rule, RuleList, Test, Verdict};
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let rules = RuleList::new([
//!     Rule::allow("reading").tool("{read_file,list_dir}"),
//!     Rule::deny("secrets")
//!         .tool("*_file")
//!         .argument("/path", Test::path("secrets/**"))
//!         .because("secrets stay closed"),
//! ])?
//! .otherwise(Verdict::Deny);
//!
//! let registry = Registry::new();
//! registry.register(tool_fn("read_file", "Reads", |_: serde_json::Value, _: ToolContext| async {
//!     Ok::<_, BoxError>("text".to_owned())
//! }))?.keep();
//! let pipeline = Pipeline::builder(registry)
//!     .pre_decision(rules)
//!     .observer(|call: &CallView, result: &ToolResult| {
//!         let by = call.extensions().get::<AllowedBy>();
//!         assert_eq!(by.is_some(), !result.is_error());
//!     })
//!     .build();
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
//! Rules may be kept in a file of TOML or JSON: see [`RuleList::from_toml`],
//! [`RuleList::from_file`] and [`WrittenRules`], which has a JSON Schema.
//!
//! # What a test can tell
//!
//! A test holds, does not hold, or cannot tell. A call that cannot be told
//! is never allowed by a rule that tests it, and always caught by one that
//! asks or denies: so nothing is won by spelling a value in a way that the
//! rule does not understand but the tool may. It cannot be told:
//!
//! - a text that matches as it is written and not as it may be read, or the
//!   other way round: in compatibility forms (`ｐｒｏｄ`), with characters that
//!   are not seen, with letters that look like those of a pattern in ASCII
//!   (`prоd` with a Cyrillic `о`). Large and small letters differ, unless
//!   [`Test::ignore_case`] is set: set it where the tool does not tell them
//!   apart;
//! - a path with control characters, with `\`, with escapes as in a URL (`%2e`)
//!   or beginning like one (`file:`), beginning with `~` or `$`; one with a
//!   `..` after a name, as far as the file system is not asked; where it is,
//!   one that it does not resolve;
//! - a path that does not match and may be another way to write one that does,
//!   since nobody says where the tool begins: one that begins with `..`, and an
//!   absolute one where the pattern is relative. `secrets/**` cannot tell of
//!   `/srv/secrets/key`; `**/secrets/**` can, and so can
//!   [`Test::path_below`];
//! - a value of a type that the test is not for, or on the way to the place:
//!   a list where the rule expects a text, if one of its elements may be that
//!   text; `"100"` where it expects a number, `1` where it expects `true`;
//! - a place whose name another member resembles: `Amount` beside or instead
//!   of `amount`, since there are decoders that take one for the other;
//! - with `*` in the pointer: elements of which some pass and some do not.
//!
//! ```
//! use serde_json::json;
//! use toolfall::policy::{Rule, RuleList, Test, Verdict};
//!
//! let rules = RuleList::new([
//!     Rule::allow("inside").argument("/to/*", Test::glob("*@corp.example")),
//!     Rule::deny("rival").argument("/to/*", Test::glob("*@rival.example")),
//! ])?;
//! let verdict = |to| rules.verdict("mail", &json!({ "to": to })).0;
//! assert_eq!(verdict(json!(["a@corp.example", "b@corp.example"])), Verdict::Allow);
//! assert_eq!(verdict(json!(["a@corp.example", "c@other.example"])), Verdict::Ask);
//! assert_eq!(verdict(json!(["a@corp.example", "c@rival.example"])), Verdict::Deny);
//! assert_eq!(verdict(json!(["c@rivаl.example"])), Verdict::Deny, "a Cyrillic letter");
//! assert_eq!(verdict(json!([])), Verdict::Ask, "nobody is not everybody inside");
//! # Ok::<(), toolfall::BoxError>(())
//! ```
//!
//! # Names
//!
//! The name of a tool is matched letter by letter, in its one spelling: the
//! registry takes only exact names, so a call in any other spelling reaches
//! no tool, whatever a rule says of it.
//!
//! # Commands
//!
//! There is no test for how a command line begins. `git status` is also the
//! beginning of `git status; rm -r .` and of `git status $(…)`, and a shell
//! has ever more ways to write either. [`Test::argv`] compares whole words,
//! and cannot tell of a line that a shell might make something else of. Use
//! it to allow what is needed. To deny a program by its name stops nobody who
//! can start another program that starts it.
//!
//! # What a rule can promise
//!
//! Rules read what the model wrote, before the tool sees it; a tool may read
//! it in a way of its own. To keep something closed for certain, allow what
//! is needed and deny the rest, and let the tool itself be confined, as those
//! of the feature `workspace` are.

mod argv;
mod compiled;
mod equal;
mod error;
pub(crate) mod glob;
mod holds;
mod list;
mod load;
mod path;
mod place;
mod rule;
mod test;
mod text;
mod written;

pub use self::error::{RuleError, RuleErrorKind};
pub use self::list::{AllowedBy, RuleList};
pub use self::load::RuleTextError;
pub use self::rule::{Rule, Verdict};
pub use self::test::Test;
pub use self::written::{WrittenRule, WrittenRules, WrittenTest};
