//! What a provider's text can be wrong in.

/// Why a reply or a stream's event could not be read.
///
/// A single odd call is never an error here: its text is passed on as sent
/// and refused on its own. These are faults of the frame around the calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The text is not JSON.
    #[error("not JSON at byte {offset}: expected {expected}")]
    NotJson {
        /// Byte offset in the innermost value that was being read.
        offset: usize,
        /// What should have been there.
        expected: &'static str,
    },
    /// A value is of the wrong kind.
    #[error("at \"{pointer}\": expected {expected}, found {found}")]
    Shape {
        /// JSON pointer to the value.
        pointer: String,
        /// What should have been there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// An object lacks a member.
    #[error("at \"{pointer}\": expected a member \"{name}\", found none")]
    Missing {
        /// JSON pointer to the object.
        pointer: String,
        /// The member's name.
        name: &'static str,
    },
    /// A member that decides something is there twice.
    #[error("at \"{pointer}\": expected one member of this name, found several")]
    Duplicate {
        /// JSON pointer to the member.
        pointer: String,
    },
    /// The text shows no dialect, or several fit.
    #[error("expected a reply of a known dialect, found none that fits; name the dialect")]
    UnknownDialect,
    /// A dialect's name is not one of those known.
    #[error("expected \"chat-completions\", \"responses\" or \"messages\", found {found:?}")]
    UnknownName {
        /// The name given.
        found: String,
    },
    /// The provider answered with an error instead of a reply.
    #[error("at \"{pointer}\": the provider answered with an error: {message}")]
    Provider {
        /// JSON pointer to the error.
        pointer: String,
        /// The provider's own words, shortened, without control characters.
        message: String,
    },
    /// A stream's calls are larger than the assembler keeps.
    #[error("expected at most {limit} bytes of calls in one stream, found more")]
    TooLarge {
        /// The bound, in bytes.
        limit: usize,
    },
    /// An event followed one that could not be taken.
    #[error("expected no more events after one that could not be read")]
    Broken,
}
