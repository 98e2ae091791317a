//! Questions and turns.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Problem};
use crate::session::approval::{AskedRecord, DecidedRecord, PolicyRecord};
use crate::session::bodies::TurnRecord;

/// The open questions, and whether a turn is open.
#[derive(Clone, Debug, Default)]
pub(super) struct Approvals {
    /// Open questions, with the line that asked.
    open: BTreeMap<String, u64>,
    /// The open turns, once the log has shown that it tells of turns.
    turns: Option<BTreeSet<String>>,
}

impl Approvals {
    pub(super) fn asked(&mut self, line: u64, asked: &AskedRecord, problems: &mut Vec<Problem>) {
        let id = || asked.id.clone();
        self.must_be_in_turn(&asked.id, problems);
        if asked.tool.is_empty() {
            problems.push(Problem::QuestionWithoutTool { id: id() });
        }
        if self.open.contains_key(&asked.id) {
            problems.push(Problem::RepeatedQuestion { id: id() });
        } else {
            self.open.insert(id(), line);
        }
    }

    pub(super) fn decided(&mut self, decided: &DecidedRecord, problems: &mut Vec<Problem>) {
        let id = || decided.id.clone();
        self.must_be_in_turn(&decided.id, problems);
        if self.open.remove(&decided.id).is_none() {
            problems.push(Problem::NotAsked { id: id() });
        }
        if let Some(found) = decided.unknown.clone() {
            problems.push(Problem::UnknownOutcome { id: id(), found });
        }
    }

    pub(super) fn policy(policy: &PolicyRecord, problems: &mut Vec<Problem>) {
        if !matches!(policy.policy.as_str(), "ask" | "never") {
            problems.push(Problem::UnknownPolicy {
                found: policy.policy.clone(),
            });
        }
    }

    pub(super) fn turn_start(&mut self, turn: &TurnRecord) {
        let turns = self.turns.get_or_insert_default();
        turns.insert(turn.turn.clone());
    }

    pub(super) fn turn_end(&mut self, turn: &TurnRecord) {
        let turns = self.turns.get_or_insert_default();
        turns.remove(&turn.turn);
    }

    /// Whether a turn is open, as far as the log tells: one that tells of no
    /// turn, or has not yet, cannot say.
    pub(super) fn may_be_in_turn(&self) -> bool {
        !self.turns.as_ref().is_some_and(BTreeSet::is_empty)
    }

    fn must_be_in_turn(&self, id: &str, problems: &mut Vec<Problem>) {
        if !self.may_be_in_turn() {
            problems.push(Problem::OutsideTurn { id: id.to_owned() });
        }
    }

    pub(super) fn open(self) -> Vec<Finding> {
        let open = self.open.into_iter();
        open.map(|(id, line)| Finding {
            line,
            problem: Problem::Undecided { id },
        })
        .collect()
    }
}
