//! Who is asked in a run, and what the run permits without asking.

use std::fmt::Write as _;
use std::sync::Arc;

use toolfall::approval::{Answerers, ApprovalMode};
use toolfall::permission::{Presets, SelectError, SessionPermission};
use toolfall::session::SessionRecorder;
use toolfall::{ApprovalOutcome, ApprovalRequest, Scope};

use crate::config::Config;
use crate::error::{Error, log_error};
use crate::prompt::Prompt;

/// The approver of a run, and what its preset says.
pub(crate) struct Asking {
    pub(crate) answerers: Answerers,
    pub(crate) permission: Option<SessionPermission>,
    /// Whether the preset says that nobody is asked.
    pub(crate) never: bool,
}

impl Asking {
    /// The calls of `scope` have the default of `presets`, whatever earlier
    /// runs of the same log had: what the configuration says counts. Blocks
    /// while the log is read.
    pub(crate) fn new(
        config: &Config,
        presets: Option<Presets>,
        scope: &Scope,
        recorder: &Arc<SessionRecorder>,
    ) -> Result<Self, Error> {
        let answerers = Answerers::audited(recorder.clone());
        Self::again(&answerers, config, presets, scope, recorder)
    }

    /// The same with `answerers` that there are already.
    pub(crate) fn again(
        answerers: &Answerers,
        config: &Config,
        presets: Option<Presets>,
        scope: &Scope,
        recorder: &Arc<SessionRecorder>,
    ) -> Result<Self, Error> {
        let mut answerers = answerers.clone();
        if let Some(limit) = config.approval_timeout() {
            answerers = answerers.deadline(limit);
        }
        let permission = match presets {
            Some(presets) => Some(permission(&presets, &answerers, scope, recorder)?),
            None => None,
        };
        let mode = permission.as_ref().map(|session| session.mode().mode());
        Ok(Self {
            answerers,
            permission,
            never: mode == Some(ApprovalMode::Never),
        })
    }

    /// Lets `prompt` answer.
    pub(crate) fn put_to(&self, prompt: Prompt) {
        let prompt = Arc::new(prompt);
        let answerer = move |request: ApprovalRequest| {
            let prompt = prompt.clone();
            async move {
                let answer = prompt.ask(&request).await;
                // Where nobody sits, whoever comes after may know more.
                (answer.outcome() != ApprovalOutcome::Unavailable).then_some(answer)
            }
        };
        self.answerers.register(answerer).keep();
    }

    /// What people are told of the preset, if there is one.
    pub(crate) fn preset(&self) -> Option<String> {
        let session = self.permission.as_ref()?;
        let table = session.presets().table();
        let shown = table.option(session.current().as_str()).ok()?;
        let mut text = format!("preset {}", shown.value);
        if let Some(description) = shown.description {
            let _ = write!(text, " ({}): {description}", shown.name);
        } else if shown.name != shown.value {
            let _ = write!(text, " ({})", shown.name);
        }
        Some(text)
    }
}

fn permission(
    presets: &Presets,
    answerers: &Answerers,
    scope: &Scope,
    recorder: &SessionRecorder,
) -> Result<SessionPermission, Error> {
    let mode = answerers
        .session(scope, recorder.log().clone())
        .map_err(|error| log_error(&error))?;
    let session = presets.create(mode).map_err(|error| log_error(&error))?;
    session
        .select(&presets.default_preset())
        .map_err(|error| match error {
            SelectError::Log(error) => log_error(&error),
            error => Error::input(error.to_string()),
        })?;
    Ok(session)
}
