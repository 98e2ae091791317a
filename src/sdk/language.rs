//! The languages that programs are written in.

use std::fmt;

use super::words;

/// The language that programs are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// TypeScript, and so JavaScript.
    #[default]
    TypeScript,
    /// Python.
    Python,
}

/// A runtime's language that nothing is written for.
///
/// ```
/// use toolfall::sdk::{Sdk, run_code};
///
/// assert_eq!(
///     Sdk::for_runtime("ruby").unwrap_err().to_string(),
///     r#"no SDK renderer registered for runtime language "ruby""#
/// );
/// assert_eq!(
///     run_code::for_runtime(Some("ruby")).unwrap_err().to_string(),
///     "no run_code schema flavor registered for runtime language \"ruby\" \
///      (known: \"typescript\", \"python\")"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LanguageError {
    /// The tools cannot be declared in it.
    #[error("no SDK renderer registered for runtime language {language:?}")]
    NoRenderer {
        /// What the runtime calls its language.
        language: String,
    },
    /// A call that runs a program cannot be described in it.
    #[error(
        "no run_code schema flavor registered for runtime language {language:?} (known: {})",
        Known
    )]
    NoFlavor {
        /// What the runtime calls its language.
        language: String,
    },
}

struct Known;

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, language) in Language::ALL.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{:?}", language.as_str())?;
        }
        Ok(())
    }
}

impl Language {
    /// Every language, in a fixed order.
    pub const ALL: [Self; 2] = [Self::TypeScript, Self::Python];

    /// What a runtime calls it: `typescript`, `python`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TypeScript => "typescript",
            Self::Python => "python",
        }
    }

    /// The language of that name, which is spelt as [`as_str`](Self::as_str)
    /// spells it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.as_str() == name)
    }

    /// Whether `word` is no name in this language, or one in some places
    /// only: what strict ECMAScript reserves, Python's hard and soft keywords.
    ///
    /// ```
    /// use toolfall::sdk::Language;
    ///
    /// assert!(Language::TypeScript.is_reserved("function"));
    /// assert!(Language::Python.is_reserved("match"));
    /// assert!(!Language::Python.is_reserved("function"));
    /// ```
    pub fn is_reserved(self, word: &str) -> bool {
        match self {
            Self::TypeScript => words::ECMASCRIPT.contains(&word),
            Self::Python => {
                words::PYTHON_HARD.contains(&word) || words::PYTHON_SOFT.contains(&word)
            }
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
