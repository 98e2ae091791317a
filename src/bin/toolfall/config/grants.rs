//! `[[grants]]`: what a person allowed before the run, for more than one call.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toolfall::Arguments;
use toolfall::policy::grants::{self, MemoryGrants};
use toolfall::policy::{RuleError, Verdict, WrittenRule, WrittenRules, WrittenTest};

use super::{Config, Source};
use crate::error::{Error, chain};

/// An answer given in advance: where the rules ask about a call that it
/// covers, the call is allowed and nobody is asked. It never touches a denial.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Grant {
    /// Its name; no two grants share one.
    #[schemars(with = "String")]
    name: Spanned<String>,
    /// The tool's name, exactly. Alone, every call of it is covered.
    tool: String,
    /// Covers only calls with this argument text, byte for byte.
    #[schemars(with = "Option<String>")]
    arguments_json: Option<Spanned<String>>,
    /// Covers only calls whose arguments pass all of these tests.
    #[serde(default)]
    #[schemars(with = "Vec<WrittenTest>", extend("default" = []))]
    arguments: Vec<Spanned<WrittenTest>>,
    /// How long it holds from the start of the run, from 1 on; as long as the
    /// run without it.
    ttl_ms: Option<NonZeroU64>,
    /// How often it may be used, from 1 on; without limit without it.
    uses: Option<NonZeroU32>,
}

impl Config {
    /// The grants of the file; their time runs from now on.
    pub(crate) fn grants(&self) -> Result<MemoryGrants, Error> {
        let store = MemoryGrants::new();
        let Some(source) = &self.source else {
            return Ok(store);
        };
        for written in &self.written.grants {
            let mut grant = self.covering(source, written)?;
            if let Some(ttl) = written.ttl_ms {
                grant = grant.expires_after(Duration::from_millis(ttl.get()));
            }
            if let Some(uses) = written.uses {
                grant = grant.uses(uses);
            }
            store
                .add(grant)
                .map_err(|error| source.error(Some(written.name.span()), &chain(&error)))?;
        }
        Ok(store)
    }

    fn covering(&self, source: &Source, written: &Grant) -> Result<grants::Grant, Error> {
        let name = written.name.get_ref().clone();
        let tool = written.tool.clone();
        match (&written.arguments_json, written.arguments.as_slice()) {
            (None, []) => Ok(grants::Grant::tool(name, tool)),
            (Some(text), []) => {
                let arguments = Arguments::from_text(text.get_ref()).map_err(|error| {
                    let message = format!("expected arguments: {}", chain(&error));
                    source.error(Some(text.span()), &message)
                })?;
                Ok(grants::Grant::exact_call(name, tool, &arguments))
            }
            (Some(text), _) => Err(source.error(
                Some(text.span()),
                "expected `arguments_json` or `arguments`, found both",
            )),
            (None, tests) => {
                let rule = WrittenRule {
                    // Nobody reads it: records cite the grant.
                    name: "grant".to_owned(),
                    verdict: Verdict::Allow,
                    // A rule takes globs; the name of a grant's tool is none.
                    tools: vec![globset::escape(&tool)],
                    arguments: tests.iter().map(|test| test.get_ref().clone()).collect(),
                    because: None,
                };
                let rules = WrittenRules {
                    rules: vec![rule],
                    ..WrittenRules::default()
                };
                let rules = rules.relative_to(&self.own_folder()).compile();
                let rules = rules.map_err(|error| {
                    let test = failed(&error).and_then(|place| tests.get(place));
                    let at = test.map_or(written.name.span(), Spanned::span);
                    source.error(Some(at), &error.kind().to_string())
                })?;
                Ok(grants::Grant::matching(name, rules))
            }
        }
    }
}

/// The place among the tests of the one that cannot be used.
fn failed(error: &RuleError) -> Option<usize> {
    let (_, place) = error.pointer().split_once("/arguments/")?;
    place.split('/').next()?.parse().ok()
}
