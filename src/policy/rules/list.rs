//! Rules, of which the strictest that matches decides.

use std::future::Ready;
use std::sync::Arc;

use globset::GlobMatcher;
use serde_json::Value;
use toolfall_layers::policy::{Answer, Asked, Policy};

use super::compiled::Compiled;
use super::error::{RuleError, RuleErrorKind};
use super::glob;
use super::holds::Holds;
use super::place::Place;
use super::rule::{Rule, Verdict};
use crate::{BoxError, CallView, Decision};

/// The name that the default goes by, where a rule's name would stand.
const OTHERWISE: &str = "otherwise";

/// A list of rules: the strictest that matches decides.
///
/// A policy for [`pre_decision`](crate::PipelineBuilder::pre_decision); it
/// answers at once. Cheap to clone. See the [module docs](super).
#[derive(Clone, Debug)]
pub struct RuleList {
    rules: Arc<[CompiledRule]>,
    otherwise: Verdict,
}

/// The rules that allowed a call, among its extensions.
///
/// An allow has no place for a rule's name, so the name travels with the
/// call, for observers, recorders and guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedBy {
    names: Vec<String>,
}

/// A rule whose globs are compiled.
#[derive(Debug)]
struct CompiledRule {
    name: String,
    verdict: Verdict,
    tools: Vec<GlobMatcher>,
    arguments: Vec<(Place, Compiled)>,
    reason: Option<String>,
}

impl AllowedBy {
    /// Their names, one for each [`RuleList`] that allowed the call, in the
    /// order in which they were asked; `otherwise` for a default.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl RuleList {
    /// The rules. Their order only says which of several that are equally
    /// strict is cited: the first.
    ///
    /// # Errors
    ///
    /// [`RuleError`] for the first rule that cannot be used.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Result<Self, RuleError> {
        let mut compiled: Vec<CompiledRule> = Vec::new();
        for (index, rule) in rules.into_iter().enumerate() {
            let name = rule.name.clone();
            let failed = |(place, kind): (String, RuleErrorKind)| RuleError {
                rule: (!name.trim().is_empty()).then(|| name.clone()),
                pointer: format!("/rules/{index}{place}"),
                kind,
            };
            let taken = name == OTHERWISE || compiled.iter().any(|rule| rule.name == name);
            let wrong = if name.trim().is_empty() {
                Some(RuleErrorKind::NoName { place: index + 1 })
            } else {
                taken.then(|| RuleErrorKind::NameTaken { name: name.clone() })
            };
            if let Some(kind) = wrong {
                return Err(failed(("/name".to_owned(), kind)));
            }
            compiled.push(compile(rule).map_err(failed)?);
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
        match self.strictest(tool, Some(arguments)) {
            Some((rule, _)) => (rule.verdict, Some(&rule.name)),
            None => (self.otherwise, None),
        }
    }

    /// What the list decides of `call`.
    ///
    /// An allow is noted among the call's extensions, as [`AllowedBy`].
    /// Arguments that are no JSON pass no test for an allow, and every test
    /// for an ask or a deny.
    pub fn decide(&self, call: &CallView) -> Decision {
        let tool = call.name();
        let arguments = call.arguments();
        let arguments = arguments.filter(|arguments| arguments.malformed().is_none());
        let found = self.strictest(tool, arguments.map(crate::Arguments::value));
        let Some((rule, holds)) = found else {
            return match self.otherwise {
                Verdict::Allow => allow(call, OTHERWISE),
                Verdict::Ask => Decision::ask(format!("no rule covers tool \"{tool}\"")),
                Verdict::Deny => Decision::deny(format!("no rule allows tool \"{tool}\"")),
            }
            .by_rule(OTHERWISE);
        };
        let name = &rule.name;
        let reason = || {
            rule.reason.clone().unwrap_or_else(|| match (rule.verdict, holds) {
                (Verdict::Deny, Holds::Unknown) => format!(
                    "tool \"{tool}\" is denied by rule \"{name}\": it cannot be told whether these arguments are among those that it is about"
                ),
                (Verdict::Deny, _) => format!("tool \"{tool}\" is denied by rule \"{name}\""),
                (_, Holds::Unknown) => format!(
                    "rule \"{name}\" asks: it cannot be told whether these arguments are among those that it is about"
                ),
                _ => format!("rule \"{name}\" asks"),
            })
        };
        match rule.verdict {
            Verdict::Allow => allow(call, name),
            Verdict::Ask => Decision::ask(reason()),
            Verdict::Deny => Decision::deny(reason()),
        }
        .by_rule(name.clone())
    }

    /// The strictest rule that matches, of several the first.
    fn strictest(&self, tool: &str, arguments: Option<&Value>) -> Option<(&CompiledRule, Holds)> {
        let mut found: Option<(&CompiledRule, Holds)> = None;
        for rule in &*self.rules {
            if found.is_some_and(|(found, _)| found.verdict >= rule.verdict) {
                continue;
            }
            let holds = rule.holds(tool, arguments);
            let matches = match rule.verdict {
                Verdict::Allow => holds == Holds::Yes,
                Verdict::Ask | Verdict::Deny => holds != Holds::No,
            };
            if matches {
                found = Some((rule, holds));
            }
        }
        found
    }
}

impl Policy<CallView, Decision> for RuleList {
    type Future = Ready<Result<Decision, BoxError>>;

    fn ask(&self, call: &CallView) -> Asked<Decision, Self::Future> {
        Answer::Now(Ok(self.decide(call)))
    }
}

impl CompiledRule {
    fn holds(&self, tool: &str, arguments: Option<&Value>) -> Holds {
        let named = self.tools.is_empty() || self.tools.iter().any(|glob| glob.is_match(tool));
        if !named {
            return Holds::No;
        }
        let Some(arguments) = arguments else {
            return if self.arguments.is_empty() {
                Holds::Yes
            } else {
                Holds::Unknown
            };
        };
        let mut holds = Holds::Yes;
        for (place, test) in &self.arguments {
            holds = holds.and(place.test(arguments, |value| test.holds(value)));
            if holds == Holds::No {
                break;
            }
        }
        holds
    }
}

/// An allow of `call` that says which rule it comes from.
fn allow(call: &CallView, rule: &str) -> Decision {
    let extensions = call.extensions();
    let before = extensions.get::<AllowedBy>();
    let mut names = before.map_or_else(Vec::new, |before| before.names.clone());
    names.push(rule.to_owned());
    extensions.insert(AllowedBy { names });
    Decision::Allow
}

fn compile(rule: Rule) -> Result<CompiledRule, (String, RuleErrorKind)> {
    let mut tools = Vec::with_capacity(rule.tools.len());
    for (index, glob) in rule.tools.iter().enumerate() {
        let glob = glob::matcher(glob, false, false);
        tools.push(glob.map_err(|error| (format!("/tools/{index}"), error.into()))?);
    }
    let mut arguments = Vec::with_capacity(rule.arguments.len());
    for (index, (pointer, test)) in rule.arguments.into_iter().enumerate() {
        let Some(place) = Place::new(&pointer) else {
            let at = format!("/arguments/{index}/at");
            return Err((at, RuleErrorKind::Pointer { pointer }));
        };
        let test = Compiled::new(test).map_err(|kind| (format!("/arguments/{index}"), kind))?;
        arguments.push((place, test));
    }
    Ok(CompiledRule {
        name: rule.name,
        verdict: rule.verdict,
        tools,
        arguments,
        reason: rule.reason,
    })
}
