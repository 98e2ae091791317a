//! What a guard says.

use std::borrow::Cow;

use crate::call::CallView;
use crate::error::BoxError;

/// Why a guard refuses a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub(crate) reason: Cow<'static, str>,
    pub(crate) by: Option<Cow<'static, str>>,
}

impl Denial {
    /// A refusal; `reason` reaches the model verbatim. An empty one denies too.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason: reason.into(),
            by: None,
        }
    }

    /// Names the rule that refused, for records.
    pub fn by_rule(mut self, rule: impl Into<Cow<'static, str>>) -> Self {
        self.by = Some(rule.into());
        self
    }
}

/// A rule that may deny a call and can never grant one.
///
/// A closure `Fn(&CallView) -> R` is a guard if `R` is a [`Verdict`]:
/// `Option<Denial>`, `Result<(), Denial>`, or `Result<Option<Denial>, E>` for
/// a guard that may itself fail.
pub trait Guard {
    /// Judges `call` once, after approval and before anything wraps the
    /// dispatch. Guards run for a call whose caller has cancelled, too.
    ///
    /// # Errors
    ///
    /// A guard that fails, or panics, fails the call: nothing runs, and the
    /// post-execute stage is skipped.
    fn check(&self, call: &CallView) -> Result<Option<Denial>, BoxError>;
}

/// What a guard closure may return.
#[diagnostic::on_unimplemented(
    message = "a guard cannot return `{Self}`",
    label = "expected `Option<Denial>`, `Result<(), Denial>` or `Result<Option<Denial>, E>`",
    note = "a guard denies or abstains; it cannot allow"
)]
pub trait Verdict {
    /// The denial, if there is one.
    fn into_denial(self) -> Result<Option<Denial>, BoxError>;
}

impl Verdict for Option<Denial> {
    fn into_denial(self) -> Result<Option<Denial>, BoxError> {
        Ok(self)
    }
}

impl Verdict for Result<(), Denial> {
    fn into_denial(self) -> Result<Option<Denial>, BoxError> {
        Ok(self.err())
    }
}

impl<E: Into<BoxError>> Verdict for Result<Option<Denial>, E> {
    fn into_denial(self) -> Result<Option<Denial>, BoxError> {
        self.map_err(Into::into)
    }
}

impl<F, R> Guard for F
where
    F: Fn(&CallView) -> R,
    R: Verdict,
{
    fn check(&self, call: &CallView) -> Result<Option<Denial>, BoxError> {
        self(call).into_denial()
    }
}
