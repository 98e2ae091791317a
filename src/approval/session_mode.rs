//! Whether questions may be asked in one session.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::sync::watch;
use toolfall_layers::Scope;

use super::ApprovalMode;
use crate::ContextMessage;
use crate::policy::PerScope;
use crate::session::{Body, LogError, PolicyRecord, Record, SessionLog};

/// The author of notices, as their source names it.
const NAME: &str = "user-approval";

const NONE: u8 = 0;
const ASK: u8 = 1;
const NEVER: u8 = 2;

/// A mode, or none.
#[derive(Debug, Default)]
struct Cell(AtomicU8);

impl Cell {
    fn get(&self) -> Option<ApprovalMode> {
        match self.0.load(Ordering::SeqCst) {
            ASK => Some(ApprovalMode::Ask),
            NEVER => Some(ApprovalMode::Never),
            _ => None,
        }
    }

    fn set(&self, mode: Option<ApprovalMode>) {
        let word = match mode {
            None => NONE,
            Some(ApprovalMode::Ask) => ASK,
            Some(ApprovalMode::Never) => NEVER,
        };
        self.0.store(word, Ordering::SeqCst);
    }
}

/// A mode for everybody, and those that scopes have instead.
///
/// What a scope has outlives its session's object, for as long as the scope
/// itself lives: dropping the object must not turn a `never` into an `ask`.
pub(super) struct Modes {
    common: Cell,
    scopes: PerScope<Cell>,
}

impl Modes {
    pub(super) fn new() -> Self {
        Self {
            common: Cell::default(),
            scopes: PerScope::new(),
        }
    }

    pub(super) fn set_common(&self, mode: ApprovalMode) {
        self.common.set(Some(mode));
    }

    pub(super) fn common(&self) -> ApprovalMode {
        self.common.get().unwrap_or_default()
    }

    /// The mode of the nearest scope that has one, else everybody's.
    pub(super) fn of(&self, scope: Option<&Scope>) -> ApprovalMode {
        let mut chain = scope.into_iter().flat_map(Scope::chain);
        chain
            .find_map(|scope| self.scopes.get(scope)?.get())
            .unwrap_or_else(|| self.common())
    }
}

/// Whether questions may be asked in one session: what its log says, and what
/// is switched from here on.
///
/// The last `approval/policy` record of the log overrides the mode that the
/// [`Answerers`](super::Answerers) are set to, in both directions. It counts
/// for calls from the session's scope and from scopes nested in it; the
/// nearest scope that has a mode of its own wins. Clones share everything.
///
/// Made by [`Answerers::session`](super::Answerers::session), or by
/// [`SessionMode::new`] for an approver of the host's own. One object at a
/// time should write a log: what another one records is not seen.
///
/// ```
/// use toolfall::approval::{Answerers, ApprovalMode};
/// use toolfall::session::SessionLog;
/// use toolfall::Scope;
///
/// let answerers = Answerers::new();
/// let agent = Scope::new("agent");
/// let session = answerers.session(&agent, SessionLog::in_memory())?;
/// assert_eq!((session.overridden(), session.mode()), (None, ApprovalMode::Ask));
///
/// let notice = session.switch(ApprovalMode::Never)?.expect("something changed");
/// assert_eq!(notice.source.name, "user-approval");
/// assert_eq!(answerers.mode_in(&agent), ApprovalMode::Never);
/// assert_eq!(answerers.mode(), ApprovalMode::Ask, "of everybody else");
/// assert!(session.switch(ApprovalMode::Never)?.is_none());
/// # Ok::<(), toolfall::session::LogError>(())
/// ```
#[derive(Clone)]
pub struct SessionMode(Arc<Inner>);

struct Inner {
    log: SessionLog,
    modes: Arc<Modes>,
    scope: Scope,
    own: Arc<Cell>,
    /// One writer at a time compares and records. Readers never wait for it.
    writing: Mutex<()>,
    changes: watch::Sender<u64>,
}

