//! What a process says.

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;

use crate::code::Budgets;
use crate::code::protocol::Lines;

/// What frames need beside what they carry.
const FRAME: usize = 64 << 10;

/// Standard output, by lines.
pub(super) struct Frames {
    pipe: Option<ChildStdout>,
    pub(super) lines: Lines,
}

impl Frames {
    pub(super) fn new(pipe: ChildStdout, budgets: &Budgets) -> Self {
        // No honest line is longer.
        let longest = budgets
            .output
            .saturating_add(toolfall_layers::MAX_TEXT)
            .saturating_add(FRAME);
        Self {
            pipe: Some(pipe),
            lines: Lines::new(longest),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    pub(super) fn close(&mut self) {
        self.pipe = None;
    }

    /// Reads some more; for ever where there is no more to come.
    ///
    /// Cancel safe.
    pub(super) async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else {
            return std::future::pending().await;
        };
        if !matches!(pipe.read_buf(self.lines.spare()).await, Ok(1..)) {
            self.pipe = None;
        }
    }
}
