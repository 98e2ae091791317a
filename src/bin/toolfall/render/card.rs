//! Cards of results, for people: bounded, and harmless to a terminal.

use crossterm::style::Stylize as _;
use toolfall::card::diff::{self, Change};
use toolfall::card::{
    CallCard, DiffEntry, Ending, FileMatches, ReadResult, ResultCard, SearchResult, TerminalResult,
    WebResult,
};

use toolfall::ContentBlock;

use super::human::block;
use super::{LINE, safe};

/// So many lines of a card are shown.
const LINES: usize = 24;

/// The lines of a card that are shown, and how many there are beyond.
struct Lines {
    shown: Vec<String>,
    more: usize,
    colours: bool,
}

/// How a line looks in colours.
#[derive(Clone, Copy)]
enum Look {
    Plain,
    Path,
    Removed,
    Added,
    Bad,
}

impl Lines {
    fn put(&mut self, look: Look, prefix: &str, text: &str) {
        if self.shown.len() >= LINES {
            self.more += 1;
        } else {
            self.push(look, &format!("{prefix}{}", safe(text, LINE)));
        }
    }

    fn push(&mut self, look: Look, line: &str) {
        self.shown.push(match look {
            Look::Path if self.colours => line.bold().to_string(),
            Look::Removed | Look::Bad if self.colours => line.red().to_string(),
            Look::Added if self.colours => line.green().to_string(),
            _ => line.to_owned(),
        });
    }

    /// Says how many lines are left out.
    fn close(&mut self) {
        match std::mem::take(&mut self.more) {
            0 => {}
            1 => self.shown.push("… (1 more line)".to_owned()),
            more => self.shown.push(format!("… ({more} more lines)")),
        }
    }

    fn text(mut self) -> String {
        self.close();
        self.shown.join("\n      ")
    }
}

/// The lines of a card, indented but for the first; none for a card that
/// has nothing of its own to show. A diff is headed by what the model was
/// told.
pub(super) fn body(card: &ResultCard, content: &[ContentBlock], colours: bool) -> Option<String> {
    let mut lines = Lines {
        shown: Vec::new(),
        more: 0,
        colours,
    };
    match card {
        ResultCard::Generic(card) => {
            let content = card.content.as_deref()?;
            let content: Vec<ContentBlock> = content.iter().map(unfenced).collect();
            return Some(block(&content));
        }
        ResultCard::Terminal(card) => terminal(&mut lines, card),
        ResultCard::Diff(card) => diffs(&mut lines, &card.diffs, told(content)),
        ResultCard::Read(card) => window(&mut lines, card),
        ResultCard::Search(SearchResult::Matches(card)) => {
            matches(&mut lines, &card.files);
            found(&mut lines, card.truncated, card.total, "no line matches");
        }
        ResultCard::Search(SearchResult::Paths(card)) => {
            for path in &card.paths {
                lines.put(Look::Plain, "", path);
            }
            found(&mut lines, card.truncated, card.total, "no file matches");
        }
        ResultCard::Web(card) => web(&mut lines, card),
        _ => return None,
    }
    Some(lines.text())
}

/// What a person is asked about, beside its arguments: the command line, or
/// what changes; none for a card that says no more than they do. Each line is
/// indented.
pub(crate) fn question(card: &CallCard, colours: bool) -> Option<String> {
    let mut lines = Lines {
        shown: Vec::new(),
        more: 0,
        colours,
    };
    match card {
        CallCard::Terminal(card) => {
            let mut prefix = "$ ";
            for line in card.title.lines() {
                lines.put(Look::Plain, prefix, line);
                prefix = "  ";
            }
            if let Some(folder) = &card.cwd {
                lines.put(Look::Plain, "in ", folder);
            }
        }
        CallCard::Diff(card) => diffs(&mut lines, &card.diffs, None),
        _ => return None,
    }
    Some(format!("      {}\n", lines.text()))
}

