//! Making hooks of what is written.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use toml::Spanned;
use toolfall::hooks::{
    Dialect, Hook, HookPoint, HookRecord, HookSession, HookSet, HookSetBuilder, HookSetError,
    HookSettings, OnFault, Places,
};

use super::hooks::{Convention, Fault, Hook as Written, Hooks};
use super::place::read_text;
use super::{Config, Source};
use crate::error::{Error, chain};
use crate::render::safe;

/// So many characters of what a failed hook wrote are shown.
const SHOWN: usize = 300;

/// The hooks of a run, and what of the settings file is none of them.
pub(crate) struct Loaded {
    pub(crate) hooks: HookSet,
    pub(crate) notes: Vec<String>,
}

impl From<Convention> for Dialect {
    fn from(word: Convention) -> Self {
        match word {
            Convention::ClaudeCode => Self::ClaudeCode,
            Convention::Codex => Self::Codex,
        }
    }
}

impl From<Fault> for OnFault {
    fn from(word: Fault) -> Self {
        match word {
            Fault::Deny => Self::Deny,
            Fault::Ignore => Self::Ignore,
        }
    }
}

impl Config {
    /// What hooks are told of the session that `log` records.
    pub(crate) fn hook_session(&self, log: &Path) -> HookSession {
        let folder = self.folder(None);
        let folder = folder.canonicalize().unwrap_or(folder);
        let log = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
        HookSession::new(format!("toolfall-{}", std::process::id()), folder)
            .transcript(log.to_string_lossy())
    }

    /// The hooks of the file; none if it has none. With `replay`, when nothing
    /// real runs, they are checked and left out.
    pub(crate) fn hooks(&self, session: HookSession, replay: bool) -> Result<Loaded, Error> {
        let own = |error| Error::own("the hooks cannot be put together", &error);
        let mut notes = Vec::new();
        let none = || HookSet::builder(Dialect::default()).build().map_err(own);
        let (Some(source), Some(written)) = (&self.source, &self.written.hooks) else {
            return Ok(Loaded {
                hooks: none()?,
                notes,
            });
        };
        let dialect = written.dialect.into();
        let mut builder = match &written.file {
            Some(file) => self.settings(source, dialect, file, &session, &mut notes)?,
            None => HookSet::builder(dialect),
        };
        builder = with_defaults(builder.session(session).recorder(warn), written);
        for (point, hooks) in [
            (HookPoint::PreToolUse, &written.before),
            (HookPoint::PostToolUse, &written.after),
        ] {
            for hook in hooks {
                builder = builder.on(point, self.hook(source, hook)?);
                // Built one by one, so that the error can name the place.
                let built = builder.clone().build();
                built.map_err(|error| source.error(Some(hook.span()), &told(&error)))?;
            }
        }
        let mut hooks = builder.build().map_err(own)?;
        if replay && !hooks.is_empty() {
            notes = vec!["hooks are left out: with --replay nothing real runs".to_owned()];
            hooks = none()?;
        }
        Ok(Loaded { hooks, notes })
    }

    /// The hooks of another program's settings file.
    fn settings(
        &self,
        source: &Source,
        dialect: Dialect,
        file: &Spanned<std::path::PathBuf>,
        session: &HookSession,
        notes: &mut Vec<String>,
    ) -> Result<HookSetBuilder, Error> {
        let path = self.beside(file.get_ref());
        let name = path.display();
        let text = read_text(&path, "a settings file")
            .map_err(|error| source.error(Some(file.span()), &error.to_string()))?;
        let settings: Value = serde_json::from_str(&text).map_err(|error| {
            let line = error.line() as u64;
            Error::at(&path, line, format_args!("expected JSON: {error}"))
        })?;
        let places = Places {
            project_dir: Some(session.folder().to_string_lossy().into_owned()),
            ..Places::default()
        };
        let read = HookSettings::read(dialect, &settings, &places);
        let built = read.builder.clone().build();
        built.map_err(|error| Error::input(format!("{name}: {}", told(&error))))?;
        for skipped in &read.skipped {
            let (pointer, reason) = (&skipped.pointer, &skipped.reason);
            notes.push(format!("{name}: {pointer} is left out: {reason}"));
        }
        let events = settings.get("hooks").unwrap_or(&settings).as_object();
        for event in events.into_iter().flat_map(|events| events.keys()) {
            let point = HookPoint::from_name(event).filter(|point| dialect.supports(*point));
            if point.is_some_and(|point| {
                !matches!(point, HookPoint::PreToolUse | HookPoint::PostToolUse)
            }) {
                notes.push(format!(
                    "{name}: hooks on {event} are left out: only hooks before and after a tool \
                     are run here"
                ));
            }
        }
        Ok(read.builder)
    }

