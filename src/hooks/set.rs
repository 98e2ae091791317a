//! Hooks, put together.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::run::{HookRun, run};
use super::{
    Dialect, HookEvent, HookPoint, HookRecord, HookReport, HookSession, HookSetBuilder, Merged,
    OnFault, PostHooks, PreHooks, ToolMatcher, payload,
};
use crate::command::process::Spec;
use crate::{CallView, ToolOutcome};

pub(super) type Recorder = Arc<dyn Fn(&HookRecord) + Send + Sync>;

/// A hook, ready to run.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) id: String,
    pub(super) point: HookPoint,
    pub(super) matcher: ToolMatcher,
    pub(super) timeout: Option<Duration>,
    pub(super) on_fault: OnFault,
    pub(super) spec: Spec,
}

/// Hooks in one dialect, in their order. Clones share them.
///
/// See the [module docs](super) for examples.
#[derive(Clone)]
pub struct HookSet(Arc<Inner>);

pub(super) struct Inner {
    pub(super) dialect: Dialect,
    pub(super) hooks: Vec<Prepared>,
    pub(super) session: HookSession,
    pub(super) default_timeout: Duration,
    pub(super) summary: usize,
    pub(super) recorder: Option<Recorder>,
}

impl HookSet {
    /// Begins a set in `dialect`.
    pub fn builder(dialect: Dialect) -> HookSetBuilder {
        HookSetBuilder::new(dialect)
    }

    pub(super) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// The hooks before tools, as a policy.
    pub fn pre(&self) -> PreHooks {
        PreHooks(self.clone())
    }

    /// The hooks after tools, as a policy.
    pub fn post(&self) -> PostHooks {
        PostHooks(self.clone())
    }

    /// The dialect.
    pub fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    /// How many hooks there are.
    pub fn len(&self) -> usize {
        self.0.hooks.len()
    }

    /// Whether there is no hook.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs the hooks of an event outside the pipeline, one after another.
    ///
    /// # Cancel safety
    ///
    /// After `cancel` the running hook is ended and waited for, and no
    /// further one begins. Dropping the future kills the running hook.
    pub async fn run_event(&self, event: HookEvent, cancel: &CancellationToken) -> HookReport {
        let session = event.session.as_ref().unwrap_or(&self.0.session);
        let input = payload::of_event(self.0.dialect, event.point, session, &event.fields);
        self.run(event.point, &event.subject, session, &input, true, cancel)
            .await
    }

    pub(super) fn any(&self, point: HookPoint, name: &str) -> bool {
        self.chosen(point, name).next().is_some()
    }

    /// Whether one of the hooks refuses what it could not judge.
    pub(super) fn denies_faults(&self, point: HookPoint, name: &str) -> bool {
        self.chosen(point, name)
            .any(|hook| hook.on_fault == OnFault::Deny)
    }

    pub(super) async fn run_call(
        &self,
        point: HookPoint,
        call: &CallView,
        outcome: Option<&ToolOutcome>,
    ) -> HookReport {
        let own = call.extensions().get::<HookSession>();
        let session = own.as_deref().unwrap_or(&self.0.session);
        let input = payload::of_call(self.0.dialect, point, session, call, outcome);
        let recorded = call.scope().is_some();
        self.run(
            point,
            call.name(),
            session,
            &input,
            recorded,
            call.cancellation(),
        )
        .await
    }

    fn chosen<'a>(&'a self, point: HookPoint, name: &'a str) -> impl Iterator<Item = &'a Prepared> {
        self.0
            .hooks
            .iter()
            .filter(move |hook| hook.point == point && hook.matcher.matches(name))
    }

    async fn run(
        &self,
        point: HookPoint,
        name: &str,
        session: &HookSession,
        input: &str,
        recorded: bool,
        cancel: &CancellationToken,
    ) -> HookReport {
        let inner = &*self.0;
        let record = |record: HookRecord| {
            if let Some(recorder) = inner.recorder.as_ref().filter(|_| recorded) {
                recorder(&record);
            }
        };
        let mut report = HookReport::default();
        let turn = session.turn();
        for hook in self.chosen(point, name) {
            if cancel.is_cancelled() {
                report.cancelled = true;
                break;
            }
            record(HookRecord::Invoked {
                turn,
                point,
                dialect: inner.dialect,
                handler_id: hook.id.clone(),
                matcher: hook.matcher.pattern().map(str::to_owned),
            });
            let timeout = inner.default_timeout;
            let run = run(hook, inner.dialect, session, input, timeout, cancel).await;
            record(HookRecord::result(turn, inner.dialect, &run, inner.summary));
            report.cancelled |= run.cancelled;
            report.runs.push(run);
        }
        let counted: Vec<_> = report.runs.iter().map(HookRun::counted).collect();
        report.merged = Merged::of(&counted);
        report
    }
}

impl fmt::Debug for HookSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookSet")
            .field("dialect", &self.0.dialect)
            .field("hooks", &self.0.hooks)
            .finish_non_exhaustive()
    }
}