impl SessionMode {
    /// The mode of a session whose log is `log`, and `default` while the log
    /// says nothing. Reads the whole log, so it blocks.
    ///
    /// # Errors
    ///
    /// [`LogError::Read`] if the log cannot be read.
    pub fn new(log: SessionLog, default: ApprovalMode) -> Result<Self, LogError> {
        let modes = Modes::new();
        modes.set_common(default);
        Self::of(log, Arc::new(modes), Scope::new("session"))
    }

    pub(super) fn of(log: SessionLog, modes: Arc<Modes>, scope: Scope) -> Result<Self, LogError> {
        let recorded = ApprovalMode::last_in(&log.records()?);
        let own = modes.scopes.of(&scope);
        own.set(recorded);
        Ok(Self(Arc::new(Inner {
            log,
            modes,
            scope,
            own,
            writing: Mutex::new(()),
            changes: watch::Sender::new(0),
        })))
    }

    /// The session's own mode, if it has one.
    pub fn overridden(&self) -> Option<ApprovalMode> {
        self.0.own.get()
    }

    /// The mode that counts: the session's own, else that of the scopes
    /// around it, else the default.
    pub fn mode(&self) -> ApprovalMode {
        self.0.modes.of(Some(&self.0.scope))
    }

    /// Switches to `mode` with one record, from the next question on, and
    /// gives the notice that the agent is to be told. `None` if `mode` counts
    /// already: nothing is recorded then. Blocks for one write.
    ///
    /// # Errors
    ///
    /// The record could not be written, and nothing has changed.
    pub fn switch(&self, mode: ApprovalMode) -> Result<Option<ContextMessage>, LogError> {
        self.switch_while(&self.write(), mode)
    }

    /// The session's log.
    pub fn log(&self) -> &SessionLog {
        &self.0.log
    }

    /// How many records of permissions this object and the
    /// [`SessionPermission`](crate::permission::SessionPermission) made of it
    /// have written: to wait for changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Lets nobody else write a record of permissions meanwhile.
    pub(crate) fn write(&self) -> Writing<'_> {
        let lock = self.0.writing.lock();
        Writing {
            session: &self.0,
            _lock: lock.unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub(crate) fn switch_while(
        &self,
        writing: &Writing<'_>,
        mode: ApprovalMode,
    ) -> Result<Option<ContextMessage>, LogError> {
        let before = self.mode();
        if before == mode {
            return Ok(None);
        }
        self.record_while(writing, mode)?;
        Ok(Some(notice(before, mode)))
    }

    /// Records `mode` as the session's own, also if it counts already.
    pub(crate) fn record_while(
        &self,
        writing: &Writing<'_>,
        mode: ApprovalMode,
    ) -> Result<(), LogError> {
        let record = PolicyRecord {
            policy: mode.as_str().to_owned(),
        };
        writing.record(record, || self.0.own.set(Some(mode)))
    }
}

/// The right to write records of permissions.
pub(crate) struct Writing<'a> {
    session: &'a Inner,
    _lock: MutexGuard<'a, ()>,
}

impl Writing<'_> {
    /// Appends a record; only then what it announces takes place, and only
    /// then is it told.
    pub(crate) fn record(
        &self,
        body: impl Into<Body>,
        takes_place: impl FnOnce(),
    ) -> Result<(), LogError> {
        self.session.log.append(body)?;
        takes_place();
        self.session.changes.send_modify(|count| *count += 1);
        Ok(())
    }
}

impl ApprovalMode {
    /// What the last `approval/policy` record of a log says. A word that is
    /// no mode reads as [`Never`](Self::Never).
    pub fn last_in<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Self> {
        let words = records.into_iter().filter_map(|record| match &record.body {
            Body::Policy(policy) => Some(policy.policy.as_str()),
            _ => None,
        });
        words.last().map(|word| word.parse().unwrap_or(Self::Never))
    }
}

fn notice(before: ApprovalMode, after: ApprovalMode) -> ContextMessage {
    let text = format!(
        "The approval policy changed from \"{before}\" to \"{after}\" (changed by the user)."
    );
    let mut message = ContextMessage::text("plugin", NAME, text);
    message.source.summary = Some(format!("approval policy {after}"));
    message.meta = Some(json!({"form": "notice"}));
    message
}

impl fmt::Debug for SessionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionMode")
            .field("scope", &self.0.scope)
            .field("overridden", &self.overridden())
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}
