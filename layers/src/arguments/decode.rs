//! Reads a typed value straight from a checked text.
//!
//! An own reader rather than `serde_json`'s, for three reasons: an integer may
//! be written `1.0`, the deepest accepted text is one level deeper than
//! `serde_json` reads, and nothing changes with the features of `serde_json`.

use std::borrow::Cow;

use serde::{
    Deserialize,
    de::{Deserializer, Error as _, IgnoredAny, IntoDeserializer, Unexpected, Visitor},
    forward_to_deserialize_any,
};

use super::{
    decode_items::{Items, Raw},
    error::DecodeError,
    number::{self, Number},
    scan::Fault,
    string,
};

/// How `serde_json::value::RawValue` asks for the text of a value.
pub(super) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Reads a `T` from `text`, which [`check_json`](super::check_json) accepted.
pub(super) fn decode<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, DecodeError> {
    let mut decoder = Decoder { text, pos: 0 };
    T::deserialize(&mut decoder).map_err(|error| {
        let at = error.0.at.unwrap_or(0);
        DecodeError::in_text(text, at, &error.0.detail)
    })
}

/// A failure on its way up; the innermost place that knows where it stands
/// says so.
#[derive(Debug)]
pub(super) struct Error(Box<Detail>);

#[derive(Debug)]
struct Detail {
    at: Option<usize>,
    detail: String,
}

impl Error {
    #[cold]
    pub(super) fn or_at(mut self, at: usize) -> Self {
        self.0.at.get_or_insert(at);
        self
    }
}

impl From<Fault> for Error {
    #[cold]
    fn from(fault: Fault) -> Self {
        Self::custom(format_args!("expected {}", fault.expected)).or_at(fault.at)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.detail)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    #[cold]
    fn custom<T: std::fmt::Display>(detail: T) -> Self {
        Self(Box::new(Detail {
            at: None,
            detail: detail.to_string(),
        }))
    }
}

pub(super) struct Decoder<'de> {
    text: &'de str,
    pub(super) pos: usize,
}

impl<'de> Decoder<'de> {
    /// The next byte that is not white space.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.pos)?;
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.pos += 1;
        }
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Error> {
        if self.peek() == Some(byte) {
            self.pos += 1;
            return Ok(());
        }
        Err(Fault::new(self.pos, expected).into())
    }

    /// Reads the string whose opening quote is next.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'de, str>, Error> {
        let start = self.pos + 1;
        let quoted = string::read(self.text.as_bytes(), start)?;
        self.pos = quoted.close + 1;
        Ok(string::decoded(
            &self.text[start..quoted.close],
            quoted.escaped,
        ))
    }

    /// Reads the number that is next. With `integer`, `1.0` counts as 1.
    fn number<V: Visitor<'de>>(&mut self, visitor: V, integer: bool) -> Result<V::Value, Error> {
        let start = self.pos;
        let (mut number, end) = number::read(self.text, start)?;
        self.pos = end;
        let token = &self.text[start..end];
        if integer && number == Number::Float {
            number = number::integral(token).unwrap_or(number);
        }
        match number {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Negative(value) => visitor.visit_i64(value),
            Number::Float => match token.parse() {
                Ok(value) => visitor.visit_f64(value),
                Err(_) => Err(Fault::new(start, "a number").into()),
            },
            Number::Lossy => Err(Fault::new(start, "a number of 64 bits").into()),
        }
    }

    fn word<T>(&mut self, word: &'static str, value: T) -> Result<T, Error> {
        if self.text.as_bytes()[self.pos..].starts_with(word.as_bytes()) {
            self.pos += word.len();
            return Ok(value);
        }
        Err(Fault::new(self.pos, word).into())
    }

    fn seq<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.pos += 1;
        let value = visitor.visit_seq(Items::new(self))?;
        self.expect(b']', "no more items")?;
        Ok(value)
    }

    fn map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.pos += 1;
        let value = visitor.visit_map(Items::new(self))?;
        self.expect(b'}', "no more names")?;
        Ok(value)
    }

    fn any<V: Visitor<'de>>(&mut self, visitor: V, integer: bool) -> Result<V::Value, Error> {
        let next = self.peek();
        let start = self.pos;
        let result = match next {
            Some(b'"') => match self.string()? {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            },
            Some(b'-' | b'0'..=b'9') => self.number(visitor, integer),
            Some(b'{') => self.map(visitor),
            Some(b'[') => self.seq(visitor),
            Some(b't') => self
                .word("true", true)
                .and_then(|value| visitor.visit_bool(value)),
            Some(b'f') => self
                .word("false", false)
                .and_then(|value| visitor.visit_bool(value)),
            Some(b'n') => self.word("null", ()).and_then(|()| visitor.visit_unit()),
            _ => Err(Fault::new(start, "a value").into()),
        };
        result.map_err(|error| error.or_at(start))
    }
}

macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.any(visitor, true)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.any(visitor, false)
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() == Some(b'n') {
            self.word("null", ())?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name != RAW_VALUE {
            return visitor.visit_newtype_struct(self);
        }
        self.peek();
        let start = self.pos;
        IgnoredAny::deserialize(&mut *self)?;
        visitor.visit_map(Raw(Some(&self.text[start..self.pos])))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        // Derived types would take a list by position; no schema says so.
        if self.peek() == Some(b'[') {
            return Err(Error::invalid_type(Unexpected::Seq, &visitor).or_at(self.pos));
        }
        self.any(visitor, false)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let next = self.peek();
        let start = self.pos;
        let result = match next {
            Some(b'"') => visitor.visit_enum(self.string()?.into_deserializer()),
            Some(b'{') => {
                self.pos += 1;
                let value = visitor.visit_enum(Items::new(&mut *self));
                value.and_then(|value| {
                    self.expect(b'}', "no more names beside the variant's")?;
                    Ok(value)
                })
            }
            _ => return self.any(visitor, false),
        };
        result.map_err(|error| error.or_at(start))
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}
