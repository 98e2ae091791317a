//! Command lines, taken apart into words before they are tested.

use serde_json::Value;

use super::glob::BadGlob;
use super::holds::Holds;
use super::text::{Pattern, Reading};

/// What stands for any further words, as the last pattern.
const REST: &str = "**";

/// What a shell does something with, outside of quotes.
const MEANT_FOR_A_SHELL: &str = r"|&;<>()$`\*?[]{}#!~^";

/// A test on the words of a command.
#[derive(Clone, Debug)]
pub(super) struct Argv {
    words: Vec<Pattern>,
    /// Whether the program's pattern is about its name, and not its path.
    by_name: bool,
    rest: bool,
    reading: Reading,
}

impl Argv {
    /// Patterns for the program and its arguments; at least one.
    pub(super) fn new(patterns: &[String], ignore_case: bool) -> Result<Self, BadGlob> {
        let (words, rest) = match patterns {
            [words @ .., last] if last == REST => (words, true),
            words => (words, false),
        };
        Ok(Self {
            words: words
                .iter()
                .map(|glob| Pattern::glob(glob, false, ignore_case))
                .collect::<Result<_, _>>()?,
            by_name: words.first().is_some_and(|program| !program.contains('/')),
            rest,
            reading: Reading::new(&patterns.concat(), ignore_case),
        })
    }

    pub(super) fn holds(&self, value: &Value) -> Holds {
        match value {
            Value::Null => Holds::No,
            Value::String(line) => self.reading.ask(line, |line| match split(line) {
                Some(words) => self.are(&words),
                None => Holds::Unknown,
            }),
            Value::Array(words) => {
                let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
                match words {
                    Some(words) if !words.iter().any(|word| word.contains('\0')) => {
                        self.are(&words)
                    }
                    _ => Holds::Unknown,
                }
            }
            _ => Holds::Unknown,
        }
    }

    fn are<W: AsRef<str>>(&self, words: &[W]) -> Holds {
        let Some((program, arguments)) = words.split_first() else {
            return Holds::Unknown;
        };
        let length = if self.rest {
            words.len() >= self.words.len()
        } else {
            words.len() == self.words.len()
        };
        if !length {
            return Holds::No;
        }
        let Some((wanted, patterns)) = self.words.split_first() else {
            return Holds::Yes;
        };
        let program = program.as_ref();
        let named = wanted.holds(program);
        // `/bin/rm` is `rm` to a rule that forbids it, and `./git` is not the
        // `git` that a rule allows.
        let named = match program.rsplit_once('/') {
            Some((_, name)) if self.by_name => named.agreed(wanted.holds(name)),
            _ => named,
        };
        let pairs = patterns.iter().zip(arguments);
        pairs.fold(named, |holds, (pattern, word)| {
            holds.and(pattern.holds(word.as_ref()))
        })
    }
}

/// The words of a line that no shell would change.
///
/// `None` if a shell may make anything else of it: operators, redirections,
/// expansions, globs, escapes, comments, assignments, more than one line, a
/// quote that stays open.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for char in line.chars() {
        if char.is_control() && char != '\t' {
            return None;
        }
        match (quote, char) {
            (Some(open), close) if open == close => quote = None,
            (Some('"'), '$' | '`' | '\\' | '!') => return None,
            (None, '\'' | '"') => {
                // `''` is a word too.
                word.get_or_insert_default();
                quote = Some(char);
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, char) if MEANT_FOR_A_SHELL.contains(char) => return None,
            (_, char) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    let assigns = words.first().is_some_and(|first| first.contains('='));
    (quote.is_none() && !assigns && !words.is_empty()).then_some(words)
}
