//! A registered tool: its declarations, compiled.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolfall_layers::{Arguments, BoxBody, CallView, Definition, Redaction, Rendered};

use super::ToolContext;
use super::body::arguments;
use super::def::{ExecutionMode, ToolDef, Validation};
use crate::redaction::SecretPlaces;
use crate::schema::{Schema, SchemaError};
use crate::{BoxError, ContentBlock, ToolOutcome};

/// What the registry holds and the leaf runs.
pub(crate) struct ToolEntry {
    pub(crate) def: ToolDef,
    pub(super) parameters: Schema,
    output: Option<Schema>,
    /// What is secret, if the tool names anything.
    pub(super) secrets: Option<Arc<SecretPlaces>>,
}

impl ToolEntry {
    /// `secrets` are those that `def` names.
    pub(crate) fn compile(def: ToolDef, secrets: SecretPlaces) -> Result<Self, SchemaError> {
        let secrets = (!secrets.is_empty()).then(|| Arc::new(secrets));
        let parameters = Schema::compile(&def.parameters)?;
        let output = def.output.as_ref().map(Schema::compile).transpose()?;
        Ok(Self {
            def,
            parameters,
            output,
            secrets,
        })
    }

    /// Whether a call with `arguments` may overlap with others. Fails
    /// towards exclusive.
    pub(crate) fn mode(&self, arguments: &Arguments) -> ExecutionMode {
        let Some(classify) = &self.def.classify else {
            return ExecutionMode::Exclusive;
        };
        let safe = toolfall_layers::panic::catch(|| {
            self.judge(arguments).is_ok() && matches!(classify(arguments.value()), Ok(true))
        });
        match safe {
            Ok(true) => ExecutionMode::Parallel,
            Ok(false) | Err(_) => ExecutionMode::Exclusive,
        }
    }

    /// Makes the body for arguments that pass, or says what is wrong with
    /// them.
    pub(crate) fn prepare(&self, ctx: ToolContext) -> Result<BoxBody, ToolOutcome> {
        self.judge(arguments(&ctx)?)?;
        self.def.body.prepare(self.def.validation, ctx)
    }

    pub(super) fn judge(&self, arguments: &Arguments) -> Result<(), ToolOutcome> {
        match self.def.validation {
            Validation::FreeText => return Ok(()),
            Validation::Schema | Validation::SchemaOrText | Validation::Decoding => {}
        }
        let shown = self.shown(arguments);
        if let Some(malformed) = arguments.malformed() {
            let note = match &shown {
                None => format!("{malformed}. Found: {}", arguments.echo()),
                // Which part of such a text is the secret nobody can tell.
                Some(_) => format!(
                    "not JSON at line {} column {}: expected {}",
                    malformed.line(),
                    malformed.column(),
                    malformed.expected()
                ),
            };
            return Err(
                ToolOutcome::invalid_arguments(&["\"arguments\" must be an object"])
                    .with_note(format!("The arguments are no JSON: {note}")),
            );
        }
        if self.def.validation == Validation::Decoding {
            return Ok(());
        }
        let nothing = Value::Object(serde_json::Map::new());
        let judged = match arguments.value() {
            Value::String(_) if self.def.validation == Validation::SchemaOrText => &nothing,
            value => value,
        };
        let mut violations = self.parameters.argument_violations(judged);
        if let Some(shown) = &shown {
            for violation in &mut violations {
                violation.find_in(shown);
            }
        }
        if violations.is_empty() {
            return Ok(());
        }
        let places: Vec<String> = violations
            .iter()
            .map(|violation| {
                format!(
                    "at \"{}\" ({}): found {}",
                    toolfall_layers::printable(violation.pointer(), 120),
                    violation.keyword(),
                    violation.found()
                )
            })
            .collect();
        Err(ToolOutcome::invalid_arguments(&violations).with_note(places.join("\n")))
    }

    /// The arguments as people may see them, where the tool hides something.
    fn shown(&self, arguments: &Arguments) -> Option<Value> {
        let secrets = self.secrets.as_ref()?;
        let shown = secrets.arguments(arguments.text())?;
        serde_json::from_str(&shown).ok()
    }

    fn invalid(&self, violations: &[impl AsRef<str>]) -> ToolOutcome {
        ToolOutcome::invalid_output(&self.def.name, violations)
    }

    /// Runs a renderer or a projector and judges what it makes.
    fn derive<T>(
        &self,
        what: &str,
        derive: impl FnOnce() -> Result<T, BoxError>,
    ) -> Result<T, ToolOutcome> {
        let derived =
            toolfall_layers::panic::catch(derive).unwrap_or_else(|panic| Err(panic.into()));
        derived.map_err(|error| {
            let error = toolfall_layers::panic::display(&error);
            self.invalid(&[format!("output.{what} failed: {error}")])
        })
    }
}

impl Definition for ToolEntry {
    fn budget(&self) -> Option<Duration> {
        self.def.budget
    }

    fn is_repeatable(&self) -> bool {
        self.def.repeatable
    }

    fn is_dangerous(&self) -> bool {
        self.def.dangerous
    }

    fn makes_edits(&self) -> bool {
        self.def.edits
    }

    fn redaction(&self) -> Option<Arc<dyn Redaction>> {
        let secrets = self.secrets.clone()?;
        Some(secrets)
    }

    fn check_arguments(&self, _: &CallView, arguments: &Arguments) -> Result<(), ToolOutcome> {
        self.judge(arguments)
    }

    fn render(&self, call: &CallView, value: Value) -> Result<Rendered, ToolOutcome> {
        if let Some(schema) = &self.output
            && !schema.is_valid(&value)
        {
            return Err(self.invalid(&schema.violations("value", &value)));
        }
        let content = match &self.def.render {
            Some(render) => self.derive("render", || render(call, &value))?,
            None => vec![ContentBlock::text(match &value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })],
        };
        let meta = match &self.def.meta {
            Some(project) if call.parent().is_none() => {
                let meta = self.derive("presentationMeta", || project(call, &value))?;
                if toolfall_layers::check_value(&meta).is_err() {
                    return Err(
                        self.invalid(&["output.presentationMeta returned non-lossless JSON"])
                    );
                }
                Some(meta)
            }
            _ => None,
        };
        Ok(Rendered {
            value,
            content,
            meta,
        })
    }

    fn has_finalizer(&self) -> bool {
        self.def.finalize.is_some()
    }

    fn finalize(
        &self,
        call: &CallView,
        outcome: &ToolOutcome,
    ) -> Result<Option<Vec<ContentBlock>>, BoxError> {
        match &self.def.finalize {
            Some(finalize) => finalize(call, outcome),
            None => Ok(None),
        }
    }
}
