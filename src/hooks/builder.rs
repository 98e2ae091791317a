//! Putting hooks into a set, checked.

use std::fmt;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;

use super::set::{Inner, Prepared, Recorder};
use super::{
    Dialect, Hook, HookPoint, HookRecord, HookSession, HookSet, HookSetError, OnFault, ToolMatcher,
};

/// A set holds no more hooks than this.
const MOST: usize = 256;
/// A day: longer timeouts are mistakes.
pub(super) const LONGEST: Duration = Duration::from_secs(86_400);

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
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            hooks: Vec::new(),
            session: None,
            default_timeout: Duration::from_secs(600),
            on_fault: None,
            summary: 500,
            recorder: None,
        }
    }

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
        Ok(HookSet::new(Inner {
            dialect: self.dialect,
            hooks,
            session,
            default_timeout: self.default_timeout.min(LONGEST),
            summary: self.summary,
            recorder: self.recorder,
        }))
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
