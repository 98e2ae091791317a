//! The registry as the stages ask it.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolfall_layers::{CallView, Catalog, Definition, ToolOutcome};

use super::{Registry, near};
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
        let visible = tools.visible(call.scope());
        near::unknown(call.name(), visible.iter().map(|tool| tool.def.name()))
    }
}

/// The registered tool behind a definition that a registry handed out.
pub(crate) fn entry_of(definition: Arc<dyn Definition>) -> Option<Arc<ToolEntry>> {
    let any: Arc<dyn Any + Send + Sync> = definition;
    any.downcast().ok()
}
