//! Lines of a bounded length.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// The longest line, and the longest value over many lines.
const MOST: usize = 16 << 20;

/// Reads lines; what was read of one is kept when the future is dropped.
pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    started: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) const fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            started: false,
        }
    }

    /// The next line, without its line break.
    ///
    /// # Errors
    ///
    /// Says what was expected instead of what was found.
    pub(super) async fn next(&mut self) -> Result<Option<String>, String> {
        loop {
            let available = self.input.fill_buf().await;
            let available =
                available.map_err(|error| format!("the input cannot be read: {error}"))?;
            if available.is_empty() {
                if self.line.is_empty() {
                    return Ok(None);
                }
                return self.take().map(Some);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            self.line.extend_from_slice(&available[..taken]);
            self.input.consume(taken);
            if self.line.len() > MOST {
                return Err(format!("expected a line of at most {MOST} bytes"));
            }
            if end.is_some() {
                return self.take().map(Some);
            }
        }
    }

    /// All that is left.
    pub(super) async fn rest(&mut self) -> Result<String, String> {
        let mut rest = String::new();
        while let Some(line) = self.next().await? {
            rest.push_str(&line);
            rest.push('\n');
            if rest.len() > MOST {
                return Err(format!("expected a value of at most {MOST} bytes"));
            }
        }
        Ok(rest)
    }

    fn take(&mut self) -> Result<String, String> {
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let first = !std::mem::replace(&mut self.started, true);
        let line = String::from_utf8(line).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            format!("expected UTF-8 text, found other bytes from byte {at}")
        })?;
        // A byte order mark is how some editors begin a file.
        Ok(match line.strip_prefix('\u{feff}') {
            Some(rest) if first => rest.to_owned(),
            _ => line,
        })
    }
}
