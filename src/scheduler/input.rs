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

    /// Room for one call, if there is some now and nobody waits for it.
    ///
    /// # Errors
    ///
    /// Says whether to [wait](Self::reserve) for it.
    #[cfg(feature = "code")]
    pub(crate) fn try_reserve(&self) -> Result<Reserved<'_>, NoRoom> {
        match self.0.try_reserve() {
            Ok(permit) => Ok(Reserved(permit)),
            Err(mpsc::error::TrySendError::Full(())) => Err(NoRoom::Yet),
            Err(mpsc::error::TrySendError::Closed(())) => Err(NoRoom::Ever),
        }
    }

    /// Waits for room for one call; `None` if the batch is gone.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives the place in the queue for room away.
    #[cfg(feature = "code")]
    pub(crate) async fn reserve(&self) -> Option<Reserved<'_>> {
        self.0.reserve().await.ok().map(Reserved)
    }

    async fn send(&self, submission: Submission) -> Result<(), SubmitError> {
        self.0
            .send(submission)
            .await
            .map_err(|error| SubmitError(error.0.request))
    }
}

/// Room for one call.
#[cfg(feature = "code")]
pub(crate) struct Reserved<'a>(mpsc::Permit<'a, Submission>);

#[cfg(feature = "code")]
impl Reserved<'_> {
    /// Adds a call after those added before.
    pub(crate) fn submit(self, request: CallRequest) {
        self.0.send(Submission { request, cut: None });
    }
}

/// Why there is no room for a call.
#[cfg(feature = "code")]
pub(crate) enum NoRoom {
    /// Too many calls wait.
    Yet,
    /// The batch takes no more.
    Ever,
}

impl fmt::Debug for Submitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitter").finish_non_exhaustive()
    }
}
