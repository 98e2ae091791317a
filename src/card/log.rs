//! Cards of a log: each result with the arguments of its call.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use toolfall_layers::{Arguments, Scope};

use super::{CallCard, Presented, ResultCard};
use crate::Registry;
use crate::session::{Body, CallRecord, Record, ResultRecord};
use crate::tool::ToolEntry;

/// A card of either kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Card {
    /// Of a call.
    Call(CallCard),
    /// Of a result.
    Result(ResultCard),
}

/// Which record of a call a [`View`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// The call was made.
    Call,
    /// It has its result.
    Result,
}

/// What people may see of one record, beside the record itself, of which
/// nothing is copied. Without a card there is nothing to show but that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// The record's place in the log.
    pub seq: u64,
    /// The call's ordinal in the log.
    pub call: u64,
    /// Whether it is the call or its result.
    pub moment: Moment,
    /// The tool's name; unknown of a result whose call is not in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The card, if the tool makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
}

/// Makes cards of records, as they are written or as they are read again.
///
/// Results are paired with their calls by the ordinal of the log, since the
/// ids of models may repeat. Kept are the calls that have no result yet; so
/// it does not matter how long ago, or in which turn, a call was made.
#[derive(Debug)]
pub struct Projection {
    registry: Registry,
    scope: Option<Scope>,
    open: HashMap<u64, Open>,
}

struct Open {
    name: String,
    /// The tool as it was at the time of the call, and what it was given.
    presenting: Option<(Arc<ToolEntry>, Arguments)>,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Projection {
    /// Cards by the tools that a caller in `scope` sees in `registry`.
    pub fn new(registry: Registry, scope: Option<Scope>) -> Self {
        Self {
            registry,
            scope,
            open: HashMap::new(),
        }
    }

    /// What people may see of `record`; `None` if it is neither a call nor a
    /// result. Never fails: what cannot be presented has no card.
    pub fn observe(&mut self, record: &Record) -> Option<View> {
        let seq = record.seq;
        match &record.body {
            Body::Call(call) => Some(self.call(seq, call)),
            Body::Result(result) => Some(self.result(seq, result)),
            // Calls of programs look as they would without a program.
            Body::DispatchStart(start) => Some(self.call(seq, &start.as_call())),
            Body::Dispatch(end) => Some(self.result(seq, &end.as_result())),
            _ => None,
        }
    }

    fn call(&mut self, seq: u64, record: &CallRecord) -> View {
        let presenting = self.presenting(record);
        let card = presenting
            .as_ref()
            .and_then(|(tool, arguments)| tool.call_card(arguments));
        let open = Open {
            name: record.name.clone(),
            presenting,
        };
        self.open.insert(record.call, open);
        View {
            seq,
            call: record.call,
            moment: Moment::Call,
            tool: Some(record.name.clone()),
            card: card.map(Card::Call),
        }
    }

    fn presenting(&self, record: &CallRecord) -> Option<(Arc<ToolEntry>, Arguments)> {
        let tool = self.registry.find(&record.name, self.scope.as_ref())?;
        if !(tool.def.presents_calls() || tool.def.presents_results()) {
            return None;
        }
        let arguments = Arguments::from_text(record.arguments.clone()).ok()?;
        Some((tool, arguments))
    }

    fn result(&mut self, seq: u64, record: &ResultRecord) -> View {
        let open = self.open.remove(&record.call);
        let card = open
            .as_ref()
            .and_then(|open| open.presenting.as_ref())
            .and_then(|(tool, arguments)| {
                tool.result_card(arguments, &Presented::of_record(record))
            });
        View {
            seq,
            call: record.call,
            moment: Moment::Result,
            tool: open.map(|open| open.name),
            card: card.map(Card::Result),
        }
    }
}

/// The views of a log's calls and results, in the log's order; as
/// [`Projection`], for a log that is read already.
pub fn from_log<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    registry: &Registry,
    scope: Option<&Scope>,
) -> Vec<View> {
    let mut projection = Projection::new(registry.clone(), scope.cloned());
    let records = records.into_iter();
    records
        .filter_map(|record| projection.observe(record))
        .collect()
}
