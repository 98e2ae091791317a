//! Hooks, put together.

use std::fmt;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::run::{HookRun, run};
use super::{
    Dialect, Hook, HookPoint, HookRecord, HookSession, HookSetError, Merged, OnFault, PostHooks,
    PreHooks, ToolMatcher, payload,
};
use crate::command::process::Spec;
use crate::{CallView, ToolOutcome};

/// A set holds no more hooks than this.
const MOST: usize = 256;
/// A day: longer timeouts are mistakes.
pub(super) const LONGEST: Duration = Duration::from_secs(86_400);

type Recorder = Arc<dyn Fn(&HookRecord) + Send + Sync>;

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

struct Inner {
    dialect: Dialect,
    hooks: Vec<Prepared>,
    session: HookSession,
    default_timeout: Duration,
    summary: usize,
    recorder: Option<Recorder>,
}

/// Collects hooks for a [`HookSet`].
#[must_use = "a builder does nothing until it is built"]
#[derive(Clone)]
pub struct HookSetBuilder {
    pub(super) dialect: Dialect,
    hooks: Vec<(HookPoint, Hook)>,
    session: Option<HookSession>,
    default_timeout: Duration,
    on_fault: Option<OnFault>,
    summary: usize,
    recorder: Option<Recorder>,
}

impl fmt::Debug for HookSetBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookSetBuilder")
            .field("dialect", &self.dialect)
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}

impl HookSetBuilder {
    /// Adds a hook before tools.
    pub fn pre(self, hook: Hook) -> Self {
        self.on(HookPoint::PreToolUse, hook)
    }

    /// Adds a hook after tools.
    pub fn post(self, hook: Hook) -> Self {
        self.on(HookPoint::PostToolUse, hook)
    }

    /// Adds a hook at `point`, after those that are there.
    pub fn on(mut self, point: HookPoint, hook: Hook) -> Self {
        self.hooks.push((point, hook));
        self
    }

    /// Sets the session that hooks are told of and run in. Without one it has
    /// an empty id and this process's folder.
    pub fn session(mut self, session: HookSession) -> Self {
        self.session = Some(session);
        self
    }

    /// How long hooks may run that do not say; ten minutes without this.
    pub fn default_timeout(mut self, timeout: Duration) -> Self {
        self.default_timeout = timeout;
        self
    }

    /// What a fault does of hooks that do not say, wherever they run. Without
    /// this it denies in front of a call and is ignored everywhere else.
    pub fn default_on_fault(mut self, on_fault: OnFault) -> Self {
        self.on_fault = Some(on_fault);
        self
    }

    /// How many characters of standard error a record keeps; 500 without
    /// this.
    pub fn stderr_summary_max_chars(mut self, most: NonZeroUsize) -> Self {
        self.summary = most.get();
        self
    }

    /// Has `recorder` told when a hook begins and when it has ended, for
    /// calls that have a [`Scope`](crate::Scope) and for events. It runs in
    /// line and should only hand the record on.
    pub fn recorder(mut self, recorder: impl Fn(&HookRecord) + Send + Sync + 'static) -> Self {
        self.recorder = Some(Arc::new(recorder));
        self
    }

    /// Checks every hook and makes the set.
    ///
    /// # Errors
    ///
    /// A hook that cannot work as it is written, with its place.
    pub fn build(self) -> Result<HookSet, HookSetError> {
        if self.hooks.len() > MOST {
            return Err(HookSetError::TooMany {
                most: MOST,
                found: self.hooks.len(),
            });
        }
        let mut hooks: Vec<Prepared> = Vec::with_capacity(self.hooks.len());
        for (point, mut hook) in self.hooks {
            hook.on_fault = hook.on_fault.or(self.on_fault);
            let place = hooks.iter().filter(|hook| hook.point == point).count();
            hooks.push(prepare(self.dialect, point, place, hook)?);
        }
        let session = self.session.unwrap_or_else(|| {
            // A folder that is gone shows when a hook is started in it.
            HookSession::new("", std::env::current_dir().unwrap_or_else(|_| ".".into()))
        });
        Ok(HookSet(Arc::new(Inner {
            dialect: self.dialect,
            hooks,
            session,
            default_timeout: self.default_timeout.min(LONGEST),
            summary: self.summary,
            recorder: self.recorder,
        })))
    }
}

