//! What a caller builds.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{CallId, ExecutionToken, Extensions, Scope};
use crate::arguments::{Arguments, ArgumentsError};
use crate::outcome::ToolResult;
use crate::redaction::{Redaction, Redactions, ShownResult};
use crate::turn::Turn;

/// A tool call as a caller asks for it: nothing is decided yet.
///
/// Every request carries a cancellation token; there is no default one. The
/// request is consumed by the result stage, which mints the
/// [`ToolCall`](crate::ToolCall) that the other stages see.
///
/// ```
/// use tokio_util::sync::CancellationToken;
/// use toolfall_layers::CallRequest;
///
/// let cancel = CancellationToken::new();
/// let request = CallRequest::new("call_1", "read_file", r#"{"path":"a.txt"}"#, cancel);
/// assert_eq!(request.name(), "read_file");
/// ```
pub struct CallRequest {
    pub(crate) id: CallId,
    pub(crate) name: Cow<'static, str>,
    // Boxed: it is rare, and the request is moved often.
    pub(crate) arguments: Result<Arguments, Box<RefusedArguments>>,
    pub(crate) nested: Option<Box<Nested>>,
    pub(crate) scope: Option<Scope>,
    pub(crate) cancellation: CancellationToken,
    pub(crate) extensions: Extensions,
    pub(crate) turn: Option<Turn>,
    // Boxed: it is rare.
    pub(crate) redactions: Option<Box<Redactions>>,
}

/// Where a nested call hangs; boxed, because most calls are not nested.
pub(crate) struct Nested {
    pub(crate) parent: ExecutionToken,
    pub(crate) root: CallId,
}

impl CallRequest {
    /// A call of the tool `name`, cancelled by `cancellation`.
    ///
    /// Arguments that cannot be kept exactly do not fail here: the call goes
    /// through the result stage and is answered, without any policy or body
    /// having run.
    pub fn new(
        id: impl Into<CallId>,
        name: impl Into<Cow<'static, str>>,
        arguments: impl IntoArguments,
        cancellation: CancellationToken,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into_arguments().map_err(Box::new),
            nested: None,
            scope: None,
            cancellation,
            extensions: Extensions::new(),
            turn: None,
            redactions: None,
        }
    }

    /// Makes the call on behalf of `scope`.
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Makes this a call that the execution `parent` asked for, below the
    /// model's call `root`.
    pub fn nested_in(mut self, parent: ExecutionToken, root: CallId) -> Self {
        self.nested = Some(Box::new(Nested { parent, root }));
        self
    }

    /// Gives the call its place in a batch; see [`crate::turn`].
    pub fn with_turn(mut self, turn: Turn) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Hides from people and records what `redaction` says, beside what the
    /// tool hides itself; see [`crate::redaction`].
    pub fn with_redaction(mut self, redaction: Arc<dyn Redaction>) -> Self {
        self.redactions.get_or_insert_default().add(redaction);
        self
    }

    /// Attaches `value` for custom layers.
    pub fn with_extension<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }

    /// The model's id for the call.
    pub fn id(&self) -> &CallId {
        &self.id
    }

    /// The tool's name as the model wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tool's name, to be kept: no copy of a name that is `'static`.
    pub fn shared_name(&self) -> Cow<'static, str> {
        self.name.clone()
    }

    /// The arguments.
    ///
    /// # Errors
    ///
    /// Says why they cannot be kept.
    pub fn arguments(&self) -> Result<&Arguments, &ArgumentsError> {
        self.arguments.as_ref().map_err(|refused| &refused.error)
    }

    /// The text of the arguments, also of those that cannot be kept (a very
    /// long one is cut).
    pub fn raw_arguments(&self) -> &str {
        match &self.arguments {
            Ok(arguments) => arguments.text(),
            Err(refused) => &refused.text,
        }
    }

    /// The execution that asked for this call, if it is nested.
    pub fn parent(&self) -> Option<ExecutionToken> {
        self.nested.as_ref().map(|nested| nested.parent)
    }

    /// The text of the arguments as people and records may see it, as far as
    /// the request knows: what the tool hides is known once the call is minted.
    pub fn shown_arguments(&self) -> Cow<'_, str> {
        match &self.redactions {
            Some(redactions) => redactions.arguments(self.raw_arguments()),
            None => Cow::Borrowed(self.raw_arguments()),
        }
    }

    /// A text about the call as people and records may see it; as
    /// [`shown_arguments`](Self::shown_arguments).
    pub fn shown_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.redactions {
            Some(redactions) => redactions.text(self.raw_arguments(), text),
            None => Cow::Borrowed(text),
        }
    }

    /// What people and records may see of a result of the call, or `None`
    /// where nothing is hidden; as [`shown_arguments`](Self::shown_arguments).
    pub fn shown_result(&self, result: &ToolResult) -> Option<ShownResult> {
        let redactions = self.redactions.as_ref()?;
        let shown = ShownResult::of(result);
        Some(redactions.result(self.raw_arguments(), result.value(), shown))
    }

    /// On whose behalf the call is made.
    pub fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// The caller's cancellation token.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// The data attached for custom layers.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// The same call with other arguments: for repair and rewriting, which
    /// happen outside the pipeline, before anything is minted.
    ///
    /// ```
    /// use tokio_util::sync::CancellationToken;
    /// use toolfall_layers::CallRequest;
    ///
    /// let call = CallRequest::new("1", "read", r#"{"path":"a""#, CancellationToken::new());
    /// let mended = format!("{}}}", call.raw_arguments());
    /// let call = call.with_arguments(mended);
    /// assert_eq!(call.raw_arguments(), r#"{"path":"a"}"#);
    /// ```
    pub fn with_arguments(mut self, arguments: impl IntoArguments) -> Self {
        self.arguments = arguments.into_arguments().map_err(Box::new);
        self
    }
}

