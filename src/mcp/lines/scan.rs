//! Whose line it is, of one that cannot be parsed.

use rmcp::model::RequestId;

/// So long an id may be, in bytes.
const ID: usize = 256;
/// Longer than any name that is looked for.
const NAME: usize = 16;

/// Looks for `id`, `method`, `result` and `error` in an object that comes in
/// pieces and may be broken anywhere. It keeps nothing else.
#[derive(Default)]
pub(super) struct Scan {
    depth: usize,
    text: Text,
    /// What the string or value under way is, directly in the object.
    place: Place,
    name: Vec<u8>,
    id: Vec<u8>,
    /// Whether the end of the id was seen.
    id_whole: bool,
    pub(super) method: bool,
    pub(super) answer: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// Behind a backslash.
    Escaped,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Place {
    #[default]
    Other,
    Name,
    Id,
}

impl Scan {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut scan = Self::default();
        scan.feed(bytes);
        scan
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.take(byte);
        }
    }

    /// The id, if it was found whole.
    pub(super) fn id(&self) -> Option<RequestId> {
        if !self.id_whole {
            return None;
        }
        serde_json::from_slice(&self.id).ok()
    }

    fn take(&mut self, byte: u8) {
        if self.text != Text::Outside {
            self.text = match (self.text, byte) {
                (Text::Inside, b'\\') => Text::Escaped,
                (Text::Inside, b'"') => Text::Outside,
                _ => Text::Inside,
            };
            match self.place {
                Place::Name if self.text != Text::Outside && self.name.len() < NAME => {
                    self.name.push(byte);
                }
                Place::Id if self.id.len() < ID => self.id.push(byte),
                _ => {}
            }
            return;
        }
        if self.place == Place::Id {
            if self.depth == 1 && matches!(byte, b',' | b'}') {
                self.id_whole = true;
            } else if self.id.len() < ID {
                self.id.push(byte);
            }
        }
        match byte {
            b'"' => self.text = Text::Inside,
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 1 {
                    self.begin_name();
                }
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' if self.depth == 1 => self.begin_name(),
            b':' if self.depth == 1 => self.begin_value(),
            _ => {}
        }
    }

    fn begin_name(&mut self) {
        self.place = Place::Name;
        self.name.clear();
    }

    fn begin_value(&mut self) {
        self.place = Place::Other;
        match &self.name[..] {
            // The first one counts: what follows may be a part of something
            // broken.
            b"id" if self.id.is_empty() => self.place = Place::Id,
            b"method" => self.method = true,
            b"result" | b"error" => self.answer = true,
            _ => {}
        }
    }
}
