//! Presenters: what people see of a tool's calls and results.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toolfall_layers::{Arguments, Redaction as _};

use super::{ToolDef, ToolEntry};
use crate::card::{CallCard, Presented, ResultCard};

/// What every mask begins with.
const MASK: &str = "[redacted";

pub(super) type PresentCall = dyn Fn(&Arguments) -> Option<CallCard> + Send + Sync;
pub(super) type PresentResult =
    dyn Fn(&Arguments, &Presented<'_>) -> Option<ResultCard> + Send + Sync;

impl ToolDef {
    /// Shows people what a call does, from its arguments alone. Pure: it runs
    /// whenever a card is wanted, also years later for a log.
    ///
    /// `A` is what the arguments decode into, [`Value`](serde_json::Value) to
    /// take them as they are. Arguments that the schema refuses, or that do
    /// not decode, have no card. Of [secrets](Self::secret_arguments) it gets
    /// what a log keeps: `"[redacted]"`, which a type must take in their place.
    /// See [`card`](crate::card).
    pub fn present_call<A: DeserializeOwned>(
        mut self,
        present: impl Fn(A) -> Option<CallCard> + Send + Sync + 'static,
    ) -> Self {
        self.present_call = Some(Arc::new(move |arguments| present(decode(arguments)?)));
        self
    }

    /// Shows people what a call came to, from its arguments and from what a
    /// log keeps of the result; as [`present_call`](Self::present_call).
    pub fn present_result<A: DeserializeOwned>(
        mut self,
        present: impl Fn(A, &Presented<'_>) -> Option<ResultCard> + Send + Sync + 'static,
    ) -> Self {
        self.present_result = Some(Arc::new(move |arguments, result| {
            present(decode(arguments)?, result)
        }));
        self
    }

    /// Whether calls can have a card.
    pub const fn presents_calls(&self) -> bool {
        self.present_call.is_some()
    }

    /// Whether results can have a card.
    pub const fn presents_results(&self) -> bool {
        self.present_result.is_some()
    }
}

/// The arguments as `A`. Text that is no JSON gets here only for a tool that
/// takes free text, as a string.
fn decode<A: DeserializeOwned>(arguments: &Arguments) -> Option<A> {
    if arguments.malformed().is_some() {
        return A::deserialize(arguments.value()).ok();
    }
    arguments.decode().ok()
}

impl ToolEntry {
    /// The card of a call, if the tool makes one.
    pub(crate) fn call_card(&self, arguments: &Arguments) -> Option<CallCard> {
        let present = self.def.present_call.as_ref()?;
        let shown = self.shown_arguments(arguments)?;
        self.contained("present_call", &shown, || present(&shown))
    }

    /// The card of a result, if the tool makes one.
    pub(crate) fn result_card(
        &self,
        arguments: &Arguments,
        result: &Presented<'_>,
    ) -> Option<ResultCard> {
        let present = self.def.present_result.as_ref()?;
        let shown = self.shown_arguments(arguments)?;
        let Some(secrets) = &self.secrets else {
            return self.contained("present_result", &shown, || present(&shown, result));
        };
        let mut seen = result.to_shown();
        secrets.hide(arguments.text(), None, result.is_error, &mut seen);
        let result = Presented {
            content: &seen.content,
            meta: seen.meta.as_ref(),
            is_error: result.is_error,
        };
        self.contained("present_result", &shown, || present(&shown, &result))
    }

    /// The arguments as a presenter gets them, which is as a log keeps them;
    /// none where they cannot be had.
    fn shown_arguments<'a>(&self, arguments: &'a Arguments) -> Option<Cow<'a, Arguments>> {
        let secrets = self.secrets.as_ref();
        match secrets.and_then(|secrets| secrets.arguments(arguments.text())) {
            None => Some(Cow::Borrowed(arguments)),
            Some(shown) => Arguments::from_text(shown).ok().map(Cow::Owned),
        }
    }

    /// Whether arguments as they are shown fit the schema, as far as can be
    /// told: what stands for a secret need not.
    fn passes(&self, shown: &Arguments) -> bool {
        if self.judge(shown).is_ok() {
            return true;
        }
        if shown.malformed().is_some() || !shown.text().contains(MASK) {
            return false;
        }
        let value = shown.value();
        let violations = self.parameters.argument_violations(value);
        violations.iter().all(|violation| {
            let found = value.pointer(violation.pointer());
            // Of an object that holds a secret, what is missing is missing; but
            // which of several schemas it fits may hang on the secret.
            found.is_some_and(|found| match found {
                Value::String(text) => !violation.pointer().is_empty() && text.contains(MASK),
                found => {
                    matches!(violation.keyword(), "anyOf" | "oneOf" | "not" | "$ref")
                        && found.to_string().contains(MASK)
                }
            })
        })
    }

    /// Runs a presenter on arguments that pass. A card is never worth a call.
    fn contained<T>(
        &self,
        what: &'static str,
        arguments: &Arguments,
        present: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let made = toolfall_layers::panic::catch(|| self.passes(arguments).then(present)?);
        made.unwrap_or_else(|panic| {
            // It saw what people may see, and so may say it.
            tracing::warn!(tool = self.def.name(), %panic, "{what} panicked");
            None
        })
    }
}
