//! Reading a log line by line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::error::ReadError;
use super::fields::Fields;
use super::record::Record;

/// The longest line that is read or written unless said otherwise, in bytes: 64 MiB.
pub const MAX_LINE: usize = 64 << 20;

/// How many characters of what was found an error shows.
const FOUND: usize = 200;

/// A record and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The line's number, counted from 1.
    pub number: u64,
    /// Where the line begins, in bytes.
    pub offset: u64,
    /// The record on it.
    pub record: Record,
}

/// What stands after the last line that ends: a write that was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The number the line would have had.
    pub line: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// The lines of a log, read one at a time.
///
/// Ends at the first bad line. A last line without its line break is no
/// error: if it holds a whole record, it is yielded and
/// [`unterminated`](Self::unterminated) says so; if it is the beginning of
/// one, it is [`torn`](Self::torn). Anything else there is a bad line, so that
/// a file that is no log is never taken for a damaged one.
#[derive(Debug)]
pub struct LogReader<R> {
    input: R,
    file: Option<PathBuf>,
    max_line: usize,
    next: u64,
    offset: u64,
    torn: Option<Torn>,
    unterminated: bool,
    done: bool,
}

impl<R: BufRead> LogReader<R> {
    /// Reads `input`; errors name no file.
    pub const fn new(input: R) -> Self {
        Self {
            input,
            file: None,
            max_line: MAX_LINE,
            next: 1,
            offset: 0,
            torn: None,
            unterminated: false,
            done: false,
        }
    }

    /// Names `file` in errors.
    pub fn file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Refuses lines of more than `bytes`.
    pub const fn max_line(mut self, bytes: usize) -> Self {
        self.max_line = bytes;
        self
    }

    /// The unfinished line at the end, once the iterator has ended.
    pub const fn torn(&self) -> Option<&Torn> {
        self.torn.as_ref()
    }

    /// Whether the last record's line lacks its line break.
    pub const fn unterminated(&self) -> bool {
        self.unterminated
    }

    /// How many bytes the lines read so far take, a torn one not counted.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> ReadError {
        let mut found = found.into();
        // It may quote the line, which may be long.
        if let Some((cut, _)) = found.char_indices().nth(FOUND) {
            found.truncate(cut);
            found.push('…');
        }
        ReadError {
            file: self.file.clone(),
            line: self.next,
            expected: expected.into(),
            found,
            source: None,
        }
    }

    /// Reads up to and with the next line break, never more than the bound.
    fn line(&mut self) -> Result<Vec<u8>, ReadError> {
        let mut line = Vec::new();
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(ReadError::io(self.file.as_deref(), self.next, error)),
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            line.extend_from_slice(&available[..taken]);
            self.input.consume(taken);
            if line.len() > self.max_line {
                let expected = format!("a line of at most {} bytes", self.max_line);
                return Err(self.error(expected, "a longer one"));
            }
            if end.is_some() || taken == 0 {
                return Ok(line);
            }
        }
    }

    fn read(&mut self) -> Result<Option<Line>, ReadError> {
        let bytes = self.line()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let ended = bytes.ends_with(b"\n");
        let record = match parse(&bytes) {
            Ok(record) => record,
            Err(_) if !ended && cut_short(&bytes) => {
                self.torn = Some(Torn {
                    line: self.next,
                    offset: self.offset,
                    bytes,
                });
                return Ok(None);
            }
            Err((expected, found)) => return Err(self.error(expected, found)),
        };
        let line = Line {
            number: self.next,
            offset: self.offset,
            record,
        };
        self.unterminated = !ended;
        self.next += 1;
        self.offset += bytes.len() as u64;
        Ok(Some(line))
    }
}

/// The record on a line, or what was expected and what was found.
fn parse(line: &[u8]) -> Result<Record, (String, String)> {
    let fields: Fields = serde_json::from_slice(line).map_err(|error| {
        let found = if line.trim_ascii().is_empty() {
            "an empty line".to_owned()
        } else {
            without_line(&error)
        };
        ("a JSON object".to_owned(), found)
    })?;
    Record::from_fields(fields).map_err(|bad| (bad.expected, bad.found))
}

/// Whether `bytes` are the beginning of a line that the log began to write.
///
/// After a loss of power some file systems leave zeros in place of the rest.
fn cut_short(bytes: &[u8]) -> bool {
    const HEAD: &[u8] = b"{\"seq\":";
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    let written = &bytes[..bytes.len() - zeros];
    let ours = written.starts_with(HEAD) || HEAD.starts_with(written);
    let whole = serde_json::from_slice::<Fields>(written);
    ours && match whole {
        Ok(_) => zeros > 0,
        Err(error) => error.is_eof(),
    }
}

/// The message of the JSON reader with the column alone: its line is always 1.
fn without_line(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&place) {
        Some(message) => format!("{message} at column {}", error.column()),
        None => message,
    }
}

impl<R: BufRead> Iterator for LogReader<R> {
    type Item = Result<Line, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let read = self.read().transpose();
        self.done = !matches!(read, Some(Ok(_)));
        read
    }
}

/// A whole log.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Contents {
    /// The records, in order.
    pub records: Vec<Record>,
    /// What stands after the last whole line.
    pub torn: Option<Torn>,
}

/// Reads the log at `path`, without locking or changing it.
///
/// # Errors
///
/// Names the file and the line that could not be read.
pub fn read_log(path: impl AsRef<Path>) -> Result<Contents, ReadError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|error| ReadError::io(Some(path), 1, error))?;
    collect(LogReader::new(BufReader::new(file)).file(path))
}

/// Reads what `reader` still holds.
pub(super) fn collect<R: BufRead>(mut reader: LogReader<R>) -> Result<Contents, ReadError> {
    let mut records = Vec::new();
    for line in &mut reader {
        records.push(line?.record);
    }
    Ok(Contents {
        records,
        torn: reader.torn,
    })
}
