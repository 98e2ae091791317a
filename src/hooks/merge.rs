//! Several hooks' answers as one.

use super::{HookDecision, HookOutput};

/// What several hooks say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// The strictest decision: deny over ask over allow over none.
    pub decision: Option<HookDecision>,
    /// The reasons of all hooks that decided so, apart by an empty line. An
    /// allow has none.
    pub reason: Option<String>,
    /// Whether one of them wants the host to stop.
    pub stop: bool,
    /// Why the first of those does.
    pub stop_reason: Option<String>,
    /// Messages for the model, in the hooks' order, each on its own.
    pub contexts: Vec<String>,
    /// Messages for the user, in the hooks' order, each on its own.
    pub system_messages: Vec<String>,
}

impl Merged {
    /// Puts answers together.
    ///
    /// ```
    /// use toolfall::hooks::{HookDecision, HookOutput, Merged};
    ///
    /// let block = |why| HookOutput::decode(Some(2), "", why, None);
    /// let merged = Merged::of(&[block("too early"), block("too large")]);
    /// assert_eq!(merged.decision, Some(HookDecision::Deny));
    /// assert_eq!(merged.reason.as_deref(), Some("too early\n\ntoo large"));
    /// ```
    pub fn of<'a>(outputs: impl IntoIterator<Item = &'a HookOutput>) -> Self {
        let mut merged = Self::default();
        let mut reasons: Vec<&str> = Vec::new();
        for output in outputs {
            if let Some(decision) = output.decision.map(HookDecision::plain) {
                let held = merged.decision.map(HookDecision::strictness);
                if held.is_none_or(|held| held < decision.strictness()) {
                    merged.decision = Some(decision);
                    reasons.clear();
                }
                if merged.decision == Some(decision) && decision != HookDecision::Allow {
                    reasons.extend(given(output.reason.as_ref()));
                }
            }
            if output.proceed == Some(false) && !merged.stop {
                merged.stop = true;
                merged.stop_reason.clone_from(&output.stop_reason);
            }
            let context = given(output.additional_context.as_ref());
            merged.contexts.extend(context.map(str::to_owned));
            let message = given(output.system_message.as_ref());
            merged.system_messages.extend(message.map(str::to_owned));
        }
        if !reasons.is_empty() {
            merged.reason = Some(reasons.join("\n\n"));
        }
        merged
    }
}

fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str)
        .filter(|text| !text.trim().is_empty())
}
