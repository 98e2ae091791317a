//! Contract and stage layers of `toolfall`.

mod arguments;
mod content;

pub use self::{
    arguments::{
        Arguments, ArgumentsError, ArgumentsErrorKind, CheckError, DecodeError, Digest, MAX_DEPTH,
        MAX_TEXT, Malformed, check_json, check_value, discard_value, to_value,
    },
    content::ContentBlock,
};
