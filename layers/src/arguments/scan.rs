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
        return Err(CheckError::Lossy(ArgumentsError::too_large(
            text.len(),
            MAX_TEXT,
        )));
    }
    check_whole(text)
}

/// As [`check_json`], for a text of any length below 2 GiB.
pub(super) fn check_whole(text: &str) -> Result<(), CheckError> {
    let mut scan = Scan::new(text);
    match scan.run(0).and_then(|end| ends(text, end)) {
        Ok(()) => match scan.lossy {
            None => Ok(()),
            Some(lossy) => Err(CheckError::Lossy(lossy.explain(text))),
        },
        Err(stop) => Err(stop.explain(text)),
    }
}

/// That nothing but white space follows from `pos` on.
fn ends(text: &str, pos: usize) -> Result<(), Stop> {
    let (end, _) = skip_white(text.as_bytes(), pos);
    if end == text.len() {
        Ok(())
    } else {
        Err(Fault::new(end, "nothing after the value").into())
    }
}

/// Why a scan ends early.
pub(super) enum Stop {
    Malformed(Fault),
    TooDeep(usize),
}

impl Stop {
    #[cold]
    pub(super) fn explain(self, text: &str) -> CheckError {
        match self {
            Self::Malformed(fault) => {
                CheckError::Malformed(Malformed::at(text, fault.at, fault.expected))
            }
            Self::TooDeep(at) => CheckError::Lossy(
                Lossy {
                    kind: ArgumentsErrorKind::TooDeep,
                    at,
                }
                .explain(text),
            ),
        }
    }
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

pub(super) struct Scan<'a> {
    text: &'a str,
    /// One bit a level, the innermost lowest: set for objects.
    objects: u128,
    depth: usize,
    names: Names,
    lossy: Option<Lossy>,
}

/// The first place from `pos` on that is not white space, and the byte there;
/// 0 stands for the text's end: as a byte of the text it is an error, too.
#[inline]
pub(super) fn skip_white(bytes: &[u8], mut pos: usize) -> (usize, u8) {
    loop {
        match bytes.get(pos) {
            Some(b' ' | b'\t' | b'\n' | b'\r') => pos += 1,
            Some(&byte) => return (pos, byte),
            None => return (pos, 0),
        }
    }
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            objects: 0,
            depth: 0,
            names: Names::new(),
            lossy: None,
        }
    }

    /// Reads the value at `start`, or behind white space there, and returns
    /// where it ends.
    // The place in the text is a local, so that it stays in a register.
    pub(super) fn run(&mut self, start: usize) -> Result<usize, Stop> {
        let bytes = self.text.as_bytes();
        let (mut pos, mut byte) = skip_white(bytes, start);
        // Where a name comes next: what to expect there.
        let mut due = "";
        'value: loop {
            if !due.is_empty() {
                (pos, byte) = self.name(bytes, pos, byte, due)?;
                due = "";
            }
            match byte {
                b'"' => pos = string::read(bytes, pos + 1)?.close + 1,
                b'-' | b'0'..=b'9' => {
                    let (number, end) = number::read(self.text, pos)?;
                    if number == Number::Lossy {
                        self.keep(ArgumentsErrorKind::NumberRange, pos);
                    }
                    pos = end;
                }
                b'{' => {
                    self.open(true, pos)?;
                    (pos, byte) = skip_white(bytes, pos + 1);
                    if byte != b'}' {
                        due = "a name in double quotes or `}`";
                        continue 'value;
                    }
                    self.close();
                    pos += 1;
                }
                b'[' => {
                    self.open(false, pos)?;
                    (pos, byte) = skip_white(bytes, pos + 1);
                    if byte != b']' {
                        continue 'value;
                    }
                    self.close();
                    pos += 1;
                }
                b't' => pos = literal(bytes, pos, "true")?,
                b'f' => pos = literal(bytes, pos, "false")?,
                b'n' => pos = literal(bytes, pos, "null")?,
                _ => return Err(Fault::new(pos, "a value").into()),
            }
            while self.depth > 0 {
                let object = self.objects & 1 == 1;
                (pos, byte) = skip_white(bytes, pos);
                match byte {
                    b',' => {
                        (pos, byte) = skip_white(bytes, pos + 1);
                        if object {
                            due = "a name in double quotes after the comma";
                        }
                        continue 'value;
                    }
                    b'}' if object => self.close(),
                    b']' if !object => self.close(),
                    _ if object => return Err(Fault::new(pos, "`,` or `}`").into()),
                    _ => return Err(Fault::new(pos, "`,` or `]`").into()),
                }
                pos += 1;
            }
            return Ok(pos);
        }
    }

    #[inline]
    fn open(&mut self, object: bool, pos: usize) -> Result<(), Stop> {
        if self.depth > MAX_DEPTH {
            return Err(Stop::TooDeep(pos));
        }
        if object {
            self.names.open();
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(object);
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        self.depth -= 1;
        if self.objects & 1 == 1
            && let Some(name) = self.names.close(self.text)
        {
            self.keep(ArgumentsErrorKind::DuplicateName, name.quote());
        }
        self.objects >>= 1;
    }

    /// Reads a name and its colon; returns where its value is, as
    /// [`skip_white`] does.
    #[inline]
    fn name(
        &mut self,
        bytes: &[u8],
        quote: usize,
        byte: u8,
        expected: &'static str,
    ) -> Result<(usize, u8), Stop> {
        if byte != b'"' {
            return Err(Fault::new(quote, expected).into());
        }
        let quoted = string::read(bytes, quote + 1)?;
        let name = Name::new(quote, quoted);
        if self.names.push(name, self.text) {
            self.keep(ArgumentsErrorKind::DuplicateName, quote);
        }
        if name.starts_with(self.text, PRIVATE) {
            self.keep(ArgumentsErrorKind::PrivateKey, quote);
        }
        let (colon, byte) = skip_white(bytes, quoted.close + 1);
        if byte != b':' {
            return Err(Fault::new(colon, "`:` after the name").into());
        }
        Ok(skip_white(bytes, colon + 1))
    }

    /// Notes a loss, and goes on: the text may turn out not to be JSON.
    #[cold]
    fn keep(&mut self, kind: ArgumentsErrorKind, at: usize) {
        self.lossy.get_or_insert(Lossy { kind, at });
    }
}

/// Where `word`, expected at `pos`, ends.
fn literal(bytes: &[u8], pos: usize, word: &'static str) -> Result<usize, Stop> {
    if bytes[pos..].starts_with(word.as_bytes()) {
        return Ok(pos + word.len());
    }
    // Two letters say which word was meant.
    let meant = bytes[pos..].starts_with(&word.as_bytes()[..2]);
    Err(Fault::new(pos, if meant { word } else { "a value" }).into())
}
