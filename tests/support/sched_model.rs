//! What a batch should do, by a few rules on a clock that ticks.

use std::collections::BTreeMap;

/// One call: what its stages take, in milliseconds, and what they decide.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spec {
    pub(crate) exclusive: bool,
    pub(crate) pre: u64,
    pub(crate) decision: Decided,
    pub(crate) body: u64,
    pub(crate) fails: bool,
    /// Whether the body ends when it is cancelled.
    pub(crate) cooperative: bool,
    pub(crate) post: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Decided {
    #[default]
    Allow,
    Deny,
    PolicyFails,
    /// A person answers after so long.
    Ask {
        after: u64,
        granted: bool,
    },
}

/// When something happened to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Pre,
    PreEnd,
    Body,
    BodyEnd,
    Post,
    PostEnd,
    Done,
}

/// The time of everything that happens, by call.
pub(crate) type Times = BTreeMap<(usize, What), u64>;

#[derive(Clone, Copy, PartialEq)]
enum At {
    Waiting,
    Pre(u64),
    Parked(u64),
    WantsSlot,
    Body(u64),
    Settled,
    Post(u64),
    Done,
}

pub(crate) struct Model<'a> {
    specs: &'a [Spec],
    cap: usize,
    at: Vec<At>,
    now: u64,
    times: Times,
}

impl<'a> Model<'a> {
    pub(crate) fn times(specs: &'a [Spec], cap: usize) -> Times {
        let mut model = Self {
            specs,
            cap,
            at: vec![At::Waiting; specs.len()],
            now: 0,
            times: Times::new(),
        };
        while model.at.iter().any(|at| *at != At::Done) {
            // Everything that is due happens before anything new begins.
            for call in 0..specs.len() {
                model.due(call);
            }
            while model.commit() || model.give_slot() || model.start() {}
            model.now += 1;
            assert!(model.now < 100_000, "the model is stuck");
        }
        model.times
    }

    fn note(&mut self, call: usize, what: What) {
        self.times.insert((call, what), self.now);
    }

    /// A call holds a slot from its start to the end of its body, but not
    /// while a person is asked.
    fn slots_free(&self) -> bool {
        let held = self
            .at
            .iter()
            .filter(|at| matches!(at, At::Pre(_) | At::Body(_)));
        held.count() < self.cap
    }

    fn due(&mut self, call: usize) {
        match self.at[call] {
            At::Pre(until) if until == self.now => self.decided(call),
            At::Parked(until) if until == self.now => {
                let granted = matches!(
                    self.specs[call].decision,
                    Decided::Ask { granted: true, .. }
                );
                self.at[call] = if granted { At::WantsSlot } else { At::Settled };
            }
            At::Body(until) if until == self.now => self.body_ended(call),
            At::Post(until) if until == self.now => self.done(call),
            _ => {}
        }
    }

    fn decided(&mut self, call: usize) {
        self.note(call, What::PreEnd);
        match self.specs[call].decision {
            Decided::Allow
            | Decided::Ask {
                after: 0,
                granted: true,
            } => self.enter(call),
            Decided::Deny
            | Decided::PolicyFails
            | Decided::Ask {
                after: 0,
                granted: false,
            } => {
                self.at[call] = At::Settled;
            }
            Decided::Ask { after, .. } => self.at[call] = At::Parked(self.now + after),
        }
    }

    fn enter(&mut self, call: usize) {
        self.note(call, What::Body);
        self.at[call] = At::Body(self.now + self.specs[call].body);
        if self.specs[call].body == 0 {
            self.body_ended(call);
        }
    }

    fn body_ended(&mut self, call: usize) {
        self.note(call, What::BodyEnd);
        self.at[call] = At::Settled;
    }

    fn done(&mut self, call: usize) {
        if self.specs[call].decision != Decided::PolicyFails {
            self.note(call, What::PostEnd);
        }
        self.note(call, What::Done);
        self.at[call] = At::Done;
    }

    /// The first call that is not done commits, once it has settled.
    fn commit(&mut self) -> bool {
        let Some(head) = self.at.iter().position(|at| *at != At::Done) else {
            return false;
        };
        if self.at[head] != At::Settled {
            return false;
        }
        // A policy that failed skips post-execute.
        if self.specs[head].decision == Decided::PolicyFails {
            self.done(head);
            return true;
        }
        self.note(head, What::Post);
        self.at[head] = At::Post(self.now + self.specs[head].post);
        if self.specs[head].post == 0 {
            self.done(head);
        }
        true
    }

    /// Answered calls get a slot in model order, before anything starts.
    fn give_slot(&mut self) -> bool {
        let wants = self.at.iter().position(|at| *at == At::WantsSlot);
        match wants {
            Some(call) if self.slots_free() => {
                self.enter(call);
                true
            }
            _ => false,
        }
    }

    fn start(&mut self) -> bool {
        let Some(next) = self.at.iter().position(|at| *at == At::Waiting) else {
            return false;
        };
        let before = &self.at[..next];
        let deciding = before.iter().any(|at| matches!(at, At::Pre(_)));
        let all_done = before.iter().all(|at| *at == At::Done);
        let barrier = (0..next).any(|call| self.specs[call].exclusive && before[call] != At::Done);
        if deciding || barrier || !self.slots_free() || self.specs[next].exclusive && !all_done {
            return false;
        }
        self.note(next, What::Pre);
        self.at[next] = At::Pre(self.now + self.specs[next].pre);
        if self.specs[next].pre == 0 {
            self.decided(next);
        }
        true
    }
}
