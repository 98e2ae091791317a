//! Writes a `Serialize` value as JSON text and refuses what JSON has not,
//! where `serde_json` would write `null`.

use std::fmt::{self, Display, Write as _};

use serde::ser::{self, Serialize, Serializer};

use super::{
    error::{ArgumentsError, ArgumentsErrorKind},
    pointer::pointer,
    scan::{MAX_DEPTH, MAX_TEXT, PRIVATE},
    string,
    write_compound::Compound,
};

/// The compact text of `value`. Names and numbers are left to be checked.
pub(super) fn write<T: Serialize + ?Sized>(value: &T) -> Result<String, ArgumentsError> {
    let mut writer = Writer {
        out: String::new(),
        open: 0,
    };
    match value.serialize(&mut writer) {
        Ok(()) => Ok(writer.out),
        // Nothing is written after a failure: the text ends where it happened.
        Err(Error(kind, detail)) => {
            let place = pointer(&writer.out, writer.out.len());
            Err(ArgumentsError::new(kind, place, &detail))
        }
    }
}

/// What went wrong; where it did is where the text ends.
#[derive(Debug)]
pub(super) struct Error(ArgumentsErrorKind, String);

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: Display>(detail: T) -> Self {
        Self(ArgumentsErrorKind::Serialize, detail.to_string())
    }
}

pub(super) struct Writer {
    out: String,
    /// How many containers are open.
    pub(super) open: usize,
}

impl Writer {
    pub(super) fn put(&mut self, text: &str) -> Result<(), Error> {
        if self.out.len() + text.len() > MAX_TEXT {
            return Err(Error(
                ArgumentsErrorKind::TooLarge,
                format!("more than {MAX_TEXT} bytes of JSON"),
            ));
        }
        self.out.push_str(text);
        Ok(())
    }

    fn put_display(&mut self, value: impl Display) -> Result<(), Error> {
        // Writing to a `String` cannot fail; the room is checked after it,
        // because a number is short.
        let _ = write!(self.out, "{value}");
        self.put("")
    }

    pub(super) fn put_string(&mut self, text: &str) -> Result<(), Error> {
        self.put("\"")?;
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0..0x20 => "",
                _ => continue,
            };
            self.put(&text[plain..at])?;
            if escape.is_empty() {
                self.put(&format!("\\u{byte:04x}"))?;
            } else {
                self.put(escape)?;
            }
            plain = at + 1;
        }
        self.put(&text[plain..])?;
        self.put("\"")
    }

    fn float(&mut self, finite: bool, shortest: impl fmt::Debug) -> Result<(), Error> {
        if finite {
            // `{:?}` keeps the point or the exponent that marks a float.
            self.put_display(format_args!("{shortest:?}"))
        } else {
            Err(Error(
                ArgumentsErrorKind::NotFinite,
                format!("{shortest:?} is no JSON number"),
            ))
        }
    }

    fn open(&mut self, bracket: &str) -> Result<(), Error> {
        if self.open > MAX_DEPTH {
            return Err(Error(
                ArgumentsErrorKind::TooDeep,
                format!("nested more than {MAX_DEPTH} levels below the root"),
            ));
        }
        self.put(bracket)?;
        self.open += 1;
        Ok(())
    }

    fn compound(&mut self, bracket: &str, close: &'static str) -> Result<Compound<'_>, Error> {
        self.open(bracket)?;
        Ok(Compound {
            writer: self,
            close,
            first: true,
            verbatim: false,
        })
    }

    /// `{"variant":`, to be closed by a `}` of the compound's own.
    fn variant(&mut self, variant: &str) -> Result<(), Error> {
        self.open("{")?;
        self.put_string(variant)?;
        self.put(":")
    }

    /// Writes a name: what the key writes, if that can stand in quotes.
    pub(super) fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let start = self.out.len();
        key.serialize(&mut *self)?;
        let token = &self.out[start..];
        let bare = token == "true"
            || token == "false"
            || token
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
        if token.starts_with('"') {
            return Ok(());
        }
        let token = self.out.split_off(start);
        if !bare {
            return Err(ser::Error::custom("key must be a string"));
        }
        self.put_string(&token)
    }

    /// Writes the text inside the string that `value` writes: how
    /// `serde_json` passes on raw values and numbers kept as digits.
    pub(super) fn verbatim<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let start = self.out.len();
        value.serialize(&mut *self)?;
        let token = self.out.split_off(start);
        match token
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
        {
            Some(inside) => self.put(&string::decoded(inside, true)),
            None => Err(ser::Error::custom("a raw value must be text")),
        }
    }
}

macro_rules! displayed {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method(self, value: $type) -> Result<(), Error> {
            self.put_display(value)
        }
    )*};
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeStructVariant = Compound<'a>;

    displayed! {
        serialize_bool: bool,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128,
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.float(value.is_finite(), value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.float(value.is_finite(), value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.put_string(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.put_string(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.put("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.put("null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.put("null")
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.put_string(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.open -= 1;
        self.put("}")
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Compound<'a>, Error> {
        self.compound("[", "]")
    }

    fn serialize_tuple(self, _len: usize) -> Result<Compound<'a>, Error> {
        self.compound("[", "]")
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Error> {
        self.compound("[", "]")
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Error> {
        self.variant(variant)?;
        self.compound("[", "]}")
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Compound<'a>, Error> {
        self.compound("{", "}")
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Compound<'a>, Error> {
        if name.starts_with(PRIVATE) {
            return Ok(Compound {
                writer: self,
                close: "",
                first: true,
                verbatim: true,
            });
        }
        self.compound("{", "}")
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Error> {
        self.variant(variant)?;
        self.compound("{", "}}")
    }
}
