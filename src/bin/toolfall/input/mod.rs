//! Batches from files and from standard input.
//!
//! A line that is a JSON object with `calls` is a batch in the neutral form,
//! see [`row`]; any other JSON is a provider's reply. A file whose first line
//! is no whole JSON value is read as one value over many lines.

mod agents;
pub(crate) mod answers;
mod lines;
mod reply;
mod row;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufRead, BufReader};
use toolfall::Arguments;
use toolfall::wire::WireError;

pub(crate) use self::agents::Agents;
use self::lines::Lines;
use crate::error::Error;

/// The file that rows name tool sets of, beside the rows' own.
const TOOLSETS: &str = "toolsets.jsonl";

/// One batch, as it is to be run.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The row's id, or where it stands.
    pub(crate) label: String,
    /// The turn, where a row has several.
    pub(crate) turn: Option<u64>,
    /// The agent that makes the calls, if it matters.
    pub(crate) agent: Option<String>,
    pub(crate) calls: Vec<Call>,
    /// The tools that the row offers at this turn.
    pub(crate) tools: Vec<RowTool>,
    /// Why the reply is not whole, if it is not: nothing of it runs.
    pub(crate) incomplete: Option<String>,
    /// Calls that are not for us to run.
    pub(crate) apart: Vec<Apart>,
    /// Where the batch stands.
    pub(crate) file: PathBuf,
    pub(crate) line: u64,
}

/// One call of a batch.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// The id as sent, which may be absent.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// The arguments' text as sent; empty if absent.
    pub(crate) arguments: String,
    /// Whether the text is no JSON by intent.
    pub(crate) free_text: bool,
    /// What the tool answered when this was recorded.
    pub(crate) recorded: Option<toolfall::replay::Answer>,
}

/// A call that is listed and not run: the provider ran it itself, or it is of
/// a kind that nobody here runs.
#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) kind: String,
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
}

/// A tool that a row offers.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolText {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) parameters: Option<Value>,
}

/// A tool that many batches offer.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "ToolText")]
pub(crate) struct RowTool(Arc<ToolText>);

impl RowTool {
    /// Whether both are the very same tool.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<ToolText> for RowTool {
    fn from(tool: ToolText) -> Self {
        Self(Arc::new(tool))
    }
}

impl std::ops::Deref for RowTool {
    type Target = ToolText;

    fn deref(&self) -> &ToolText {
        &self.0
    }
}

#[derive(Debug, Deserialize)]
struct Toolset {
    toolset: String,
    tools: Vec<RowTool>,
}

/// The tool sets of one folder.
pub(crate) type Toolsets = HashMap<String, Vec<RowTool>>;

/// Reads batches one after the other.
pub(crate) struct Reader {
    agents: Arc<Agents>,
    lines: Lines<Box<dyn AsyncBufRead + Send + Unpin>>,
    file: PathBuf,
    line: u64,
    waiting: std::vec::IntoIter<Batch>,
    toolsets: Option<Toolsets>,
    begun: bool,
}

impl Reader {
    /// Reads `file`, or standard input for `-`.
    pub(crate) async fn open(file: &Path, agents: Arc<Agents>) -> Result<Self, Error> {
        let stdin = file.as_os_str() == "-";
        let input: Box<dyn AsyncBufRead + Send + Unpin> = if stdin {
            Box::new(BufReader::new(tokio::io::stdin()))
        } else {
            let opened = tokio::fs::File::open(file).await.map_err(|error| {
                Error::input(format!("{}: expected batches: {error}", file.display()))
            })?;
            Box::new(BufReader::with_capacity(64 << 10, opened))
        };
        Ok(Self {
            agents,
            lines: Lines::new(input),
            file: if stdin {
                PathBuf::from("(standard input)")
            } else {
                file.to_owned()
            },
            line: 0,
            waiting: Vec::new().into_iter(),
            toolsets: None,
            begun: false,
        })
    }

    /// The next batch.
    ///
    /// # Cancel safety
    ///
    /// What was read of a line is kept, so the next call goes on there.
    pub(crate) async fn next(&mut self) -> Result<Option<Batch>, Error> {
        loop {
            if let Some(batch) = self.waiting.next() {
                return Ok(Some(batch));
            }
            let read = self.lines.next().await;
            let line = read.map_err(|message| self.error(self.line + 1, message))?;
            let Some(line) = line else {
                return Ok(None);
            };
            self.line += 1;
            if line.trim().is_empty() {
                continue;
            }
            let first = !std::mem::replace(&mut self.begun, true);
            let batches = self.parse(line, first).await?;
            self.waiting = batches.into_iter();
        }
    }

