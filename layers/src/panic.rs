//! Containing panics, and errors whose rendering fails.

use std::any::Any;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The text for what cannot be rendered.
pub const UNPRINTABLE: &str = "<unprintable thrown value>";

/// A panic of user code, caught and kept as an error.
#[derive(Debug, Clone)]
pub struct PanicError(String);

impl PanicError {
    #[cold]
    pub(crate) fn from_payload(payload: Box<dyn Any + Send>) -> Self {
        let text = if let Some(text) = payload.downcast_ref::<&'static str>() {
            (*text).to_owned()
        } else if let Some(text) = payload.downcast_ref::<String>() {
            text.clone()
        } else {
            UNPRINTABLE.to_owned()
        };
        // A payload may panic again when it is dropped; the second payload is
        // leaked rather than given a third chance.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(again);
        }
        Self(text)
    }
}

impl fmt::Display for PanicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PanicError {}

/// Runs user code and turns its panic into an error.
///
/// # Errors
///
/// What the panic said.
#[inline]
pub fn catch<T>(run: impl FnOnce() -> T) -> Result<T, PanicError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(PanicError::from_payload)
}

/// Renders `value`; never fails and never panics.
pub fn display(value: &dyn fmt::Display) -> String {
    let rendered = catch(|| {
        let mut text = String::new();
        write!(text, "{value}").map(|()| text)
    });
    match rendered {
        Ok(Ok(text)) => text,
        Ok(Err(_)) | Err(_) => UNPRINTABLE.to_owned(),
    }
}
