//! What is printed of a result: for people, or as JSON Lines.

mod card;
mod ended;
mod human;
mod line;

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use crossterm::style::Stylize as _;
use serde::Serialize;
use toolfall::layers::printable;
use toolfall::scheduler::BatchEnd;
use toolfall::{ContentBlock, FailureKind, ToolResult};

pub(crate) use self::card::question;
pub(crate) use self::ended::{Ended, Ending};
use self::human::block;
pub(crate) use self::human::{Cards, Seen, Shown, unanswered};
use self::line::{ApartLine, EndLine, Failure, LeftOutLine, Line, SummaryLine};
use crate::input::{Apart, Batch, Call};

/// So many characters of arguments, and of a line, are shown to people.
const ARGUMENTS: usize = 100;
const LINE: usize = 200;

/// Which rules and grants let a call through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Through {
    pub(crate) rules: Vec<String>,
    pub(crate) grants: Vec<String>,
}

/// How results are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// For people, in colours or not.
    Human { colours: bool },
    /// One JSON object a line.
    Json,
}

/// Whether standard output takes colours: a terminal whose user has not said
/// otherwise.
pub(crate) fn colours() -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !plain
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) batches: u64,
    pub(crate) calls: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) not_ours: u64,
}

impl Form {
    /// The beginning of a batch.
    pub(crate) fn begin(self, batch: &Batch) -> String {
        let Self::Human { colours } = self else {
            return batch.apart.iter().map(|call| apart(batch, call)).collect();
        };
        let mut text = safe(&batch.label, LINE);
        if let Some(turn) = batch.turn {
            let _ = write!(text, ", turn {turn}");
        }
        if let Some(agent) = &batch.agent {
            let _ = write!(text, ", agent {}", safe(agent, LINE));
        }
        let mut text = if colours {
            format!("{}\n", text.bold())
        } else {
            format!("{text}\n")
        };
        for call in &batch.apart {
            let name = safe(call.name.as_deref().unwrap_or_default(), LINE);
            let _ = writeln!(
                text,
                "  - {name} ({}): not ours to run",
                safe(&call.kind, LINE)
            );
        }
        text
    }

    /// A tool of the batch that is not offered after all.
    pub(crate) fn left_out(self, batch: &Batch, name: &str, why: &str) -> String {
        match self {
            Self::Human { .. } => format!(
                "  - tool {} left out: {}\n",
                safe(name, LINE),
                safe(why, LINE)
            ),
            Self::Json => json(&LeftOutLine {
                r#type: "tool_left_out",
                batch: &batch.label,
                name,
                why,
            }),
        }
    }

    /// A call with its result; JSON's readers make cards of their own.
    pub(crate) fn result(
        self,
        batch: &Batch,
        place: usize,
        call: &Call,
        result: &ToolResult,
        through: &Through,
        shown: impl FnOnce() -> Shown,
    ) -> String {
        match self {
            Self::Human { colours } => {
                let shown = shown();
                Seen::live(call, result, &shown).text(&shown.cards, colours)
            }
            Self::Json => json(&Line {
                r#type: "result",
                batch: &batch.label,
                turn: batch.turn,
                agent: batch.agent.as_deref(),
                place,
                call_id: call.id.as_deref(),
                name: &call.name,
                arguments_json: &call.arguments,
                is_error: result.is_error(),
                content: result.content(),
                value: result.value(),
                error: result.message().map(|message| Failure {
                    message,
                    name: result.info().map(toolfall::ErrorInfo::name),
                    code: result.code(),
                }),
                kind: result.kind().map(FailureKind::as_str),
                decided_by: result.decided_by().map(ToString::to_string),
                allowed_by: &through.rules,
                granted_by: &through.grants,
                effect: result.effect().as_str(),
            }),
        }
    }

    /// The end of a batch; `shown` is what people see of its messages.
    pub(crate) fn end(self, batch: &Batch, end: &BatchEnd, shown: &[Vec<ContentBlock>]) -> String {
        match self {
            Self::Human { .. } => {
                let mut text = String::new();
                for content in shown {
                    let _ = writeln!(text, "  + {}", block(content));
                }
                text
            }
            Self::Json => json(&EndLine {
                r#type: "batch",
                batch: &batch.label,
                turn: batch.turn,
                agent: batch.agent.as_deref(),
                calls: batch.calls.len(),
                aborted: end.aborted,
                concludes: end.concludes,
                contexts: &end.contexts,
                parked: &end.parked,
            }),
        }
    }

    /// The end of the run, for JSON's readers; people get a note.
    pub(crate) fn summary(
        self,
        totals: Totals,
        ended: Option<&Ended>,
        cancelled: bool,
    ) -> Option<String> {
        match self {
            Self::Human { .. } => None,
            Self::Json => Some(json(&SummaryLine {
                r#type: "summary",
                totals,
                cancelled,
                ended_by: ended.map(Ended::line),
            })),
        }
    }
}

fn json(line: &impl Serialize) -> String {
    // The parts are strings, numbers and values that are JSON already.
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

fn apart(batch: &Batch, call: &Apart) -> String {
    json(&ApartLine {
        r#type: "not_ours",
        batch: &batch.label,
        kind: &call.kind,
        call_id: call.id.as_deref(),
        name: call.name.as_deref(),
    })
}

/// Text that can do nothing to a terminal, on one line, cut after `limit`
/// characters.
pub(crate) fn safe(text: &str, limit: usize) -> String {
    printable(&text.replace('\t', "  ").replace('\n', "⏎"), limit)
}
