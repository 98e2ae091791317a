//! What a post-execute policy sees and decides.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::call::CallView;
use crate::content::ContentBlock;
use crate::outcome::{ContextMessage, ToolOutcome};

/// An outcome that is about to be published, with its call. Cheap to clone.
#[derive(Clone)]
pub struct PostRequest {
    call: CallView,
    outcome: ToolOutcome,
}

impl PostRequest {
    pub(crate) const fn new(call: CallView, outcome: ToolOutcome) -> Self {
        Self { call, outcome }
    }

    /// The call.
    pub const fn call(&self) -> &CallView {
        &self.call
    }

    /// Its outcome: shared and immutable, only the decision changes anything.
    pub const fn outcome(&self) -> &ToolOutcome {
        &self.outcome
    }

    pub(crate) fn into_parts(self) -> (CallView, ToolOutcome) {
        (self.call, self.outcome)
    }
}

/// Prints what people may see.
impl fmt::Debug for PostRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.call.shown_parts(self.outcome.parts());
        let outcome: &dyn fmt::Debug = match &shown {
            Some(shown) => shown,
            None => &self.outcome,
        };
        f.debug_struct("PostRequest")
            .field("call", &self.call)
            .field("outcome", outcome)
            .finish()
    }
}

/// What becomes of an outcome.
///
/// Content and value cannot both be replaced; there is no way to say so:
///
/// ```compile_fail
/// use toolfall_layers::PostDecision;
/// PostDecision::accept().with_content(vec![]).with_value(1.into());
/// ```
#[derive(Clone, Debug)]
pub struct PostDecision {
    pub(crate) change: Change,
    pub(crate) contexts: Vec<ContextMessage>,
    pub(crate) rule: Option<Cow<'static, str>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Nothing,
    Content(Vec<ContentBlock>),
    Value(Value),
    Block(Vec<ContentBlock>),
}

impl PostDecision {
    const fn new(change: Change) -> Self {
        Self {
            change,
            contexts: Vec::new(),
            rule: None,
        }
    }

    /// The outcome stands.
    pub const fn accept() -> Self {
        Self::new(Change::Nothing)
    }

    /// The model sees `content` instead. Presentation only: a program that
    /// reads the value still sees it; to hide a value, replace or block it.
    pub const fn replace_content(content: Vec<ContentBlock>) -> Self {
        Self::new(Change::Content(content))
    }

    /// The value is `value` instead; the tool validates and renders it. On a
    /// failure this is an error.
    pub const fn replace_value(value: Value) -> Self {
        Self::new(Change::Value(value))
    }

    /// The outcome is withheld; the model sees `feedback`, as it is.
    pub const fn block(feedback: Vec<ContentBlock>) -> Self {
        Self::new(Change::Block(feedback))
    }

    /// The outcome is withheld; the model sees one block of text.
    pub fn block_with(feedback: impl Into<String>) -> Self {
        Self::block(vec![ContentBlock::text(feedback)])
    }

    /// Adds a message to be delivered after the batch.
    pub fn with_context(mut self, context: ContextMessage) -> Self {
        self.contexts.push(context);
        self
    }

    /// Puts a message before those that are there: for a listener that
    /// delegates and speaks first.
    pub fn with_context_first(mut self, context: ContextMessage) -> Self {
        self.contexts.insert(0, context);
        self
    }

    /// Names the rule that decided, for records.
    pub fn by_rule(mut self, rule: impl Into<Cow<'static, str>>) -> Self {
        self.rule = Some(rule.into());
        self
    }

    /// Shows `content` instead of what this decision lets the model see; what
    /// else it decides stays. A block and a new value stand as they are.
    ///
    /// For a policy around others, which delegates first.
    ///
    /// ```
    /// use toolfall_layers::{ContentBlock, PostDecision};
    ///
    /// let shown = vec![ContentBlock::text("the start of it")];
    /// let decision = PostDecision::accept().showing(shown.clone());
    /// assert_eq!(decision.content(), Some(&*shown));
    /// assert_eq!(PostDecision::replace_value(1.into()).showing(shown).content(), None);
    /// ```
    pub fn showing(mut self, content: Vec<ContentBlock>) -> Self {
        if matches!(self.change, Change::Nothing | Change::Content(_)) {
            self.change = Change::Content(content);
        }
        self
    }

    /// What the model sees instead, where only that is replaced.
    pub fn content(&self) -> Option<&[ContentBlock]> {
        match &self.change {
            Change::Content(content) => Some(content),
            _ => None,
        }
    }

    /// The new value, where the value is replaced.
    pub const fn value(&self) -> Option<&Value> {
        match &self.change {
            Change::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The messages to be delivered after the batch.
    pub fn contexts(&self) -> &[ContextMessage] {
        &self.contexts
    }

    /// Whether the outcome is withheld.
    pub const fn is_block(&self) -> bool {
        matches!(self.change, Change::Block(_))
    }
}
