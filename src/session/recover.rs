//! What a process left open when it ended, and the records that close it.

use std::collections::{BTreeMap, HashMap};

use toolfall_layers::ContentBlock;

use super::approval::{AskedRecord, DecidedRecord};
use super::bodies::{CallRecord, ErrorRecord, ResultRecord};
use super::dispatch::DispatchStartRecord;
use super::read::Torn;
use super::record::{Body, MAX_NUMBER, Record};
use crate::approval::SavedQuestion;
use crate::{ApprovalOutcome, Effect, FailureKind, codes};

/// A call without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenCall {
    /// The call's ordinal.
    pub call: u64,
    /// The model's id for it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments' text: as sent, or, if [`redacted`](Self::redacted), as
    /// people may see it.
    pub arguments: String,
    /// Something of the arguments is hidden: the call cannot be made again
    /// from them.
    pub redacted: bool,
    /// The name of the scope that it came from.
    pub agent: Option<String>,
    /// The call that made it.
    pub parent: Option<u64>,
    /// Whether a body of it was entered.
    pub started: bool,
    /// Its first record, if a program made the call.
    pub dispatch: Option<DispatchStartRecord>,
}

/// What is open after a run of records.
///
/// ```
/// use toolfall::session::{CallRecord, Record, Unfinished};
///
/// let call = CallRecord { call: 7, name: "read".into(), ..CallRecord::default() };
/// let record = Record { seq: 1, at: None, body: call.into() };
/// let unfinished = Unfinished::of([&record]);
/// assert_eq!(unfinished.calls()[0].call, 7);
/// assert!(!unfinished.calls()[0].started);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Unfinished {
    calls: BTreeMap<u64, OpenCall>,
    /// Open questions, in the order in which they were asked.
    approvals: Vec<String>,
    /// What was recorded of each of them, in the same order.
    asked: Vec<AskedRecord>,
    next_seq: u64,
    next_call: u64,
}

impl Unfinished {
    /// What `records` leave open.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut unfinished = Self::default();
        for record in records {
            unfinished.observe(record);
        }
        unfinished
    }

    /// Takes the next record into account.
    pub fn observe(&mut self, record: &Record) {
        self.next_seq = self.next_seq.max(record.seq.saturating_add(1));
        match &record.body {
            Body::Call(call) => self.call(call.clone(), None),
            Body::DispatchStart(start) => self.call(start.as_call(), Some(start.clone())),
            Body::Dispatch(end) => {
                self.seen(end.call);
                self.calls.remove(&end.call);
            }
            Body::Started(started) => {
                self.seen(started.call);
                if let Some(call) = self.calls.get_mut(&started.call) {
                    call.started = true;
                }
            }
            Body::Result(result) => {
                self.seen(result.call);
                self.calls.remove(&result.call);
            }
            Body::Asked(asked) if !self.approvals.contains(&asked.id) => {
                self.approvals.push(asked.id.clone());
                self.asked.push(asked.clone());
            }
            Body::Decided(decided) => {
                self.approvals.retain(|id| *id != decided.id);
                self.asked.retain(|asked| asked.id != decided.id);
            }
            _ => {}
        }
    }

    fn call(&mut self, call: CallRecord, dispatch: Option<DispatchStartRecord>) {
        self.seen(call.call);
        self.calls.entry(call.call).or_insert_with(|| OpenCall {
            call: call.call,
            id: call.id,
            name: call.name,
            arguments: call.arguments,
            redacted: call.redacted,
            agent: call.agent,
            parent: call.parent,
            started: false,
            dispatch,
        });
    }

    /// Keeps new ordinals clear of every one that was ever cited.
    fn seen(&mut self, call: u64) {
        if call <= MAX_NUMBER {
            self.next_call = self.next_call.max(call + 1);
        }
    }

    /// The open calls, in the order of their ordinals.
    pub fn calls(&self) -> Vec<&OpenCall> {
        self.calls.values().collect()
    }

    /// The ids of the open questions, in the order in which they were asked.
    pub fn approvals(&self) -> &[String] {
        &self.approvals
    }

    /// The open questions that can be asked again in another process, in the
    /// order in which they were asked: those about a call that is open, and
    /// whose record has the digest of that call.
    pub fn questions(&self) -> Vec<SavedQuestion> {
        let asked = self.asked.iter();
        asked
            .filter_map(|asked| {
                let call = self.calls.get(&asked.call?)?;
                SavedQuestion::recorded(asked, call).filter(|_| !call.started)
            })
            .collect()
    }

    /// The `seq` of the next record.
    pub(super) fn next_seq(&self) -> u64 {
        self.next_seq.max(1)
    }

    /// The first ordinal that no call has.
    pub(super) fn next_call(&self) -> u64 {
        self.next_call.max(1)
    }

    /// The records that close everything: first the questions, then the calls,
    /// nested ones before those that made them, siblings in their order.
    pub fn closing(&self) -> Vec<Body> {
        let decided = self
            .approvals
            .iter()
            .map(|id| Body::Decided(DecidedRecord::new(id.clone(), ApprovalOutcome::Cancelled)));
        let mut calls: Vec<_> = self.calls.values().collect();
        let depths = self.depths();
        // The sort is stable: siblings keep their order.
        calls.sort_by_key(|call| std::cmp::Reverse(depths.get(&call.call).copied()));
        let results = calls.into_iter().map(|call| match &call.dispatch {
            None => Body::Result(interrupted(call)),
            Some(start) => Body::Dispatch(start.closed_by(interrupted(call))),
        });
        decided.chain(results).collect()
    }

    /// How many open calls each call is nested in.
    ///
    /// A parent has the smaller ordinal, so one pass in order suffices, and a
    /// forged cycle ends at the call that cites a later one.
    fn depths(&self) -> HashMap<u64, usize> {
        let mut depths = HashMap::new();
        for call in self.calls.values() {
            let parent = call.parent.and_then(|parent| depths.get(&parent));
            let depth = parent.map_or(0, |depth: &usize| depth + 1);
            depths.insert(call.call, depth);
        }
        depths
    }
}

