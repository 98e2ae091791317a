//! Calls that wait until fewer are unanswered.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use crate::code::protocol::{Call, IN_FLIGHT};

/// So many calls may wait.
const CALLS: usize = 100_000;
/// So many bytes of arguments may wait.
const BYTES: usize = 64 << 20;

/// Calls on their way out, in order. A program may make many at once; a host
/// is given [`IN_FLIGHT`].
#[derive(Default)]
pub(super) struct Outbox {
    open: Cell<usize>,
    waiting: RefCell<VecDeque<Call>>,
    bytes: Cell<usize>,
}

impl Outbox {
    /// Takes one more call: gives it back if it may be sent now.
    ///
    /// # Errors
    ///
    /// What to tell the program if too many wait.
    pub(super) fn push(&self, call: Call) -> Result<Option<Call>, String> {
        if self.open.get() < IN_FLIGHT {
            self.open.set(self.open.get() + 1);
            return Ok(Some(call));
        }
        let bytes = self.bytes.get() + size(&call);
        let mut waiting = self.waiting.borrow_mut();
        if bytes > BYTES || waiting.len() >= CALLS {
            return Err("too many calls are not answered".to_owned());
        }
        self.bytes.set(bytes);
        waiting.push_back(call);
        Ok(None)
    }

    /// A call was answered: gives the next one, to be sent now.
    pub(super) fn answered(&self) -> Option<Call> {
        let next = self.waiting.borrow_mut().pop_front();
        match &next {
            Some(call) => self.bytes.set(self.bytes.get() - size(call)),
            None => self.open.set(self.open.get().saturating_sub(1)),
        }
        next
    }
}

fn size(call: &Call) -> usize {
    call.args.as_ref().map_or(0, |args| args.text().len())
}
