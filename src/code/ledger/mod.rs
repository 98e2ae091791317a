//! What a program puts out, counted as JSON.
//!
//! A run has one budget, in bytes, for everything that comes out of it: the
//! list of its logs as JSON, and its value, or the message of its failure, as
//! JSON. A [`Ledger`] keeps that count on the host's side, whatever a program
//! says of itself; a [`LogBuffer`] keeps it inside, so that nothing is sent
//! that the host would not keep. The meters below both never build the text
//! that they measure, and stop at a ceiling.
//!
//! ```
//! use toolfall::code::RunFailureKind;
//! use toolfall::code::ledger::Ledger;
//!
//! // `["abc"]` takes 7 bytes, `"xy"` takes 4.
//! let mut ledger = Ledger::new(11);
//! assert!(ledger.push("abc"));
//! assert_eq!(ledger.completed(Some("xy".into())).value, Some("xy".into()));
//!
//! let mut ledger = Ledger::new(10);
//! assert!(ledger.push("abc"));
//! let error = ledger.completed(Some("xy".into())).error.unwrap();
//! assert_eq!(error.kind, RunFailureKind::OutputLimit);
//! ```

mod book;
mod logs;
mod meter;

pub use self::book::{Ledger, SMALLEST, limit_message};
pub use self::logs::{LogBuffer, Pushed};
pub use self::meter::{CompletionFault, check_completion, cut, string_bytes, value_bytes};
