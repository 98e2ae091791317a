//! Lines out of what a pipe gives.

use std::io::BufRead as _;

/// So much of a pipe is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// Cuts a stream of bytes into lines, of which none may be longer than a
/// bound: a writer that never ends its line fills no memory.
///
/// ```
/// use toolfall::code::protocol::Lines;
///
/// let mut lines = Lines::new(8);
/// lines.spare().extend_from_slice(b"one\ntwo\nth");
/// assert_eq!(lines.line(), Ok(Some(&b"one"[..])));
/// assert_eq!(lines.line(), Ok(Some(&b"two"[..])));
/// assert_eq!(lines.line(), Ok(None));
/// lines.spare().extend_from_slice(b"irteen");
/// assert_eq!(lines.line(), Ok(None));
/// lines.spare().extend_from_slice(b" and more");
/// assert!(lines.line().is_err());
/// ```
#[derive(Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to here no line ends.
    seen: usize,
    longest: usize,
}

/// A line is longer than it may be. Nothing more can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl Lines {
    /// Lines of up to `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            seen: 0,
            longest,
        }
    }

    /// Where to append what comes next: room for it is made.
    pub fn spare(&mut self) -> &mut Vec<u8> {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.seen -= self.start;
            self.start = 0;
        }
        if self.bytes.capacity() > 16 * CHUNK && self.bytes.len() < CHUNK {
            self.bytes.shrink_to(CHUNK);
        }
        self.bytes.reserve(CHUNK);
        &mut self.bytes
    }

    /// The next whole line, without its end; nothing if it has not come yet.
    ///
    /// # Errors
    ///
    /// If the line, ended or not, is too long.
    pub fn line(&mut self) -> Result<Option<&[u8]>, TooLong> {
        let mut rest = &self.bytes[self.seen..];
        let length = rest.len();
        // Into a slice, nothing fails.
        let taken = rest.skip_until(b'\n').unwrap_or(length);
        let end = self.seen + taken;
        let ended = taken > 0 && self.bytes[end - 1] == b'\n';
        self.seen = end;
        if end - self.start > self.longest.saturating_add(usize::from(ended)) {
            return Err(TooLong);
        }
        if !ended {
            return Ok(None);
        }
        let start = std::mem::replace(&mut self.start, end);
        Ok(Some(&self.bytes[start..end - 1]))
    }
}
