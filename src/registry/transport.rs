//! Attaching what lets models call tools from programs.

use std::sync::{Arc, Weak};

use super::presentation::Attached;
use super::{Inner, Presentation, Registration, Registry, Transport};

/// A handle that does not keep the registry alive: for what the registry
/// holds itself.
#[derive(Clone)]
pub(crate) struct WeakRegistry(Weak<Inner>);

impl WeakRegistry {
    pub(crate) fn upgrade(&self) -> Option<Registry> {
        self.0.upgrade().map(Registry)
    }
}

impl Registry {
    pub(crate) fn downgrade(&self) -> WeakRegistry {
        WeakRegistry(Arc::downgrade(&self.0))
    }

    /// Attaches `transport`, with the presentation of scopes that declare
    /// nothing; `None` if there is one already.
    pub(crate) fn attach(
        &self,
        transport: Arc<dyn Transport>,
        presentation: Presentation,
    ) -> Option<Registration> {
        let attached = Attached {
            transport: transport.clone(),
            presentation,
        };
        let change = self.change(|tools| match tools.transport_mut() {
            Some(_) => Err(()),
            none => {
                *none = Some(attached);
                Ok(())
            }
        });
        change.ok()?;
        Some(Registration::transport(self, transport))
    }

    /// Takes exactly `transport` away.
    pub(super) fn detach(&self, transport: &Arc<dyn Transport>) {
        self.change_if(|tools| {
            let attached = tools.transport_mut();
            let known = attached.as_ref();
            let is_it = known.is_some_and(|known| Arc::ptr_eq(&known.transport, transport));
            if is_it {
                *attached = None;
            }
            is_it
        });
    }
}
