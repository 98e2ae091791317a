//! Whether records of hooks can be true.

use std::collections::HashMap;

use serde_json::Value;

/// So many invocations may wait for their results in one turn.
const MOST: usize = 4_096;

/// Checks the records of hooks in a log, one after another, as they are
/// appended or read again.
///
/// It knows `turn/start` and `turn/end`, which carry a `turn`, and the
/// records that a [`HookRecord`](super::HookRecord) is written as; every
/// other record is left alone. One that starts late is given the earlier
/// records first.
///
/// ```
/// use serde_json::json;
/// use toolfall::hooks::HookLedger;
///
/// let mut ledger = HookLedger::new();
/// let invoked = json!({"type": "hook/invoked", "turn": 1, "point": "Stop",
///     "dialect": "codex", "handlerId": "tidy"});
/// let error = ledger.append(&invoked).unwrap_err();
/// assert!(error.to_string().contains("outside any open turn"));
///
/// ledger.append(&json!({"type": "turn/start", "turn": 1})).unwrap();
/// ledger.append(&invoked).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct HookLedger {
    open: Option<u64>,
    /// Invocations without a result, by point, dialect and handler.
    pending: HashMap<[String; 3], usize>,
}

/// A record that cannot be true.
#[derive(Debug, thiserror::Error)]
#[error("{kind}: {what}")]
#[non_exhaustive]
pub struct HookLedgerError {
    /// The record's type.
    pub kind: String,
    what: String,
}

impl HookLedger {
    /// A ledger in which nothing is open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next record in.
    ///
    /// # Errors
    ///
    /// What is wrong with it; the record is not taken in then.
    pub fn append(&mut self, record: &Value) -> Result<(), HookLedgerError> {
        let Some(kind) = record.get("type").and_then(Value::as_str) else {
            return Ok(());
        };
        let taken = match kind {
            "turn/start" => turn(record).map(|turn| {
                self.open = Some(turn);
                self.pending.clear();
            }),
            "turn/end" => {
                self.open = None;
                self.pending.clear();
                Ok(())
            }
            "hook/invoked" => self.begin(record),
            "hook/result" => self.end(record),
            _ => Ok(()),
        };
        taken.map_err(|what| HookLedgerError {
            kind: kind.to_owned(),
            what,
        })
    }

    /// How many invocations have no result yet.
    pub fn pending(&self) -> usize {
        self.pending.values().sum()
    }

    fn begin(&mut self, record: &Value) -> Result<(), String> {
        let key = self.key(record)?;
        if self.pending() >= MOST {
            return Err(format!("expected at most {MOST} hooks without a result"));
        }
        *self.pending.entry(key).or_default() += 1;
        Ok(())
    }

    fn end(&mut self, record: &Value) -> Result<(), String> {
        let key = self.key(record)?;
        let duration = record.get("durationMs").and_then(Value::as_f64);
        if !duration.is_some_and(|duration| duration.is_finite() && duration >= 0.0) {
            return Err("durationMs must be a non-negative finite number".to_owned());
        }
        let Some(count) = self.pending.get_mut(&key) else {
            let [point, _, handler] = &key;
            return Err(format!(
                "no matching hook/invoked for {handler:?} at {point:?}"
            ));
        };
        *count -= 1;
        if *count == 0 {
            self.pending.remove(&key);
        }
        Ok(())
    }

    fn key(&self, record: &Value) -> Result<[String; 3], String> {
        let turn = turn(record)?;
        match self.open {
            None => return Err(format!("turn {turn} is outside any open turn")),
            Some(open) if open != turn => {
                return Err(format!("it names turn {turn}, but open turn is {open}"));
            }
            Some(_) => {}
        }
        let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default();
        let key = [text("point"), text("dialect"), text("handlerId")];
        if key[0].is_empty() || key[2].is_empty() {
            return Err("point and handlerId must be non-empty".to_owned());
        }
        if !matches!(key[1], "claude-code" | "codex") {
            return Err(format!("unknown dialect {:?}", key[1]));
        }
        Ok(key.map(str::to_owned))
    }
}

fn turn(record: &Value) -> Result<u64, String> {
    record
        .get("turn")
        .and_then(Value::as_u64)
        .ok_or_else(|| "expected a turn that is a whole number, found none".to_owned())
}
