//! Builds a [`Value`] straight from a `Serialize`, where nothing is odd.
//!
//! Whatever cannot be kept, or is rare, ends the attempt with [`Odd`]: the
//! caller then takes the long way over checked text, which knows every case
//! and says what is wrong and where. So this file decides nothing on its own.

use std::cell::Cell;
use std::fmt::{self, Display};

use serde::Serialize;
use serde::ser::{
    self, Impossible, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, Serializer,
};
use serde_json::{Map, Number, Value};

use super::scan::{MAX_DEPTH, PRIVATE};

/// Larger values, in bytes of content, take the long way.
const MAX_PLAIN: usize = 1024 * 1024;

/// Not for the short way.
#[derive(Debug)]
pub(super) struct Odd;

impl Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value needs a closer look")
    }
}

impl std::error::Error for Odd {}

impl ser::Error for Odd {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

/// The value, if it is plain.
pub(super) fn snapshot<T: Serialize + ?Sized>(value: &T) -> Result<Value, Odd> {
    let room = Cell::new(MAX_PLAIN);
    value.serialize(Builder {
        open: 0,
        room: &room,
    })
}

#[derive(Clone, Copy)]
struct Builder<'a> {
    /// How many containers are open.
    open: usize,
    /// How much more may come: a `Serialize` need not have an end.
    room: &'a Cell<usize>,
}

impl<'a> Builder<'a> {
    /// Counts a value of about `bytes` bytes.
    fn take(self, bytes: usize) -> Result<(), Odd> {
        let left = self.room.get().checked_sub(bytes + 1).ok_or(Odd)?;
        self.room.set(left);
        Ok(())
    }

    fn number(self, value: impl Into<Value>) -> Result<Value, Odd> {
        self.take(8)?;
        Ok(value.into())
    }

    fn inside(self) -> Result<Self, Odd> {
        if self.open > MAX_DEPTH {
            return Err(Odd);
        }
        self.take(2)?;
        Ok(Self {
            open: self.open + 1,
            room: self.room,
        })
    }

    fn list(self, len: Option<usize>) -> Result<List<'a>, Odd> {
        Ok(List {
            inside: self.inside()?,
            // What a type says of its length is not believed without bound.
            items: Vec::with_capacity(len.unwrap_or(0).min(1_024)),
        })
    }

    fn object(self) -> Result<Object<'a>, Odd> {
        Ok(Object {
            inside: self.inside()?,
            members: Map::new(),
            name: None,
        })
    }
}

struct List<'a> {
    inside: Builder<'a>,
    items: Vec<Value>,
}

struct Object<'a> {
    inside: Builder<'a>,
    members: Map<String, Value>,
    name: Option<String>,
}

impl Object<'_> {
    fn put<T: Serialize + ?Sized>(&mut self, name: String, value: &T) -> Result<(), Odd> {
        if name.starts_with(PRIVATE) {
            return Err(Odd);
        }
        let value = value.serialize(self.inside)?;
        match self.members.insert(name, value) {
            None => Ok(()),
            Some(_) => Err(Odd),
        }
    }
}

impl<'a> Serializer for Builder<'a> {
    type Ok = Value;
    type Error = Odd;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = Impossible<Value, Odd>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Impossible<Value, Odd>;

    fn serialize_bool(self, value: bool) -> Result<Value, Odd> {
        self.number(value)
    }

    fn serialize_i8(self, value: i8) -> Result<Value, Odd> {
        self.number(value)
    }

    fn serialize_i16(self, value: i16) -> Result<Value, Odd> {
        self.number(value)
    }

    fn serialize_i32(self, value: i32) -> Result<Value, Odd> {
        self.number(value)
    }

    fn serialize_i64(self, value: i64) -> Result<Value, Odd> {
        self.number(value)
    }

    fn serialize_u8(self, value: u8) -> Result<Value, Odd> {
        self.number(value)
    }

    fn serialize_u16(self, value: u16) -> Result<Value, Odd> {
        self.number(value)
    }

    fn serialize_u32(self, value: u32) -> Result<Value, Odd> {
        self.number(value)
    }

    fn serialize_u64(self, value: u64) -> Result<Value, Odd> {
        self.number(value)
    }

    fn serialize_f32(self, _: f32) -> Result<Value, Odd> {
        // Its shortest decimal is what counts, which only text has.
        Err(Odd)
    }

    fn serialize_f64(self, value: f64) -> Result<Value, Odd> {
        self.take(8)?;
        Number::from_f64(value).map(Value::Number).ok_or(Odd)
    }

    fn serialize_char(self, value: char) -> Result<Value, Odd> {
        self.number(value.to_string())
    }

    fn serialize_str(self, value: &str) -> Result<Value, Odd> {
        self.take(value.len())?;
        Ok(Value::String(value.to_owned()))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Value, Odd> {
        Err(Odd)
    }

    fn serialize_none(self) -> Result<Value, Odd> {
        self.number(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Odd> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Odd> {
        self.number(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Odd> {
        self.number(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, Odd> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, Odd> {
        if name.starts_with(PRIVATE) {
            return Err(Odd);
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Value, Odd> {
        Err(Odd)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<List<'a>, Odd> {
        self.list(len)
    }

    fn serialize_tuple(self, len: usize) -> Result<List<'a>, Odd> {
        self.list(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<List<'a>, Odd> {
        self.list(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Odd> {
        Err(Odd)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>, Odd> {
        self.object()
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Object<'a>, Odd> {
        if name.starts_with(PRIVATE) {
            return Err(Odd);
        }
        self.object()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Odd> {
        Err(Odd)
    }
}

impl SerializeSeq for List<'_> {
    type Ok = Value;
    type Error = Odd;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Odd> {
        self.items.push(value.serialize(self.inside)?);
        Ok(())
    }

    fn end(self) -> Result<Value, Odd> {
        Ok(Value::Array(self.items))
    }
}

impl SerializeTuple for List<'_> {
    type Ok = Value;
    type Error = Odd;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Odd> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Value, Odd> {
        SerializeSeq::end(self)
    }
}

impl SerializeTupleStruct for List<'_> {
    type Ok = Value;
    type Error = Odd;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Odd> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Value, Odd> {
        SerializeSeq::end(self)
    }
}

impl SerializeMap for Object<'_> {
    type Ok = Value;
    type Error = Odd;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Odd> {
        match name.serialize(self.inside)? {
            Value::String(name) => {
                self.name = Some(name);
                Ok(())
            }
            _ => Err(Odd),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Odd> {
        let name = self.name.take().ok_or(Odd)?;
        self.put(name, value)
    }

    fn end(self) -> Result<Value, Odd> {
        Ok(Value::Object(self.members))
    }
}

impl SerializeStruct for Object<'_> {
    type Ok = Value;
    type Error = Odd;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Odd> {
        self.put(name.to_owned(), value)
    }

    fn end(self) -> Result<Value, Odd> {
        Ok(Value::Object(self.members))
    }
}
