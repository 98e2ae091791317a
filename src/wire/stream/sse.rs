//! Server-sent events: from bytes to the payloads that they carry.

use crate::wire::WireError;

/// Splits a response's bytes into event payloads, wherever the bytes are cut.
///
/// Only `data` lines are kept; those of one event are joined by a line feed.
/// Bytes that are not UTF-8 become U+FFFD.
///
/// ```
/// use toolfall::wire::SseDecoder;
///
/// let mut decoder = SseDecoder::new(1024);
/// assert!(decoder.push(b"event: x\ndata: {\"a\"").unwrap().is_empty());
/// assert_eq!(decoder.push(b":1}\r\n\r\n").unwrap(), [r#"{"a":1}"#]);
/// ```
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    line: Vec<u8>,
    data: Option<String>,
    after_return: bool,
    begun: bool,
    broken: bool,
}

impl SseDecoder {
    /// A decoder that holds at most `limit` bytes of one event.
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: None,
            after_return: false,
            begun: false,
            broken: false,
        }
    }

    /// Takes bytes and gives the payloads of the events that they complete.
    ///
    /// # Errors
    ///
    /// [`WireError::TooLarge`] when one event is larger than the bound. The
    /// stream cannot be followed any more then, and later bytes give
    /// [`WireError::Broken`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, WireError> {
        if self.broken {
            return Err(WireError::Broken);
        }
        let mut payloads = Vec::new();
        for &byte in bytes {
            // A line ends in CR, LF or both.
            let pair = self.after_return && byte == b'\n';
            self.after_return = byte == b'\r';
            match byte {
                b'\n' if pair => {}
                b'\n' | b'\r' => payloads.extend(self.end_line()),
                _ => {
                    if self.line.len() + self.data.as_ref().map_or(0, String::len) >= self.limit {
                        self.broken = true;
                        return Err(WireError::TooLarge { limit: self.limit });
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(payloads)
    }

    fn end_line(&mut self) -> Option<String> {
        if self.line.is_empty() {
            return self.data.take();
        }
        let line = std::mem::take(&mut self.line);
        let first = !std::mem::replace(&mut self.begun, true);
        // A byte order mark may stand in front of everything.
        let line = match line.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if first => rest,
            _ => &line,
        };
        let rest = line.strip_prefix(b"data")?;
        let value = match rest {
            [] => rest,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return None,
        };
        let value = String::from_utf8_lossy(value);
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(&value);
            }
            None => self.data = Some(value.into_owned()),
        }
        None
    }
}
