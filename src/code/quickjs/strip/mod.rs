//! TypeScript as JavaScript, by overwriting the types with spaces.
//!
//! Every line and column stays what it is. Only syntax without a meaning of
//! its own is taken out; what would have to be translated (`enum`,
//! `namespace`, parameter properties, `<T>value`) is refused with its place.

mod blanks;
mod erase;

use std::fmt;

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;

use self::erase::Eraser;

/// A program that is no erasable TypeScript, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) message: String,
    /// From 1.
    pub(super) line: usize,
    /// From 1, in characters.
    pub(super) column: usize,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, line, column } = self;
        write!(f, "SyntaxError: {message} (line {line}, column {column})")
    }
}

/// The stack that the parser may need for each token, in bytes: it descends
/// once for each in the worst case. Measured, and a third more.
const STACK_PER_TOKEN: usize = if cfg!(debug_assertions) { 24 * 1024 } else { 4 * 1024 };

/// The most tokens that are read; a stack for them is reserved, not used.
const TOKENS: usize = 40_000;

/// The stack that [`strip`] may need for `program`, in bytes.
///
/// # Errors
///
/// For more than [`TOKENS`].
pub(super) fn stack(program: &str) -> Result<usize, Refusal> {
    let tokens = tokens(program);
    if tokens > TOKENS {
        return Err(Refusal {
            message: format!("expected at most {TOKENS} tokens of TypeScript, found {tokens}"),
            line: 1,
            column: 1,
        });
    }
    Ok(tokens * STACK_PER_TOKEN)
}

/// At least as many as the parser will see: words, and every other character
/// that is no white space, in strings and comments as well.
fn tokens(program: &str) -> usize {
    let mut in_word = false;
    let mut count = 0;
    for byte in program.bytes() {
        let word = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
        if !byte.is_ascii_whitespace() && !(word && in_word) {
            count += 1;
        }
        in_word = word;
    }
    count
}

/// Takes the types out of the body of an asynchronous function.
///
/// # Errors
///
/// For what is no TypeScript, and what cannot be erased.
pub(super) fn strip(program: &str) -> Result<String, Refusal> {
    let allocator = Allocator::default();
    let options = ParseOptions {
        allow_return_outside_function: true,
        ..ParseOptions::default()
    };
    // A module, for the sake of `await`.
    let source = SourceType::ts().with_module(true);
    let parsed = Parser::new(&allocator, program, source)
        .with_options(options)
        .parse();
    if let Some(error) = parsed.errors.first() {
        let at = error
            .labels
            .iter()
            .flatten()
            .next()
            .map_or(0, |label| label.offset());
        return Err(refusal(program, at, error.message.to_string()));
    }
    if parsed.panicked {
        return Err(refusal(program, 0, "the program cannot be read".to_owned()));
    }
    Eraser::erase(program, &parsed.program)
        .map_err(|(at, message)| refusal(program, at as usize, message))
}

fn refusal(program: &str, at: usize, message: String) -> Refusal {
    let before = program.get(..at).unwrap_or(program);
    let line = before.matches('\n').count() + 1;
    let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
    Refusal {
        message,
        line,
        column: before[begin..].chars().count() + 1,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
