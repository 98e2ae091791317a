//! Lists and objects that are being written.

use serde::ser::{self, Serialize};

use super::write::{Error, Writer};

/// A container that is being written.
pub(super) struct Compound<'a> {
    pub(super) writer: &'a mut Writer,
    pub(super) close: &'static str,
    pub(super) first: bool,
    /// The one field's text stands for itself.
    pub(super) verbatim: bool,
}

impl Compound<'_> {
    fn comma(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.first) {
            Ok(())
        } else {
            self.writer.put(",")
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.comma()?;
        value.serialize(&mut *self.writer)
    }

    fn name<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.comma()?;
        self.writer.key(key)
    }

    fn member<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.writer.put(":")?;
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        if self.verbatim {
            return self.writer.verbatim(value);
        }
        self.comma()?;
        self.writer.put_string(name)?;
        self.member(value)
    }

    fn close(self) -> Result<(), Error> {
        self.writer.open -= self.close.len();
        self.writer.put(self.close)
    }
}

macro_rules! lists {
    ($($trait:ident $method:ident,)*) => {$(
        impl ser::$trait for Compound<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}

lists! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.name(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.member(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

macro_rules! objects {
    ($($trait:ident,)*) => {$(
        impl ser::$trait for Compound<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}

objects! { SerializeStruct, SerializeStructVariant, }
