//! What all views of one call share.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::Waker;

use tokio_util::sync::CancellationToken;

use super::{CallId, CallView, ExecutionToken, Extensions, Nested, RefusedArguments, Scope};
use crate::arguments::Arguments;
use crate::body::{DispatchCell, Gate};
use crate::catalog::{Catalog, Definition};
use crate::outcome::{ContextMessage, ToolOutcome};
use crate::redaction::{Redaction, Redactions};
use crate::result_notify::{Ending, Host};
use crate::turn::Turn;

pub(crate) struct CallState {
    pub(crate) token: ExecutionToken,
    pub(crate) id: CallId,
    pub(crate) name: Cow<'static, str>,
    pub(crate) arguments: Result<Arguments, Box<RefusedArguments>>,
    pub(crate) nested: Option<Box<Nested>>,
    pub(crate) scope: Option<Scope>,
    pub(crate) caller: CancellationToken,
    pub(crate) extensions: Extensions,
    pub(crate) turn: Option<Turn>,
    pub(crate) host: Arc<Host>,
    /// The definition seen first and the catalog's generation then: a
    /// second look-up is only needed once something has changed. Weak, so
    /// that a kept view does not keep a registration alive.
    seen: OnceLock<(Weak<dyn Definition>, u64)>,
    pub(crate) gate: Gate,
    pub(crate) first_dispatch: DispatchCell,
    flags: AtomicU16,
    children: AtomicU32,
    rare: Mutex<Option<Box<Rare>>>,
}

/// What most calls never need.
#[derive(Default)]
struct Rare {
    contexts: Vec<ContextMessage>,
    waiters: Vec<Waker>,
    ending: Option<Ending>,
    left_behind: Option<ToolOutcome>,
    redactions: Redactions,
}

/// So many wakers are kept before the older ones are woken and let go.
const MAX_WAITERS: usize = 32;

const ENTERED: u16 = 1;
const GIVEN_UP: u16 = 2;
const UNKNOWN_EFFECT: u16 = 4;
const MAY_GIVE_UP: u16 = 8;
const CONTEXTS: u16 = 16;
const CONTEXTS_CLOSED: u16 = 32;
const APPROVED: u16 = 64;
const RECORDED: u16 = 128;
const CONCLUDED: u16 = 256;
const ENDS_TURN: u16 = 512;
const REDACTED: u16 = 1024;

impl CallState {
    pub(crate) fn new(request: crate::CallRequest, host: Arc<Host>) -> Self {
        let redactions = request.redactions;
        let state = Self {
            token: ExecutionToken::mint(),
            id: request.id,
            name: request.name,
            arguments: request.arguments,
            nested: request.nested,
            scope: request.scope,
            caller: request.cancellation,
            extensions: request.extensions,
            turn: request.turn,
            host,
            seen: OnceLock::new(),
            gate: Gate::new(),
            first_dispatch: DispatchCell::new(),
            flags: AtomicU16::new(0),
            children: AtomicU32::new(0),
            rare: Mutex::new(None),
        };
        for redaction in redactions.into_iter().flat_map(|it| it.into_iter()) {
            state.hide(redaction);
        }
        state
    }

    fn flag(&self, flag: u16) -> bool {
        self.flags.load(Ordering::Acquire) & flag != 0
    }

    fn raise(&self, flag: u16) -> bool {
        self.flags.fetch_or(flag, Ordering::AcqRel) & flag != 0
    }

