//! What a process writes past the protocol.

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;

/// A longer line becomes several logs.
const LINE: usize = 64 << 10;

/// Standard error, by lines.
pub(super) struct Raw {
    pipe: Option<ChildStderr>,
    bytes: Vec<u8>,
}

impl Raw {
    pub(super) fn new(pipe: ChildStderr) -> Self {
        Self {
            pipe: Some(pipe),
            bytes: Vec::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Reads some more; for ever where there is no more to come.
    ///
    /// Cancel safe.
    pub(super) async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else {
            return std::future::pending().await;
        };
        self.bytes.reserve(LINE / 4);
        if !matches!(pipe.read_buf(&mut self.bytes).await, Ok(1..)) {
            self.pipe = None;
        }
    }

    /// Hands on the lines that are whole, and at the end the rest, until
    /// `take` says false.
    pub(super) fn lines(&mut self, mut take: impl FnMut(String) -> bool) -> bool {
        let mut start = 0;
        let mut wanted = true;
        while wanted {
            let rest = &self.bytes[start..];
            let window = &rest[..rest.len().min(LINE)];
            let (end, next) = match window.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end, end + 1),
                None if window.len() == LINE => {
                    let end = whole(window);
                    (end, end)
                }
                None if self.pipe.is_none() && !window.is_empty() => (window.len(), window.len()),
                None => break,
            };
            let line = window[..end].strip_suffix(b"\r").unwrap_or(&window[..end]);
            wanted = take(String::from_utf8_lossy(line).into_owned());
            start += next;
        }
        self.bytes.drain(..start);
        wanted
    }

    /// Takes what is there as all that there will be.
    pub(super) fn close(&mut self) {
        self.pipe = None;
    }
}

/// Where a long line may be cut without cutting a character.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        // Within the last three bytes a character may be going on.
        Err(error) if bytes.len() - error.valid_up_to() < 4 => error.valid_up_to(),
        _ => bytes.len(),
    }
}
