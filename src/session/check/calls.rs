//! Calls, their results and their messages.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::finding::{Finding, Problem};
use crate::session::bodies::{CallRecord, ContextRecord, ResultRecord};
use crate::{Effect, FailureKind};

const BODY: &str = FailureKind::Body.as_str();

/// Whose order a call keeps: its siblings are the calls of the same agent
/// inside the same call.
type Siblings = (Option<String>, Option<u64>);

/// The open calls, and which calls ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    open: BTreeMap<u64, Open>,
    /// The open calls that keep an order, by the line of their record.
    ordered: HashMap<Siblings, BTreeMap<u64, u64>>,
    ended: HashSet<u64>,
    /// The siblings of the calls that ended inside a call or for an agent.
    of_ended: HashMap<u64, Siblings>,
}

#[derive(Clone, Debug)]
struct Open {
    line: u64,
    id: String,
    siblings: Siblings,
    synthetic: bool,
    started: bool,
}

impl Calls {
    pub(super) fn call(&mut self, line: u64, record: &CallRecord, problems: &mut Vec<Problem>) {
        let call = record.call;
        if self.open.contains_key(&call) || self.ended.contains(&call) {
            problems.push(Problem::RepeatedCall { call });
            return;
        }
        let enclosing = [record.parent, record.root];
        for enclosing in enclosing.into_iter().flatten() {
            // A call that is in no other may name itself as its root.
            if enclosing != call && !self.open.contains_key(&enclosing) {
                problems.push(Problem::NestedInNoCall { call, enclosing });
                break;
            }
        }
        let siblings = (record.agent.clone(), record.parent);
        if !record.unordered {
            let ordered = self.ordered.entry(siblings.clone()).or_default();
            ordered.insert(line, call);
        }
        let open = Open {
            line,
            id: record.id.clone(),
            siblings,
            synthetic: record.synthetic,
            started: false,
        };
        self.open.insert(call, open);
    }

    pub(super) fn started(&mut self, call: u64, problems: &mut Vec<Problem>) {
        self.must_be_open(call, problems);
        if let Some(open) = self.open.get_mut(&call)
            && (std::mem::replace(&mut open.started, true) || open.synthetic)
        {
            problems.push(Problem::UnexpectedStart { call });
        }
    }

    pub(super) fn result(&mut self, record: &ResultRecord, problems: &mut Vec<Problem>) {
        let call = record.call;
        self.must_be_open(call, problems);
        let Some(open) = self.open.remove(&call) else {
            return;
        };
        if open.id != record.id {
            problems.push(Problem::OtherId { call });
        }
        // A call may end between the record of its start and the body itself,
        // cancelled or out of time; but not as the body ends.
        let as_a_body = !record.is_error || record.kind.as_deref() == Some(BODY);
        let never_entered = record.effect.as_deref() == Some(Effect::NotStarted.as_str());
        if open.started && never_entered && as_a_body {
            problems.push(Problem::StartedAfterAll { call });
        }
        if let Some(earlier) = self.leave(&open) {
            problems.push(Problem::OutOfOrder { call, earlier });
        }
        self.ended.insert(call);
        if open.siblings != (None, None) {
            self.of_ended.insert(call, open.siblings);
        }
    }

    /// Takes a call out of its order, and tells which one it overtook.
    fn leave(&mut self, open: &Open) -> Option<u64> {
        let ordered = self.ordered.get_mut(&open.siblings)?;
        // A call without an order is not in the list and overtakes nobody.
        ordered.remove(&open.line)?;
        let earlier = ordered.range(..open.line).next().map(|(_, call)| *call);
        if ordered.is_empty() {
            self.ordered.remove(&open.siblings);
        }
        earlier
    }

    pub(super) fn context(&self, record: &ContextRecord, problems: &mut Vec<Problem>) {
        let Some(call) = record.call else {
            return;
        };
        let siblings = match self.open.get(&call) {
            Some(open) => &open.siblings,
            None if self.ended.contains(&call) => self.of_ended.get(&call).unwrap_or(&(None, None)),
            None => {
                problems.push(Problem::NoSuchCall { call });
                return;
            }
        };
        let ordered = self.ordered.get(siblings);
        let first = ordered.and_then(|ordered| ordered.values().next().copied());
        let own = self.open.contains_key(&call).then_some(call);
        if let Some(open) = first.or(own) {
            problems.push(Problem::MessageInsideCall { call, open });
        }
    }

    pub(super) fn must_be_open(&self, call: u64, problems: &mut Vec<Problem>) {
        if self.ended.contains(&call) {
            problems.push(Problem::CallEnded { call });
        } else if !self.open.contains_key(&call) {
            problems.push(Problem::NoSuchCall { call });
        }
    }

    pub(super) fn open(self) -> Vec<Finding> {
        let open = self.open.into_iter();
        open.map(|(call, open)| Finding {
            line: open.line,
            problem: Problem::CallWithoutResult { call },
        })
        .collect()
    }
}
