//! One pass over the text: is it JSON, and can it be kept as it is?

use super::{
    error::{ArgumentsError, ArgumentsErrorKind, CheckError, Malformed},
    names::{Name, Names},
    number::{self, Number},
    string,
};

/// How many containers may lie inside one another below the root.
///
/// The root counts as level 0, so 128 brackets may be open at once.
pub const MAX_DEPTH: usize = 127;

/// The longest text that is taken, in bytes: 16 MiB.
pub const MAX_TEXT: usize = 16 * 1024 * 1024;

/// `serde_json` gives names that start so a meaning of their own, depending
/// on which of its features any crate of the build has switched on.
pub(super) const PRIVATE: &str = "$serde_json::private::";

/// Where the text stops being JSON, and what would have been right there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

impl Fault {
    pub(super) const fn new(at: usize, expected: &'static str) -> Self {
        Self { at, expected }
    }
}

/// Checks that `text` is JSON (RFC 8259) that can be kept without loss.
///
/// The check does not depend on which features of `serde_json` the build has
/// switched on, needs a bounded stack whatever the text, and allocates only
/// where the objects that are open have some 15 names or more.
///
/// ```
/// use toolfall_layers::{ArgumentsErrorKind, CheckError, check_json};
///
/// assert!(check_json(r#"{"path": "a.txt", "limit": 10}"#).is_ok());
/// assert!(matches!(check_json("{'path': 1}"), Err(CheckError::Malformed(_))));
/// let Err(CheckError::Lossy(error)) = check_json(r#"{"id": 18446744073709551616}"#) else {
///     panic!("no 64-bit integer holds this number");
/// };
/// assert_eq!(error.kind(), ArgumentsErrorKind::NumberRange);
/// assert_eq!(error.pointer(), "/id");
/// ```
///
/// # Errors
///
/// [`CheckError::Malformed`] if the text is not JSON at all.
/// [`CheckError::Lossy`] if it is JSON that has a name twice in one object, a
/// number that 64 bits would change, or a name `serde_json` keeps for itself;
/// and, whatever follows, as soon as it is longer than [`MAX_TEXT`] or nested
/// deeper than [`MAX_DEPTH`].
pub fn check_json(text: &str) -> Result<(), CheckError> {
    if text.len() > MAX_TEXT {
        return Err(CheckError::Lossy(ArgumentsError::too_large(text.len())));
    }
    let mut scan = Scan {
        text,
        pos: 0,
        objects: 0,
        depth: 0,
        names: Names::new(),
        lossy: None,
    };
    match scan.run() {
        Ok(()) => match scan.lossy {
            None => Ok(()),
            Some(lossy) => Err(CheckError::Lossy(lossy.explain(text))),
        },
        Err(Stop::Malformed(fault)) => Err(CheckError::Malformed(Malformed::at(
            text,
            fault.at,
            fault.expected,
        ))),
        Err(Stop::TooDeep(at)) => Err(CheckError::Lossy(
            Lossy {
                kind: ArgumentsErrorKind::TooDeep,
                at,
            }
            .explain(text),
        )),
    }
}

/// Why a scan ends early.
enum Stop {
    Malformed(Fault),
    TooDeep(usize),
}

impl From<Fault> for Stop {
    #[inline]
    fn from(fault: Fault) -> Self {
        Self::Malformed(fault)
    }
}

/// The first thing found that could not be kept.
#[derive(Clone, Copy)]
struct Lossy {
    kind: ArgumentsErrorKind,
    at: usize,
}

impl Lossy {
    #[cold]
    fn explain(self, text: &str) -> ArgumentsError {
        ArgumentsError::in_text(self.kind, text, self.at)
    }
}

struct Scan<'a> {
    text: &'a str,
    pos: usize,
    /// One bit a level, the innermost lowest: set for objects.
    objects: u128,
    depth: usize,
    names: Names,
    lossy: Option<Lossy>,
}

impl Scan<'_> {
    fn run(&mut self) -> Result<(), Stop> {
        // Where a name comes next: what to expect there.
        let mut due = None;
        'value: loop {
            if let Some(expected) = due.take() {
                self.name(expected)?;
            }
            match self.peek() {
                Some(b'"') => {
                    self.pos = string::read(self.text.as_bytes(), self.pos + 1)?.close + 1;
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b'{') => {
                    self.open(true)?;
                    if self.peek() == Some(b'}') {
                        self.close();
                    } else {
                        due = Some("a name in double quotes or `}`");
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.open(false)?;
                    if self.peek() == Some(b']') {
                        self.close();
                    } else {
                        continue 'value;
                    }
                }
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                _ => return Err(Fault::new(self.pos, "a value").into()),
            }
            while self.depth > 0 {
                let object = self.objects & 1 == 1;
                match self.peek() {
                    Some(b',') => {
                        self.pos += 1;
                        if object {
                            due = Some("a name in double quotes after the comma");
                        }
                        continue 'value;
                    }
                    Some(b'}') if object => self.close(),
                    Some(b']') if !object => self.close(),
                    _ if object => return Err(Fault::new(self.pos, "`,` or `}`").into()),
                    _ => return Err(Fault::new(self.pos, "`,` or `]`").into()),
                }
            }
            return match self.peek() {
                None => Ok(()),
                Some(_) => Err(Fault::new(self.pos, "nothing after the value").into()),
            };
        }
    }

    /// The next byte that is not white space.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.pos)?;
            if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.pos += 1;
        }
    }

    #[inline]
    fn open(&mut self, object: bool) -> Result<(), Stop> {
        if self.depth > MAX_DEPTH {
            return Err(Stop::TooDeep(self.pos));
        }
        if object {
            self.names.open();
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(object);
        self.pos += 1;
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        self.pos += 1;
        self.depth -= 1;
        if self.objects & 1 == 1
            && let Some(name) = self.names.close(self.text)
        {
            self.keep(ArgumentsErrorKind::DuplicateName, name.quote());
        }
        self.objects >>= 1;
    }

    /// Reads a name and its colon.
    #[inline]
    fn name(&mut self, expected: &'static str) -> Result<(), Stop> {
        if self.peek() != Some(b'"') {
            return Err(Fault::new(self.pos, expected).into());
        }
        let quote = self.pos;
        let quoted = string::read(self.text.as_bytes(), quote + 1)?;
        let name = Name::new(quote, quoted);
        if self.names.push(name, self.text) {
            self.keep(ArgumentsErrorKind::DuplicateName, quote);
        }
        if name.starts_with(self.text, PRIVATE) {
            self.keep(ArgumentsErrorKind::PrivateKey, quote);
        }
        self.pos = quoted.close + 1;
        if self.peek() != Some(b':') {
            return Err(Fault::new(self.pos, "`:` after the name").into());
        }
        self.pos += 1;
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Result<(), Stop> {
        let (number, end) = number::read(self.text, self.pos)?;
        if number == Number::Lossy {
            self.keep(ArgumentsErrorKind::NumberRange, self.pos);
        }
        self.pos = end;
        Ok(())
    }

    fn literal(&mut self, word: &'static str) -> Result<(), Stop> {
        if self.text.as_bytes()[self.pos..].starts_with(word.as_bytes()) {
            self.pos += word.len();
            return Ok(());
        }
        Err(Fault::new(self.pos, word).into())
    }

    /// Notes a loss, and goes on: the text may turn out not to be JSON.
    #[cold]
    fn keep(&mut self, kind: ArgumentsErrorKind, at: usize) {
        self.lossy.get_or_insert(Lossy { kind, at });
    }
}
