//! What a host can do wrong.

use super::reserved::{is_dunder, is_error_member, is_global, is_portable_identifier};
use super::{Namespace, RunRequest};

/// Why no program could be run at all. Never what a program did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// A global is no identifier of every language.
    #[error("binding global {0:?} is not a usable identifier")]
    Global(String),
    /// A global is one of the runtimes' own.
    #[error("reserved binding global {0:?}")]
    ReservedGlobal(String),
    /// Two namespaces have one global.
    #[error("duplicate binding global {0:?}")]
    DuplicateGlobal(String),
    /// An error class is no identifier of every language.
    #[error("error class {0:?} is not a usable identifier")]
    ErrorClass(String),
    /// An error class has the name of something that is bound already.
    #[error("duplicate injected global {0:?}")]
    DuplicateClass(String),
    /// An error class's property is taken, or none.
    #[error("error class {class:?}: member property {property:?} is not usable")]
    MemberProperty {
        /// The class.
        class: String,
        /// The property.
        property: String,
    },
    /// The runtime is gone.
    #[error("a program cannot be run after disposal")]
    Disposed,
    /// What runs programs could not be started.
    #[error("expected to start {what}, found: {why}")]
    NotStarted {
        /// What was to be started.
        what: String,
        /// What the system said.
        why: String,
    },
}

impl RunRequest {
    /// Judges the names that are to be bound. Every runtime asks first.
    ///
    /// # Errors
    ///
    /// The first name that cannot be bound, and why.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use toolfall::code::{BindingArguments, Misuse, Namespace, RunRequest};
    ///
    /// let namespace = |global: &str| Namespace {
    ///     global: global.to_owned(),
    ///     members: vec!["read".to_owned()],
    ///     error_class: None,
    ///     binding: Arc::new(|_: &str, _: BindingArguments| -> toolfall::code::BindingFuture {
    ///         Box::pin(async { Ok(serde_json::json!(1)) })
    ///     }),
    /// };
    /// let request = RunRequest::new("return 1").namespace(namespace("tools"));
    /// assert_eq!(request.check(), Ok(()));
    /// let request = request.namespace(namespace("lambda"));
    /// assert_eq!(request.check(), Err(Misuse::Global("lambda".to_owned())));
    /// ```
    pub fn check(&self) -> Result<(), Misuse> {
        let mut bound: Vec<&str> = Vec::new();
        for Namespace { global, .. } in &self.namespaces {
            // Reserved ones first: some of them are identifiers.
            if is_global(global) {
                return Err(Misuse::ReservedGlobal(global.clone()));
            }
            if !is_portable_identifier(global) {
                return Err(Misuse::Global(global.clone()));
            }
            if bound.contains(&global.as_str()) {
                return Err(Misuse::DuplicateGlobal(global.clone()));
            }
            bound.push(global);
        }
        let classes = self
            .namespaces
            .iter()
            .filter_map(|n| n.error_class.as_ref());
        for class in classes {
            if is_global(&class.name) {
                return Err(Misuse::ReservedGlobal(class.name.clone()));
            }
            if !is_portable_identifier(&class.name) {
                return Err(Misuse::ErrorClass(class.name.clone()));
            }
            if bound.contains(&class.name.as_str()) {
                return Err(Misuse::DuplicateClass(class.name.clone()));
            }
            bound.push(&class.name);
            let property = &class.member_property;
            let taken = is_error_member(property) || is_dunder(property);
            if taken || !is_portable_identifier(property) {
                return Err(Misuse::MemberProperty {
                    class: class.name.clone(),
                    property: property.clone(),
                });
            }
        }
        Ok(())
    }
}
