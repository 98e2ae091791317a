//! Finds the places that pointers name in JSON text, by one pass over it.
//!
//! The text is cut and put together again around those places, so that every
//! other byte stays as it was sent: the order of names, how a number is
//! written, white space. Nothing here is recursive. The text was scanned
//! before ([`check_json`](toolfall_layers::check_json)); on other text the walk
//! ends early and panics nowhere.

use std::borrow::Cow;
use std::ops::Range;

use super::pointer::Pointer;

/// An open list or object.
struct Frame {
    object: bool,
    /// The next item's index.
    index: usize,
    /// The pointers that lead here.
    active: Vec<usize>,
}

/// The places in `text` that `pointers` name, in order and without overlap.
///
/// Where a pointer would go on and the value does not let it, that value is
/// named: a text or a number in the place of an object, a list in the place of
/// names. A model that writes the wrong shape has written the secret, too.
pub(super) fn places(text: &str, pointers: &[Pointer]) -> Vec<Range<usize>> {
    let mut walk = Walk {
        text,
        bytes: text.as_bytes(),
        pos: 0,
        open: Vec::new(),
        found: Vec::new(),
    };
    // Text that ends too early names what was found up to there.
    let _ = walk.run(pointers);
    walk.found
}

/// What follows a value.
enum Next {
    /// Another one, and the pointers that lead to it.
    Value(Vec<usize>),
    End,
}

struct Walk<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    open: Vec<Frame>,
    found: Vec<Range<usize>>,
}

impl Walk<'_> {
    fn run(&mut self, pointers: &[Pointer]) -> Option<()> {
        let mut active: Vec<usize> = (0..pointers.len()).collect();
        loop {
            self.skip_white();
            let depth = self.open.len();
            let first = *self.bytes.get(self.pos)?;
            let hidden = active.iter().any(|&it| pointers[it].ends_at(depth))
                || match first {
                    b'{' | b't' | b'f' | b'n' => false,
                    b'[' => !active.iter().all(|&it| pointers[it].fits_list(depth)),
                    _ => !active.is_empty(),
                };
            if hidden || active.is_empty() || !matches!(first, b'{' | b'[') {
                let end = skip_value(self.bytes, self.pos)?;
                if hidden {
                    self.found.push(self.pos..end);
                }
                self.pos = end;
            } else {
                self.pos += 1;
                let (object, index) = (first == b'{', 0);
                self.open.push(Frame {
                    object,
                    index,
                    active,
                });
                self.skip_white();
                if !matches!(self.bytes.get(self.pos)?, b'}' | b']') {
                    active = self.child(pointers)?;
                    continue;
                }
            }
            match self.next(pointers)? {
                Next::Value(next) => active = next,
                Next::End => return Some(()),
            }
        }
    }

    /// After a value: the pointers for the next one, or that it was the last.
    fn next(&mut self, pointers: &[Pointer]) -> Option<Next> {
        loop {
            if self.open.is_empty() {
                return Some(Next::End);
            }
            self.skip_white();
            let byte = *self.bytes.get(self.pos)?;
            self.pos += 1;
            match byte {
                b',' => {
                    self.skip_white();
                    return self.child(pointers).map(Next::Value);
                }
                b'}' | b']' => {
                    self.open.pop();
                }
                _ => return None,
            }
        }
    }

    /// Reads a member's name, if this is an object: the pointers that lead to
    /// the value that follows.
    fn child(&mut self, pointers: &[Pointer]) -> Option<Vec<usize>> {
        let depth = self.open.len() - 1;
        if self.open.last()?.object {
            let close = string_end(self.bytes, self.pos)?;
            let name = unquoted(self.text.get(self.pos..close)?)?;
            self.pos = close;
            self.skip_white();
            if self.bytes.get(self.pos) != Some(&b':') {
                return None;
            }
            self.pos += 1;
            let active = self.open.last()?.active.iter().copied();
            return Some(
                active
                    .filter(|&it| pointers[it].takes_name(depth, &name))
                    .collect(),
            );
        }
        let frame = self.open.last_mut()?;
        let index = frame.index;
        frame.index += 1;
        let active = frame.active.iter().copied();
        Some(
            active
                .filter(|&it| pointers[it].takes_index(depth, index))
                .collect(),
        )
    }

    fn skip_white(&mut self) {
        while matches!(self.bytes.get(self.pos), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.pos += 1;
        }
    }
}

/// The byte after the value that begins at `at`.
fn skip_value(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut pos, mut depth) = (at, 0usize);
    loop {
        match bytes.get(pos)? {
            b'"' => pos = string_end(bytes, pos)?,
            b'{' | b'[' => {
                depth += 1;
                pos += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                pos += 1;
            }
            _ if depth == 0 => {
                let rest = &bytes[pos..];
                let ends = |byte: &u8| b",]} \t\r\n".contains(byte);
                return Some(pos + rest.iter().position(ends).unwrap_or(rest.len()));
            }
            _ => pos += 1,
        }
        if depth == 0 {
            return Some(pos);
        }
    }
}

/// The byte after the string whose opening quote is at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut pos = at + 1;
    loop {
        match bytes.get(pos)? {
            b'"' => return Some(pos + 1),
            b'\\' => pos += 2,
            _ => pos += 1,
        }
    }
}

/// What a string says, given with its quotes.
fn unquoted(quoted: &str) -> Option<Cow<'_, str>> {
    if quoted.contains('\\') {
        serde_json::from_str(quoted).ok().map(Cow::Owned)
    } else {
        quoted.get(1..quoted.len() - 1).map(Cow::Borrowed)
    }
}

/// A string of JSON text that is a value, or the name of one.
pub(super) struct Text<'a> {
    /// With its quotes.
    pub(super) at: Range<usize>,
    pub(super) says: Cow<'a, str>,
    /// The name of the member that it is the value of: shapes go by it.
    #[cfg_attr(not(feature = "redaction"), expect(dead_code))]
    pub(super) name: Option<Cow<'a, str>>,
}

/// The strings among the values in `text`; names of members are told with the
/// value that follows them.
pub(super) fn texts(text: &str) -> Vec<Text<'_>> {
    let bytes = text.as_bytes();
    let (mut texts, mut pos) = (Vec::new(), 0);
    let mut name = None;
    while let Some(byte) = bytes.get(pos) {
        if *byte != b'"' {
            // What follows a name is its value; anything else takes it away.
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b':') {
                name = None;
            }
            pos += 1;
            continue;
        }
        let Some(end) = string_end(bytes, pos) else {
            break;
        };
        let at = pos..end;
        pos = end;
        let Some(says) = text.get(at.clone()).and_then(unquoted) else {
            continue;
        };
        let after = bytes[end..]
            .iter()
            .find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if after == Some(&b':') {
            name = Some(says);
        } else {
            let name = name.take();
            texts.push(Text { at, says, name });
        }
    }
    texts
}

/// What of JSON text stands outside of its strings.
pub(super) fn outside_texts(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut parts, mut from) = (Vec::new(), 0);
    while let Some(quote) = text[from..].find('"') {
        parts.push(&text[from..from + quote]);
        match string_end(bytes, from + quote) {
            Some(end) => from = end,
            None => return parts,
        }
    }
    parts.push(&text[from..]);
    parts
}

/// `text` with `with` in each of the places, which are in order.
pub(super) fn splice(text: &str, places: &[Range<usize>], with: &str) -> String {
    let mut spliced = String::with_capacity(text.len());
    let mut from = 0;
    for place in places {
        spliced.push_str(&text[from..place.start]);
        spliced.push_str(with);
        from = place.end;
    }
    spliced.push_str(&text[from..]);
    spliced
}
