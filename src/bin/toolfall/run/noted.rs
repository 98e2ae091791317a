//! What the pipeline notes of a call for whoever prints its result.

use std::sync::{Arc, Mutex, PoisonError};

use toolfall::policy::AllowedBy;
use toolfall::policy::grants::GrantedBy;
use toolfall::{CallView, FailureKind, ToolResult};

use crate::render::Through;

/// Travels with a call, and is read when its result is committed.
#[derive(Clone, Debug, Default)]
pub(super) struct Noted(Arc<Mutex<Through>>);

impl Noted {
    pub(super) fn get(&self) -> Through {
        let through = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        through.clone()
    }
}

/// An observer that notes which rules and grants let a call through. Of a call
/// that was denied after all none did.
pub(super) fn note(call: &CallView, result: &ToolResult) {
    let extensions = call.extensions();
    let Some(noted) = extensions.get::<Noted>() else {
        return;
    };
    if result.kind() == Some(FailureKind::Denied) {
        return;
    }
    let names = |names: &[String]| names.to_vec();
    let rules = extensions.get::<AllowedBy>();
    let grants = extensions.get::<GrantedBy>();
    let through = Through {
        rules: rules.map_or_else(Vec::new, |by| names(by.names())),
        grants: grants.map_or_else(Vec::new, |by| names(by.names())),
    };
    *noted.0.lock().unwrap_or_else(PoisonError::into_inner) = through;
}
