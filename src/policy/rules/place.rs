//! Places in the arguments: JSON pointers with `*` for every element.

use serde_json::Value;

use super::holds::Holds;
use super::text::folded;

/// A pointer, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Place {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
struct Segment {
    name: String,
    /// The name as careless readers know it.
    letters: String,
    /// Set if the name may count the elements of an array.
    index: Option<usize>,
    /// Whether it was written `*`, and not `~0` or the like.
    every: bool,
}

/// What is at one place.
#[derive(Clone, Copy, Debug)]
enum Found<'a> {
    Value(&'a Value),
    Nothing,
    /// The way there leads through a value of another shape.
    OtherShape,
}

impl Place {
    /// `None` if `pointer` is none.
    pub(super) fn new(pointer: &str) -> Option<Self> {
        if pointer.is_empty() {
            return Some(Self { segments: vec![] });
        }
        let segments = pointer.strip_prefix('/')?.split('/').map(Segment::new);
        Some(Self {
            segments: segments.collect::<Option<_>>()?,
        })
    }

    /// Asks `test` of what is there, `None` being nothing.
    ///
    /// Of several values all hold, none holds, or it cannot be told.
    pub(super) fn test(
        &self,
        arguments: &Value,
        mut test: impl FnMut(Option<&Value>) -> Holds,
    ) -> Holds {
        let mut found = vec![Found::Value(arguments)];
        for segment in &self.segments {
            found = found.into_iter().flat_map(|at| segment.step(at)).collect();
        }
        let mut results = found.into_iter().map(|at| match at {
            Found::Value(value) => test(Some(value)),
            Found::Nothing => test(None),
            Found::OtherShape => Holds::Unknown,
        });
        match results.next() {
            Some(first) => results.fold(first, Holds::agreed),
            None => test(None),
        }
    }
}

impl Segment {
    fn new(written: &str) -> Option<Self> {
        let mut name = String::with_capacity(written.len());
        let mut chars = written.chars();
        while let Some(char) = chars.next() {
            name.push(match char {
                '~' => match chars.next()? {
                    '0' => '~',
                    '1' => '/',
                    _ => return None,
                },
                char => char,
            });
        }
        let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let counts = digits && (name == "0" || !name.starts_with('0'));
        Some(Self {
            index: counts.then(|| name.parse().unwrap_or(usize::MAX)),
            every: written == "*",
            letters: letters(&name),
            name,
        })
    }

    /// Whether `name` is another name that may be taken for this one.
    fn is_alike(&self, name: &str) -> bool {
        !self.letters.is_empty() && name != self.name && letters(name) == self.letters
    }

    fn step<'a>(&self, at: Found<'a>) -> Vec<Found<'a>> {
        let one = |value: Option<&'a Value>| vec![value.map_or(Found::Nothing, Found::Value)];
        match at {
            Found::Value(Value::Array(elements)) if self.every => {
                elements.iter().map(Found::Value).collect()
            }
            Found::Value(Value::Array(elements)) => match self.index {
                Some(index) => one(elements.get(index)),
                None => vec![Found::OtherShape],
            },
            Found::Value(Value::Object(members)) => {
                let mut found = match members.get(&self.name) {
                    None if self.every => vec![Found::OtherShape],
                    member => one(member),
                };
                // Who goes through all members sees more than the one called `*`.
                if self.every && members.len() > 1 {
                    found.push(Found::OtherShape);
                }
                // There are decoders that take `Amount` for `amount`.
                if members.keys().any(|name| self.is_alike(name)) {
                    found.push(Found::OtherShape);
                }
                found
            }
            Found::Value(Value::Null) | Found::Nothing => vec![Found::Nothing],
            Found::Value(_) | Found::OtherShape => vec![Found::OtherShape],
        }
    }
}

/// The letters and digits of a name, small and in their plainest form.
fn letters(name: &str) -> String {
    let plain = folded(name, true);
    let letters = plain.chars().filter(|char| char.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
