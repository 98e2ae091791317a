//! `toolfall show`: a finished log, as it was shown while it ran.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use toolfall::card::{Card, Projection, View};
use toolfall::session::{Body, CallRecord, LogReader, Record, ResultRecord};
use toolfall::workspace::Workspace;
use toolfall::{ContentBlock, Registry};

use crate::args::Show;
use crate::error::{Error, chain};
use crate::render::{Cards, Seen, colours, unanswered};

/// A call or a result, with its card.
#[derive(Serialize)]
struct Line<'a> {
    r#type: &'static str,
    seq: u64,
    call: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_json: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a [ContentBlock]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<&'a Card>,
}

/// Shows the log record by record; in memory are the open calls alone.
pub(crate) fn show(args: &Show) -> Result<u8, Error> {
    let name = args.log.display();
    let file = File::open(&args.log)
        .map_err(|error| Error::input(format!("{name}: expected a session log: {error}")))?;
    let mut reader = LogReader::new(BufReader::new(file)).file(&args.log);
    let mut shown = Shown {
        out: BufWriter::new(io::stdout().lock()),
        projection: Projection::new(presenters()?, None),
        open: BTreeMap::new(),
        json: args.json,
        colours: colours(),
    };
    for line in &mut reader {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                // What was read so far is shown before the complaint.
                let _ = shown.out.flush();
                return Err(Error::input(chain(&error)));
            }
        };
        if shown.record(&line.record).is_err() {
            // Whoever closed the pipe has seen enough.
            return Ok(1);
        }
    }
    if shown.finish().is_err() {
        return Ok(1);
    }
    if let Some(torn) = reader.torn() {
        let bytes = torn.bytes.len();
        eprintln!("{name}: the last line was never finished ({bytes} bytes)");
    }
    Ok(0)
}

/// The tools whose calls have cards. Nothing calls them, so it does not matter
/// which folder they are confined to.
fn presenters() -> Result<Registry, Error> {
    let registry = Registry::new();
    // Without a folder to open there are no cards, and the log is still shown.
    let Ok(workspace) = Workspace::open(Path::new(".")) else {
        return Ok(registry);
    };
    let registered = registry
        .register_all(workspace.tools())
        .map_err(|error| Error::own("the file tools cannot be registered", &error))?;
    for registration in registered {
        registration.keep();
    }
    #[cfg(unix)]
    if let Ok(bash) = toolfall::bash::BashTool::new(".") {
        let registered = registry.register(bash.into_tool());
        registered
            .map_err(|error| Error::own("the shell cannot be registered", &error))?
            .keep();
    }
    Ok(registry)
}

struct Shown<W> {
    out: W,
    projection: Projection,
    /// The calls without a result so far, with their cards.
    open: BTreeMap<u64, (CallRecord, Option<Card>)>,
    json: bool,
    colours: bool,
}

impl<W: Write> Shown<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        let Some(view) = self.projection.observe(record) else {
            return Ok(());
        };
        match &record.body {
            Body::Call(call) if self.json => self.line(&Line {
                arguments_json: Some(&call.arguments),
                ..line("call", &view)
            }),
            Body::Result(result) if self.json => self.line(&Line {
                is_error: Some(result.is_error),
                content: Some(&result.content),
                ..line("result", &view)
            }),
            Body::DispatchStart(call) if self.json => self.line(&Line {
                arguments_json: Some(&call.arguments),
                ..line("call", &view)
            }),
            Body::Dispatch(result) if self.json => self.line(&Line {
                is_error: Some(result.is_error),
                content: Some(&result.content),
                ..line("result", &view)
            }),
            Body::Call(call) => {
                self.call(call.clone(), view.card);
                Ok(())
            }
            Body::DispatchStart(call) => {
                self.call(call.as_call(), view.card);
                Ok(())
            }
            Body::Result(result) => self.result(result, view.card),
            Body::Dispatch(result) => self.result(&result.as_result(), view.card),
            _ => Ok(()),
        }
    }

    fn call(&mut self, call: CallRecord, card: Option<Card>) {
        self.open.insert(call.call, (call, card));
    }

    fn result(&mut self, result: &ResultRecord, card: Option<Card>) -> io::Result<()> {
        let (call, call_card) = self.open.remove(&result.call).unzip();
        let cards = Cards {
            call: match call_card.flatten() {
                Some(Card::Call(card)) => Some(card),
                _ => None,
            },
            result: match card {
                Some(Card::Result(card)) => Some(card),
                _ => None,
            },
        };
        let text = Seen::logged(call.as_ref(), result).text(&cards, self.colours);
        self.out.write_all(text.as_bytes())
    }

    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }

    /// Tells of the calls that never got a result.
    fn finish(&mut self) -> io::Result<()> {
        for (call, card) in self.open.values() {
            let card = match card {
                Some(Card::Call(card)) => Some(card),
                _ => None,
            };
            let text = unanswered(call, card, self.colours);
            self.out.write_all(text.as_bytes())?;
        }
        self.out.flush()
    }
}

fn line<'a>(kind: &'static str, view: &'a View) -> Line<'a> {
    Line {
        r#type: kind,
        seq: view.seq,
        call: view.call,
        name: view.tool.as_deref(),
        arguments_json: None,
        is_error: None,
        content: None,
        card: view.card.as_ref(),
    }
}
