//! What a process is told.

use std::collections::VecDeque;

use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;

/// Lines on their way into a process, which need not read them.
///
/// How many there are is bounded by who adds them: one for each call that is
/// not answered.
pub(super) struct Input {
    pipe: Option<ChildStdin>,
    lines: VecDeque<String>,
    /// So much of the first line is written.
    written: usize,
}

impl Input {
    pub(super) fn new(pipe: ChildStdin) -> Self {
        Self {
            pipe: Some(pipe),
            lines: VecDeque::new(),
            written: 0,
        }
    }

    /// How many lines are not written.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Adds a line; to a process that reads no more, none.
    pub(super) fn push(&mut self, line: String) {
        if self.pipe.is_some() {
            self.lines.push_back(line);
        }
    }

    /// Writes some more; for ever where there is nothing to write.
    ///
    /// Cancel safe.
    pub(super) async fn write(&mut self) {
        let (Some(pipe), Some(line)) = (&mut self.pipe, self.lines.front()) else {
            return std::future::pending().await;
        };
        match pipe.write(&line.as_bytes()[self.written..]).await {
            Ok(bytes @ 1..) => {
                self.written += bytes;
                if self.written == line.len() {
                    self.lines.pop_front();
                    self.written = 0;
                }
            }
            // It closed its input, which is its own affair.
            _ => self.close(),
        }
    }

    /// Tells the process that there is no more.
    pub(super) fn close(&mut self) {
        self.pipe = None;
        self.lines.clear();
    }
}
