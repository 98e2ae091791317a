//! Cards of programs, and the markers that end their text.
//!
//! A model reads how a program ended from the last lines of its text. A card
//! shows that beside the text instead: the last marker is taken off, and any
//! other stays, for no card has another place for it.
//!
//! ```
//! use toolfall::card::Ending;
//! use toolfall::card::shell::{End, parse};
//!
//! let end = End { ending: Ending::ExitCode(3), timed_out_ms: None };
//! let text = end.text("no such file");
//! assert_eq!(text, "no such file\n[exit code: 3]");
//! assert_eq!(parse(&text), ("no such file", Ending::ExitCode(3)));
//! ```

use std::fmt::Write as _;

use super::{
    CallCard, Ending, GenericCall, GenericResult, Kind, Presented, ResultCard, TerminalCall,
    TerminalResult,
};
use crate::ContentBlock;

const EXIT: &str = "[exit code: ";
const SIGNAL: &str = "[killed by signal: ";

/// How a program ended, for its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// By its own status, or by a signal.
    pub ending: Ending,
    /// The budget, in milliseconds, if it was ended for running out of it.
    pub timed_out_ms: Option<u64>,
}

impl End {
    /// `output` with the markers of this end. The status 0 has none, unless
    /// the output ends as if it had one; [`parse`] reads back what it was.
    pub fn text(&self, output: &str) -> String {
        let mut text = output.to_owned();
        // Writing to a `String` cannot fail.
        if let Some(budget) = self.timed_out_ms {
            let _ = write!(text, "\n[timed out after {budget}ms]");
        }
        match &self.ending {
            Ending::ExitCode(0) if marker(&text).is_none() => {}
            Ending::ExitCode(code) => {
                let _ = write!(text, "\n{EXIT}{code}]");
            }
            Ending::Signal(name) => {
                let _ = write!(text, "\n{SIGNAL}{name}]");
            }
        }
        text
    }
}

/// The output, and how the program ended: the last marker on a line of its
/// own, else the status 0. A text that is nothing but a marker is output.
pub fn parse(text: &str) -> (&str, Ending) {
    marker(text).unwrap_or((text, Ending::ExitCode(0)))
}

fn marker(text: &str) -> Option<(&str, Ending)> {
    let at = text.rfind('\n')?;
    let (output, last) = (&text[..at], text[at + 1..].strip_suffix(']')?);
    let ending = if let Some(code) = last.strip_prefix(EXIT) {
        Ending::ExitCode(code.parse().ok()?)
    } else {
        let name = last.strip_prefix(SIGNAL)?;
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (is_name && !name.is_empty()).then(|| Ending::Signal(name.to_owned()))?
    };
    Some((output, ending))
}

/// The call of a program that is waited for; `cwd` as the call gave it.
pub fn call(command: &str, description: Option<&str>, cwd: Option<&str>) -> CallCard {
    CallCard::Terminal(TerminalCall {
        title: command.to_owned(),
        description: description.map(str::to_owned),
        cwd: cwd.map(str::to_owned),
    })
}

/// The call of a program that runs on in the background.
pub fn background_call(command: &str, description: Option<&str>) -> CallCard {
    let card = GenericCall::new(command)
        .kind(Kind::Execute)
        .raw_input(command);
    CallCard::Generic(match description {
        Some(description) => card.text(description),
        None => card,
    })
}

/// The result of a program that was waited for. Only one block of text has a
/// card; a failure's text tells no status, so none is read from it.
pub fn result(result: &Presented<'_>) -> Option<ResultCard> {
    if result.is_error {
        return background_result(result);
    }
    let (output, ending) = parse(result.only_text()?);
    Some(ResultCard::Terminal(TerminalResult {
        title: None,
        output: Some(output.to_owned()),
        ending: Some(ending),
    }))
}

/// The result of a program that runs on: its text as it is.
pub fn background_result(result: &Presented<'_>) -> Option<ResultCard> {
    let text = fenced(result.only_text()?);
    Some(ResultCard::Generic(GenericResult {
        title: None,
        content: Some(vec![ContentBlock::text(text)]),
    }))
}

/// The text in a `console` block whose fence it cannot close.
fn fenced(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(3.max(longest + 1));
    let line_break = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}console\n{text}{line_break}{fence}")
}
