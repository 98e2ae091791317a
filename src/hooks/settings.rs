//! Hooks from the settings of the programs whose dialects they are in.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Dialect, Hook, HookPoint, HookSet, HookSetBuilder, HookSetError};

/// Larger files are no settings.
const MOST: u64 = 4 << 20;

/// What stands for a place in the commands of Claude Code's settings; where
/// it is absent the text stays as it is written.
///
/// The text is put into a shell's command as it is: quote it there.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// For `${CLAUDE_PLUGIN_ROOT}`.
    pub plugin_root: Option<String>,
    /// For `${CLAUDE_PROJECT_DIR}`.
    pub project_dir: Option<String>,
}

impl Places {
    fn put(&self, command: &str) -> String {
        let mut command = command.to_owned();
        for (name, place) in [
            ("${CLAUDE_PLUGIN_ROOT}", &self.plugin_root),
            ("${CLAUDE_PROJECT_DIR}", &self.project_dir),
        ] {
            if let Some(place) = place {
                command = command.replace(name, place);
            }
        }
        command
    }
}

/// Something in the settings that is no hook of this set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Its JSON pointer.
    pub pointer: String,
    /// Why: `prompt hook` or `async hook`, for instance.
    pub reason: String,
}

/// Hooks read from another program's settings.
///
/// Its commands run in a shell, as they do there. What is no hook of this
/// kind is left out, and all of it is listed.
///
/// ```
/// use serde_json::json;
/// use toolfall::hooks::{Dialect, HookSettings, Places};
///
/// let settings = json!({"hooks": {"PreToolUse": [
///     {"matcher": "Bash", "hooks": [
///         {"type": "command", "command": "./check.sh", "timeout": 3},
///         {"type": "prompt", "prompt": "Is this safe?"},
///     ]},
/// ]}});
/// let read = HookSettings::read(Dialect::ClaudeCode, &settings, &Places::default());
/// assert_eq!(read.skipped[0].pointer, "/hooks/PreToolUse/0/hooks/1");
/// assert_eq!(read.skipped[0].reason, "prompt hook");
/// assert_eq!(read.builder.build().unwrap().len(), 1);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HookSettings {
    /// The hooks; an invalid matcher among them shows when it is built.
    pub builder: HookSetBuilder,
    /// What was left out, in the order in which it is written.
    pub skipped: Vec<Skipped>,
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookSettingsError {
    /// The file cannot be read.
    #[error("{}: expected a settings file of at most {MOST} bytes", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file holds no JSON.
    #[error("{}: expected JSON", .file.display())]
    Json {
        /// The file.
        file: PathBuf,
        /// What was found, with line and column.
        source: serde_json::Error,
    },
    /// A hook in it cannot be put in a set.
    #[error("{}: expected hooks that can run", .file.display())]
    Hook {
        /// The file.
        file: PathBuf,
        /// What is wrong with which.
        source: HookSetError,
    },
}

impl HookSettings {
    /// Reads the hooks in `file`.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is no JSON, or one of its hooks cannot be
    /// put in a set: then there are none.
    pub fn from_file(
        dialect: Dialect,
        file: &Path,
        places: &Places,
    ) -> Result<Self, HookSettingsError> {
        let named = || file.to_owned();
        let mut text = Vec::new();
        std::fs::File::open(file)
            .and_then(|opened| opened.take(MOST + 1).read_to_end(&mut text))
            .and_then(|_| {
                if text.len() as u64 > MOST {
                    Err(std::io::ErrorKind::FileTooLarge.into())
                } else {
                    Ok(())
                }
            })
            .map_err(|source| HookSettingsError::File {
                file: named(),
                source,
            })?;
        let value: Value =
            serde_json::from_slice(&text).map_err(|source| HookSettingsError::Json {
                file: named(),
                source,
            })?;
        let read = Self::read(dialect, &value, places);
        let checked = read.builder.clone().build();
        checked.map_err(|source| HookSettingsError::Hook {
            file: named(),
            source,
        })?;
        Ok(read)
    }

