//! The question on the terminal: allow once, or reject.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEventKind, KeyModifiers, poll, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use futures_util::StreamExt as _;
use tokio::sync::Mutex;
use toolfall::{ApprovalOutcome, ApprovalRequest};

use crate::interrupt::Interrupt;
use crate::render::safe;
use crate::screen::Screen;

/// So much of the arguments is shown.
const ARGUMENTS: usize = 2_000;

/// Puts questions to whoever sits at the terminal, one at a time.
pub(crate) struct Prompt {
    screen: Arc<Screen>,
    interrupt: Interrupt,
    /// Whoever holds it has the terminal.
    terminal: Mutex<()>,
}

impl Prompt {
    pub(crate) fn new(screen: Arc<Screen>, interrupt: Interrupt) -> Self {
        Self {
            screen,
            interrupt,
            terminal: Mutex::new(()),
        }
    }

    /// Asks; unavailable where nobody can be asked.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the question: the terminal is as it was.
    pub(crate) async fn ask(&self, request: &ApprovalRequest) -> ApprovalOutcome {
        if !is_available() {
            return ApprovalOutcome::Unavailable;
        }
        let _terminal = self.terminal.lock().await;
        self.put(request).await
    }

    async fn put(&self, request: &ApprovalRequest) -> ApprovalOutcome {
        let Ok(raw) = Raw::enter(&self.screen) else {
            return ApprovalOutcome::Unavailable;
        };
        // What was typed before the question is no answer to it.
        while poll(Duration::ZERO).unwrap_or(false) && read().is_ok() {}
        let mut events = EventStream::new();
        let arguments = request.arguments().map_or("", |arguments| arguments.text());
        let mut question = format!(
            "? {} {}\n",
            safe(request.tool(), 200),
            safe(arguments, ARGUMENTS)
        );
        if let Some(reason) = request.reason() {
            let _ = writeln!(question, "  {}", safe(reason, 400));
        }
        question.push_str("  a: allow once   r: reject   Ctrl-C: cancel the batch\n");
        self.screen.note(&question);
        let mut withdrawn = Withdrawn {
            screen: &self.screen,
            answered: false,
        };
        let outcome = loop {
            match events.next().await {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                    let control = key.modifiers.contains(KeyModifiers::CONTROL);
                    match key.code {
                        // The terminal sends no signal in raw mode.
                        KeyCode::Char('c') if control => self.interrupt.hit(),
                        KeyCode::Char('a' | 'A' | 'y' | 'Y') if !control => {
                            break ApprovalOutcome::AllowedOnce;
                        }
                        KeyCode::Char('r' | 'R' | 'n' | 'N') if !control => {
                            break ApprovalOutcome::Rejected;
                        }
                        KeyCode::Esc => break ApprovalOutcome::Rejected,
                        _ => {}
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break ApprovalOutcome::Unavailable,
            }
        };
        withdrawn.answered = true;
        drop(events);
        drop(raw);
        self.screen.note(&format!("  → {outcome}\n"));
        outcome
    }
}

/// Whether somebody can be asked: questions are shown on standard error, and
/// answers come from standard input or the terminal behind it.
fn is_available() -> bool {
    let keyboard = std::io::stdin().is_terminal()
        || std::fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .is_ok();
    std::io::stderr().is_terminal() && keyboard
}

/// The terminal in raw mode; restored when dropped.
struct Raw<'a>(&'a Screen);

impl<'a> Raw<'a> {
    fn enter(screen: &'a Screen) -> std::io::Result<Self> {
        enable_raw_mode()?;
        screen.set_raw(true);
        Ok(Self(screen))
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _ = disable_raw_mode();
        self.0.set_raw(false);
    }
}

/// Says so if the question goes away without an answer.
struct Withdrawn<'a> {
    screen: &'a Screen,
    answered: bool,
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.screen.note("  → withdrawn\n");
        }
    }
}
