//! What the stages may ask about a call's tool.
//!
//! The layers know no registry; whoever holds the tools implements these two
//! traits and hands them to [`ResultNotifyLayer`](crate::ResultNotifyLayer).

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::arguments::Arguments;
use crate::call::CallView;
use crate::content::ContentBlock;
use crate::error::BoxError;
use crate::outcome::ToolOutcome;
use crate::panic::catch;
use crate::redaction::Redaction;

/// Finds the definition of a call's tool.
pub trait Catalog: Send + Sync + 'static {
    /// The tool that `call` names, as the call's scope sees it now.
    ///
    /// Hidden and unknown tools are both `None`.
    fn resolve(&self, call: &CallView) -> Option<Arc<dyn Definition>>;

    /// A number that changes whenever an answer of [`resolve`](Self::resolve)
    /// may have changed.
    fn generation(&self) -> u64;

    /// Whether any tool may have a finalizer. While none has, a call's tool
    /// is not looked up before its body is reached.
    fn has_finalizers(&self) -> bool {
        true
    }

    /// Whether any tool may declare a budget. While none does, a timeout
    /// stage looks no tool up.
    fn has_budgets(&self) -> bool {
        true
    }

    /// Whether any tool may have a [redaction](Definition::redaction). While
    /// none has, no tool is looked up for one.
    fn has_redactions(&self) -> bool {
        true
    }

    /// The failure for a call whose tool cannot be found.
    fn unknown(&self, call: &CallView) -> ToolOutcome {
        ToolOutcome::unknown_tool(call.name())
    }

    /// A call that can never run here is refused before any policy sees it.
    fn refuse(&self, call: &CallView) -> Option<ToolOutcome> {
        let _ = call;
        None
    }
}

/// What a registered tool declares of itself.
pub trait Definition: Any + Send + Sync {
    /// The tool's budget for one dispatch, if it declares one.
    fn budget(&self) -> Option<Duration> {
        None
    }

    /// Whether running the body twice is the same as running it once.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// Whether the tool declares that a call of it can do harm: something
    /// that a person may want to be asked about.
    fn is_dangerous(&self) -> bool {
        false
    }

    /// Whether the tool declares that a call of it changes files.
    fn makes_edits(&self) -> bool {
        false
    }

    /// What people and records do not see of the tool's calls, if there is
    /// such a thing. The same object every time, as one call asks repeatedly.
    fn redaction(&self) -> Option<Arc<dyn Redaction>> {
        None
    }

    /// Judges the arguments; a failure is the outcome and the body does not
    /// run.
    fn check_arguments(&self, call: &CallView, arguments: &Arguments) -> Result<(), ToolOutcome> {
        let _ = (call, arguments);
        Ok(())
    }

    /// Validates a value and derives what the model sees from it.
    ///
    /// Pure: it may run more than once for one value.
    ///
    /// # Errors
    ///
    /// The failure to publish instead, `INVALID_TOOL_OUTPUT` as a rule.
    fn render(&self, call: &CallView, value: Value) -> Result<Rendered, ToolOutcome>;

    /// Whether [`finalize`](Self::finalize) has anything to do.
    fn has_finalizer(&self) -> bool {
        false
    }

    /// The tool's last word on the content, whatever the outcome. `None`
    /// leaves it as it is.
    ///
    /// # Errors
    ///
    /// The error replaces the outcome; the finalizer is not asked again.
    fn finalize(
        &self,
        call: &CallView,
        outcome: &ToolOutcome,
    ) -> Result<Option<Vec<ContentBlock>>, BoxError> {
        let _ = (call, outcome);
        Ok(None)
    }
}

/// A validated value with what was derived from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The value itself.
    pub value: Value,
    /// What the model sees.
    pub content: Vec<ContentBlock>,
    /// Metadata for presentation, never for the model.
    pub meta: Option<Value>,
}

/// Has the tool judge and render a value; a panic of it is a broken output.
pub(crate) fn render(
    definition: &dyn Definition,
    call: &CallView,
    value: Value,
) -> Result<Rendered, ToolOutcome> {
    catch(|| definition.render(call, value)).unwrap_or_else(|panic| {
        let violation = format!("output.render failed: {panic}");
        Err(ToolOutcome::invalid_output(call.name(), &[violation]))
    })
}
