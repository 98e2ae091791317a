//! The first items.

use super::{Limit, Notice, Omitted, Pushed, Unit};

/// Keeps the first items and counts the rest.
///
/// Holds at most its budget of items; an item past it is dropped at once.
#[derive(Clone, Debug)]
pub struct ItemRetainer<T> {
    max: usize,
    unit: Unit,
    items: Vec<T>,
    seen: u64,
    incomplete: bool,
}

impl<T> ItemRetainer<T> {
    /// Keeps at most `max` items; 0 keeps none and counts them all. Nothing
    /// is allocated before an item comes.
    pub const fn new(max: usize) -> Self {
        Self {
            max,
            unit: Unit::Items,
            items: Vec::new(),
            seen: 0,
            incomplete: false,
        }
    }

    /// Says what the items are, for notices.
    pub fn of(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// Takes the next item.
    pub fn push(&mut self, item: T) -> Pushed {
        self.seen = self.seen.saturating_add(1);
        let kept = self.items.len() < self.max;
        if kept {
            self.items.push(item);
        }
        Pushed {
            kept,
            truncated: self.is_truncated(),
        }
    }

    /// Whether an item that came now would not be kept.
    pub const fn is_full(&self) -> bool {
        self.items.len() >= self.max
    }

    /// Whether some item was not kept.
    pub const fn is_truncated(&self) -> bool {
        self.seen > self.items.len() as u64
    }

    /// Says that the source was not read to its end, whatever was kept.
    pub const fn mark_incomplete(&mut self) {
        self.incomplete = true;
    }

    /// What was kept, and how much was not.
    pub fn finish(self) -> RetainedItems<T> {
        let omitted = self.seen - self.items.len() as u64;
        RetainedItems {
            truncated: omitted > 0,
            omitted: Omitted::of(omitted, self.unit),
            items: self.items,
            seen: self.seen,
            incomplete: self.incomplete,
            limit: Limit::Items(self.max),
        }
    }
}

impl<T> Extend<T> for ItemRetainer<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

/// What an [`ItemRetainer`] kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetainedItems<T> {
    /// The first items.
    pub items: Vec<T>,
    /// How many items there were.
    pub seen: u64,
    /// The budget left some out.
    pub truncated: bool,
    /// How many it left out.
    pub omitted: Omitted,
    /// The source was not read to its end, which is no matter of the budget.
    pub incomplete: bool,
    /// The budget.
    pub limit: Limit,
}

impl<T> RetainedItems<T> {
    /// How many items were kept.
    pub const fn kept(&self) -> usize {
        self.items.len()
    }

    /// What to tell the model.
    pub fn notice(&self) -> Notice {
        Notice::new(self.omitted.clone(), self.limit)
    }
}
