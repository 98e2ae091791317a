//! Batches in the neutral form.
//!
//! ```json
//! {"id": "greet", "agent": "host", "tools": [{"name": "hello", "description": "", "parameters": {}}],
//!  "calls": [{"call_id": "1", "name": "hello", "arguments_json": "{\"to\": \"you\"}"}]}
//! ```
//!
//! Members that are not named here are ignored: a recording may say more.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use toolfall::replay::Answer;

use super::answers::present;
use super::{Apart, Batch, Call, RowTool, Toolsets};

#[derive(Debug, Deserialize)]
pub(super) struct Row {
    id: Option<String>,
    agent: Option<String>,
    tools: Option<Vec<RowTool>>,
    toolset: Option<String>,
    toolsets: Option<Vec<String>>,
    #[serde(default)]
    hidden_tools: Vec<String>,
    #[serde(default)]
    tools_that_appear_at_turn: BTreeMap<String, Vec<String>>,
    /// Why the reply was cut off, if it was.
    incomplete: Option<String>,
    calls: Vec<RowCall>,
}

#[derive(Debug, Deserialize)]
struct RowCall {
    call_id: Option<String>,
    name: String,
    /// The arguments' text, exactly as sent.
    arguments_json: Option<String>,
    /// The arguments as a value, for batches written by hand.
    #[serde(default, deserialize_with = "present")]
    arguments: Option<Value>,
    turn: Option<u64>,
    #[serde(default)]
    free_text: bool,
    /// What the provider called it, if that ran it itself.
    block: Option<String>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<String>,
}

impl Row {
    /// One batch for each turn; calls without a turn are of the first.
    pub(super) fn batches<'a>(
        self,
        label: &str,
        toolsets: impl FnOnce() -> Result<&'a Toolsets, String>,
    ) -> Result<Vec<Batch>, String> {
        let label = self.id.clone().unwrap_or_else(|| label.to_owned());
        let tools = self.offered(toolsets)?;
        let turned = self.calls.iter().any(|call| call.turn.is_some());
        let mut turns: BTreeMap<u64, Batch> = BTreeMap::new();
        if self.calls.is_empty() {
            turns.entry(0).or_default();
        }
        for (place, call) in self.calls.into_iter().enumerate() {
            let batch = turns.entry(call.turn.unwrap_or(0)).or_default();
            if let Some(kind) = call.block {
                batch.apart.push(Apart {
                    kind,
                    id: call.call_id,
                    name: Some(call.name),
                });
                continue;
            }
            let call = call
                .into_call()
                .map_err(|message| format!("/calls/{place}: {message}"))?;
            batch.calls.push(call);
        }
        let mut appear: Vec<(u64, &String)> = Vec::new();
        for (turn, names) in &self.tools_that_appear_at_turn {
            let turn = turn.parse().map_err(|_| {
                format!("/tools_that_appear_at_turn: expected a turn's number, found {turn:?}")
            })?;
            appear.extend(names.iter().map(|name| (turn, name)));
        }
        let offered = |tool: &RowTool, now: u64| {
            !self.hidden_tools.contains(&tool.name)
                && appear
                    .iter()
                    .all(|(turn, name)| **name != tool.name || *turn <= now)
        };
        Ok(turns
            .into_iter()
            .map(|(turn, mut batch)| {
                batch.label.clone_from(&label);
                batch.agent.clone_from(&self.agent);
                batch.turn = turned.then_some(turn);
                batch.incomplete.clone_from(&self.incomplete);
                batch.tools = tools
                    .iter()
                    .filter(|tool| offered(tool, turn))
                    .cloned()
                    .collect();
                batch
            })
            .collect())
    }

    fn offered<'a>(
        &self,
        toolsets: impl FnOnce() -> Result<&'a Toolsets, String>,
    ) -> Result<Vec<RowTool>, String> {
        let mut tools = self.tools.clone().unwrap_or_default();
        let named: Vec<&String> = self
            .toolset
            .iter()
            .chain(self.toolsets.iter().flatten())
            .collect();
        if named.is_empty() {
            return Ok(tools);
        }
        let toolsets = toolsets()?;
        for name in named {
            let Some(set) = toolsets.get(name) else {
                let mut known: Vec<&str> = toolsets.keys().map(String::as_str).collect();
                known.sort_unstable();
                return Err(format!(
                    "/toolsets: expected one of {}, found {name:?}",
                    known.join(", ")
                ));
            };
            tools.extend(set.iter().cloned());
        }
        Ok(tools)
    }
}

impl RowCall {
    fn into_call(self) -> Result<Call, String> {
        let arguments = match (self.arguments_json, self.arguments) {
            (Some(_), Some(_)) => {
                return Err("expected `arguments_json` or `arguments`, found both".to_owned());
            }
            (Some(text), None) => text,
            // The row was checked: this value says what the row said.
            (None, Some(value)) => value.to_string(),
            (None, None) => String::new(),
        };
        let recorded = match (self.result, self.error) {
            (Some(_), Some(_)) => {
                return Err("expected `result` or `error`, found both".to_owned());
            }
            (Some(value), None) => Some(Answer::success(value)),
            (None, Some(message)) => Some(Answer::failure(message)),
            (None, None) => None,
        };
        Ok(Call {
            recorded: recorded.map(|answer| {
                let answer = answer.to_arguments(arguments.clone());
                answer.to_id(self.call_id.clone().unwrap_or_default())
            }),
            id: self.call_id,
            name: self.name,
            arguments,
            free_text: self.free_text,
        })
    }
}
