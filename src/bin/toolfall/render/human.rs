//! A call with its result, for people.

use std::fmt::Write as _;

use crossterm::style::Stylize as _;
use toolfall::card::{CallCard, ResultCard};
use toolfall::session::{CallRecord, ResultRecord};
use toolfall::{ContentBlock, FailureKind, ToolResult};

use super::{ARGUMENTS, LINE, card, safe};
use crate::input::Call;

/// So many lines of a result are shown to people.
const LINES: usize = 12;
/// So many characters of a note of where something was stored.
const PLACE: usize = 500;

/// The cards of a call and of its result, if there are any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cards {
    pub(crate) call: Option<CallCard>,
    pub(crate) result: Option<ResultCard>,
}

/// What people see of a call that was run just now.
pub(crate) struct Shown {
    pub(crate) arguments: String,
    pub(crate) content: Vec<ContentBlock>,
    pub(crate) cards: Cards,
}

/// What is shown of a call with its result, run just now or logged.
pub(crate) struct Seen<'a> {
    name: &'a str,
    arguments: &'a str,
    /// The class of the failure; none of a success.
    failure: Option<&'a str>,
    code: Option<&'a str>,
    decided_by: Option<String>,
    content: &'a [ContentBlock],
}

impl<'a> Seen<'a> {
    pub(super) fn live(call: &'a Call, result: &'a ToolResult, shown: &'a Shown) -> Self {
        Self {
            name: &call.name,
            arguments: &shown.arguments,
            failure: result.kind().map(FailureKind::as_str),
            code: result.code(),
            decided_by: result.decided_by().map(ToString::to_string),
            content: &shown.content,
        }
    }

    /// A result of a log; its call may be missing.
    pub(crate) fn logged(call: Option<&'a CallRecord>, result: &'a ResultRecord) -> Self {
        Self {
            name: call.map_or("(unknown)", |call| &call.name),
            arguments: call.map_or("", |call| &call.arguments),
            failure: result
                .is_error
                .then(|| result.kind.as_deref().unwrap_or("failed")),
            code: result
                .error
                .as_ref()
                .and_then(|error| error.code.as_deref()),
            decided_by: result.decided_by.clone(),
            content: &result.content,
        }
    }

    fn note(&self) -> Option<String> {
        let failure = self.failure?;
        if failure == FailureKind::Denied.as_str() {
            return Some(match self.decided_by.as_deref() {
                Some("nobody") | None => "denied: nobody could be asked".to_owned(),
                Some(by) => format!("denied by {by}"),
            });
        }
        Some(self.code.unwrap_or(failure).to_owned())
    }

    fn mark(&self, colours: bool) -> String {
        let denied = Some(FailureKind::Denied.as_str());
        let mark = match self.failure {
            None => "✓",
            failure if failure == denied => "⊘",
            Some(_) => "✗",
        };
        match (colours, mark) {
            (false, mark) => mark.to_owned(),
            (true, "✓") => mark.green().to_string(),
            (true, "⊘") => mark.yellow().to_string(),
            (true, _) => mark.red().to_string(),
        }
    }

    /// Mark, name, what was asked, and the result: its card, else its content.
    pub(crate) fn text(&self, cards: &Cards, colours: bool) -> String {
        let asked = asked(self.arguments, cards.call.as_ref());
        let mut text = format!(
            "  {} {} {asked}",
            self.mark(colours),
            bold(self.name, colours)
        );
        if let Some(note) = self.note() {
            let _ = write!(text, "  [{}]", safe(&note, LINE));
        }
        let shown = cards.result.as_ref();
        let body = shown.and_then(|result| card::body(result, self.content, colours));
        let _ = writeln!(
            text,
            "\n      {}",
            body.unwrap_or_else(|| block(self.content))
        );
        text
    }
}

/// A call without a result.
pub(crate) fn unanswered(call: &CallRecord, card: Option<&CallCard>, colours: bool) -> String {
    let (name, asked) = (bold(&call.name, colours), asked(&call.arguments, card));
    format!("  … {name} {asked}  [no result]\n")
}

/// What was asked: the title of the card, else the arguments.
fn asked(arguments: &str, card: Option<&CallCard>) -> String {
    match card {
        Some(CallCard::Terminal(card)) => format!("$ {}", safe(&card.title, LINE)),
        Some(card) => safe(card.title(), LINE),
        None => safe(arguments, ARGUMENTS),
    }
}

fn bold(name: &str, colours: bool) -> String {
    let name = safe(name, LINE);
    if colours {
        name.bold().to_string()
    } else {
        name
    }
}

/// Content for people: indented, bounded, without control characters. Where
/// the whole of it was stored is told in any case.
pub(super) fn block(content: &[ContentBlock]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let (mut more, mut stored) = (0, None);
    for part in content {
        let text = match part.as_text() {
            Some(text) => text.to_owned(),
            None => format!("({})", part.kind()),
        };
        for line in text.lines() {
            let tells = tells_where(line);
            if lines.len() < LINES {
                lines.push(safe(line, if tells { PLACE } else { LINE }));
                continue;
            }
            more += 1;
            if tells {
                stored = Some(safe(line, PLACE));
            }
        }
    }
    if more > 0 {
        lines.push(format!("… ({more} more lines)"));
    }
    lines.extend(stored);
    lines.join("\n      ")
}

/// Whether a line is the note of where something was stored.
fn tells_where(line: &str) -> bool {
    line.starts_with('(') && line.ends_with(')') && line.contains("tored at: ")
}
