//! The calls of programs, by their ids.

use std::collections::HashMap;

use super::finding::Problem;
use crate::session::{DispatchRecord, DispatchStartRecord};

/// The root of each call that a program made.
#[derive(Clone, Debug, Default)]
pub(super) struct Dispatches {
    roots: HashMap<Box<str>, Box<str>>,
}

impl Dispatches {
    /// Judges a first record; whether it counts.
    pub(super) fn start(
        &mut self,
        start: &DispatchStartRecord,
        in_turn: bool,
        problems: &mut Vec<Problem>,
    ) -> bool {
        let ids = [
            &*start.root_call_id,
            &start.parent_call_id,
            &start.sub_call_id,
        ];
        let counts = self.judge(ids, in_turn, problems);
        // Below a call without an id, ids repeat from call to call.
        if counts && !start.sub_call_id.starts_with(':') {
            let [root, _, sub] = ids;
            self.roots.insert(sub.into(), root.into());
        }
        counts
    }

    /// Judges a last record; whether it counts.
    pub(super) fn end(
        &self,
        end: &DispatchRecord,
        in_turn: bool,
        problems: &mut Vec<Problem>,
    ) -> bool {
        let ids = [&*end.root_call_id, &end.parent_call_id, &end.sub_call_id];
        self.judge(ids, in_turn, problems)
    }

    fn judge(&self, ids: [&str; 3], in_turn: bool, problems: &mut Vec<Problem>) -> bool {
        let before = problems.len();
        let [root, parent, sub] = ids;
        if !in_turn {
            problems.push(Problem::DispatchOutsideTurn {
                sub: sub.to_owned(),
            });
        }
        if ids.contains(&"") {
            problems.push(Problem::DispatchWithoutId);
        }
        let below_another = |id: &str| self.roots.get(id).is_some_and(|known| **known != *root);
        if below_another(sub) {
            problems.push(Problem::RootChanged {
                sub: sub.to_owned(),
            });
        }
        if below_another(parent) {
            problems.push(Problem::ForeignParent {
                parent: parent.to_owned(),
                root: root.to_owned(),
            });
        }
        problems.len() == before
    }
}
