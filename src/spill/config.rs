//! From what length on results are stored.

use serde_json::Value;

use crate::retain::{BudgetError, budget};

/// So many blocks are shown where blocks have a budget and nothing else is
/// said: notes cost, too.
const BLOCKS: usize = 1_000;

/// When a result is too long, and which of its blocks are too big.
///
/// ```
/// use serde_json::json;
/// use toolfall::spill::SpillConfig;
///
/// let config = SpillConfig::from_json(&json!({"maxInlineBytes": 50_000}))?;
/// assert_eq!(config.max_inline_bytes, Some(50_000));
/// let config = config.with_max_block_bytes(1_000_000).with_max_result_bytes(4_000_000);
/// assert_eq!(config.blocks(), Some(1_000));
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
    /// context, and that a preview with its notice has. Without it no text is
    /// ever stored.
    pub max_inline_bytes: Option<usize>,
    /// The most bytes that one block may have that is no text: decoded bytes
    /// of base64. Without it a block may have any number.
    pub max_block_bytes: Option<usize>,
    /// The most bytes that the blocks of one result may have together, of
    /// those that are no text: decoded bytes of base64. Without it they may
    /// have any number.
    pub max_result_bytes: Option<usize>,
    /// The most blocks that one result may have, of any kind; see
    /// [`blocks`](Self::blocks) for what holds without it.
    pub max_blocks: Option<usize>,
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpillConfigError {
    /// A number of bytes or blocks that is none.
    #[error("spill-policy: {0} (got {found})", found = .0.found)]
    Budget(BudgetError),
    /// Something else than a table of settings.
    #[error("spill-policy: expected an object, found {found}")]
    NotAnObject {
        /// What was found, as JSON.
        found: String,
    },
    /// A setting that there is not.
    #[error(
        "spill-policy: expected maxInlineBytes, maxBlockBytes, maxResultBytes or maxBlocks, \
         found {name:?}"
    )]
    Unknown {
        /// Its name.
        name: String,
    },
}

impl SpillConfig {
    /// The text of a result may have `bytes` bytes.
    pub const fn max_inline_bytes(bytes: usize) -> Self {
        Self {
            max_inline_bytes: Some(bytes),
            max_block_bytes: None,
            max_result_bytes: None,
            max_blocks: None,
        }
    }

    /// A block that is no text may have `bytes` bytes.
    pub const fn with_max_block_bytes(mut self, bytes: usize) -> Self {
        self.max_block_bytes = Some(bytes);
        self
    }

    /// The blocks of a result that are no text may have `bytes` bytes
    /// together.
    pub const fn with_max_result_bytes(mut self, bytes: usize) -> Self {
        self.max_result_bytes = Some(bytes);
        self
    }

    /// A result may have `blocks` blocks, of any kind.
    pub const fn with_max_blocks(mut self, blocks: usize) -> Self {
        self.max_blocks = Some(blocks);
        self
    }

    /// How many blocks a result may have: what was said, else 1,000 where
    /// blocks have a budget in bytes, else any number.
    pub fn blocks(&self) -> Option<usize> {
        let has_budget = self.max_block_bytes.or(self.max_result_bytes).is_some();
        self.max_blocks.or(has_budget.then_some(BLOCKS))
    }

    /// Reads `{"maxInlineBytes": 50000, "maxBlockBytes": 1000000,
    /// "maxResultBytes": 4000000, "maxBlocks": 100}`; each member may be left
    /// out.
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
            let setting = match name.as_str() {
                "maxInlineBytes" => &mut read.max_inline_bytes,
                "maxBlockBytes" => &mut read.max_block_bytes,
                "maxResultBytes" => &mut read.max_result_bytes,
                "maxBlocks" => &mut read.max_blocks,
                _ => return Err(SpillConfigError::Unknown { name: name.clone() }),
            };
            *setting = Some(budget(name, value).map_err(SpillConfigError::Budget)?);
        }
        Ok(read)
    }
}
