//! TypeScript as JavaScript, by overwriting the types with spaces.
//!
//! Every line and column stays what it is. Only syntax without a meaning of
//! its own is taken out; what would have to be translated (`enum`,
//! `namespace`, parameter properties, `<T>value`) is refused with its place.

mod blanks;
mod erase;

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;

use self::erase::Eraser;

/// A program that is no erasable TypeScript, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("SyntaxError: {message} (line {line}, column {column})")]
#[non_exhaustive]
pub struct NotErasable {
    /// What is wrong.
    pub message: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// Takes the types out of a program, the body of an asynchronous function, as
/// every run does: what is left is JavaScript, with every line and column
/// where it was.
///
/// Blocks for as long as a thread takes that reads the program.
///
/// ```
/// use toolfall::code::quickjs::strip_types;
///
/// let text = strip_types("const a: number = 1 as any").unwrap();
/// assert_eq!(text, "const a         = 1       ");
/// let refused = strip_types("let a\nenum A { B }").unwrap_err();
/// assert_eq!((refused.line, refused.column), (2, 1));
/// ```
///
/// # Errors
///
/// For what is no TypeScript, what cannot be erased, and a program of more
/// than 40,000 words and signs.
pub fn strip_types(program: &str) -> Result<String, NotErasable> {
    let stack = stack(program)? + (512 << 10);
    let read = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(stack);
        let thread = thread.spawn_scoped(scope, || strip(program)).ok()?;
        thread.join().ok()
    });
    read.unwrap_or_else(|| Err(refusal(program, 0, "the program cannot be read".to_owned())))
}

/// The stack that the parser may need for each token, in bytes: it descends
/// once for each in the worst case. Measured without optimisation, and three
/// times that.
const STACK_PER_TOKEN: usize = 6 * 1024;

/// The most tokens that are read; a stack for them is reserved, not used.
const TOKENS: usize = 40_000;

/// So many `<` may be open: of each the parser tries whether it begins a list
/// of types, and reads what follows again if not.
const OPEN: usize = 500;

/// The stack that [`strip`] may need for `program`, in bytes.
///
/// # Errors
///
/// For more than [`TOKENS`], or [`OPEN`] lists of types.
pub(super) fn stack(program: &str) -> Result<usize, NotErasable> {
    let tokens = tokens(program);
    if tokens > TOKENS {
        let message = format!("expected at most {TOKENS} tokens of TypeScript, found {tokens}");
        return Err(refusal(program, 0, message));
    }
    if let Some(at) = too_many_open(program) {
        let message = format!("expected at most {OPEN} `<` before a `>`, found more");
        return Err(refusal(program, at, message));
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
        let goes_on = word && in_word;
        count += usize::from(!byte.is_ascii_whitespace() && !goes_on);
        in_word = word;
    }
    count
}

/// Where more than [`OPEN`] lists of types may be open. No list goes on behind
/// `;`, `&&` or `||`.
fn too_many_open(program: &str) -> Option<usize> {
    let bytes = program.as_bytes();
    let mut open = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' => open += 1,
            b'>' => open = open.saturating_sub(1),
            b';' => open = 0,
            b'&' | b'|' if bytes.get(at + 1) == Some(byte) => open = 0,
            _ => {}
        }
        if open > OPEN {
            return Some(at);
        }
    }
    None
}

/// Takes the types out of the body of an asynchronous function.
///
/// # Errors
///
/// For what is no TypeScript, and what cannot be erased.
pub(super) fn strip(program: &str) -> Result<String, NotErasable> {
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
        // The label's type is of a crate that is not named here.
        #[allow(clippy::redundant_closure_for_method_calls)]
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

fn refusal(program: &str, at: usize, message: String) -> NotErasable {
    let before = program.get(..at).unwrap_or(program);
    let line = before.matches('\n').count() + 1;
    let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
    NotErasable {
        message,
        line,
        column: before[begin..].chars().count() + 1,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