/// A block whose text is a fenced one of Markdown, without the fence: a
/// terminal shows text as it is.
fn unfenced(content: &ContentBlock) -> ContentBlock {
    let inner = content.as_text().and_then(|text| {
        let (first, rest) = text.split_once('\n')?;
        let (inner, last) = rest.rsplit_once('\n')?;
        let is_fence = last.len() >= 3 && last.bytes().all(|byte| byte == b'`');
        (is_fence && first.starts_with(last)).then(|| ContentBlock::text(inner))
    });
    inner.unwrap_or_else(|| content.clone())
}

fn terminal(lines: &mut Lines, card: &TerminalResult) {
    for line in card.output.iter().flat_map(|output| output.lines()) {
        lines.put(Look::Plain, "", line);
    }
    // How it ended stands outside the bound: it is told wherever the output
    // is cut.
    let (look, ending) = match &card.ending {
        None => return,
        Some(Ending::ExitCode(0)) => (Look::Plain, "exit 0".to_owned()),
        Some(Ending::ExitCode(code)) => (Look::Bad, format!("exit {code}")),
        Some(Ending::Signal(name)) => (Look::Bad, format!("killed by {name}")),
    };
    lines.close();
    lines.push(look, &safe(&ending, LINE));
}

/// The first line of the content.
fn told(content: &[ContentBlock]) -> Option<&str> {
    content.first()?.as_text()?.lines().next()
}

fn diffs(lines: &mut Lines, diffs: &[DiffEntry], told: Option<&str>) {
    let mut last = None;
    if let Some(told) = told {
        lines.put(Look::Plain, "", told);
        // It names the file, if there is but one.
        last = diffs.first().map(|diff| &diff.path);
        last = last.filter(|path| diffs.iter().all(|diff| diff.path == **path));
    }
    let mut between = false;
    for diff in diffs {
        if last != Some(&diff.path) {
            lines.put(Look::Path, "", &diff.path);
        } else if between {
            lines.put(Look::Plain, "⋮", "");
        }
        last = Some(&diff.path);
        between = true;
        for (change, line) in diff::lines(diff) {
            match change {
                Change::Kept => lines.put(Look::Plain, "  ", line),
                Change::Removed => lines.put(Look::Removed, "- ", line),
                Change::Added => lines.put(Look::Added, "+ ", line),
            }
        }
    }
}

fn window(lines: &mut Lines, card: &ReadResult) {
    let widest = card.lines.last().map_or(1, |line| line.number);
    let width = widest.to_string().len();
    for line in &card.lines {
        lines.put(
            Look::Plain,
            &format!("{:>width$}  ", line.number),
            &line.text,
        );
    }
    let shown = card.lines.len() as u64;
    if shown == 0 {
        lines.put(Look::Plain, "", "(the file is empty)");
    } else if shown < card.total_lines {
        let note = format!("({shown} of {} lines)", card.total_lines);
        lines.put(Look::Plain, "", &note);
    }
}

fn matches(lines: &mut Lines, files: &[FileMatches]) {
    for file in files {
        lines.put(Look::Path, "", &file.path);
        let widest = file.matches.iter().map(|line| line.line_number).max();
        let width = widest.unwrap_or_default().to_string().len();
        for line in &file.matches {
            let number = format!("  {:>width$}: ", line.line_number);
            lines.put(Look::Plain, &number, &line.line);
        }
    }
}

fn found(lines: &mut Lines, truncated: bool, total: u64, none: &str) {
    if total == 0 {
        lines.put(Look::Plain, "", &format!("({none})"));
    } else if truncated {
        lines.put(Look::Plain, "", &format!("({total} in all)"));
    }
}

fn web(lines: &mut Lines, card: &WebResult) {
    match card {
        WebResult::Search(card) => {
            for line in card.answer.iter().flat_map(|answer| answer.lines()) {
                lines.put(Look::Plain, "", line);
            }
            for source in &card.sources {
                let title = source.title.as_deref().unwrap_or_default();
                lines.put(
                    Look::Plain,
                    "",
                    format!("{} {title}", source.url).trim_end(),
                );
            }
        }
        WebResult::Fetch(card) => {
            let cut = if card.truncated { ", cut" } else { "" };
            let line = format!("{} ({}{cut})", card.url, card.status_code);
            lines.put(Look::Plain, "", &line);
        }
    }
}
