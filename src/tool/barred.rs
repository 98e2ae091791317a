//! What a decision took for granted of a tool, and the leaf holds it to.

use toolfall_layers::{CallView, DecidedBy, Definition, ErrorInfo, FailureKind, ToolOutcome};

/// The code of a call whose tool is another than the one that was judged.
const TOOL_REPLACED: &str = "TOOL_REPLACED";

/// Decisions are made about the tool that is there at the time, and the body
/// that runs is the one that is there when its turn comes. What was allowed as
/// harmless must not run as something else: a decision that rests on what a
/// tool does not declare says so here, among the call's extensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Barred {
    /// There was no tool, so nobody judged one.
    pub(crate) any: bool,
    /// The tool did not declare to be dangerous.
    pub(crate) dangerous: bool,
    /// The tool did not declare edits.
    pub(crate) edits: bool,
}

impl Barred {
    /// Adds this to what earlier decisions took for granted.
    pub(crate) fn note(self, call: &CallView) {
        let extensions = call.extensions();
        let before = extensions.get::<Self>().map_or(Self::default(), |it| *it);
        let both = Self {
            any: self.any || before.any,
            dangerous: self.dangerous || before.dangerous,
            edits: self.edits || before.edits,
        };
        if both != before {
            extensions.insert(both);
        }
    }

    /// The refusal of `call`, if `tool` is not what was decided about.
    pub(crate) fn refusal(call: &CallView, tool: &dyn Definition) -> Option<ToolOutcome> {
        let barred = call.extensions().get::<Self>()?;
        let what = if barred.any {
            "was added"
        } else if barred.dangerous && tool.is_dangerous() {
            "became dangerous"
        } else if barred.edits && tool.makes_edits() {
            "came to change files"
        } else {
            return None;
        };
        let name = call.name();
        let message = format!("tool \"{name}\" {what} after this call was decided; call it again");
        Some(
            ToolOutcome::failure(message)
                .with_info(ErrorInfo::new("DeniedError", TOOL_REPLACED))
                .of_kind(FailureKind::Denied)
                .by(DecidedBy::Pipeline),
        )
    }
}
