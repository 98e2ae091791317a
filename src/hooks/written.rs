//! Hooks as they are written in a configuration.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

use super::{Dialect, Hook, HookPoint, HookSet, HookSetBuilder, OnFault};

/// The whole configuration; see [`HookSetBuilder`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    dialect: Dialect,
    default_timeout_ms: Option<NonZeroU64>,
    default_on_fault: Option<OnFault>,
    #[serde(default, alias = "stderrSummaryMaxChars")]
    stderr_summary_max_chars: Option<Number>,
    #[serde(default)]
    hooks: Vec<Entry>,
}

/// Any number, so that the wrong ones can be refused in our own words.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Number {
    Whole(u64),
    Other(f64),
}

/// One hook. What is wrong within it is said at its place.
#[derive(Deserialize)]
#[serde(try_from = "WrittenHook")]
struct Entry {
    on: HookPoint,
    hook: Hook,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHook {
    on: HookPoint,
    id: Option<String>,
    matcher: Option<String>,
    program: Option<Vec<String>>,
    shell: Option<String>,
    folder: Option<PathBuf>,
    only_env: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout_ms: Option<NonZeroU64>,
    grace_ms: Option<u64>,
    on_fault: Option<OnFault>,
    stdout_limit: Option<usize>,
    stderr_limit: Option<usize>,
}

impl TryFrom<WrittenHook> for Entry {
    type Error = &'static str;

    fn try_from(written: WrittenHook) -> Result<Self, Self::Error> {
        let mut hook = match (written.program, written.shell) {
            (Some(_), Some(_)) => return Err("expected `program` or `shell`, found both"),
            (None, None) => return Err("expected `program` or `shell`, found neither"),
            (None, Some(command)) => Hook::shell(command),
            (Some(program), None) => {
                let mut words = program.into_iter();
                let Some(program) = words.next().filter(|program| !program.is_empty()) else {
                    return Err("expected a program and its arguments, found none");
                };
                Hook::program(program).args(words)
            }
        };
        hook.id = written.id;
        hook.matcher = written.matcher;
        hook.on_fault = written.on_fault;
        hook.timeout = written.timeout_ms.map(|ms| Duration::from_millis(ms.get()));
        hook.spec.folder = written.folder;
        if let Some(passed) = written.only_env {
            hook = hook.only_env(passed);
        }
        for (name, value) in written.env {
            hook = hook.env(name, value);
        }
        if let Some(grace) = written.grace_ms {
            hook = hook.grace(Duration::from_millis(grace));
        }
        if let Some(limit) = written.stdout_limit {
            hook = hook.stdout_limit(limit);
        }
        if let Some(limit) = written.stderr_limit {
            hook = hook.stderr_limit(limit);
        }
        Ok(Self {
            on: written.on,
            hook,
        })
    }
}

impl<'de> Deserialize<'de> for HookSetBuilder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let mut builder = HookSet::builder(written.dialect);
        if let Some(timeout) = written.default_timeout_ms {
            builder = builder.default_timeout(Duration::from_millis(timeout.get()));
        }
        if let Some(on_fault) = written.default_on_fault {
            builder = builder.default_on_fault(on_fault);
        }
        if let Some(number) = written.stderr_summary_max_chars {
            let most = match number {
                Number::Whole(whole) => usize::try_from(whole)
                    .ok()
                    .and_then(|whole| whole.try_into().ok()),
                Number::Other(_) => None,
            };
            let Some(most) = most else {
                let found = match number {
                    Number::Whole(whole) => whole.to_string(),
                    Number::Other(other) => other.to_string(),
                };
                return Err(de::Error::custom(format_args!(
                    "{}: stderrSummaryMaxChars must be a positive integer, found {found}",
                    written.dialect.bridge()
                )));
            };
            builder = builder.stderr_summary_max_chars(most);
        }
        for entry in written.hooks {
            builder = builder.on(entry.on, entry.hook);
        }
        // What only shows when it is put together shows here and not later.
        builder.clone().build().map_err(de::Error::custom)?;
        Ok(builder)
    }
}
