//! A text of which parts are overwritten.

use oxc_span::Span;

/// What becomes of a byte of the text: kept, blank, or a character.
const KEEP: u8 = 0;
const BLANK: u8 = b' ';

/// A text, and what is to be overwritten in it.
pub(super) struct Blanks<'a> {
    text: &'a str,
    marks: Vec<u8>,
}

impl<'a> Blanks<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            marks: vec![KEEP; text.len()],
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Blanks from `start` up to `end`.
    pub(super) fn blank(&mut self, start: u32, end: u32) {
        let (start, end) = (start as usize, (end as usize).min(self.marks.len()));
        if let Some(marks) = self.marks.get_mut(start..end) {
            marks.fill(BLANK);
        }
    }

    pub(super) fn blank_span(&mut self, span: Span) {
        self.blank(span.start, span.end);
    }

    /// Puts a character where something was blanked.
    pub(super) fn put(&mut self, at: u32, character: u8) {
        if let Some(mark) = self.marks.get_mut(at as usize) {
            *mark = character;
        }
    }

    /// The offset of the first character from `at` that is neither white space
    /// nor in a comment.
    pub(super) fn next(&self, at: u32) -> u32 {
        let mut at = at as usize;
        loop {
            let rest = self.text.get(at..).unwrap_or("");
            let trimmed = rest.trim_start();
            at += rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") {
                trimmed.find('\n')
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map(|end| end + 2)
            } else {
                return offset(at);
            };
            at += comment.unwrap_or(trimmed.len());
        }
    }

    /// The character at an offset.
    pub(super) fn byte(&self, at: u32) -> Option<u8> {
        self.text.as_bytes().get(at as usize).copied()
    }

    /// Blanks the next character from `at` if it is `character`.
    pub(super) fn blank_next(&mut self, at: u32, character: u8) {
        let at = self.next(at);
        if self.byte(at) == Some(character) {
            self.put(at, BLANK);
        }
    }

    /// Whether a line ends between the two.
    pub(super) fn breaks(&self, start: u32, end: u32) -> bool {
        let between = self.text.get(start as usize..end as usize).unwrap_or("");
        between.contains(is_newline)
    }

    /// The text, with as many characters as before.
    pub(super) fn finish(self) -> String {
        let mut out = String::with_capacity(self.text.len());
        for (at, character) in self.text.char_indices() {
            match self.marks[at] {
                KEEP => out.push(character),
                BLANK if is_newline(character) => out.push(character),
                // As wide as the character was, counted in either way.
                BLANK => out.extend(std::iter::repeat_n(' ', character.len_utf16())),
                put => out.push(char::from(put)),
            }
        }
        out
    }
}

fn is_newline(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Programs are bounded far below 4 GiB.
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
