//! Whether a test holds, which cannot always be told.

/// What came of a test.
///
/// The order is that of [`and`](Self::and): the least decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    No,
    /// It depends on how the tool reads the value, or on what the file system
    /// will say: an allow counts it as no, an ask and a deny as yes.
    Unknown,
    Yes,
}

impl Holds {
    /// Both hold.
    pub(super) fn and(self, other: Self) -> Self {
        self.min(other)
    }

    /// Two readings of one value: what they do not agree on cannot be told.
    pub(super) fn agreed(self, other: Self) -> Self {
        if self == other { self } else { Self::Unknown }
    }

    /// The opposite of it.
    pub(super) fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Unknown => Self::Unknown,
            Self::Yes => Self::No,
        }
    }
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}
