//! The question on the terminal: allow once, reject, say why, end the run.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEventKind, KeyModifiers, poll, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use futures_util::StreamExt as _;
use tokio::sync::Mutex;
use toolfall::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, Registry};

use crate::interrupt::Interrupt;
use crate::render::{colours, question as card_lines, safe};
use crate::screen::Screen;

/// So much of the arguments is shown.
const ARGUMENTS: usize = 2_000;
/// So much of a message that is being written is shown, its end.
const SHOWN: usize = 60;
/// So long a message may be.
const MESSAGE: usize = 2_000;

const KEYS: &str =
    "  [y]es, this once   [n]o   [m]essage with a no   [e]nd the run   Ctrl-C: cancel\n";
const WRITING: &str = "  why not? Enter sends it, Esc goes back\n";

/// Puts questions to whoever sits at the terminal, one at a time.
pub(crate) struct Prompt {
    screen: Arc<Screen>,
    interrupt: Interrupt,
    /// Knows what calls look like.
    registry: Registry,
    /// Whoever holds it has the terminal.
    terminal: Mutex<()>,
}

impl Prompt {
    pub(crate) fn new(screen: Arc<Screen>, interrupt: Interrupt, registry: Registry) -> Self {
        Self {
            screen,
            interrupt,
            registry,
            terminal: Mutex::new(()),
        }
    }

    /// Asks; unavailable where nobody can be asked.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the question: the terminal is as it was.
    pub(crate) async fn ask(&self, request: &ApprovalRequest) -> ApprovalAnswer {
        if !is_available() {
            return ApprovalOutcome::Unavailable.into();
        }
        let _terminal = self.terminal.lock().await;
        self.put(request).await
    }

    async fn put(&self, request: &ApprovalRequest) -> ApprovalAnswer {
        let Ok(raw) = Raw::enter(&self.screen) else {
            return ApprovalOutcome::Unavailable.into();
        };
        // What was typed before the question is no answer to it.
        while poll(Duration::ZERO).unwrap_or(false) && read().is_ok() {}
        let mut events = EventStream::new();
        let arguments = request.shown_arguments();
        let mut question = format!(
            "? {} {}\n",
            safe(request.tool(), 200),
            safe(&arguments, ARGUMENTS)
        );
        // The arguments stay: a card shows what its tool picks of them.
        let card = request.arguments().and_then(|arguments| {
            let (tool, scope) = (request.tool(), request.scope());
            self.registry.call_card(tool, arguments, scope)
        });
        if let Some(lines) = card.and_then(|card| card_lines(&card, colours())) {
            question.push_str(&lines);
        }
        // Agents are scopes inside the one of the run.
        if let Some(agent) = request.scope().filter(|scope| scope.parent().is_some()) {
            let _ = writeln!(question, "  asked by agent {}", safe(agent.name(), 200));
        }
        if let Some(reason) = request.reason() {
            let _ = writeln!(question, "  {}", safe(reason, 400));
        }
        question.push_str(KEYS);
        self.screen.note(&question);
        let mut withdrawn = Withdrawn {
            screen: &self.screen,
            answered: false,
        };
        let answer = loop {
            match self.key(&mut events).await {
                Some(KeyCode::Char('y' | 'Y' | 'a' | 'A')) => {
                    break ApprovalOutcome::AllowedOnce.into();
                }
                Some(KeyCode::Char('n' | 'N' | 'r' | 'R') | KeyCode::Esc) => {
                    break ApprovalOutcome::Rejected.into();
                }
                Some(KeyCode::Char('e' | 'E')) => {
                    break ApprovalAnswer::from(ApprovalOutcome::Rejected).ending_turn();
                }
                Some(KeyCode::Char('m' | 'M')) => {
                    self.screen.note(WRITING);
                    match self.message(&mut events).await {
                        Some(message) => break ApprovalAnswer::rejected(message),
                        None => self.screen.note(KEYS),
                    }
                }
                Some(_) => {}
                None => break ApprovalOutcome::Unavailable.into(),
            }
        };
        withdrawn.answered = true;
        drop(events);
        drop(raw);
        let more = if answer.ends_turn() {
            ", and the run ends with this batch"
        } else {
            ""
        };
        self.screen
            .note(&format!("  → {}{more}\n", answer.outcome()));
        answer
    }

    /// The next key; none if there is no terminal any more.
    async fn key(&self, events: &mut EventStream) -> Option<KeyCode> {
        loop {
            match events.next().await {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                    if !key.modifiers.contains(KeyModifiers::CONTROL) {
                        return Some(key.code);
                    }
                    if key.code == KeyCode::Char('c') {
                        // The terminal sends no signal in raw mode.
                        self.interrupt.hit();
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// A line that the person writes; none if they think better of it.
    async fn message(&self, events: &mut EventStream) -> Option<String> {
        let mut message = String::new();
        loop {
            // Its end is shown, so that it never takes a second line.
            let end = message.chars().count().saturating_sub(SHOWN);
            let shown: String = message.chars().skip(end).collect();
            let before = if end > 0 { "…" } else { "" };
            self.screen
                .redraw(&format!("  > {before}{}", safe(&shown, SHOWN)));
            match self.key(events).await {
                Some(KeyCode::Char(letter)) if message.len() < MESSAGE => message.push(letter),
                Some(KeyCode::Backspace) => {
                    message.pop();
                }
                Some(KeyCode::Enter) => break,
                Some(KeyCode::Esc) | None => {
                    self.screen.note("\n");
                    return None;
                }
                Some(_) => {}
            }
        }
        self.screen.note("\n");
        Some(message)
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