    /// Reads the hooks in `settings`: an object with `hooks`, or the object
    /// that is meant by it. Anything else has no hooks.
    pub fn read(dialect: Dialect, settings: &Value, places: &Places) -> Self {
        let mut read = Self {
            builder: HookSet::builder(dialect),
            skipped: Vec::new(),
        };
        let (events, root) = match settings.get("hooks") {
            Some(hooks) => (hooks, "/hooks"),
            None => (settings, ""),
        };
        let Some(events) = events.as_object() else {
            read.skip(root, "expected an object of events");
            return read;
        };
        for (event, groups) in events {
            let at = format!("{root}/{}", event.replace('~', "~0").replace('/', "~1"));
            let point = HookPoint::from_name(event).filter(|point| dialect.supports(*point));
            let Some(point) = point else {
                read.skip(at, "unsupported event");
                continue;
            };
            let Some(groups) = groups.as_array() else {
                read.skip(at, "expected a list");
                continue;
            };
            for (place, group) in groups.iter().enumerate() {
                read.group(point, group, &format!("{at}/{place}"), places);
            }
        }
        read
    }

    fn skip(&mut self, pointer: impl Into<String>, reason: impl Into<String>) {
        self.skipped.push(Skipped {
            pointer: pointer.into(),
            reason: reason.into(),
        });
    }

    fn group(&mut self, point: HookPoint, group: &Value, at: &str, places: &Places) {
        let Some(hooks) = group.get("hooks").and_then(Value::as_array) else {
            return self.skip(at, "expected an object with a list `hooks`");
        };
        let matcher = match group.get("matcher") {
            None => None,
            Some(Value::String(matcher)) => Some(matcher),
            // Dropped before it is looked at: there is nothing to match.
            Some(_) if !point.has_matcher() => None,
            Some(_) => return self.skip(at, "expected a matcher that is a string"),
        };
        for (place, hook) in hooks.iter().enumerate() {
            let at = format!("{at}/hooks/{place}");
            let Some(hook) = hook.as_object() else {
                self.skip(at, "expected an object");
                continue;
            };
            match command(self.builder.dialect, hook, places) {
                Err(reason) => self.skip(at, reason),
                Ok(mut hook) => {
                    hook.matcher = matcher.cloned();
                    self.builder = self.builder.clone().on(point, hook);
                }
            }
        }
    }
}

fn command(dialect: Dialect, hook: &Map<String, Value>, places: &Places) -> Result<Hook, String> {
    match hook.get("type") {
        None => {}
        Some(Value::String(kind)) if kind == "command" => {}
        Some(Value::String(kind)) => {
            let kind: String = kind.chars().take(40).collect();
            return Err(format!("{kind} hook"));
        }
        Some(_) => return Err("expected a type that is a string".to_owned()),
    }
    let command = hook.get("command").and_then(Value::as_str);
    let command = command.filter(|command| !command.trim().is_empty());
    let Some(command) = command else {
        return Err("expected a command that is a string".to_owned());
    };
    let (command, timeout) = match dialect {
        Dialect::ClaudeCode => (places.put(command), hook.get("timeout")),
        Dialect::Codex => {
            if hook.get("async") == Some(&Value::Bool(true)) {
                return Err("async hook".to_owned());
            }
            let timeout = hook.get("timeout").or_else(|| hook.get("timeoutSec"));
            (command.to_owned(), timeout)
        }
    };
    let made = Hook::shell(command);
    let Some(timeout) = timeout else {
        return Ok(made);
    };
    timeout
        .as_f64()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|timeout| !timeout.is_zero() && *timeout <= super::builder::LONGEST)
        .map(|timeout| made.timeout(timeout))
        .ok_or_else(|| "expected a timeout in seconds, above zero and at most a day".to_owned())
}