    fn hook(&self, source: &Source, written: &Spanned<Written>) -> Result<Hook, Error> {
        let at = written.span();
        let written = written.get_ref();
        let fail = |message: &str| source.error(Some(at.clone()), message);
        let mut hook = match (&written.program, &written.shell) {
            (Some(words), None) => {
                let (program, rest) = self.program(source, words)?;
                if !written.env.contains_key("PATH") && !can_be_found(&program) {
                    let message = format!(
                        "expected a program in PATH, or a path with a \"/\" in it, found {:?}",
                        program.display().to_string()
                    );
                    return Err(source.error(Some(words.span()), &message));
                }
                Hook::program(program).args(rest)
            }
            (None, Some(command)) => Hook::shell(command),
            (Some(_), Some(_)) => return Err(fail("expected `program` or `shell`, found both")),
            (None, None) => return Err(fail("expected `program` or `shell`, found neither")),
        };
        if let Some(folder) = &written.folder {
            hook = hook.current_dir(self.folder(Some(folder)));
        }
        if let Some(name) = &written.name {
            hook = hook.id(name);
        }
        if let Some(matcher) = &written.matcher {
            hook = hook.matcher(matcher);
        }
        if let Some(passed) = &written.only_env {
            hook = hook.only_env(passed);
        }
        for (name, value) in &written.env {
            hook = hook.env(name, value);
        }
        if let Some(timeout) = written.timeout_ms {
            hook = hook.timeout(Duration::from_millis(timeout.get()));
        }
        if let Some(grace) = written.grace_ms {
            hook = hook.grace(Duration::from_millis(grace));
        }
        if let Some(on_fault) = written.on_fault {
            hook = hook.on_fault(on_fault.into());
        }
        if let Some(limit) = written.stdout_limit {
            hook = hook.stdout_limit(limit);
        }
        if let Some(limit) = written.stderr_limit {
            hook = hook.stderr_limit(limit);
        }
        Ok(hook)
    }
}

/// What a hook that failed had to say; the fault itself is logged where the
/// hook is run.
fn warn(record: &HookRecord) {
    if let HookRecord::Result {
        handler_id,
        exit_code: Some(code),
        stderr_summary: Some(stderr),
        ..
    } = record
        && !matches!(code, 0 | 2)
    {
        tracing::warn!(hook = handler_id, "it wrote: {}", safe(stderr, SHOWN));
    }
}

/// On one line: a regular expression's error shows where in it.
fn told(error: &HookSetError) -> String {
    let text = chain(error);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn with_defaults(mut builder: HookSetBuilder, written: &Hooks) -> HookSetBuilder {
    if let Some(timeout) = written.default_timeout_ms {
        builder = builder.default_timeout(Duration::from_millis(timeout.get()));
    }
    match written.default_on_fault {
        Some(on_fault) => builder.default_on_fault(on_fault.into()),
        None => builder,
    }
}

/// Whether a program of that name is there to be started. A hook without its
/// program would deny every call, so it is better told before the first.
fn can_be_found(program: &Path) -> bool {
    program.is_absolute()
        || std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
        })
}
