//! `[[grants]]`: what a person allowed before the run, for more than one call.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toolfall::Arguments;
use toolfall::policy::grants::{self, MemoryGrants};
use toolfall::policy::{Rule, RuleList, Test};

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
    #[schemars(with = "Vec<Place>", extend("default" = []))]
    arguments: Vec<Spanned<Place>>,
    /// How long it holds from the start of the run, from 1 on; as long as the
    /// run without it.
    ttl_ms: Option<NonZeroU64>,
    /// How often it may be used, from 1 on; without limit without it.
    uses: Option<NonZeroU32>,
}

/// A test of a place in the arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["equals"]}, {"required": ["glob"]}, {"required": ["path"]},
    {"required": ["present"]},
]))]
struct Place {
    /// The place, a JSON pointer; `""` is the arguments themselves.
    at: String,
    /// Holds if the value there is this one, however it is written.
    equals: Option<Value>,
    /// Holds if the value there is a string that the glob matches.
    glob: Option<String>,
    /// Holds if the value there is a string that, read as a path, matches.
    path: Option<String>,
    /// Holds if there is a value; only `true` has a meaning.
    #[schemars(with = "Option<bool>", extend("const" = true))]
    present: Option<bool>,
}

impl Config {
    /// The grants of the file; their time runs from now on.
    pub(crate) fn grants(&self) -> Result<MemoryGrants, Error> {
        let store = MemoryGrants::new();
        let Some(source) = &self.source else {
            return Ok(store);
        };
        for written in &self.written.grants {
            let mut grant = written.covering(source)?;
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
}

impl Grant {
    fn covering(&self, source: &Source) -> Result<grants::Grant, Error> {
        let name = self.name.get_ref().clone();
        let tool = self.tool.clone();
        match (&self.arguments_json, self.arguments.as_slice()) {
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
            (None, places) => {
                // A rule takes globs; the name of a grant's tool is none.
                let mut rule = Rule::allow(name.clone()).tool(globset::escape(&tool));
                for place in places {
                    let test = place
                        .get_ref()
                        .test()
                        .map_err(|message| source.error(Some(place.span()), message))?;
                    rule = rule.argument(place.get_ref().at.clone(), test);
                }
                let rules = RuleList::new([rule])
                    .map_err(|error| source.error(Some(self.name.span()), &chain(&error)))?;
                Ok(grants::Grant::matching(name, rules))
            }
        }
    }
}

impl Place {
    fn test(&self) -> Result<Test, &'static str> {
        match (&self.equals, &self.glob, &self.path, self.present) {
            (Some(value), None, None, None) => Ok(Test::equals(value.clone())),
            (None, Some(glob), None, None) => Ok(Test::glob(glob.clone())),
            (None, None, Some(path), None) => Ok(Test::path(path.clone())),
            (None, None, None, Some(true)) => Ok(Test::present()),
            _ => Err("expected one of `equals`, `glob`, `path` and `present = true`"),
        }
    }
}
