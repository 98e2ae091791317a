//! The token that an around stage put in the place of the caller's.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::CallView;

/// A replacement for the caller's token.
#[derive(Clone)]
pub(crate) enum Replaced {
    /// One that a wrapper brought.
    Token(CancellationToken),
    /// A child of the token that was there.
    Child(Arc<Child>),
}

/// A child token that is made when somebody first asks for it: most bodies
/// never do, and making one costs more than the rest of a deadline.
pub(crate) struct Child {
    view: CallView,
    upstream: Option<Replaced>,
    made: OnceLock<CancellationToken>,
}

impl Replaced {
    pub(crate) fn token(&self) -> &CancellationToken {
        match self {
            Self::Token(token) => token,
            Self::Child(child) => child.token(),
        }
    }

    /// Whether it is cancelled, where the caller's own token is not.
    pub(crate) fn is_cancelled(&self) -> bool {
        match self {
            Self::Token(token) => token.is_cancelled(),
            Self::Child(child) => match (child.made.get(), &child.upstream) {
                (Some(token), _) => token.is_cancelled(),
                (None, Some(upstream)) => upstream.is_cancelled(),
                (None, None) => false,
            },
        }
    }
}

impl Child {
    pub(crate) fn new(view: CallView, upstream: Option<Replaced>) -> Self {
        Self {
            view,
            upstream,
            made: OnceLock::new(),
        }
    }

    pub(crate) fn view(&self) -> &CallView {
        &self.view
    }

    /// The token that it follows.
    pub(crate) fn upstream(&self) -> &CancellationToken {
        match &self.upstream {
            Some(upstream) => upstream.token(),
            None => self.view.cancellation(),
        }
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        self.made.get_or_init(|| self.upstream().child_token())
    }
}
