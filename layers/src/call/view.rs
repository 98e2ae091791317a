//! Reading a call, wherever it is in its fall.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::state::CallState;
use super::{CallId, ExecutionToken, Extensions, Scope};
use crate::arguments::{Arguments, printable};
use crate::catalog::Definition;
use crate::content::ContentBlock;
use crate::outcome::{Parts, ToolResult};
use crate::redaction::{Redaction, ShownResult};

/// So many characters of the arguments are printed.
const ECHO: usize = 200;

/// A cheap, shared, read-only view of one call.
///
/// Policies that wait own one; observers get one. Keeping it keeps neither
/// the body nor its registration alive.
#[derive(Clone)]
pub struct CallView(pub(crate) Arc<CallState>);

impl CallView {
    pub(crate) fn state(&self) -> &Arc<CallState> {
        &self.0
    }

    /// The model's id for the call, exactly as sent.
    pub fn id(&self) -> &CallId {
        &self.0.id
    }

    /// The id of the model's call at the top; the call's own id unless nested.
    pub fn root_id(&self) -> &CallId {
        self.0
            .nested
            .as_ref()
            .map_or(&self.0.id, |nested| &nested.root)
    }

    /// The tool's name as the model wrote it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The frozen arguments; absent only if they could not be kept exactly,
    /// and then no policy and no body runs.
    pub fn arguments(&self) -> Option<&Arguments> {
        self.0.arguments.as_ref().ok()
    }

    /// The text of the arguments as sent, also of those that cannot be kept
    /// (a very long one is cut). To show or keep it, take
    /// [`shown_arguments`](Self::shown_arguments).
    pub fn raw_arguments(&self) -> &str {
        match &self.0.arguments {
            Ok(arguments) => arguments.text(),
            Err(refused) => &refused.text,
        }
    }

    /// The text of the arguments as people and records may see it:
    /// [`raw_arguments`](Self::raw_arguments), unless something of it is to be
    /// hidden (see [`redaction`](crate::redaction)).
    pub fn shown_arguments(&self) -> Cow<'_, str> {
        match self.0.redactions() {
            Some(redactions) => redactions.arguments(self.raw_arguments()),
            None => Cow::Borrowed(self.raw_arguments()),
        }
    }

    /// A text about the call, an error's message for instance, as people and
    /// records may see it.
    pub fn shown_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.0.redactions() {
            Some(redactions) => redactions.text(self.raw_arguments(), text),
            None => Cow::Borrowed(text),
        }
    }

    /// What people and records may see of `result`; `None` where the call has
    /// nothing to hide, and the result can be shown as it is.
    pub fn shown_result(&self, result: &ToolResult) -> Option<ShownResult> {
        self.shown_parts(result.parts())
    }

    /// What people may see of content that the call left beside its result.
    pub fn shown_content(&self, content: &[ContentBlock]) -> Vec<ContentBlock> {
        let content = content.to_vec();
        let Some(redactions) = self.0.redactions() else {
            return content;
        };
        let shown = ShownResult {
            content,
            ..ShownResult::default()
        };
        let shown = redactions.result(self.raw_arguments(), None, shown);
        shown.content
    }

    /// As [`shown_result`](Self::shown_result), of an outcome on its way, too.
    pub(crate) fn shown_parts(&self, parts: &Parts) -> Option<ShownResult> {
        let redactions = self.0.redactions()?;
        let shown = ShownResult::of_parts(parts);
        Some(redactions.result(self.raw_arguments(), parts.value.as_ref(), shown))
    }

    /// Whether something of the call may be hidden from people and records.
    pub fn has_redactions(&self) -> bool {
        self.0.is_redacted()
    }

    /// Hides from people and records what `redaction` says as well, from here
    /// on. Nothing takes it back; what was recorded before stands.
    pub fn redact(&self, redaction: Arc<dyn Redaction>) {
        self.0.hide(redaction);
    }

    /// This execution's identity.
    pub fn token(&self) -> ExecutionToken {
        self.0.token
    }

    /// The execution that asked for this one, if it is nested.
    pub fn parent(&self) -> Option<ExecutionToken> {
        self.0.nested.as_ref().map(|nested| nested.parent)
    }

    /// On whose behalf the call is made.
    pub fn scope(&self) -> Option<&Scope> {
        self.0.scope.as_ref()
    }

    /// The caller's own cancellation token, whatever a wrapper replaced.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.0.caller
    }

    /// Data that custom layers attached.
    pub fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }

    /// What the catalog knows of the tool now, if there is a catalog and the
    /// call's scope sees the tool.
    pub fn definition(&self) -> Option<Arc<dyn Definition>> {
        self.look_up()
    }

    /// Whether the call has a place in a batch, and so its result an order.
    pub fn is_in_batch(&self) -> bool {
        self.0.turn.is_some()
    }

    /// Whether a body of this call has been entered.
    pub fn was_entered(&self) -> bool {
        self.0.was_entered()
    }
}

/// Prints what people may see.
impl fmt::Debug for CallView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .has_redactions()
            .then(|| printable(&self.shown_arguments(), ECHO));
        let own = self.arguments();
        let arguments: &dyn fmt::Debug = match &shown {
            Some(shown) => shown,
            None => &own,
        };
        f.debug_struct("CallView")
            .field("id", self.id())
            .field("name", &self.name())
            .field("arguments", arguments)
            .field("scope", &self.scope())
            .finish_non_exhaustive()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::CallView {}
    impl Sealed for crate::BodyContext {}
    impl Sealed for crate::ToolCall {}
    impl Sealed for crate::DecidedCall {}
    impl Sealed for crate::ClearedCall {}
}

/// What every form of a call can tell: write a custom layer once against
/// this and it fits anywhere in the stack.
///
/// Sealed and dyn-compatible. Nothing here changes a call.
pub trait Call: sealed::Sealed + Send + Sync {
    /// The shared view, from which the rest is read.
    fn view(&self) -> &CallView;

    /// The model's id for the call, exactly as sent.
    fn id(&self) -> &CallId {
        self.view().id()
    }

    /// The tool's name as the model wrote it.
    fn name(&self) -> &str {
        self.view().name()
    }

    /// The frozen arguments; see [`CallView::arguments`].
    fn arguments(&self) -> Option<&Arguments> {
        self.view().arguments()
    }

    /// This execution's identity.
    fn token(&self) -> ExecutionToken {
        self.view().token()
    }

    /// The execution that asked for this one, if it is nested.
    fn parent(&self) -> Option<ExecutionToken> {
        self.view().parent()
    }

    /// On whose behalf the call is made.
    fn scope(&self) -> Option<&Scope> {
        self.view().scope()
    }

    /// The token that cancels the call here: the caller's own, or, inside an
    /// around stage that replaced it, the replacement.
    fn cancellation(&self) -> &CancellationToken {
        self.view().cancellation()
    }

    /// Data that custom layers attached.
    fn extensions(&self) -> &Extensions {
        self.view().extensions()
    }
}

impl Call for CallView {
    fn view(&self) -> &CallView {
        self
    }
}
