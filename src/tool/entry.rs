//! A registered tool: its declarations, compiled.

use std::time::Duration;

use serde_json::Value;
use toolfall_layers::{Arguments, BoxBody, CallView, Definition, Rendered};

use super::ToolContext;
use super::body::arguments;
use super::def::{ExecutionMode, ToolDef, Validation};
use crate::schema::{Schema, SchemaError};
use crate::{BoxError, ContentBlock, ToolOutcome};

/// What the registry holds and the leaf runs.
pub(crate) struct ToolEntry {
    pub(crate) def: ToolDef,
    parameters: Schema,
    output: Option<Schema>,
}

impl ToolEntry {
    pub(crate) fn compile(def: ToolDef) -> Result<Self, SchemaError> {
        let parameters = Schema::compile(&def.parameters)?;
        let output = def.output.as_ref().map(Schema::compile).transpose()?;
        Ok(Self {
            def,
            parameters,
            output,
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
            Validation::Schema | Validation::Decoding => {}
        }
        if let Some(malformed) = arguments.malformed() {
            return Err(
                ToolOutcome::invalid_arguments(&["\"arguments\" must be an object"]).with_note(
                    format!(
                        "The arguments are no JSON: {malformed}. Found: {}",
                        arguments.echo()
                    ),
                ),
            );
        }
        if self.def.validation == Validation::Decoding {
            return Ok(());
        }
        let violations = self.parameters.argument_violations(arguments.value());
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
