//! `[redaction]`: what people, the log and the model do not get to see.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toolfall::redaction::{SecretPlaces, SecretShapes};
use toolfall::{Registry, ToolDef};

use super::Config;
use crate::error::{Error, chain};

/// What people who are asked, the session log and the model do not get to see.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Redaction {
    /// Whether well-known secrets are masked wherever they stand: keys and
    /// tokens of providers, private keys, credentials in headers, addresses
    /// and assignments.
    #[serde(default = "yes")]
    known_secrets: bool,
    /// Whether the model reads the masks of well-known secrets and of patterns
    /// in results, too. Otherwise only people and the log do.
    #[serde(default = "yes")]
    mask_results: bool,
    /// Where the secrets of a tool are.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    tool: Vec<Places>,
    /// What other secrets look like.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    pattern: Vec<Pattern>,
}

const fn yes() -> bool {
    true
}

/// Where the secrets of a tool are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Places {
    /// The tool's name.
    #[schemars(with = "String")]
    tool: Spanned<String>,
    /// Where in the arguments: JSON pointers, in which a segment `*` stands for
    /// every member and every item.
    #[serde(default)]
    #[schemars(with = "Vec<String>", extend("default" = []))]
    arguments: Vec<Spanned<String>>,
    /// Where in the result's value; as `arguments`. The model sees them.
    #[serde(default)]
    #[schemars(with = "Vec<String>", extend("default" = []))]
    results: Vec<Spanned<String>>,
}

/// What a secret looks like.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pattern {
    /// What the mask says: `[redacted: NAME]`, of lower-case letters, digits,
    /// `-` and `_`.
    #[schemars(
        with = "String",
        length(min = 1, max = 64),
        regex(pattern = "^[a-z0-9_-]+$")
    )]
    name: Spanned<String>,
    /// A regular expression; if it has a group `secret`, that is masked.
    #[schemars(with = "String")]
    regex: Spanned<String>,
}

/// Where the secrets of some tools are, as it is written.
#[derive(Clone, Debug)]
pub(super) struct Secrets(Vec<Hidden>);

#[derive(Clone, Debug)]
struct Hidden {
    tool: String,
    arguments: Vec<String>,
    results: Vec<String>,
}

impl Secrets {
    /// The tool, with its secrets.
    pub(super) fn applied(&self, mut tool: ToolDef) -> ToolDef {
        for hidden in &self.0 {
            if hidden.tool == tool.name() {
                tool = tool
                    .secret_arguments(hidden.arguments.clone())
                    .secret_results(hidden.results.clone());
            }
        }
        tool
    }
}

impl Config {
    /// What is masked by what it looks like; none if nothing is.
    pub(crate) fn shapes(&self) -> Result<Option<SecretShapes>, Error> {
        let (Some(source), Some(written)) = (&self.source, &self.written.redaction) else {
            return Ok(Some(SecretShapes::known()));
        };
        let mut shapes = if written.known_secrets {
            SecretShapes::known()
        } else {
            SecretShapes::none()
        };
        for Pattern { name, regex } in &written.pattern {
            let with = shapes.pattern(name.get_ref(), regex.get_ref());
            shapes = with.map_err(|error| {
                let at = match error {
                    toolfall::redaction::ShapeError::Name { .. } => name.span(),
                    _ => regex.span(),
                };
                source.error(Some(at), &chain(&error))
            })?;
        }
        Ok((written.known_secrets || !written.pattern.is_empty()).then_some(shapes))
    }

    /// Whether the model reads masks in results, too.
    pub(crate) fn mask_results(&self) -> bool {
        let written = self.written.redaction.as_ref();
        written.is_none_or(|written| written.mask_results)
    }

    /// The tool, with the secrets that the file says it has.
    pub(crate) fn with_secrets(&self, tool: ToolDef) -> ToolDef {
        self.secrets(|_| true).applied(tool)
    }

    /// Where the secrets are of the tools whose names `wanted` takes.
    pub(super) fn secrets(&self, wanted: impl Fn(&str) -> bool) -> Secrets {
        let texts = |pointers: &[Spanned<String>]| -> Vec<String> {
            pointers.iter().map(|it| it.get_ref().clone()).collect()
        };
        let written = self.written.redaction.iter();
        let places = written.flat_map(|written| &written.tool);
        let places = places.filter(|places| wanted(places.tool.get_ref()));
        let places = places.map(|places| Hidden {
            tool: places.tool.get_ref().clone(),
            arguments: texts(&places.arguments),
            results: texts(&places.results),
        });
        Secrets(places.collect())
    }

    /// Refuses what is no pointer.
    pub(super) fn check_pointers(&self) -> Result<(), Error> {
        let (Some(source), Some(written)) = (&self.source, &self.written.redaction) else {
            return Ok(());
        };
        for places in &written.tool {
            for pointer in places.arguments.iter().chain(&places.results) {
                SecretPlaces::new([pointer.get_ref().as_str()], [])
                    .map_err(|error| source.error(Some(pointer.span()), &chain(&error)))?;
            }
        }
        Ok(())
    }

    /// Refuses names of tools that are not there, and that no server can bring:
    /// who misspells one shows its secrets. With `replay` the batches bring tools of their own.
    pub(super) fn check_secrets(&self, registry: &Registry, replay: bool) -> Result<(), Error> {
        let (Some(source), Some(written)) = (&self.source, &self.written.redaction) else {
            return Ok(());
        };
        for Places { tool, .. } in &written.tool {
            let name = tool.get_ref();
            if !replay && !registry.contains(name, None) && !self.may_bring(name) {
                let known = registry.names(None).join(", ");
                let message = format!(
                    "expected the name of a tool, one of {known}, found {:?}",
                    tool.get_ref()
                );
                return Err(source.error(Some(tool.span()), &message));
            }
        }
        Ok(())
    }
}
