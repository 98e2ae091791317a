//! Code mode, as a host sets it up.

use std::fmt;
use std::sync::Arc;

use super::dispatched::LogCopies;
use crate::Registration;
use crate::Registry;
use crate::code::presentation::CodeTransport;
use crate::code::{CodeConfig, RuntimeSlot};
use crate::schema::SchemaError;

/// Lets models run programs that call the tools of a registry. See the
/// [module docs](crate::code) for an example.
///
/// Cheap to clone; clones are one.
#[derive(Clone)]
pub struct CodeMode(Arc<Inner>);

pub(in crate::code) struct Inner {
    pub(in crate::code) slot: RuntimeSlot,
    pub(in crate::code) config: CodeConfig,
    pub(super) log: LogCopies,
}

/// Why code mode cannot be attached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The registry has a code mode already.
    #[error("expected a registry without code mode, found one that it is attached to")]
    Attached,
    /// The schemas of `run_code` cannot be used.
    #[error("`run_code` cannot be declared")]
    Schema(#[source] SchemaError),
}

impl CodeMode {
    /// Runs programs with the runtime of `slot`.
    pub fn new(slot: RuntimeSlot, config: CodeConfig) -> Self {
        Self(Arc::new(Inner {
            slot,
            config,
            log: LogCopies::new(None),
        }))
    }

    /// The place of the runtime.
    pub fn slot(&self) -> &RuntimeSlot {
        &self.0.slot
    }

    /// How it was set up.
    pub fn config(&self) -> CodeConfig {
        self.0.config
    }

    /// The listeners that say what the log shows of a program's calls, if not
    /// what the result shows. One that fails changes nothing. The program
    /// does not wait for them, `run_code` does.
    pub fn log_copies(&self) -> &LogCopies {
        &self.0.log
    }

    /// Gives the models of `registry` programs, as the configuration says and
    /// as scopes [declare](Registry::present), until the registration is
    /// dropped: then everything is native again.
    ///
    /// Programs that run go on to their end.
    ///
    /// # Errors
    ///
    /// [`AttachError::Attached`] if there is a code mode already.
    pub fn attach(&self, registry: &Registry) -> Result<Registration, AttachError> {
        let transport = CodeTransport::new(&self.0, &registry.downgrade());
        let transport = transport.map_err(AttachError::Schema)?;
        let presentation = self.0.config.presentation;
        let attached = registry.attach(Arc::new(transport), presentation);
        attached.ok_or(AttachError::Attached)
    }
}

impl fmt::Debug for CodeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeMode")
            .field("slot", &self.0.slot)
            .field("config", &self.0.config)
            .finish_non_exhaustive()
    }
}
