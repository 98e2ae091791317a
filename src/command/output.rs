//! Reading a program's output, bounded.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _};

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

/// Reads until the end and keeps the last `limit` bytes.
pub(super) async fn tail(
    mut stream: impl AsyncRead + Unpin,
    limit: usize,
    kept: &mut VecDeque<u8>,
    more: &mut bool,
) {
    let mut piece = vec![0; 8 << 10];
    loop {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                kept.extend(&piece[..count]);
                if kept.len() > limit {
                    kept.drain(..kept.len() - limit);
                    *more = true;
                }
            }
        }
    }
}

/// The text of what was kept, for a message; at most `chars` characters, the
/// last ones, without control characters but line breaks and tabs.
pub(super) fn shown(kept: &[u8], more: bool, chars: usize) -> String {
    let text = String::from_utf8_lossy(kept);
    let text = text.trim();
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
    if more || count > chars {
        format!("…{tail}")
    } else {
        tail
    }
}