/// The tool is not known yet, so that only what
/// [`with_redaction`](CallRequest::with_redaction) says is hidden.
impl fmt::Debug for CallRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.redactions.as_ref().map(|_| self.shown_arguments());
        let arguments: &dyn fmt::Debug = match &shown {
            Some(shown) => shown,
            None => &self.arguments,
        };
        f.debug_struct("CallRequest")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("arguments", arguments)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// Arguments that cannot be kept exactly, with the text that said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedArguments {
    pub(crate) error: ArgumentsError,
    pub(crate) text: String,
}

/// Longer refused texts are kept only so far, in bytes.
const MAX_REFUSED: usize = 64 * 1024;

impl RefusedArguments {
    fn new(error: ArgumentsError, mut text: String) -> Self {
        if text.len() > MAX_REFUSED {
            let mut end = MAX_REFUSED;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
        Self { error, text }
    }
}

impl From<ArgumentsError> for RefusedArguments {
    fn from(error: ArgumentsError) -> Self {
        Self {
            error,
            text: String::new(),
        }
    }
}

/// What [`CallRequest::new`] takes for arguments: checked ones, or text to be
/// checked.
pub trait IntoArguments {
    /// Checks the arguments, if that has not been done.
    fn into_arguments(self) -> Result<Arguments, RefusedArguments>;
}

impl IntoArguments for Arguments {
    fn into_arguments(self) -> Result<Arguments, RefusedArguments> {
        Ok(self)
    }
}

impl IntoArguments for Result<Arguments, ArgumentsError> {
    fn into_arguments(self) -> Result<Arguments, RefusedArguments> {
        self.map_err(Into::into)
    }
}

impl IntoArguments for String {
    fn into_arguments(self) -> Result<Arguments, RefusedArguments> {
        Arguments::keep(self).map_err(|(error, text)| RefusedArguments::new(error, text))
    }
}

impl IntoArguments for &str {
    fn into_arguments(self) -> Result<Arguments, RefusedArguments> {
        self.to_owned().into_arguments()
    }
}
