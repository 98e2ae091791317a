//! The arguments of a call: the exact text that was sent, checked once.
//!
//! A guard, a body, an observer and a log all read one and the same thing,
//! and nobody can change it. The text is scanned once, when the arguments are
//! made; what would not survive the way into Rust's types is refused then, so
//! that nobody downstream sees another number or another member than the
//! model sent. The tree ([`Arguments::value`]) and the
//! [digest](Arguments::digest) are built when somebody first asks for them.
//!
//! # Example
//!
//! ```
//! use serde::Deserialize;
//! use toolfall_layers::Arguments;
//!
//! #[derive(Deserialize)]
//! struct Read {
//!     path: String,
//!     limit: u32,
//! }
//!
//! let arguments = Arguments::from_text(r#"{"path": "a.txt", "limit": 10.0}"#).unwrap();
//! let read: Read = arguments.decode().unwrap();
//! assert_eq!((read.path.as_str(), read.limit), ("a.txt", 10));
//! assert_eq!(arguments.text(), r#"{"path": "a.txt", "limit": 10.0}"#);
//!
//! let twice = Arguments::from_text(r#"{"path": "a", "path": "/etc/passwd"}"#).unwrap_err();
//! assert_eq!(twice.to_string(), "at /path: the name stands twice in one object");
//! ```

mod decode;
mod decode_items;
mod decode_name;
mod digest;
mod echo;
mod error;
mod members;
mod names;
mod number;
mod pointer;
mod scan;
mod snapshot;
mod string;
mod value;
mod write;
mod write_compound;

