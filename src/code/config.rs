//! What a host sets of code mode.

use std::num::NonZeroUsize;

use serde_json::Value;

use crate::registry::{Presentation, PresentationError};

/// How tools are presented, and how many calls of a program overlap.
///
/// ```
/// use serde_json::json;
/// use toolfall::code::CodeConfig;
/// use toolfall::registry::Presentation;
///
/// let config = CodeConfig::from_json(&json!({"mode": "code", "maxParallelSubCalls": 4}))?;
/// assert_eq!(config.presentation, Presentation::Code);
///
/// let error = CodeConfig::from_json(&json!({"maxParallelSubCalls": 0})).unwrap_err();
/// assert_eq!(error.to_string(), "maxParallelSubCalls must be a positive integer (got 0)");
/// # Ok::<(), toolfall::BoxError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodeConfig {
    /// How the tools are presented where no scope says otherwise; native
    /// unless it is set.
    pub presentation: Presentation,
    /// How many calls of one program run at a time; 10 unless it is set, and
    /// 1 is one after the other.
    pub max_parallel_sub_calls: NonZeroUsize,
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeConfigError {
    /// A number of calls that is none.
    #[error("maxParallelSubCalls must be a positive integer (got {found})")]
    MaxParallelSubCalls {
        /// What was found, as JSON.
        found: String,
    },
    /// A word that names no presentation.
    #[error("mode: {0}")]
    Mode(PresentationError),
    /// A presentation that is no word.
    #[error("mode: expected \"native\", \"code\" or \"both\", found {found}")]
    NotAWord {
        /// What was found, as JSON.
        found: String,
    },
    /// Something else than a table of settings.
    #[error("expected an object of settings for code mode, found {found}")]
    NotAnObject {
        /// What was found, as JSON.
        found: String,
    },
    /// A setting that there is not.
    #[error("expected the setting mode or maxParallelSubCalls, found {name:?}")]
    Unknown {
        /// Its name.
        name: String,
    },
}

impl Default for CodeConfig {
    fn default() -> Self {
        Self {
            presentation: Presentation::Native,
            max_parallel_sub_calls: crate::scheduler::DEFAULT_LIMIT,
        }
    }
}

impl CodeConfig {
    /// Presents tools so; the rest as it is by default.
    pub fn presenting(presentation: Presentation) -> Self {
        Self {
            presentation,
            ..Self::default()
        }
    }

    /// Runs at most so many calls of one program at a time.
    pub const fn max_parallel_sub_calls(mut self, limit: NonZeroUsize) -> Self {
        self.max_parallel_sub_calls = limit;
        self
    }

    /// Reads `{"mode": "code", "maxParallelSubCalls": 10}`; each member may be
    /// left out.
    ///
    /// # Errors
    ///
    /// [`CodeConfigError`] for anything else.
    pub fn from_json(config: &Value) -> Result<Self, CodeConfigError> {
        let members = config
            .as_object()
            .ok_or_else(|| CodeConfigError::NotAnObject {
                found: config.to_string(),
            })?;
        let mut read = Self::default();
        for (name, value) in members {
            let found = || value.to_string();
            match &**name {
                "mode" => {
                    let word = value.as_str();
                    let word = word.ok_or_else(|| CodeConfigError::NotAWord { found: found() })?;
                    read.presentation = word.parse().map_err(CodeConfigError::Mode)?;
                }
                "maxParallelSubCalls" => {
                    let limit = value.as_u64().and_then(|limit| usize::try_from(limit).ok());
                    read.max_parallel_sub_calls = limit
                        .and_then(NonZeroUsize::new)
                        .ok_or_else(|| CodeConfigError::MaxParallelSubCalls { found: found() })?;
                }
                _ => return Err(CodeConfigError::Unknown { name: name.clone() }),
            }
        }
        Ok(read)
    }
}
