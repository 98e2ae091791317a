//! Runs the calls of one model reply: policies in model order, bodies
//! overlapping, commits in model order.
//!
//! Calls that may overlap run up to a [limit](Scheduler::limit) at a time;
//! all others are barriers, and that is the default. A call is classified
//! right before it starts. The failure of one never disturbs the others.
//! While a person is asked about a call, that call gives its slot away; an
//! exclusive one keeps its barrier.
//!
//! The futures of a batch are polled in place, by whoever polls the
//! [`Batch`], and nothing is spawned: a body that blocks its thread stalls
//! its siblings, and so does a consumer that waits between two items of the
//! stream. Spawn the batch, or use [`Batch::run`], where that matters.
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use toolfall::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), BoxError> {
//! let registry = Registry::new();
//! registry.register(tool_fn("echo", "Says it again", |text: String, _: ToolContext| async {
//!     Ok::<_, BoxError>(text)
//! }).validation(Validation::Decoding).parallel())?.keep();
//! let scheduler = Pipeline::builder(registry).build().scheduler();
//!
//! let cancel = CancellationToken::new();
//! let calls = ["\"a\"", "\"b\""].map(|text| CallRequest::new("id", "echo", text, cancel.clone()));
//! let report = scheduler.batch(calls, cancel).run().await;
//! let texts: Vec<String> = report.committed.iter().map(|call| call.result.text()).collect();
//! assert_eq!(texts, ["a", "b"]);
//! assert!(!report.end.aborted);
//! # Ok(()) }
//! ```

mod batch;
mod begun;
mod driver;
mod input;
mod parallel;
mod slots;
mod sync;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use self::batch::{Batch, BatchEnd, BatchEvent, BatchReport, Cancel, Committed};
pub use self::input::{SubmitError, Submitter};
pub use self::parallel::run_parallel;
use crate::pipeline::PipelineService;
use crate::{BoxError, CallRequest, Recorder, Registry, ToolResult};

/// How many calls run at a time if nothing else is said.
pub const DEFAULT_LIMIT: NonZeroUsize = NonZeroUsize::new(10).unwrap();

/// Keeps the record of calls that never entered the pipeline, beside those
/// that did.
pub trait Journal: Recorder {
    /// Records a call and its result in one: the call was never begun.
    ///
    /// # Errors
    ///
    /// Logged; the result stands.
    fn not_started(&self, request: &CallRequest, result: &ToolResult) -> Result<(), BoxError>;
}

/// Starts batches over one pipeline. Cheap to clone.
#[derive(Clone)]
pub struct Scheduler<S> {
    service: S,
    registry: Registry,
    limit: NonZeroUsize,
    journal: Option<Arc<dyn Journal>>,
}

/// Only a whole pipeline can be scheduled; a bare leaf does not compile:
///
/// ```compile_fail,E0277
/// use toolfall::{Registry, Scheduler, ToolService};
///
/// let registry = Registry::new();
/// Scheduler::new(ToolService::new(registry.clone()), registry);
/// ```
impl<S: PipelineService> Scheduler<S> {
    /// A scheduler of calls to `service`, classified by the tools in
    /// `registry`.
    pub fn new(service: S, registry: Registry) -> Self {
        Self {
            service,
            registry,
            limit: DEFAULT_LIMIT,
            journal: None,
        }
    }

    /// Runs at most `limit` calls of a batch at a time. Each batch counts for
    /// itself, and calls that tools make do not count.
    pub fn limit(mut self, limit: NonZeroUsize) -> Self {
        self.limit = limit;
        self
    }

    /// Records the calls that a batch never begins in `journal`; the pipeline
    /// records the others.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }
}

impl<S> Scheduler<S>
where
    S: PipelineService + Send + 'static,
    S::Future: Send,
{
    /// A batch of `calls` in model order, cancelled by `cancel`. Build each
    /// request with that token or a child of it.
    ///
    /// Nothing runs until the batch is polled.
    pub fn batch(
        &self,
        calls: impl IntoIterator<Item = CallRequest>,
        cancel: CancellationToken,
    ) -> Batch<S> {
        let mut driver = self.driver(cancel, None);
        for call in calls {
            driver.push(call, None);
        }
        Batch::new(driver)
    }

    /// A batch that grows while it runs: for calls that arrive while the
    /// model still writes. At most `capacity` submitted calls wait to be
    /// taken in.
    ///
    /// # Panics
    ///
    /// If `capacity` is zero.
    pub fn open(&self, cancel: CancellationToken, capacity: usize) -> (Batch<S>, Submitter) {
        let (sender, receiver) = mpsc::channel(capacity);
        let batch = Batch::new(self.driver(cancel, Some(receiver)));
        (batch, Submitter::new(sender))
    }

    fn driver(
        &self,
        cancel: CancellationToken,
        input: Option<mpsc::Receiver<input::Submission>>,
    ) -> driver::Driver<S> {
        driver::Driver::new(
            self.service.clone(),
            self.registry.clone(),
            self.limit,
            self.journal.clone(),
            cancel,
            input,
        )
    }
}

impl<S> fmt::Debug for Scheduler<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
