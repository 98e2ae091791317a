//! Output within a budget: what is kept, and exactly how much is not.
//!
//! A program may write gigabytes and a search may find millions of lines. A
//! retainer takes all of it, piece by piece, holds at most its budget, and at
//! the end says what was left out: `kept + omitted == seen`, in bytes or in
//! items. Counts are of the bytes of the source, before decoding.
//!
//! Two things are never mixed up. *Truncated* is a fact about the budget:
//! something was seen and is not held. *Incomplete* is a fact about the
//! source: it ended before its end, or was not read to it. Either may hold
//! without the other.
//!
//! # Example
//!
//! ```
//! use toolfall::retain::TextRetainer;
//!
//! let mut output = TextRetainer::head_and_tail(3, 3);
//! for chunk in ["abcd", "efg", "hij"] {
//!     output.push(chunk);
//! }
//! let kept = output.finish();
//! assert_eq!(kept.text, "abchij");
//! assert!(kept.truncated && !kept.incomplete);
//! assert_eq!(
//!     kept.notice().text(|notice| format!("Kept {}.", notice.limit)),
//!     "Omitted 4 bytes. Kept 3B head + 3B tail.",
//! );
//! ```
//!
//! # Example: items
//!
//! ```
//! use toolfall::retain::ItemRetainer;
//!
//! let mut found = ItemRetainer::new(2);
//! for line in ["a", "b", "c"] {
//!     found.push(line);
//! }
//! // The search was stopped, which is another matter than the budget.
//! found.mark_incomplete();
//! let found = found.finish();
//! assert_eq!(found.items, ["a", "b"]);
//! assert_eq!(found.omitted.to_string(), "Omitted 1 items.");
//! assert!(found.truncated && found.incomplete);
//! ```
//!
//! # Characters at a cut
//!
//! A character that a cut goes through is left out and counted as omitted, so
//! no cut makes a replacement character, and nothing is glued together across
//! the gap. What is malformed in the source itself stays and is decoded
//! lossily; that is never an error.

mod budget;
mod items;
mod malformed;
mod notice;
mod omitted;
mod ring;
mod text;

pub use self::budget::{BudgetError, budget};
pub use self::items::{ItemRetainer, RetainedItems};
pub use self::malformed::Malformed;
pub use self::notice::{Limit, Notice};
pub use self::omitted::{Omitted, Unit};
pub use self::text::{RetainedText, TextRetainer};

/// What became of a piece that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// All of this piece is held now. Pieces that come later may push it out
    /// again, where the end of a stream is kept.
    pub kept: bool,
    /// Something of what was seen so far is not held.
    pub truncated: bool,
}
