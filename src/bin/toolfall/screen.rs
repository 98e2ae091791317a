//! Where the program writes to, in one piece even while a question is open.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Standard output and the progress bar.
#[derive(Debug)]
pub(crate) struct Screen {
    /// While the terminal is in raw mode a line needs a carriage return.
    raw: AtomicBool,
    /// Set once nobody reads the output any more.
    closed: AtomicBool,
    bar: ProgressBar,
    /// Whether the bar is to be seen while no question is open.
    shown: bool,
}

impl Screen {
    /// A screen with a progress bar over `total` calls, if `progress`.
    pub(crate) fn new(progress: bool, total: Option<u64>) -> Self {
        let shown = progress && io::stderr().is_terminal();
        let bar = match total {
            _ if !shown => ProgressBar::hidden(),
            Some(total) => ProgressBar::new(total)
                .with_style(style("{bar:24} {pos}/{len} calls {elapsed} {wide_msg}")),
            None => ProgressBar::new_spinner().with_style(style("{spinner} {pos} calls {elapsed}")),
        };
        Self {
            raw: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            bar,
            shown,
        }
    }

    /// Prints text that ends with a line break.
    pub(crate) fn print(&self, text: &str) {
        if self.is_closed() {
            return;
        }
        let text = self.for_terminal(text);
        let written = self.bar.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()
        });
        if written.is_err() {
            self.closed.store(true, Ordering::Release);
        }
    }

    /// Prints a note beside the output.
    pub(crate) fn note(&self, text: &str) {
        let text = self.for_terminal(text);
        // Notes are worth less than the run.
        let _ = self
            .bar
            .suspend(|| io::stderr().lock().write_all(text.as_bytes()));
    }

    /// Writes the line anew that the cursor is on, in raw mode.
    pub(crate) fn redraw(&self, line: &str) {
        let text = format!("\r\x1b[2K{line}");
        let _ = self
            .bar
            .suspend(|| io::stderr().lock().write_all(text.as_bytes()));
    }

    fn for_terminal(&self, text: &str) -> String {
        if self.raw.load(Ordering::Acquire) {
            text.replace('\n', "\r\n")
        } else {
            text.to_owned()
        }
    }

    /// Counts a call that is done.
    pub(crate) fn advance(&self) {
        self.bar.inc(1);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Says that the terminal is, or is no more, in raw mode; the bar is
    /// hidden in the meantime.
    pub(crate) fn set_raw(&self, raw: bool) {
        if raw {
            self.bar.set_draw_target(ProgressDrawTarget::hidden());
            if self.shown {
                // The bar stays where it was drawn last; its line is cleared.
                let _ = io::stderr().lock().write_all(b"\r\x1b[2K");
            }
        } else if self.shown && !self.bar.is_finished() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.raw.store(raw, Ordering::Release);
    }

    /// Whether the output could not be written.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
