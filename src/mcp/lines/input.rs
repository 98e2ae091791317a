//! Bounded lines out of a stream of bytes.

use std::io;
use std::pin::Pin;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::scan::Scan;

/// So much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// Reads lines, of which none longer than a bound is kept.
pub(super) struct Input {
    from: BufReader<Pin<Box<dyn AsyncRead + Send>>>,
    longest: usize,
    bytes: Vec<u8>,
    /// Whether `bytes` were given out and the next line begins.
    given: bool,
    /// What is found out of a line that is too long, until its end.
    skipping: Option<Scan>,
    ended: bool,
}

pub(super) enum Read<'a> {
    /// A line without its end.
    Line(&'a [u8]),
    /// The end of a line that was longer than it may be, with what was found in it, and how long it may be.
    TooLong(Scan, usize),
    /// After which comes the end.
    Failed(io::Error),
    End,
}

impl Input {
    pub(super) fn new(from: Pin<Box<dyn AsyncRead + Send>>, longest: usize) -> Self {
        Self {
            from: BufReader::with_capacity(CHUNK, from),
            longest,
            bytes: Vec::new(),
            given: false,
            skipping: None,
            ended: false,
        }
    }

    /// The next line. Cancel safe: what was read of it is kept.
    pub(super) async fn line(&mut self) -> Read<'_> {
        if self.given {
            self.given = false;
            self.bytes.clear();
            self.bytes.shrink_to(16 * CHUNK);
        }
        loop {
            if self.ended {
                return Read::End;
            }
            let mut chunk = match self.from.fill_buf().await {
                Ok(chunk) => chunk,
                Err(error) => {
                    self.ended = true;
                    return Read::Failed(error);
                }
            };
            // Nothing is awaited from here to where the chunk is consumed.
            let length = chunk.len();
            self.ended = length == 0;
            let done = if let Some(scan) = &mut self.skipping {
                let whole = chunk;
                // Out of a slice, nothing fails.
                let taken = io::BufRead::skip_until(&mut chunk, b'\n').unwrap_or(length);
                scan.feed(&whole[..taken]);
                let ended = whole[..taken].last() == Some(&b'\n');
                self.from.consume(taken);
                ended
            } else {
                let taken =
                    io::BufRead::read_until(&mut chunk, b'\n', &mut self.bytes).unwrap_or(length);
                self.from.consume(taken);
                let ended = self.bytes.last() == Some(&b'\n');
                if ended {
                    self.bytes.pop();
                }
                if self.bytes.len() > self.longest {
                    let mut scan = Scan::default();
                    scan.feed(&self.bytes);
                    self.bytes = Vec::new();
                    self.skipping = Some(scan);
                }
                ended
            };
            if !done && !self.ended {
                continue;
            }
            if let Some(scan) = self.skipping.take() {
                return Read::TooLong(scan, self.longest);
            }
            if self.ended && self.bytes.is_empty() {
                return Read::End;
            }
            self.given = true;
            return Read::Line(&self.bytes);
        }
    }
}
