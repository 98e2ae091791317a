//! Counting what is no UTF-8 in a stream.

/// Counts the malformed sequences of a stream of UTF-8, as a lossy decoding of
/// the whole would replace them, however it is cut into chunks.
///
/// ```
/// use toolfall::retain::Malformed;
///
/// let mut malformed = Malformed::new();
/// let euro = "€".as_bytes();
/// malformed.push(&euro[..2]);
/// assert_eq!(malformed.count(), 1, "if that is all");
/// malformed.push(&euro[2..]);
/// malformed.push(b"\xff");
/// assert_eq!(malformed.count(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Malformed {
    count: u64,
    /// The beginning of a character that the next chunk may complete.
    open: [u8; 3],
    length: usize,
}

impl Malformed {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            count: 0,
            open: [0; 3],
            length: 0,
        }
    }

    /// How many there were; a character that never ended is one.
    pub const fn count(&self) -> u64 {
        self.count + (self.length > 0) as u64
    }

    /// Takes the next bytes.
    pub fn push(&mut self, mut chunk: &[u8]) {
        // First the open character, byte by byte: at most three are missing.
        while self.length > 0 {
            let Some((byte, rest)) = chunk.split_first() else {
                return;
            };
            let mut joined = [0; 4];
            joined[..self.length].copy_from_slice(&self.open[..self.length]);
            joined[self.length] = *byte;
            let joined = &joined[..=self.length];
            match std::str::from_utf8(joined) {
                Ok(_) => self.length = 0,
                Err(error) if error.error_len().is_none() => {
                    self.open[self.length] = *byte;
                    self.length += 1;
                }
                Err(_) => {
                    // The byte does not continue it, and is looked at anew.
                    self.count += 1;
                    self.length = 0;
                    continue;
                }
            }
            chunk = rest;
        }
        while let Err(error) = std::str::from_utf8(chunk) {
            let rest = &chunk[error.valid_up_to()..];
            let Some(length) = error.error_len() else {
                self.open[..rest.len()].copy_from_slice(rest);
                self.length = rest.len();
                return;
            };
            self.count += 1;
            chunk = &rest[length..];
        }
    }
}