/// The result of a call that the end of its process cut off.
fn interrupted(call: &OpenCall) -> ResultRecord {
    let (message, code, kind, effect) = if call.started {
        (
            "tool call was interrupted: the process ended while it ran; its effect is unknown",
            codes::INTERRUPTED,
            FailureKind::Interrupted,
            Effect::Unknown,
        )
    } else {
        (
            "tool call aborted before dispatch",
            codes::ABORTED_BEFORE_DISPATCH,
            FailureKind::Cancelled,
            Effect::NotStarted,
        )
    };
    ResultRecord {
        call: call.call,
        id: call.id.clone(),
        is_error: true,
        content: vec![ContentBlock::text(format!("Error: {message}"))],
        error: Some(ErrorRecord {
            message: message.to_owned(),
            name: Some("AbortError".to_owned()),
            code: Some(code.to_owned()),
        }),
        kind: Some(kind.as_str().to_owned()),
        effect: Some(effect.as_str().to_owned()),
        synthetic: true,
        interrupted: true,
        ..ResultRecord::default()
    }
}

/// What opening a log found and repaired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// How many records the log held.
    pub records: u64,
    /// The unfinished last line that was cut off, with all its bytes.
    ///
    /// No append of it ever succeeded: a torn `tool/call` never ran.
    pub torn: Option<Torn>,
    /// Whether the last record lacked only its line break, which was added.
    pub terminated: bool,
    /// The calls that got an interrupted result, in the order of their ordinals.
    pub interrupted: Vec<OpenCall>,
    /// The questions that were decided as cancelled.
    pub cancelled: Vec<String>,
    /// Those of them that can be answered now, for calls that are made again:
    /// see [`SavedAnswers`](crate::approval::SavedAnswers). No later opening
    /// finds them.
    pub questions: Vec<SavedQuestion>,
}

impl Recovery {
    /// Whether the log was as its last writer should have left it.
    pub fn is_clean(&self) -> bool {
        self.torn.is_none()
            && !self.terminated
            && self.interrupted.is_empty()
            && self.cancelled.is_empty()
    }
}
