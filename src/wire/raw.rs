//! Looking into JSON text without changing it.
//!
//! A parsed value has lost what a check must still see: a repeated name, a
//! number past 64 bits, the text itself. This scanner finds where values
//! begin and end, decodes only what is asked for, and never recurses.

use std::borrow::Cow;

use super::{WireError, literal::decode};

/// One JSON value as its text, with the place it was found at.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    text: &'a str,
    pointer: String,
}

/// The members of one object, in the order sent.
#[derive(Debug)]
pub(super) struct Object<'a> {
    members: Vec<(Cow<'a, str>, &'a str)>,
    pointer: String,
}

impl<'a> Node<'a> {
    /// The one value that `text` holds.
    pub(super) fn root(text: &'a str) -> Result<Self, WireError> {
        let bytes = text.as_bytes();
        let start = skip_space(bytes, 0);
        let end = checked_end(bytes, start)?;
        let rest = skip_space(bytes, end);
        if rest != bytes.len() {
            return Err(not_json(rest, "the end of the text"));
        }
        Ok(Self {
            text: &text[start..end],
            pointer: String::new(),
        })
    }

    /// The exact text of the value.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn pointer(&self) -> &str {
        &self.pointer
    }

    pub(super) fn is_null(&self) -> bool {
        self.text == "null"
    }

    pub(super) fn is_array(&self) -> bool {
        self.text.starts_with('[')
    }

    pub(super) fn is_string(&self) -> bool {
        self.text.starts_with('"')
    }

    /// What kind of value this is, for a message.
    pub(super) fn found(&self) -> &'static str {
        match self.text.as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    pub(super) fn mismatch(&self, expected: &'static str) -> WireError {
        WireError::Shape {
            pointer: self.pointer.clone(),
            expected,
            found: self.found(),
        }
    }

    pub(super) fn object(&self) -> Result<Object<'a>, WireError> {
        if !self.text.starts_with('{') {
            return Err(self.mismatch("an object"));
        }
        let bytes = self.text.as_bytes();
        let mut members = Vec::new();
        let mut at = skip_space(bytes, 1);
        while bytes.get(at) != Some(&b'}') {
            if !members.is_empty() {
                at = expect(bytes, at, b',', "`,` or `}`")?;
            }
            let key_end = match bytes.get(at) {
                Some(b'"') => string_end(bytes, at)?,
                _ => return Err(not_json(at, "a name in quotes")),
            };
            let key = decode(&self.text[at..key_end])?;
            at = expect(bytes, skip_space(bytes, key_end), b':', "`:`")?;
            let end = checked_end(bytes, at)?;
            members.push((key, &self.text[at..end]));
            at = skip_space(bytes, end);
        }
        Ok(Object {
            members,
            pointer: self.pointer.clone(),
        })
    }

    pub(super) fn elements(&self) -> Result<Vec<Node<'a>>, WireError> {
        if !self.is_array() {
            return Err(self.mismatch("an array"));
        }
        let bytes = self.text.as_bytes();
        let mut elements = Vec::new();
        let mut at = skip_space(bytes, 1);
        while bytes.get(at) != Some(&b']') {
            if !elements.is_empty() {
                at = expect(bytes, at, b',', "`,` or `]`")?;
            }
            let end = checked_end(bytes, at)?;
            let pointer = format!("{}/{}", self.pointer, elements.len());
            elements.push(Node {
                text: &self.text[at..end],
                pointer,
            });
            at = skip_space(bytes, end);
        }
        Ok(elements)
    }

    pub(super) fn string(&self) -> Result<Cow<'a, str>, WireError> {
        if !self.is_string() {
            return Err(self.mismatch("a string"));
        }
        decode(self.text)
    }

    pub(super) fn index(&self) -> Result<u64, WireError> {
        self.text
            .parse()
            .map_err(|_| self.mismatch("a whole number from 0"))
    }
}

impl<'a> Object<'a> {
    /// The member `name`, refused if it is there twice: two readers must not
    /// see two values.
    pub(super) fn get(&self, name: &str) -> Result<Option<Node<'a>>, WireError> {
        let mut found = self.members.iter().filter(|(key, _)| key == name);
        let Some((_, text)) = found.next() else {
            return Ok(None);
        };
        let pointer = format!("{}/{name}", self.pointer);
        if found.next().is_some() {
            return Err(WireError::Duplicate { pointer });
        }
        Ok(Some(Node { text, pointer }))
    }

    /// The member `name` unless it is absent or `null`.
    pub(super) fn present(&self, name: &str) -> Result<Option<Node<'a>>, WireError> {
        Ok(self.get(name)?.filter(|node| !node.is_null()))
    }

    /// The member `name`, which must be there.
    pub(super) fn need(&self, name: &'static str) -> Result<Node<'a>, WireError> {
        self.get(name)?.ok_or_else(|| WireError::Missing {
            pointer: self.pointer.clone(),
            name,
        })
    }

    /// The text of the string `name`; absent and `null` are `None`.
    pub(super) fn string(&self, name: &str) -> Result<Option<Cow<'a, str>>, WireError> {
        self.present(name)?.map(|node| node.string()).transpose()
    }

    /// Whether there is such a member, `null` or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(key, _)| key == name)
    }
}

pub(super) fn not_json(offset: usize, expected: &'static str) -> WireError {
    WireError::NotJson { offset, expected }
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn expect(bytes: &[u8], at: usize, byte: u8, name: &'static str) -> Result<usize, WireError> {
    if bytes.get(at) == Some(&byte) {
        Ok(skip_space(bytes, at + 1))
    } else {
        Err(not_json(at, name))
    }
}

fn string_end(bytes: &[u8], start: usize) -> Result<usize, WireError> {
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return Err(not_json(bytes.len(), "the end of a string")),
        }
    }
}

/// Where the value that starts at `start` ends. What a container holds is
/// only bracketed, not judged: that is for whoever reads its text.
fn value_end(bytes: &[u8], start: usize) -> Result<usize, WireError> {
    let mut open = Vec::new();
    let mut at = start;
    loop {
        match bytes.get(at) {
            None => return Err(not_json(at, "a value, or the end of one")),
            Some(b'"') => at = string_end(bytes, at)?,
            Some(b'{') => {
                open.push(b'}');
                at += 1;
            }
            Some(b'[') => {
                open.push(b']');
                at += 1;
            }
            Some(byte @ (b'}' | b']')) => {
                if open.pop() != Some(*byte) {
                    return Err(not_json(at, "a bracket that fits"));
                }
                at += 1;
            }
            Some(b',' | b':' | b' ' | b'\t' | b'\n' | b'\r') if !open.is_empty() => at += 1,
            Some(b',' | b':' | b' ' | b'\t' | b'\n' | b'\r') => {
                return Err(not_json(at, "a value"));
            }
            Some(_) => at = scalar_end(bytes, at),
        }
        if open.is_empty() {
            return Ok(at);
        }
    }
}

fn scalar_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b',' | b':' | b'"' | b'{' | b'}' | b'[' | b']')
            || byte.is_ascii_whitespace()
        {
            break;
        }
        at += 1;
    }
    at
}

/// As [`value_end`], and a bare word must be one that JSON knows.
fn checked_end(bytes: &[u8], start: usize) -> Result<usize, WireError> {
    let end = value_end(bytes, start)?;
    match &bytes[start..end] {
        b"true" | b"false" | b"null" | [b'"' | b'{' | b'[' | b'-' | b'0'..=b'9', ..] => Ok(end),
        _ => Err(not_json(start, "a value")),
    }
}
