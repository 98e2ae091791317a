//! The one runtime of a host.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use toolfall_layers::panic::catch;

use super::CodeRuntime;

/// A place for one runtime, which comes and goes while calls run.
///
/// Clones share the place.
///
/// ```
/// use futures_util::future::BoxFuture;
/// use toolfall::code::{CodeRuntime, Misuse, RunOutcome, RunRequest, RuntimeSlot};
///
/// /// Says what it was asked to run, and runs nothing.
/// struct Echo;
///
/// impl CodeRuntime for Echo {
///     fn language(&self) -> &str { "typescript" }
///     fn isolation(&self) -> &str { "nothing runs" }
///
///     fn run(&self, request: RunRequest) -> BoxFuture<'_, Result<RunOutcome, Misuse>> {
///         Box::pin(async move { Ok(RunOutcome::completed(vec![request.program], None)) })
///     }
///
///     fn dispose(&self) -> BoxFuture<'_, ()> {
///         Box::pin(std::future::ready(()))
///     }
/// }
///
/// let slot = RuntimeSlot::new();
/// let mount = slot.mount(Echo)?;
/// assert_eq!(slot.language().as_deref(), Some("typescript"));
/// assert!(slot.mount(Echo).is_err());
/// drop(mount);
/// assert!(!slot.is_mounted());
/// # Ok::<(), toolfall::BoxError>(())
/// ```
#[derive(Clone, Default)]
pub struct RuntimeSlot(Arc<Place>);

type Place = Mutex<Option<Arc<dyn CodeRuntime>>>;

/// There is a runtime already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected no code runtime, found one that is mounted already")]
pub struct RuntimeMountError(());

/// No runtime is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`run_code` requires a code runtime, and none is mounted")]
pub struct NoCodeRuntime(());

impl RuntimeSlot {
    /// A place without a runtime.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `runtime` there, for as long as the mount is kept.
    ///
    /// # Errors
    ///
    /// [`RuntimeMountError`] where there is a runtime already.
    pub fn mount(&self, runtime: impl CodeRuntime) -> Result<RuntimeMount, RuntimeMountError> {
        self.mount_shared(Arc::new(runtime))
    }

    /// Puts a runtime there that others hold as well.
    ///
    /// # Errors
    ///
    /// As [`mount`](Self::mount).
    pub fn mount_shared(
        &self,
        runtime: Arc<dyn CodeRuntime>,
    ) -> Result<RuntimeMount, RuntimeMountError> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_some() {
            // The runtime given in is dropped after the lock, as arguments are.
            return Err(RuntimeMountError(()));
        }
        *place = Some(runtime);
        Ok(RuntimeMount(Some(Arc::downgrade(&self.0))))
    }

    /// Whether a runtime is there.
    pub fn is_mounted(&self) -> bool {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.is_some()
    }

    /// What the runtime that is there calls its language.
    pub fn language(&self) -> Option<String> {
        self.described(|runtime| runtime.language().to_owned())
    }

    /// What the runtime that is there says of its isolation.
    pub fn isolation(&self) -> Option<String> {
        self.described(|runtime| runtime.isolation().to_owned())
    }

    /// A runtime that panics where it is to describe itself says nothing: it
    /// is asked on the way of every call.
    fn described(&self, describe: impl FnOnce(&dyn CodeRuntime) -> String) -> Option<String> {
        let runtime = self.current().ok()?;
        catch(|| describe(&*runtime)).ok()
    }

    /// The runtime that is there; it stays while it is held.
    ///
    /// # Errors
    ///
    /// [`NoCodeRuntime`].
    pub fn current(&self) -> Result<Arc<dyn CodeRuntime>, NoCodeRuntime> {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.clone().ok_or(NoCodeRuntime(()))
    }
}

impl fmt::Debug for RuntimeSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeSlot")
            .field("mounted", &self.is_mounted())
            .finish()
    }
}

/// Keeps a runtime in its place; dropping it takes the runtime away.
///
/// Programs that run go on with it to their end.
#[must_use = "dropping the mount takes the runtime away"]
#[derive(Debug)]
pub struct RuntimeMount(Option<Weak<Place>>);

impl RuntimeMount {
    /// Leaves the runtime there for as long as the place lives.
    pub fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for RuntimeMount {
    fn drop(&mut self) {
        let place = self.0.take().and_then(|place| place.upgrade());
        // Nothing else fills the place before this mount is gone, so the
        // runtime there is its own. It ends after the lock: its drop is user
        // code.
        let _runtime =
            place.and_then(|place| place.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
