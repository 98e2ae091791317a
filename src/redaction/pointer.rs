//! JSON pointers (RFC 6901) in which a segment may stand for every one.

use toolfall_layers::printable;

/// A pointer that says nothing about a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a JSON pointer {expected}, found {found:?}")]
pub struct PointerError {
    /// What would have been right.
    pub expected: &'static str,
    /// The pointer, cut.
    pub found: String,
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `*`: every member of an object and every item of a list.
    Every,
    /// A member's name, or an item's index in decimal digits.
    One(String),
}

/// A place in a JSON value, or several where a segment is `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pointer(Vec<Segment>);

impl Pointer {
    pub(super) fn parse(text: &str) -> Result<Self, PointerError> {
        let refuse = |expected| PointerError {
            expected,
            found: printable(text, 120),
        };
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(refuse("that is empty or begins with \"/\""));
        };
        let segments = rest.split('/').map(|segment| match segment {
            "*" => Ok(Segment::Every),
            _ => match unescaped(segment) {
                Some(name) => Ok(Segment::One(name)),
                None => Err(refuse("in which every \"~\" is followed by \"0\" or \"1\"")),
            },
        });
        segments.collect::<Result<_, _>>().map(Self)
    }

    /// Whether it ends after `depth` steps.
    pub(super) fn ends_at(&self, depth: usize) -> bool {
        self.0.len() == depth
    }

    /// Whether its step from `depth` leads to the member `name`.
    pub(super) fn takes_name(&self, depth: usize, name: &str) -> bool {
        match self.0.get(depth) {
            Some(Segment::Every) => true,
            Some(Segment::One(own)) => own == name,
            None => false,
        }
    }

    /// Whether its step from `depth` leads to the item `index`.
    pub(super) fn takes_index(&self, depth: usize, index: usize) -> bool {
        match self.0.get(depth) {
            Some(Segment::Every) => true,
            Some(Segment::One(own)) => is_index(own) && own.parse() == Ok(index),
            None => false,
        }
    }

    /// Whether its step from `depth` can lead into a list at all.
    pub(super) fn fits_list(&self, depth: usize) -> bool {
        match self.0.get(depth) {
            Some(Segment::Every) => true,
            Some(Segment::One(own)) => is_index(own),
            None => false,
        }
    }
}

/// Digits without a leading zero, as RFC 6901 writes an index.
fn is_index(segment: &str) -> bool {
    let digits = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    digits && (segment == "0" || !segment.starts_with('0'))
}

fn unescaped(segment: &str) -> Option<String> {
    let mut name = String::with_capacity(segment.len());
    let mut chars = segment.chars();
    while let Some(char) = chars.next() {
        name.push(match char {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(name)
}
