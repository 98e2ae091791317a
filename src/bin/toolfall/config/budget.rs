//! `[budget]`: what a run may spend.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;
use toolfall::policy::budget::{Budgets, Limits};

use super::Config;

/// How many calls one run of the program may make, and how many may fail in a
/// row. A call past a budget is answered with `BUDGET_EXCEEDED`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Budget {
    /// The most calls in a run, from 1 on; no limit without it.
    calls: Option<NonZeroU32>,
    /// The most calls of each tool that has no limit of its own; no limit
    /// without it.
    each_tool: Option<u32>,
    /// Tools with a limit of their own, by name; 0 admits no call.
    #[serde(default)]
    tools: BTreeMap<String, u32>,
    /// After so many failures in a row no further call is admitted, from 1
    /// on; no limit without it.
    consecutive_failures: Option<NonZeroU32>,
    /// After so many calls in a row of tools that do not exist no further
    /// call is admitted, from 1 on; no limit without it.
    consecutive_unknown_names: Option<NonZeroU32>,
    /// Whether the run ends with the batch in which a budget is exceeded,
    /// with exit status 3. Otherwise the batches that follow are answered.
    #[serde(default)]
    ends_run: bool,
}

impl Config {
    /// The budgets, without any limits if the file sets none, and whether
    /// exceeding one ends the run.
    pub(crate) fn budgets(&self) -> (Budgets, bool) {
        let Some(budget) = &self.written.budget else {
            return (Budgets::common(Limits::new()), false);
        };
        let mut limits = Limits::new();
        if let Some(most) = budget.calls {
            limits = limits.calls(most.get());
        }
        if let Some(most) = budget.each_tool {
            limits = limits.each_tool(most);
        }
        for (name, most) in &budget.tools {
            limits = limits.tool(name.clone(), *most);
        }
        if let Some(most) = budget.consecutive_failures {
            limits = limits.consecutive_failures(most.get());
        }
        if let Some(most) = budget.consecutive_unknown_names {
            limits = limits.consecutive_unknown_names(most.get());
        }
        (Budgets::common(limits), budget.ends_run)
    }
}
