//! The registry as the stages ask it.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolfall_layers::{CallView, Catalog, Definition, ToolOutcome};

use super::reserved::RUN_CODE;
use super::{Presentation, Registry, near};
use crate::tool::ToolEntry;

impl Catalog for Registry {
    fn resolve(&self, call: &CallView) -> Option<Arc<dyn Definition>> {
        let entry = self.find(call.name(), call.scope())?;
        Some(entry)
    }

    fn generation(&self) -> u64 {
        self.0.tools.generation()
    }

    fn has_finalizers(&self) -> bool {
        self.0.finalizers.load(Ordering::Acquire)
    }

    fn has_redactions(&self) -> bool {
        self.0.redactions.load(Ordering::Acquire)
    }

    fn has_budgets(&self) -> bool {
        self.0.budgets.load(Ordering::Acquire)
    }

    fn unknown(&self, call: &CallView) -> ToolOutcome {
        let tools = self.0.tools.load();
        let direct = call.parent().is_none();
        let transport = match tools.presentation(call.scope()) {
            Presentation::Native => None,
            // What cannot be called directly is no near miss.
            Presentation::Code if direct => {
                return near::unknown(call.name(), [RUN_CODE].into_iter());
            }
            _ => direct.then_some(RUN_CODE),
        };
        let visible = tools.visible(call.scope());
        let names = visible.iter().map(|tool| tool.def.name());
        near::unknown(call.name(), names.chain(transport))
    }

    /// A tool that is there for programs alone, called directly.
    fn refuse(&self, call: &CallView) -> Option<ToolOutcome> {
        let collapsed = call.parent().is_none() && self.is_collapsed(call.name(), call.scope());
        collapsed.then(|| near::collapsed(call.name()))
    }
}

/// The registered tool behind a definition that a registry handed out.
pub(crate) fn entry_of(definition: Arc<dyn Definition>) -> Option<Arc<ToolEntry>> {
    let any: Arc<dyn Any + Send + Sync> = definition;
    any.downcast().ok()
}
