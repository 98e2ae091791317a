//! Rules in their order.

use std::future::Ready;
use std::sync::Arc;

use globset::GlobMatcher;
use serde_json::Value;
use toolfall_layers::policy::{Answer, Asked, Policy};

use super::rule::{Rule, Verdict};
use super::test::{Compiled, Test, text_glob};
use crate::{BoxError, CallView, Decision};

/// The name that the default goes by, where a rule's name would stand.
const OTHERWISE: &str = "otherwise";

/// An ordered list of rules: the first that matches decides.
///
/// A policy for [`pre_decision`](crate::PipelineBuilder::pre_decision); it
/// answers at once. Cheap to clone. See the [module docs](super).
#[derive(Clone, Debug)]
pub struct RuleList {
    rules: Arc<[CompiledRule]>,
    otherwise: Verdict,
}

/// A rule whose globs are compiled.
#[derive(Debug)]
struct CompiledRule {
    name: String,
    verdict: Verdict,
    tools: Vec<GlobMatcher>,
    arguments: Vec<(String, Compiled)>,
    reason: Option<String>,
}

/// Why a rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// A rule without a name, which no record could cite.
    #[error("expected a name for rule {place}, found none")]
    NoName {
        /// The rule's place in the list, counted from 1.
        place: usize,
    },
    /// A second rule of the same name.
    #[error("expected rules with different names, found a second {rule:?}")]
    NameTaken {
        /// The name.
        rule: String,
    },
    /// A glob that is none.
    #[error("rule {rule:?}: expected a glob, found {glob:?}: {detail}")]
    Glob {
        /// The rule's name.
        rule: String,
        /// The glob.
        glob: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A pointer that is none.
    #[error(
        "rule {rule:?}: expected a JSON pointer, empty or beginning with \"/\", found {pointer:?}"
    )]
    Pointer {
        /// The rule's name.
        rule: String,
        /// The pointer.
        pointer: String,
    },
}

impl RuleList {
    /// The rules, in the order in which they are tried.
    ///
    /// # Errors
    ///
    /// [`RuleError`] for the first rule that cannot be used.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Result<Self, RuleError> {
        let mut compiled: Vec<CompiledRule> = Vec::new();
        for (index, rule) in rules.into_iter().enumerate() {
            if rule.name.trim().is_empty() {
                return Err(RuleError::NoName { place: index + 1 });
            }
            if compiled.iter().any(|earlier| earlier.name == rule.name) {
                return Err(RuleError::NameTaken { rule: rule.name });
            }
            compiled.push(compile(rule)?);
        }
        Ok(Self {
            rules: compiled.into(),
            otherwise: Verdict::Ask,
        })
    }

    /// What becomes of calls that no rule matches; [`Verdict::Ask`] unless
    /// said otherwise.
    pub fn otherwise(mut self, verdict: Verdict) -> Self {
        self.otherwise = verdict;
        self
    }

    /// The verdict on a call of `tool` with `arguments`, and the name of the
    /// rule that it comes from, if it is not the default.
    pub fn verdict(&self, tool: &str, arguments: &Value) -> (Verdict, Option<&str>) {
        match self.first(tool, Some(arguments)) {
            Some(rule) => (rule.verdict, Some(&rule.name)),
            None => (self.otherwise, None),
        }
    }

    /// What the list decides of `call`.
    pub fn decide(&self, call: &CallView) -> Decision {
        let tool = call.name();
        let arguments = call.arguments().map(crate::Arguments::value);
        let (verdict, name, reason) = match self.first(tool, arguments) {
            Some(rule) => (rule.verdict, rule.name.as_str(), rule.reason.clone()),
            None => (self.otherwise, OTHERWISE, None),
        };
        let reason = reason.unwrap_or_else(|| match (verdict, name) {
            (Verdict::Deny, OTHERWISE) => format!("no rule allows tool \"{tool}\""),
            (Verdict::Deny, name) => format!("tool \"{tool}\" is denied by rule \"{name}\""),
            (_, OTHERWISE) => format!("no rule covers tool \"{tool}\""),
            (_, name) => format!("rule \"{name}\" asks"),
        });
        let decision = match verdict {
            Verdict::Allow => Decision::Allow,
            Verdict::Ask => Decision::ask(reason),
            Verdict::Deny => Decision::deny(reason),
        };
        decision.by_rule(name.to_owned())
    }

    fn first(&self, tool: &str, arguments: Option<&Value>) -> Option<&CompiledRule> {
        self.rules.iter().find(|rule| rule.matches(tool, arguments))
    }
}

impl Policy<CallView, Decision> for RuleList {
    type Future = Ready<Result<Decision, BoxError>>;

    fn ask(&self, call: &CallView) -> Asked<Decision, Self::Future> {
        Answer::Now(Ok(self.decide(call)))
    }
}

impl CompiledRule {
    fn matches(&self, tool: &str, arguments: Option<&Value>) -> bool {
        let named = self.tools.is_empty() || self.tools.iter().any(|glob| glob.is_match(tool));
        named
            && self.arguments.iter().all(|(pointer, test)| {
                arguments
                    .and_then(|arguments| arguments.pointer(pointer))
                    .is_some_and(|value| test.holds(value))
            })
    }
}

fn compile(rule: Rule) -> Result<CompiledRule, RuleError> {
    let Rule {
        name,
        verdict,
        tools,
        arguments,
        reason,
    } = rule;
    let failed = |error: &globset::Error| RuleError::Glob {
        rule: name.clone(),
        glob: error.glob().unwrap_or_default().to_owned(),
        detail: error.kind().to_string(),
    };
    let tools = tools
        .iter()
        .map(|glob| text_glob(glob).map_err(|error| failed(&error)))
        .collect::<Result<Vec<_>, _>>()?;
    let arguments = arguments
        .into_iter()
        .map(|(pointer, test): (String, Test)| {
            if !pointer.is_empty() && !pointer.starts_with('/') {
                return Err(RuleError::Pointer {
                    rule: name.clone(),
                    pointer,
                });
            }
            let test = Compiled::new(test).map_err(|error| failed(&error))?;
            Ok((pointer, test))
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(CompiledRule {
        name,
        verdict,
        tools,
        arguments,
        reason,
    })
}
