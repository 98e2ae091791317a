//! The question on the terminal: allow once, or reject.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEventKind, KeyModifiers, poll, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use futures_util::StreamExt as _;
use tokio::sync::Mutex;
use toolfall::session::{AskedRecord, DecidedRecord, SessionRecorder};
use toolfall::{ApprovalOutcome, ApprovalRequest, BoxError};

use crate::interrupt::Interrupt;
use crate::render::safe;
use crate::screen::Screen;

/// So much of the arguments is shown.
const ARGUMENTS: usize = 2_000;

/// Puts questions to whoever sits at the terminal, one at a time.
pub(crate) struct Prompt {
    recorder: Arc<SessionRecorder>,
    screen: Arc<Screen>,
    interrupt: Interrupt,
    /// Whoever holds it has the terminal.
    terminal: Mutex<()>,
}

impl Prompt {
    pub(crate) fn new(
        recorder: Arc<SessionRecorder>,
        screen: Arc<Screen>,
        interrupt: Interrupt,
    ) -> Self {
        Self {
            recorder,
            screen,
            interrupt,
            terminal: Mutex::new(()),
        }
    }

    /// Asks, and writes question and answer to the log.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the question: the terminal is as it was,
    /// and the log says that it was cancelled.
    pub(crate) async fn ask(&self, request: &ApprovalRequest) -> Result<ApprovalOutcome, BoxError> {
        let ordinal = self.recorder.ordinal(request.call());
        let asked = AskedRecord {
            id: format!("ask-{}", ordinal.unwrap_or_default()),
            call: ordinal,
            call_id: Some(request.call_id().as_str().to_owned()),
            tool: request.tool().to_owned(),
            reason: request.reason().map(str::to_owned),
        };
        let mut open = Open {
            recorder: &self.recorder,
            id: asked.id.clone(),
            outcome: ApprovalOutcome::Cancelled,
        };
        self.recorder.log().append(asked)?.synced().await?;
        let outcome = if is_available() {
            let _terminal = self.terminal.lock().await;
            self.put(request).await
        } else {
            ApprovalOutcome::Unavailable
        };
        open.outcome = outcome;
        Ok(outcome)
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

/// A question that is in the log; decided there when dropped.
struct Open<'a> {
    recorder: &'a SessionRecorder,
    id: String,
    outcome: ApprovalOutcome,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let decided = DecidedRecord::new(std::mem::take(&mut self.id), self.outcome);
        if let Err(error) = self.recorder.log().append(decided) {
            tracing::warn!("an answer could not be recorded: {error}");
        }
    }
}
