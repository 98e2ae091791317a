//! Data that custom layers attach to a call.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

type Entries = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// A map from types to values that travels with a call, for custom layers.
///
/// A value is put in through a shared reference and read as a shared handle,
/// so no lock is held while a layer looks at it. An empty map costs no
/// allocation.
///
/// ```
/// use toolfall_layers::Extensions;
///
/// #[derive(Debug, PartialEq)]
/// struct Tenant(&'static str);
///
/// let extensions = Extensions::new();
/// assert!(extensions.get::<Tenant>().is_none());
/// extensions.insert(Tenant("a"));
/// assert_eq!(*extensions.get::<Tenant>().unwrap(), Tenant("a"));
/// ```
#[derive(Default)]
pub struct Extensions(Mutex<Option<Box<Entries>>>);

impl Extensions {
    /// An empty map.
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Puts `value` in and returns the value of its type that was there.
    pub fn insert<T: Send + Sync + 'static>(&self, value: T) -> Option<Arc<T>> {
        let value: Arc<dyn Any + Send + Sync> = Arc::new(value);
        let old = {
            let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            entries
                .get_or_insert_default()
                .insert(TypeId::of::<T>(), value)
        };
        old.and_then(|old| old.downcast().ok())
    }

    /// The value of type `T`, shared.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = {
            let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            entries.as_ref()?.get(&TypeId::of::<T>())?.clone()
        };
        value.downcast().ok()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions").finish_non_exhaustive()
    }
}
