//! Pairing itself, over a plain sequence.

use std::collections::HashMap;

use super::Finding;

/// One step of a conversation, as far as pairing is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry<'a> {
    /// A turn ends: results of calls before it are late after it.
    Turn,
    /// A call with its id, empty if it has none.
    Call(&'a str),
    /// A result with its call's id, empty if it has none.
    Result(&'a str),
}

struct Call<'a> {
    entry: usize,
    turn: usize,
    id: &'a str,
    /// The entry of its result.
    answer: Option<usize>,
    /// The result is in the call's own turn and behind it.
    in_turn: bool,
}

/// A result that is no call's own, in its place.
enum Stray {
    Duplicate,
    Orphan,
    OutOfOrder(usize),
}

pub(super) struct Pairs<'a> {
    calls: Vec<Call<'a>>,
    strays: Vec<(usize, Stray)>,
}

/// Where a result is to be added: behind the entry `after`, for `call`.
pub(super) struct Addition {
    pub(super) call: usize,
    pub(super) after: usize,
    /// The turn of the call: how many [`Entry::Turn`] are before it.
    pub(super) turn: usize,
}

pub(super) fn pair<'a>(entries: &[Entry<'a>]) -> Pairs<'a> {
    let mut calls: Vec<Call<'a>> = Vec::new();
    let mut strays = Vec::new();
    // The unanswered calls of each id, in order; an id once called stays.
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut early = Vec::new();
    let mut turn = 0;
    // The latest call of this turn that has its result.
    let mut latest = None;
    for (entry, step) in entries.iter().enumerate() {
        match *step {
            Entry::Turn => {
                turn += 1;
                latest = None;
            }
            Entry::Call(id) => {
                open.entry(id).or_default().push(calls.len());
                calls.push(Call {
                    entry,
                    turn,
                    id,
                    answer: None,
                    in_turn: false,
                });
            }
            Entry::Result(id) => {
                let Some(waiting) = open.get_mut(id) else {
                    early.push((entry, id));
                    continue;
                };
                let own = waiting.partition_point(|&call| calls[call].turn < turn);
                if own < waiting.len() {
                    let call = waiting.remove(own);
                    calls[call].answer = Some(entry);
                    calls[call].in_turn = true;
                    if latest > Some(call) {
                        strays.push((entry, Stray::OutOfOrder(call)));
                    }
                    latest = latest.max(Some(call));
                } else if let Some(call) = waiting.pop() {
                    calls[call].answer = Some(entry);
                    strays.push((entry, Stray::OutOfOrder(call)));
                } else {
                    strays.push((entry, Stray::Duplicate));
                }
            }
        }
    }
    for (entry, id) in early {
        let waiting = open.get_mut(id).filter(|waiting| !waiting.is_empty());
        strays.push((
            entry,
            match waiting {
                Some(waiting) => {
                    let call = waiting.remove(0);
                    calls[call].answer = Some(entry);
                    Stray::OutOfOrder(call)
                }
                None => Stray::Orphan,
            },
        ));
    }
    Pairs { calls, strays }
}

impl Pairs<'_> {
    /// The results to add, in the calls' order. Each goes behind its call and
    /// behind every result of an earlier call of the turn, so that it cannot
    /// be taken for the result of an earlier call with the same id.
    pub(super) fn additions(&self) -> Vec<Addition> {
        let mut additions = Vec::new();
        let mut behind = (0, 0);
        for call in &self.calls {
            if behind.0 != call.turn {
                behind = (call.turn, 0);
            }
            match call.answer {
                Some(answer) if call.in_turn => behind.1 = behind.1.max(answer),
                Some(_) => {}
                None => additions.push(Addition {
                    call: call.entry,
                    after: behind.1.max(call.entry),
                    turn: call.turn,
                }),
            }
        }
        additions
    }
}

pub(super) fn findings(entries: &[Entry<'_>], pointer: impl Fn(usize) -> String) -> Vec<Finding> {
    let pairs = pair(entries);
    let missing = pairs
        .calls
        .iter()
        .filter(|call| call.answer.is_none())
        .map(|call| {
            let id = call.id.to_owned();
            (
                call.entry,
                Finding::MissingResult {
                    id,
                    call: pointer(call.entry),
                },
            )
        });
    let strays = pairs.strays.iter().map(|(entry, stray)| {
        let id = match entries[*entry] {
            Entry::Result(id) => id.to_owned(),
            _ => String::new(),
        };
        let result = pointer(*entry);
        (
            *entry,
            match stray {
                Stray::Duplicate => Finding::DuplicateResult { id, result },
                Stray::Orphan => Finding::OrphanResult { id, result },
                Stray::OutOfOrder(call) => {
                    let call = pointer(pairs.calls[*call].entry);
                    Finding::OutOfOrder { id, result, call }
                }
            },
        )
    });
    let mut found: Vec<_> = missing.chain(strays).collect();
    found.sort_by_key(|(entry, _)| *entry);
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// The log with a result for each call that has none, and nothing else
/// changed.
///
/// ```
/// use toolfall::pairing::{Entry, repair_log};
///
/// let log = [Entry::Call("a"), Entry::Call("b"), Entry::Result("a"), Entry::Turn];
/// assert_eq!(
///     repair_log(&log),
///     [
///         Entry::Call("a"),
///         Entry::Call("b"),
///         Entry::Result("a"),
///         Entry::Result("b"),
///         Entry::Turn,
///     ],
/// );
/// ```
pub fn repair_log<'a>(entries: &[Entry<'a>]) -> Vec<Entry<'a>> {
    let pairs = pair(entries);
    let mut additions = pairs.additions();
    // Stable, so that those behind one entry stay in the calls' order.
    additions.sort_by_key(|addition| addition.after);
    let mut additions = additions.into_iter().peekable();
    let mut whole = Vec::with_capacity(entries.len() + additions.len());
    for (entry, step) in entries.iter().enumerate() {
        whole.push(*step);
        while let Some(addition) = additions.next_if(|addition| addition.after == entry) {
            if let Entry::Call(id) = entries[addition.call] {
                whole.push(Entry::Result(id));
            }
        }
    }
    whole
}