    async fn parse(&mut self, line: String, first: bool) -> Result<Vec<Batch>, Error> {
        let start = self.line;
        let checked = self.check(&line, start);
        let (text, checked) = match checked {
            Ok(Ok(checked)) => (line, checked),
            // One value over many lines, if the first of them just stops.
            Ok(Err((error, unfinished))) if first && unfinished => {
                let rest = self.lines.rest().await;
                let rest = rest.map_err(|message| self.error(start, message))?;
                if rest.trim().is_empty() {
                    return Err(error);
                }
                let whole = format!("{line}\n{rest}");
                match self.check(&whole, start)? {
                    Ok(checked) => (whole, checked),
                    Err((error, _)) => return Err(error),
                }
            }
            Ok(Err((error, _))) | Err(error) => return Err(error),
        };
        let label = format!("{}:{start}", self.file.display());
        if checked.value().get("calls").is_some() {
            let row: row::Row = checked.decode().map_err(|error| {
                self.error(start, format!("expected a batch of calls: {error}"))
            })?;
            let (file, line) = (self.file.clone(), start);
            let mut batches = row
                .batches(&label, || self.toolsets())
                .map_err(|message| Error::at(&file, line, message))?;
            for batch in &mut batches {
                match &batch.agent {
                    Some(name) => self
                        .agents
                        .check(name)
                        .map_err(|message| Error::at(&file, line, format!("/agent: {message}")))?,
                    None => batch.agent.clone_from(&self.agents.otherwise),
                }
                batch.file.clone_from(&file);
                batch.line = line;
            }
            return Ok(batches);
        }
        let mut batch = reply::read(&text).map_err(|error| {
            let found = match error {
                // There is no dialect to name here, as its own words ask for.
                WireError::UnknownDialect => ", found neither".to_owned(),
                error => format!(": {error}"),
            };
            let message = format!(
                "expected a batch ({{\"calls\": […]}}) or a reply of Chat Completions, Responses \
                 or Messages{found}"
            );
            self.error(start, message)
        })?;
        batch.label = label;
        batch.agent.clone_from(&self.agents.otherwise);
        batch.file.clone_from(&self.file);
        batch.line = start;
        Ok(vec![batch])
    }

    /// The text as JSON that can be kept exactly, or what is wrong with it
    /// and whether it only lacks its end.
    #[allow(clippy::type_complexity)]
    fn check(&self, text: &str, start: u64) -> Result<Result<Arguments, (Error, bool)>, Error> {
        let checked = Arguments::from_text(text)
            .map_err(|error| self.error(start, format!("expected a batch: {error}")))?;
        let Some(malformed) = checked.malformed() else {
            return Ok(Ok(checked));
        };
        let line = start + malformed.line() as u64 - 1;
        let message = format!(
            "column {}: expected {}, found {}",
            malformed.column(),
            malformed.expected(),
            malformed.found()
        );
        let unfinished = malformed.offset() >= text.trim_end().len();
        Ok(Err((self.error(line, message), unfinished)))
    }

    fn error(&self, line: u64, message: impl std::fmt::Display) -> Error {
        Error::at(&self.file, line, message)
    }

    /// The tool sets of the file beside the batches.
    fn toolsets(&mut self) -> Result<&Toolsets, String> {
        if self.toolsets.is_none() {
            let file = self.file.with_file_name(TOOLSETS);
            let text = std::fs::read_to_string(&file).map_err(|error| {
                format!(
                    "expected the batch's tool sets in {}: {error}",
                    file.display()
                )
            })?;
            let mut toolsets = Toolsets::new();
            for (number, line) in (1..).zip(text.lines()) {
                let set: Toolset = serde_json::from_str(line).map_err(|error| {
                    Error::at(&file, number, format!("expected a tool set: {error}")).to_string()
                })?;
                toolsets.insert(set.toolset, set.tools);
            }
            self.toolsets = Some(toolsets);
        }
        Ok(self.toolsets.get_or_insert_default())
    }
}
