//! Messages for the model of which something is hidden from the log.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{CallView, ContentBlock, ContextMessage, ToolResult};

/// So many undelivered messages are kept.
const MOST: usize = 1024;

/// What is to be seen of messages that calls with secrets left, until they are
/// delivered: then nobody knows their call any more.
#[derive(Default)]
pub(super) struct HiddenContexts(Mutex<VecDeque<Hidden>>);

struct Hidden {
    id: Option<String>,
    content: Vec<ContentBlock>,
    shown: Vec<ContentBlock>,
}

impl Hidden {
    fn is_of(&self, context: &ContextMessage) -> bool {
        self.id == context.id && self.content == context.content
    }
}

impl HiddenContexts {
    fn kept(&self) -> MutexGuard<'_, VecDeque<Hidden>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what is to be seen of the messages that `result` brings.
    pub(super) fn keep(&self, view: &CallView, result: &ToolResult) {
        if !view.has_redactions() {
            return;
        }
        for context in result.contexts() {
            let shown = view.shown_content(&context.content);
            self.keep_one(context.id.as_ref(), &context.content, shown);
        }
    }

    /// Keeps what is to be seen of the content of `result`, which the model is
    /// shown as a message: `shown`.
    pub(super) fn keep_content(&self, result: &ToolResult, shown: &[ContentBlock]) {
        let only_text = result.content().iter().all(|it| it.as_text().is_some());
        if !only_text {
            self.keep_one(None, result.content(), shown.to_vec());
        }
    }

    fn keep_one(&self, id: Option<&String>, content: &[ContentBlock], shown: Vec<ContentBlock>) {
        if shown == content {
            return;
        }
        let mut kept = self.kept();
        // A host that never delivers messages does not have them kept.
        if kept.len() >= MOST {
            kept.pop_front();
        }
        kept.push_back(Hidden {
            id: id.cloned(),
            content: content.to_vec(),
            shown,
        });
    }

    /// What is to be seen of a message.
    pub(super) fn shown(&self, context: &ContextMessage) -> Vec<ContentBlock> {
        let kept = self.kept();
        let hidden = kept.iter().find(|hidden| hidden.is_of(context));
        hidden.map_or_else(|| context.content.clone(), |it| it.shown.clone())
    }

    /// The message was delivered.
    pub(super) fn forget(&self, context: &ContextMessage) {
        let mut kept = self.kept();
        if let Some(at) = kept.iter().position(|hidden| hidden.is_of(context)) {
            kept.remove(at);
        }
    }
}