fn prepare(
    dialect: Dialect,
    point: HookPoint,
    place: usize,
    hook: Hook,
) -> Result<Prepared, HookSetError> {
    let id = hook.id.unwrap_or_else(|| format!("{point}[{place}]"));
    if !dialect.supports(point) {
        return Err(HookSetError::Point { id, point, dialect });
    }
    let wrong = |expected: String| HookSetError::Hook {
        id: id.clone(),
        point,
        expected,
    };
    if id.is_empty() {
        return Err(wrong("a name, found an empty one".to_owned()));
    }
    if hook.spec.program.is_empty() {
        return Err(wrong("a program, found an empty text".to_owned()));
    }
    if let Some(timeout) = hook.timeout
        && (timeout.is_zero() || timeout > LONGEST)
    {
        let found = timeout.as_millis();
        return Err(wrong(format!(
            "a timeout above zero and of at most a day, found {found}ms"
        )));
    }
    for (name, value) in &hook.spec.set {
        let name = name.as_bytes();
        if name.is_empty() || name.contains(&b'=') || name.contains(&0) {
            let found = String::from_utf8_lossy(name);
            return Err(wrong(format!("the name of a variable, found {found:?}")));
        }
        if value.as_bytes().contains(&0) {
            return Err(wrong("a variable's value without a zero byte".to_owned()));
        }
    }
    let pattern = hook.matcher.filter(|_| point.has_matcher());
    let matcher = ToolMatcher::new(dialect, pattern.as_deref());
    if let Some(error) = matcher.error() {
        let matcher = error.clone();
        return Err(HookSetError::Matcher { id, point, matcher });
    }
    let on_fault = hook.on_fault.unwrap_or(match point {
        HookPoint::PreToolUse => OnFault::Deny,
        _ => OnFault::Ignore,
    });
    Ok(Prepared {
        id,
        point,
        matcher,
        timeout: hook.timeout,
        on_fault,
        spec: hook.spec,
    })
}

/// Something that happened in a host's loop, for
/// [`HookSet::run_event`].
#[derive(Clone, Debug)]
pub struct HookEvent {
    point: HookPoint,
    subject: String,
    fields: Map<String, Value>,
    session: Option<HookSession>,
}

impl HookEvent {
    /// The event at `point`.
    pub fn new(point: HookPoint) -> Self {
        Self {
            point,
            subject: String::new(),
            fields: Map::new(),
            session: None,
        }
    }

    pub(super) fn point(&self) -> HookPoint {
        self.point
    }

    /// What matchers are tried on: how a session began, or a subagent's kind.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// Tells the hooks something more; what every hook is told stays as it is.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// Runs the hooks in `session` instead of the set's own.
    pub fn session(mut self, session: HookSession) -> Self {
        self.session = Some(session);
        self
    }
}

/// What the hooks at one point said.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HookReport {
    /// Each hook that ran, in order.
    pub runs: Vec<HookRun>,
    /// Their answers as one; faults that are not ignored count as denials.
    pub merged: Merged,
    /// Whether they were stopped because they were cancelled.
    pub cancelled: bool,
}

impl HookSet {
    /// Begins a set in `dialect`.
    pub fn builder(dialect: Dialect) -> HookSetBuilder {
        HookSetBuilder {
            dialect,
            hooks: Vec::new(),
            session: None,
            default_timeout: Duration::from_secs(600),
            on_fault: None,
            summary: 500,
            recorder: None,
        }
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
