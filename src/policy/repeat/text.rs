//! What a reminder says.

use serde_json::json;
use toolfall_layers::printable;

use crate::ContextMessage;

/// The author of reminders, as their source names it.
const NAME: &str = "repeat-tool-reminder";

/// How much of a tool's name is shown: a model may have made it up.
const TOOL_CHARS: usize = 100;

const GENTLE: &str = "The same tool call has now been made several times in a row, \
with the same arguments. Read the last result again before calling anything: if it does \
not help, making the call once more will not either. Change the approach.";

const DETAILED: &str = "The same tool call keeps being repeated and nothing changes:";

const DO_OTHERWISE: &str = "Do not make this call again. Do something else, or, if nothing \
is left to do, finish and say what was found out and what was not.";

/// A call that was repeated, with its canonical arguments.
pub(super) struct Repeat<'a> {
    pub(super) tool: &'a str,
    pub(super) count: u64,
    pub(super) arguments: &'a str,
}

impl Repeat<'_> {
    pub(super) fn gently(&self) -> ContextMessage {
        self.message(GENTLE.to_owned())
    }

    /// Quotes at most `chars` characters of the arguments.
    pub(super) fn in_detail(&self, chars: usize) -> ContextMessage {
        let tool = printable(self.tool, TOOL_CHARS);
        let arguments = printable(self.arguments, chars);
        let count = self.count;
        self.message(format!(
            "{DETAILED}\n- tool: {tool}\n- consecutive_calls: {count}\n\
             - arguments: {arguments}\n{DO_OTHERWISE}"
        ))
    }

    fn message(&self, text: String) -> ContextMessage {
        let tool = printable(self.tool, TOOL_CHARS);
        let mut message = ContextMessage::text("plugin", NAME, text);
        message.source.summary = Some(format!("{tool} × {}", self.count));
        message.meta = Some(json!({"form": "notice"}));
        message
    }
}
