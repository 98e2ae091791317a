//! Reads an object's name into a key type: text, numbers, booleans, enums.

use std::borrow::Cow;

use serde::{
    de::{Deserializer, IntoDeserializer, Visitor},
    forward_to_deserialize_any,
};

use super::{
    decode::Error,
    number::{self, Number},
};

/// A name, decoded.
pub(super) struct NameDecoder<'de>(pub(super) Cow<'de, str>);

impl<'de> NameDecoder<'de> {
    /// Names that are numbers serve maps keyed by numbers.
    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let number = match number::read(&self.0, 0) {
            Ok((number, end)) if end == self.0.len() => number,
            _ => return self.deserialize_any(visitor),
        };
        match number {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Negative(value) => visitor.visit_i64(value),
            Number::Float => match self.0.parse() {
                Ok(value) => visitor.visit_f64(value),
                Err(_) => self.deserialize_any(visitor),
            },
            Number::Lossy => self.deserialize_any(visitor),
        }
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.number(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for NameDecoder<'de> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(name) => visitor.visit_borrowed_str(name),
            Cow::Owned(name) => visitor.visit_string(name),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &*self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0
            .into_deserializer()
            .deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
