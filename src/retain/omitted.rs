//! How much was left out.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU64;

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// Bytes of the source.
    Bytes,
    /// Items of any kind.
    Items,
    /// Lines.
    Lines,
    /// Something else, by its plural: `files`, `matches`.
    Named(Cow<'static, str>),
}

impl Unit {
    /// The plural: `bytes`, `items`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Bytes => "bytes",
            Self::Items => "items",
            Self::Lines => "lines",
            Self::Named(plural) => plural,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What was left out for the budget. Never says that a source was incomplete.
///
/// ```
/// use toolfall::retain::{Omitted, Unit};
///
/// assert_eq!(Omitted::of(3, Unit::Items).to_string(), "Omitted 3 items.");
/// assert_eq!(Omitted::of(0, Unit::Items), Omitted::None);
/// assert_eq!(Omitted::Unknown(Unit::Lines).to_string(), "More lines were omitted.");
/// assert_eq!(Omitted::None.to_string(), "");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Omitted {
    /// Nothing.
    None,
    /// Exactly so much, and so never nothing.
    Exact(NonZeroU64, Unit),
    /// Something, nobody counted how much.
    Unknown(Unit),
}

impl Omitted {
    /// Exactly `count`; [`Omitted::None`] for 0.
    pub fn of(count: u64, unit: Unit) -> Self {
        NonZeroU64::new(count).map_or(Self::None, |count| Self::Exact(count, unit))
    }

    /// How much, where that is known: 0 for nothing.
    pub const fn count(&self) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::Exact(count, _) => Some(count.get()),
            Self::Unknown(_) => None,
        }
    }

    /// Whether nothing was left out.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

impl fmt::Display for Omitted {
    /// One sentence for the model; nothing where nothing was left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Exact(count, unit) => write!(f, "Omitted {count} {unit}."),
            Self::Unknown(unit) => write!(f, "More {unit} were omitted."),
        }
    }
}
