//! From what length on results are stored.

use serde_json::Value;

use crate::retain::{BudgetError, budget};

/// When a result is too long.
///
/// ```
/// use serde_json::json;
/// use toolfall::spill::SpillConfig;
///
/// let config = SpillConfig::from_json(&json!({"maxInlineBytes": 50_000}))?;
/// assert_eq!(config.max_inline_bytes, Some(50_000));
///
/// let error = SpillConfig::from_json(&json!({"maxInlineBytes": -1})).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "spill-policy: maxInlineBytes must be a non-negative integer (got -1)",
/// );
/// # Ok::<(), toolfall::BoxError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpillConfig {
    /// The most bytes of UTF-8 that a result's text may have in the model's
    /// context, and that a preview with its notice has. Without it nothing is
    /// ever stored.
    pub max_inline_bytes: Option<usize>,
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpillConfigError {
    /// A number of bytes that is none.
    #[error("spill-policy: {0} (got {found})", found = .0.found)]
    Budget(BudgetError),
    /// Something else than a table of settings.
    #[error("spill-policy: expected an object, found {found}")]
    NotAnObject {
        /// What was found, as JSON.
        found: String,
    },
    /// A setting that there is not.
    #[error("spill-policy: expected maxInlineBytes, found {name:?}")]
    Unknown {
        /// Its name.
        name: String,
    },
}

impl SpillConfig {
    /// Results may have `bytes` bytes.
    pub const fn max_inline_bytes(bytes: usize) -> Self {
        Self {
            max_inline_bytes: Some(bytes),
        }
    }

    /// Reads `{"maxInlineBytes": 50000}`; the member may be left out.
    ///
    /// # Errors
    ///
    /// [`SpillConfigError`] for anything else.
    pub fn from_json(config: &Value) -> Result<Self, SpillConfigError> {
        let members = config
            .as_object()
            .ok_or_else(|| SpillConfigError::NotAnObject {
                found: config.to_string(),
            })?;
        let mut read = Self::default();
        for (name, value) in members {
            if name != "maxInlineBytes" {
                return Err(SpillConfigError::Unknown { name: name.clone() });
            }
            let bytes = budget(name, value).map_err(SpillConfigError::Budget)?;
            read.max_inline_bytes = Some(bytes);
        }
        Ok(read)
    }
}
