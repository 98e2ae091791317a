//! Whether a log keeps its promises.
//!
//! Every call has exactly one result, results keep the order of their calls,
//! every question is settled once, and nothing cites what is not there.
//!
//! ```
//! use toolfall::session::check::{Problem, check};
//! use toolfall::session::{CallRecord, SessionLog};
//!
//! let log = SessionLog::in_memory();
//! let call = log.new_call();
//! log.append(CallRecord { call, name: "read".into(), ..CallRecord::default() })?;
//!
//! let findings = check(&log.records()?);
//! assert_eq!(findings.len(), 1);
//! assert_eq!(findings[0].problem, Problem::CallWithoutResult { call });
//! assert_eq!(findings[0].to_string(), "line 1: call 1 has no result");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Audit`] does the same one record at a time, for logs that are too large
//! to hold or still being written.

mod approvals;
mod calls;
mod dispatches;
mod finding;
mod permissions;

use self::approvals::Approvals;
use self::calls::Calls;
use self::dispatches::Dispatches;
pub use self::finding::{Finding, Problem};
use self::permissions::Permissions;
use super::record::{Body, Record};

/// Checks a whole log; findings come in the order of their lines.
///
/// A record's line is its place in `records`, counted from 1.
pub fn check<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Finding> {
    let mut audit = Audit::new();
    let mut findings = Vec::new();
    for record in records {
        findings.extend(audit.observe(record));
    }
    findings.extend(audit.finish());
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// Checks a log record by record.
///
/// Holds what is open, one number for each call that ended, and the ids of
/// each call that a program made.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    line: u64,
    last_seq: Option<u64>,
    calls: Calls,
    approvals: Approvals,
    dispatches: Dispatches,
    permissions: Permissions,
}

impl Audit {
    /// Starts at the beginning of a log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts behind `records`, whose own problems are not told again.
    pub fn after<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut audit = Self::new();
        for record in records {
            audit.observe(record);
        }
        audit
    }

    /// Judges the names of presets, too: only those in `names` are known.
    /// Without this every name is.
    pub fn presets<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.permissions.know(names.into_iter().map(Into::into));
        self
    }

    /// What is wrong with the next record.
    pub fn observe(&mut self, record: &Record) -> Vec<Finding> {
        self.line += 1;
        let mut problems = Vec::new();
        // A part of a log may begin anywhere, but then goes on without a gap.
        let expected = self
            .last_seq
            .map_or(record.seq, |last| last.saturating_add(1));
        if record.seq != expected {
            problems.push(Problem::Sequence {
                expected,
                found: record.seq,
            });
        }
        self.last_seq = Some(record.seq);
        match &record.body {
            Body::Call(call) => self.calls.call(self.line, call, &mut problems),
            Body::Started(started) => self.calls.started(started.call, &mut problems),
            Body::Result(result) => self.calls.result(result, &mut problems),
            Body::Context(context) => self.calls.context(context, &mut problems),
            Body::DispatchStart(start) => {
                let in_turn = self.approvals.may_be_in_turn();
                // What is refused leaves no trace.
                if self.dispatches.start(start, in_turn, &mut problems) {
                    self.calls.call(self.line, &start.as_call(), &mut problems);
                }
            }
            Body::Dispatch(end) => {
                let in_turn = self.approvals.may_be_in_turn();
                if self.dispatches.end(end, in_turn, &mut problems) {
                    self.calls.result(&end.as_result(), &mut problems);
                }
            }
            Body::Asked(asked) => {
                if let Some(call) = asked.call {
                    self.calls.must_be_open(call, &mut problems);
                }
                self.approvals.asked(self.line, asked, &mut problems);
            }
            Body::Decided(decided) => self.approvals.decided(decided, &mut problems),
            Body::Policy(policy) => Approvals::policy(policy, &mut problems),
            Body::Preset(preset) => self.permissions.preset(preset, &mut problems),
            Body::Sandbox(sandbox) => Permissions::sandbox(sandbox, &mut problems),
            Body::Effective(effective) => Permissions::effective(effective, &mut problems),
            Body::TurnStart(turn) => self.approvals.turn_start(turn),
            Body::TurnEnd(turn) => self.approvals.turn_end(turn),
            Body::Torn(_) | Body::Other(_) => {}
        }
        let line = self.line;
        let findings = problems.into_iter();
        findings.map(|problem| Finding { line, problem }).collect()
    }

    /// What is still open at the end, each at the line that opened it.
    pub fn finish(self) -> Vec<Finding> {
        let mut findings = self.calls.open();
        findings.extend(self.approvals.open());
        findings
    }
}
