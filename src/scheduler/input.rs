//! Calls that come while a batch runs.

use std::borrow::Cow;
use std::fmt;

use tokio::sync::mpsc;

use crate::CallRequest;

/// One call on its way into a batch.
pub(super) struct Submission {
    pub(super) request: CallRequest,
    /// Why the call must not run, if it was cut off.
    pub(super) cut: Option<Cow<'static, str>>,
}

/// Adds calls to an open batch; dropping every clone closes it.
#[derive(Clone)]
pub struct Submitter(mpsc::Sender<Submission>);

/// The batch is gone, and here is the call.
#[derive(Debug)]
pub struct SubmitError(pub CallRequest);

impl fmt::Display for SubmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a batch that runs, found one that is gone")
    }
}

impl std::error::Error for SubmitError {}

impl Submitter {
    pub(super) const fn new(sender: mpsc::Sender<Submission>) -> Self {
        Self(sender)
    }

    /// Adds a call after those added before; waits while too many wait.
    ///
    /// # Errors
    ///
    /// Gives the call back if the batch is gone.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses the call: it was not added.
    pub async fn submit(&self, request: CallRequest) -> Result<(), SubmitError> {
        self.send(Submission { request, cut: None }).await
    }

    /// Adds a call that the end of the model's reply cut off: it never runs,
    /// and its answer says `why`.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    ///
    /// # Cancel safety
    ///
    /// As [`submit`](Self::submit).
    pub async fn cut(
        &self,
        request: CallRequest,
        why: impl Into<Cow<'static, str>>,
    ) -> Result<(), SubmitError> {
        self.send(Submission {
            request,
            cut: Some(why.into()),
        })
        .await
    }

    /// Adds a call after those added before if there is room for it now, else
    /// gives it back.
    #[cfg(feature = "code")]
    pub(crate) fn try_submit(&self, request: CallRequest) -> Result<(), CallRequest> {
        let sent = self.0.try_send(Submission { request, cut: None });
        sent.map_err(|error| error.into_inner().request)
    }

    async fn send(&self, submission: Submission) -> Result<(), SubmitError> {
        self.0
            .send(submission)
            .await
            .map_err(|error| SubmitError(error.0.request))
    }
}

impl fmt::Debug for Submitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitter").finish_non_exhaustive()
    }
}
