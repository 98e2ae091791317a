//! Reading a program's output, bounded.

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::retain::{Malformed, RetainedText, TextRetainer};

/// What was read of one stream.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    /// More was written than was to be kept.
    pub(super) more: bool,
}

/// Reads until the end, or until there are more than `limit` bytes.
pub(super) async fn head(stream: impl AsyncRead + Unpin, limit: usize, output: &mut Output) {
    let limit_and_one = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    // What was read before a failure is all there is.
    let _ = stream
        .take(limit_and_one)
        .read_to_end(&mut output.bytes)
        .await;
    if output.bytes.len() > limit {
        output.bytes.truncate(limit);
        output.more = true;
    }
}

/// Reads until the end into `kept`; it counts as incomplete until the end was
/// reached, so also where the future is dropped before.
pub(super) async fn drain(mut stream: impl AsyncRead + Unpin, kept: &mut Drained) {
    let mut piece = vec![0; 8 << 10];
    loop {
        match stream.read(&mut piece).await {
            Ok(0) => {
                kept.ended = true;
                return;
            }
            Ok(count) => {
                kept.push(&piece[..count]);
            }
            Err(_) => return,
        }
    }
}

/// What was read of a stream of which a part is kept.
#[derive(Debug)]
pub(super) struct Drained {
    retainer: TextRetainer,
    /// Only counted where somebody is told.
    malformed: Option<Malformed>,
    ended: bool,
}

impl Drained {
    /// Nothing yet, of which the last `limit` bytes are kept.
    pub(super) const fn tail(limit: usize) -> Self {
        Self {
            retainer: TextRetainer::tail(limit),
            malformed: None,
            ended: false,
        }
    }

    /// Nothing yet, of which the first `head` and the last `tail` bytes are
    /// kept, and malformed sequences counted.
    pub(super) const fn head_and_tail(head: usize, tail: usize) -> Self {
        Self {
            retainer: TextRetainer::head_and_tail(head, tail),
            malformed: Some(Malformed::new()),
            ended: false,
        }
    }

    fn push(&mut self, piece: &[u8]) {
        self.retainer.push(piece);
        if let Some(malformed) = &mut self.malformed {
            malformed.push(piece);
        }
    }

    /// How many sequences were no UTF-8.
    pub(super) fn malformed(&self) -> u64 {
        self.malformed.as_ref().map_or(0, Malformed::count)
    }

    pub(super) fn finish(mut self) -> RetainedText {
        if !self.ended {
            self.retainer.mark_incomplete();
        }
        self.retainer.finish()
    }
}

/// The text of what was kept, for a message; at most `chars` characters, the
/// last ones, without control characters but line breaks and tabs.
pub(super) fn shown(kept: &RetainedText, chars: usize) -> String {
    let text = kept.text.trim();
    let count = text.chars().count();
    let tail: String = text
        .chars()
        .skip(count.saturating_sub(chars))
        .map(|char| match char {
            '\n' | '\t' => char,
            char if char.is_control() => '\u{fffd}',
            char => char,
        })
        .collect();
    if kept.truncated || count > chars {
        format!("…{tail}")
    } else {
        tail
    }
}
