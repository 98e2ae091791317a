//! Names that no runtime lets a host bind.
//!
//! One set for all languages, so that what can be bound in one can be bound
//! in every other.

use crate::sdk::Language;

/// Globals that belong to runtimes.
const GLOBALS: [&str; 5] = [
    "console",
    "__dsh_main__",
    "__builtins__",
    "__name__",
    "__debug__",
];

/// Properties that errors have in some language.
const MEMBERS: [&str; 6] = [
    "name",
    "message",
    "stack",
    "args",
    "with_traceback",
    "add_note",
];

/// What no JavaScript program can bind, though it is no word.
const CONSTANTS: [&str; 3] = ["Infinity", "NaN", "undefined"];

/// Whether `name` is a global of the runtimes themselves.
pub fn is_global(name: &str) -> bool {
    GLOBALS.contains(&name)
}

/// Whether `name` is a property that errors have already.
pub fn is_error_member(name: &str) -> bool {
    MEMBERS.contains(&name)
}

/// Whether `name` is a word of one of the languages, Python's soft keywords
/// and JavaScript's constants too.
pub fn is_word(name: &str) -> bool {
    let is_reserved = |language: &Language| language.is_reserved(name);
    CONSTANTS.contains(&name) || Language::ALL.iter().any(is_reserved)
}

/// Whether `name` is one of Python's own: `__x__`, with something between.
pub fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

/// Whether `name` is an identifier in every language: `[A-Za-z_][A-Za-z0-9_]*`
/// and no word.
pub fn is_portable_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    let begins = bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    begins && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !is_word(name)
}