use std::{
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use self::{
    digest::Digest,
    echo::printable,
    error::{ArgumentsError, ArgumentsErrorKind, CheckError, DecodeError, Malformed},
    members::{Member, json_members, read_json},
    scan::{MAX_DEPTH, MAX_TEXT, check_json},
    value::{check_value, discard_value, to_value},
};

/// The longest echo, in characters, before the note of what is missing.
const ECHO: usize = 200;

/// The arguments of one call: an exact, immutable text and what it stands for.
///
/// A clone shares everything. Two are equal if their texts are.
///
/// | text | what becomes of it |
/// |---|---|
/// | absent, empty, white space, `null` | `{}` counts; the text is kept |
/// | JSON | kept |
/// | JSON with a name twice in one object, a number past 64 bits, more than [`MAX_DEPTH`] levels | [`ArgumentsError`] |
/// | no JSON | kept as text; [`Arguments::malformed`] says where it goes wrong |
///
/// Nothing is repaired and nothing is guessed.
#[derive(Clone)]
pub struct Arguments(Arc<Inner>);

struct Inner {
    text: String,
    kind: Kind,
    value: OnceLock<Value>,
    digest: OnceLock<Digest>,
}

enum Kind {
    Json,
    /// Empty, white space or `null`: counts as `{}`.
    Nothing,
    // Boxed, because nearly no call pays for it.
    Malformed(Box<Malformed>),
}

impl Arguments {
    fn new(text: String, kind: Kind) -> Self {
        Self(Arc::new(Inner {
            text,
            kind,
            value: OnceLock::new(),
            digest: OnceLock::new(),
        }))
    }

    /// No arguments: `{}`. All of them share one allocation.
    pub fn empty() -> Self {
        static EMPTY: LazyLock<Arguments> =
            LazyLock::new(|| Arguments::new("{}".to_owned(), Kind::Json));
        EMPTY.clone()
    }

    /// Takes a text as it was sent. Text that is not JSON is taken too:
    /// [`malformed`](Self::malformed) tells.
    ///
    /// # Errors
    ///
    /// If the text is JSON that cannot be kept exactly, or is beyond a limit;
    /// see [`check_json`].
    pub fn from_text(text: impl Into<String>) -> Result<Self, ArgumentsError> {
        Self::keep(text.into()).map_err(|(error, _)| error)
    }

    /// As [`from_text`](Self::from_text); gives a refused text back.
    pub(crate) fn keep(text: String) -> Result<Self, (ArgumentsError, String)> {
        let kind = match check_json(&text) {
            Ok(()) if is_null(&text) => Kind::Nothing,
            Ok(()) => Kind::Json,
            Err(CheckError::Malformed(_)) if is_blank(&text) => Kind::Nothing,
            Err(CheckError::Malformed(malformed)) => Kind::Malformed(Box::new(malformed)),
            Err(CheckError::Lossy(error)) => return Err((error, text)),
        };
        Ok(Self::new(text, kind))
    }

    /// Takes what a model sent, which may be nothing at all.
    ///
    /// ```
    /// use toolfall_layers::Arguments;
    ///
    /// assert_eq!(Arguments::from_model(None).unwrap().json(), "{}");
    /// let blank = Arguments::from_model(Some(" \n".to_owned())).unwrap();
    /// assert_eq!((blank.text(), blank.json()), (" \n", "{}"));
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`from_text`](Self::from_text).
    pub fn from_model(text: Option<String>) -> Result<Self, ArgumentsError> {
        text.map_or_else(|| Ok(Self::empty()), Self::from_text)
    }

    /// Takes bytes that claim to be UTF-8. Where they are not, the text keeps
    /// replacement characters in their place and counts as malformed.
    ///
    /// # Errors
    ///
    /// As for [`from_text`](Self::from_text).
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ArgumentsError> {
        if bytes.len() > MAX_TEXT {
            return Err(ArgumentsError::too_large(bytes.len(), MAX_TEXT));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self::from_text(text),
            Err(error) => {
                let valid_up_to = error.utf8_error().valid_up_to();
                let malformed = Malformed::not_utf8(error.as_bytes(), valid_up_to);
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                Ok(Self::new(text, Kind::Malformed(Box::new(malformed))))
            }
        }
    }

    /// Writes `value` as arguments. It is read once and kept as text: what
    /// its owner does to it afterwards changes nothing here.
    ///
    /// # Errors
    ///
    /// As for [`to_value`]; a float that is not finite is refused, never
    /// written as `null`.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, ArgumentsError> {
        let text = value::to_checked_text(value)?;
        let kind = if is_null(&text) {
            Kind::Nothing
        } else {
            Kind::Json
        };
        Ok(Self::new(text, kind))
    }

    /// The text exactly as it was sent.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The text that counts: `{}` for nothing and for `null`, else
    /// [`text`](Self::text), JSON or not.
    pub fn json(&self) -> &str {
        match self.0.kind {
            Kind::Nothing => "{}",
            Kind::Json | Kind::Malformed(_) => &self.0.text,
        }
    }

    /// Where the text goes wrong, if it is not JSON.
    ///
    /// A tool that has a schema answers such a call with a refusal.
    pub fn malformed(&self) -> Option<&Malformed> {
        match &self.0.kind {
            Kind::Malformed(malformed) => Some(malformed),
            Kind::Json | Kind::Nothing => None,
        }
    }

    /// The arguments as a tree, built when somebody first looks.
    ///
    /// For malformed text it is the text, as a string. The tree is the same
    /// whichever features of `serde_json` the build has; under its
    /// `preserve_order` the names come in the order they were sent.
    pub fn value(&self) -> &Value {
        self.0.value.get_or_init(|| {
            let text = || Value::String(self.0.text.clone());
            match self.0.kind {
                Kind::Malformed(_) => text(),
                // The scanner let through nothing that the decoder refuses.
                Kind::Json | Kind::Nothing => {
                    decode::decode(self.json()).unwrap_or_else(|_| text())
                }
            }
        })
    }

    /// Whether somebody looked at [`value`](Self::value) yet.
    #[doc(hidden)]
    pub fn is_value_built(&self) -> bool {
        self.0.value.get().is_some()
    }

    /// The SHA-256 of [`text`](Self::text), computed when somebody first asks.
    pub fn digest(&self) -> &Digest {
        self.0.digest.get_or_init(|| Digest::of(&self.0.text))
    }

    /// Reads the arguments into a type, from the text; no tree is built.
    ///
    /// Integers may be written `1.0` or `1e3`, as the `integer` of JSON Schema
    /// allows. A struct is read from an object only, never from a list by
    /// position.
    ///
    /// What serde buffers (the variants of an untagged or internally tagged
    /// enum, the rest collected by `flatten`) it reads without saying what it
    /// is for: there `1.0` stays a float, and an integer field refuses it. An
    /// `f32` or `f64` field rounds an integer that it cannot hold, as Rust's
    /// `as` does.
    ///
    /// ```
    /// use toolfall_layers::Arguments;
    ///
    /// let arguments = Arguments::from_text(r#"{"ids": [1, 2.5]}"#).unwrap();
    /// let error = arguments
    ///     .decode::<std::collections::BTreeMap<String, Vec<u8>>>()
    ///     .unwrap_err();
    /// assert_eq!(error.pointer(), "/ids/1");
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is [malformed](Self::malformed) or does not fit `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        match &self.0.kind {
            Kind::Malformed(malformed) => Err(DecodeError::malformed(malformed)),
            Kind::Json | Kind::Nothing => decode::decode(self.json()),
        }
    }

    /// The text for a message: at most 200 characters, control characters
    /// and direction marks as escapes, and how much is missing.
    ///
    /// ```
    /// use toolfall_layers::Arguments;
    ///
    /// let long = Arguments::from_text("x".repeat(587)).unwrap();
    /// assert!(long.echo().ends_with("x… (+387 more chars)"));
    /// assert_eq!(Arguments::from_text("a\nb").unwrap().echo(), "a\\nb");
    /// ```
    pub fn echo(&self) -> String {
        echo::printable(&self.0.text, ECHO)
    }
}

/// Prints the [`echo`](Arguments::echo).
impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arguments({})", self.echo())
    }
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.text == other.0.text
    }
}

impl Eq for Arguments {}

impl Default for Arguments {
    fn default() -> Self {
        Self::empty()
    }
}

const WHITE: [char; 4] = [' ', '\t', '\n', '\r'];

fn is_blank(text: &str) -> bool {
    text.trim_matches(WHITE).is_empty()
}

/// Looks only at the first byte of nearly every text.
fn is_null(text: &str) -> bool {
    text.trim_start_matches(WHITE).starts_with('n') && text.trim_matches(WHITE) == "null"
}