    /// Counts a call that a body makes, from 1.
    pub(crate) fn next_child(&self) -> u32 {
        self.children
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1)
    }

    /// Whether a body has been entered, now or before.
    pub(crate) fn was_entered(&self) -> bool {
        self.flag(ENTERED)
    }

    pub(crate) fn mark_entered(&self) {
        self.raise(ENTERED);
    }

    /// Whether a stage may stop waiting for this call's bodies, so that they
    /// have to listen for it.
    pub(crate) fn may_give_up(&self) -> bool {
        self.flag(MAY_GIVE_UP)
    }

    pub(crate) fn announce_grace(&self) {
        self.raise(MAY_GIVE_UP);
    }

    /// Whether the host asked to stop waiting for this call's bodies.
    pub(crate) fn is_given_up(&self) -> bool {
        self.flag(GIVEN_UP)
    }

    pub(crate) fn give_up(&self) {
        self.raise(GIVEN_UP);
        self.wake_waiters();
    }

    /// Another attempt begins, and no body of the one before is left: what it
    /// left behind, and that it was given up, is no longer this call's.
    pub(crate) fn begin_attempt(&self) {
        self.flags.fetch_and(!GIVEN_UP, Ordering::AcqRel);
        drop(self.take_left_behind());
    }

    /// Whether the recorder was told of the call; tells it at most once.
    pub(crate) fn mark_recorded(&self) -> bool {
        self.raise(RECORDED)
    }

    /// Whether a body declared the turn finished.
    pub(crate) fn is_concluded(&self) -> bool {
        self.flag(CONCLUDED)
    }

    pub(crate) fn mark_concluded(&self) {
        self.raise(CONCLUDED);
    }

    /// Whether the approver let the call through.
    pub(crate) fn is_approved(&self) -> bool {
        self.flag(APPROVED)
    }

    pub(crate) fn mark_approved(&self) {
        self.raise(APPROVED);
    }

    /// Whether a person's refusal ended the model's turn.
    pub(crate) fn ends_turn(&self) -> bool {
        self.flag(ENDS_TURN)
    }

    pub(crate) fn mark_ends_turn(&self) {
        self.raise(ENDS_TURN);
    }

    /// Hides more of the call; nothing is ever shown again.
    pub(crate) fn hide(&self, redaction: Arc<dyn Redaction>) {
        self.with_rare(|rare| rare.redactions.add(redaction));
        // Afterwards, so that whoever sees the flag finds what it tells of.
        self.raise(REDACTED);
    }

    pub(crate) fn is_redacted(&self) -> bool {
        self.flag(REDACTED)
    }

    /// What hides parts of the call, if anything does.
    pub(crate) fn redactions(&self) -> Option<Redactions> {
        if !self.flag(REDACTED) {
            return None;
        }
        // A copy: redactions are user code, which runs under no lock.
        Some(self.with_rare(|rare| rare.redactions.clone()))
    }

    pub(crate) fn mark_effect_unknown(&self) {
        self.raise(UNKNOWN_EFFECT);
    }

    pub(crate) fn is_effect_unknown(&self) -> bool {
        self.flag(UNKNOWN_EFFECT)
    }

    fn with_rare<T>(&self, f: impl FnOnce(&mut Rare) -> T) -> T {
        let mut rare = self.rare.lock().unwrap_or_else(PoisonError::into_inner);
        f(rare.get_or_insert_default())
    }

    /// Adds a context unless the dispatch has ended; says whether it was kept.
    pub(crate) fn defer(&self, context: ContextMessage) -> bool {
        // One step, so that whoever closes the list after this sees the flag
        // and looks under the lock.
        let before = self.flags.fetch_or(CONTEXTS, Ordering::AcqRel);
        if before & CONTEXTS_CLOSED != 0 {
            return false;
        }
        self.with_rare(|rare| {
            // It may have been closed and emptied in between.
            let open = !self.flag(CONTEXTS_CLOSED);
            if open {
                rare.contexts.push(context);
            }
            open
        })
    }

    /// Ends the dispatch and takes the contexts that its bodies deferred.
    pub(crate) fn close_contexts(&self) -> Vec<ContextMessage> {
        // Looked at first: on the way out they are closed as a rule, and a
        // look is cheaper than a change.
        if self.flag(CONTEXTS_CLOSED) || self.raise(CONTEXTS_CLOSED) || !self.flag(CONTEXTS) {
            return Vec::new();
        }
        self.with_rare(|rare| std::mem::take(&mut rare.contexts))
    }

    pub(crate) fn add_waiter(&self, waker: &Waker) {
        let stale = self.with_rare(|rare| {
            if rare.waiters.iter().any(|known| known.will_wake(waker)) {
                return Vec::new();
            }
            // A combinator may come with a new waker at every poll. Whoever
            // is woken here and still waits comes back with its latest.
            let full = rare.waiters.len() >= MAX_WAITERS;
            let stale = if full {
                std::mem::take(&mut rare.waiters)
            } else {
                Vec::new()
            };
            rare.waiters.push(waker.clone());
            stale
        });
        for waiter in stale {
            waiter.wake();
        }
        // After the waker is in its place: see `Gate::exit`.
        self.gate.announce_waiter();
    }

    pub(crate) fn wake_waiters(&self) {
        let waiters = {
            let mut rare = self.rare.lock().unwrap_or_else(PoisonError::into_inner);
            match rare.as_mut() {
                Some(rare) => std::mem::take(&mut rare.waiters),
                None => return,
            }
        };
        for waiter in waiters {
            waiter.wake();
        }
    }

    pub(crate) fn store_ending(&self, ending: Ending) {
        self.with_rare(|rare| rare.ending = Some(ending));
    }

    pub(crate) fn take_ending(&self) -> Option<Ending> {
        let mut rare = self.rare.lock().unwrap_or_else(PoisonError::into_inner);
        rare.as_mut()?.ending.take()
    }

    /// Keeps the failure of a body whose future was dropped: it says more
    /// than a generic cancellation.
    pub(crate) fn leave_behind(&self, failure: ToolOutcome) {
        self.with_rare(|rare| {
            rare.left_behind.get_or_insert(failure);
        });
    }

    pub(crate) fn take_left_behind(&self) -> Option<ToolOutcome> {
        let mut rare = self.rare.lock().unwrap_or_else(PoisonError::into_inner);
        rare.as_mut()?.left_behind.take()
    }

    /// What an earlier look-up saw, if nothing has changed since.
    fn remembered(&self, catalog: &dyn Catalog) -> Option<Arc<dyn Definition>> {
        let (seen, generation) = self.seen.get()?;
        if catalog.generation() != *generation {
            return None;
        }
        seen.upgrade()
    }
}

impl CallView {
    /// The definition as the call's scope sees it now, remembered for as long
    /// as nothing changes.
    pub(crate) fn look_up(&self) -> Option<Arc<dyn Definition>> {
        let state = self.state();
        let catalog = state.host.catalog.as_deref()?;
        if let Some(definition) = state.remembered(catalog) {
            return Some(definition);
        }
        // Read first: a change in between makes the memory stale, not wrong.
        let generation = catalog.generation();
        let definition = catalog.resolve(self)?;
        let _ = state.seen.set((Arc::downgrade(&definition), generation));
        Some(definition)
    }

    /// As [`look_up`](Self::look_up), for the last one who asks: nothing is
    /// remembered, which saves a weak handle.
    pub(crate) fn look_up_last(&self) -> Option<Arc<dyn Definition>> {
        let catalog = self.state().host.catalog.as_deref()?;
        self.state()
            .remembered(catalog)
            .or_else(|| catalog.resolve(self))
    }
}
