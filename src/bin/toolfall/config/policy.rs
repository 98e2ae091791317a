//! `[policy]`: ordered rules.

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toolfall::policy::{Rule, RuleList, Test, Verdict};

use super::Config;
use crate::error::{Error, chain};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    #[serde(default)]
    otherwise: Word,
    #[serde(default)]
    rules: Vec<Written>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Allow,
    #[default]
    Ask,
    Deny,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    verdict: Word,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    arguments: Vec<Spanned<Place>>,
    because: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    at: String,
    equals: Option<Value>,
    glob: Option<String>,
    path: Option<String>,
    present: Option<bool>,
}

impl From<Word> for Verdict {
    fn from(word: Word) -> Self {
        match word {
            Word::Allow => Self::Allow,
            Word::Ask => Self::Ask,
            Word::Deny => Self::Deny,
        }
    }
}

/// Without a `[policy]`, tools that only read the workspace or a record may
/// run, and a person is asked about the rest.
pub(crate) fn default_rules(replay: bool) -> Result<RuleList, Error> {
    let rule = Rule::allow("reading the workspace").tool("{read_file,list_dir,glob,grep}");
    let rules = RuleList::new([rule]).map_err(|error| Error::own("the default rules", &error))?;
    Ok(if replay {
        rules.otherwise(Verdict::Allow)
    } else {
        rules
    })
}

impl Config {
    /// The rules that the file sets.
    pub(crate) fn rules(&self) -> Result<Option<RuleList>, Error> {
        let (Some(source), Some(policy)) = (&self.source, &self.written.policy) else {
            return Ok(None);
        };
        let mut rules = Vec::new();
        for written in &policy.rules {
            let mut rule = Rule::new(written.name.get_ref().clone(), written.verdict.into());
            for tool in &written.tools {
                rule = rule.tool(tool.clone());
            }
            for place in &written.arguments {
                let test = place
                    .get_ref()
                    .test()
                    .map_err(|message| source.error(Some(place.span()), message))?;
                rule = rule.argument(place.get_ref().at.clone(), test);
            }
            if let Some(reason) = &written.because {
                rule = rule.because(reason.clone());
            }
            rules.push(rule);
            // Compiled one by one, so that the error can name the place.
            RuleList::new(rules.iter().cloned())
                .map_err(|error| source.error(Some(written.name.span()), &chain(&error)))?;
        }
        let list = RuleList::new(rules).map_err(|error| source.error(None, &chain(&error)))?;
        Ok(Some(list.otherwise(policy.otherwise.into())))
    }
}

impl Place {
    fn test(&self) -> Result<Test, &'static str> {
        match (&self.equals, &self.glob, &self.path, self.present) {
            (Some(value), None, None, None) => Ok(Test::equals(value.clone())),
            (None, Some(glob), None, None) => Ok(Test::glob(glob.clone())),
            (None, None, Some(path), None) => Ok(Test::path(path.clone())),
            (None, None, None, Some(true)) => Ok(Test::present()),
            (None, None, None, Some(false)) => {
                Err("expected `present = true`; put a rule for the other case before this one")
            }
            _ => Err("expected one of `equals`, `glob`, `path` and `present = true`"),
        }
    }
}
