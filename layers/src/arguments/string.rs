//! String tokens: their grammar, and what their escapes stand for.

use std::{borrow::Cow, str::Chars};

use super::scan::Fault;

/// Where a string ends, seen from its opening quote.
#[derive(Clone, Copy)]
pub(super) struct Quoted {
    /// The place of the closing quote.
    pub(super) close: usize,
    /// Whether anything inside is written as an escape.
    pub(super) escaped: bool,
}

/// Reads the string whose first byte after the quote is at `pos`.
#[inline]
pub(super) fn read(bytes: &[u8], mut pos: usize) -> Result<Quoted, Fault> {
    let mut escaped = false;
    loop {
        pos = plain(bytes, pos);
        match bytes.get(pos) {
            Some(b'"') => {
                return Ok(Quoted {
                    close: pos,
                    escaped,
                });
            }
            Some(b'\\') => {
                escaped = true;
                pos = escape(bytes, pos)?;
            }
            Some(_) => {
                return Err(Fault::new(
                    pos,
                    "control characters in strings written as escapes",
                ));
            }
            None => return Err(Fault::new(pos, "a closing quotation mark")),
        }
    }
}

/// Skips bytes that stand for themselves: all but quotes, backslashes and
/// control characters.
#[inline]
fn plain(bytes: &[u8], mut pos: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // Eight bytes at a time: the high bit of a byte of `special` is set for
    // the first byte that counts (borrows disturb only bytes after it).
    while let Some(eight) = bytes.get(pos..pos + 8) {
        let mut word = [0; 8];
        word.copy_from_slice(eight);
        let word = u64::from_le_bytes(word);
        let quote = word ^ (ONES * 0x22);
        let slash = word ^ (ONES * 0x5c);
        let special = ((quote.wrapping_sub(ONES) & !quote)
            | (slash.wrapping_sub(ONES) & !slash)
            | (word.wrapping_sub(ONES * 0x20) & !word))
            & HIGHS;
        if special != 0 {
            return pos + (special.trailing_zeros() / 8) as usize;
        }
        pos += 8;
    }
    while let Some(&byte) = bytes.get(pos) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        pos += 1;
    }
    pos
}

/// Reads the escape whose backslash is at `pos`; returns where it ends.
fn escape(bytes: &[u8], pos: usize) -> Result<usize, Fault> {
    match bytes.get(pos + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(pos + 2),
        Some(b'u') => match hex4(bytes, pos + 2)? {
            0xd800..=0xdbff => {
                if bytes.get(pos + 6) == Some(&b'\\')
                    && bytes.get(pos + 7) == Some(&b'u')
                    && let 0xdc00..=0xdfff = hex4(bytes, pos + 8)?
                {
                    return Ok(pos + 12);
                }
                Err(Fault::new(pos, "both halves of a surrogate pair"))
            }
            0xdc00..=0xdfff => Err(Fault::new(pos, "both halves of a surrogate pair")),
            _ => Ok(pos + 6),
        },
        _ => Err(Fault::new(
            pos + 1,
            "one of \" \\ / b f n r t u after a backslash",
        )),
    }
}

fn hex4(bytes: &[u8], pos: usize) -> Result<u32, Fault> {
    let mut unit = 0;
    for at in pos..pos + 4 {
        let digit = bytes
            .get(at)
            .and_then(|&byte| char::from(byte).to_digit(16))
            .ok_or(Fault::new(at, "four hexadecimal digits after \\u"))?;
        unit = unit * 16 + digit;
    }
    Ok(unit)
}

/// What the inside of a string that [`read`] accepted stands for.
#[inline]
pub(super) fn decoded(inside: &str, escaped: bool) -> Cow<'_, str> {
    if escaped {
        Cow::Owned(Unescaped::new(inside).collect())
    } else {
        Cow::Borrowed(inside)
    }
}

/// The characters that the inside of a string stands for.
#[derive(Clone)]
pub(super) struct Unescaped<'a> {
    chars: Chars<'a>,
}

impl<'a> Unescaped<'a> {
    pub(super) fn new(inside: &'a str) -> Self {
        Self {
            chars: inside.chars(),
        }
    }

    fn unit(&mut self) -> Option<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit * 16 + self.chars.next()?.to_digit(16)?;
        }
        Some(unit)
    }
}

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let char = self.chars.next()?;
        if char != '\\' {
            return Some(char);
        }
        Some(match self.chars.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let mut code = self.unit()?;
                if let 0xd800..=0xdbff = code {
                    // The second half: its own backslash and `u` come first.
                    self.chars.next()?;
                    self.chars.next()?;
                    let low = self.unit()?;
                    code = 0x10000 + ((code - 0xd800) << 10) + (low & 0x3ff);
                }
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            itself => itself,
        })
    }
}
