//! What a reminder can be told, and what is wrong with it.

use serde_json::Value;

const THRESHOLDS: &str = "thresholds";
const INCLUDE: &str = "include";
const EXCLUDE: &str = "exclude";
const PREVIEW: &str = "argumentsPreviewChars";

/// Which repeats are remarked on.
///
/// ```
/// use serde_json::json;
/// use toolfall::policy::repeat::RepeatConfig;
///
/// let config = RepeatConfig::from_json(&json!({"thresholds": [2, 4], "exclude": ["poll_*"]}))?;
/// assert_eq!(config.thresholds, [2, 4]);
///
/// let error = RepeatConfig::from_json(&json!({"thresholds": [2, 1.5]})).unwrap_err();
/// assert_eq!(error.to_string(), "/thresholds/1: expected an integer >= 2, found 1.5");
/// # Ok::<(), toolfall::BoxError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatConfig {
    /// After how many identical calls in a row to speak, in any order: each
    /// at least 2, none twice. The lowest gets the gentle text, every other
    /// the detailed one. 3, 5 and 8 unless said otherwise.
    pub thresholds: Vec<u64>,
    /// Patterns over the names of the tools to watch; empty means all. Only
    /// `*` is special, and a pattern matches the whole name.
    pub include: Vec<String>,
    /// Patterns over the names of tools that neither count nor break a chain;
    /// stronger than `include`.
    pub exclude: Vec<String>,
    /// How many characters (Unicode scalar values) of the canonical arguments
    /// the detailed text quotes, at least 1. 500 unless said otherwise.
    pub arguments_preview_chars: usize,
}

impl Default for RepeatConfig {
    fn default() -> Self {
        Self {
            thresholds: vec![3, 5, 8],
            include: Vec::new(),
            exclude: Vec::new(),
            arguments_preview_chars: 500,
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepeatConfigError {
    /// There are no thresholds, so nothing would ever be said.
    #[error("/thresholds: must not be empty")]
    NoThresholds,
    /// A threshold that is no count of repeats.
    #[error("/thresholds/{place}: expected an integer >= 2, found {found}")]
    Threshold {
        /// Its place in the list, counted from 0.
        place: usize,
        /// What stands there, as JSON.
        found: String,
    },
    /// A threshold that is there already.
    #[error("/thresholds/{place}: expected no duplicates, found a second {threshold}")]
    Duplicate {
        /// The place of the second, counted from 0.
        place: usize,
        /// The threshold.
        threshold: u64,
    },
    /// A cap that leaves nothing to quote or is no number of characters.
    #[error("/argumentsPreviewChars: expected an integer >= 1, found {found}")]
    Preview {
        /// What stands there, as JSON.
        found: String,
    },
    /// A value of another type than the place has.
    #[error("{pointer:?}: expected {expected}, found {found}")]
    Type {
        /// The place, as a JSON pointer; empty is the whole configuration.
        pointer: String,
        /// What should stand there.
        expected: &'static str,
        /// What stands there, as JSON, cut short.
        found: String,
    },
    /// A name that no setting has.
    #[error(
        "expected \"thresholds\", \"include\", \"exclude\" or \"argumentsPreviewChars\", found {name:?}"
    )]
    Unknown {
        /// The name.
        name: String,
    },
}

impl RepeatConfig {
    /// Reads a JSON object with the members `thresholds`, `include`,
    /// `exclude` and `argumentsPreviewChars`; what is left out keeps its
    /// default. Patterns need not match any tool.
    ///
    /// # Errors
    ///
    /// [`RepeatConfigError`] for the first member that cannot be used.
    pub fn from_json(config: &Value) -> Result<Self, RepeatConfigError> {
        let members = config
            .as_object()
            .ok_or_else(|| mistyped("", "an object", config))?;
        let mut read = Self::default();
        for (name, value) in members {
            match name.as_str() {
                THRESHOLDS => read.thresholds = thresholds(value)?,
                INCLUDE => read.include = patterns("/include", value)?,
                EXCLUDE => read.exclude = patterns("/exclude", value)?,
                PREVIEW => {
                    let cap = integer(value).and_then(|cap| usize::try_from(cap).ok());
                    read.arguments_preview_chars =
                        cap.ok_or_else(|| RepeatConfigError::Preview { found: cut(value) })?;
                }
                _ => return Err(RepeatConfigError::Unknown { name: name.clone() }),
            }
        }
        read.check()?;
        Ok(read)
    }

    /// Checks what the types do not.
    pub(super) fn check(&self) -> Result<(), RepeatConfigError> {
        if self.thresholds.is_empty() {
            return Err(RepeatConfigError::NoThresholds);
        }
        for (place, &threshold) in self.thresholds.iter().enumerate() {
            if threshold < 2 {
                let found = threshold.to_string();
                return Err(RepeatConfigError::Threshold { place, found });
            }
            if self.thresholds[..place].contains(&threshold) {
                return Err(RepeatConfigError::Duplicate { place, threshold });
            }
        }
        if self.arguments_preview_chars == 0 {
            let found = "0".to_owned();
            return Err(RepeatConfigError::Preview { found });
        }
        Ok(())
    }
}

fn thresholds(value: &Value) -> Result<Vec<u64>, RepeatConfigError> {
    let items = value
        .as_array()
        .ok_or_else(|| mistyped("/thresholds", "a list of integers", value))?;
    let read = |(place, item)| {
        integer(item).ok_or_else(|| RepeatConfigError::Threshold {
            place,
            found: cut(item),
        })
    };
    items.iter().enumerate().map(read).collect()
}

fn patterns(pointer: &str, value: &Value) -> Result<Vec<String>, RepeatConfigError> {
    let items = value
        .as_array()
        .ok_or_else(|| mistyped(pointer, "a list of patterns", value))?;
    let read = |(place, item): (usize, &Value)| match item.as_str() {
        Some(pattern) => Ok(pattern.to_owned()),
        None => Err(mistyped(&format!("{pointer}/{place}"), "a string", item)),
    };
    items.iter().enumerate().map(read).collect()
}

/// The integer from zero up that `value` is; `3.0` is 3.
fn integer(value: &Value) -> Option<u64> {
    let float = || {
        let float = value.as_f64()?;
        // Past 2^53 a float may stand for an integer beside the one written.
        let whole = float.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&float);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked in the line above"
        )]
        whole.then_some(float as u64)
    };
    value.as_u64().or_else(float)
}

fn mistyped(pointer: &str, expected: &'static str, found: &Value) -> RepeatConfigError {
    RepeatConfigError::Type {
        pointer: pointer.to_owned(),
        expected,
        found: cut(found),
    }
}

/// `value` as JSON, of bounded length.
fn cut(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        value => toolfall_layers::printable(&value.to_string(), 60),
    }
}
