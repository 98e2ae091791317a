//! What lies inside a list, an object, or an enum's object.

use serde::{
    Deserialize,
    de::{
        DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess,
        Visitor, value::BorrowedStrDeserializer,
    },
};

use super::{
    decode::{Decoder, Error, RAW_VALUE},
    decode_name::NameDecoder,
    scan::Fault,
};

/// The items of a list, the members of an object, or the one member of an
/// enum's object.
pub(super) struct Items<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    first: bool,
}

impl<'a, 'de> Items<'a, 'de> {
    pub(super) fn new(decoder: &'a mut Decoder<'de>) -> Self {
        Self {
            decoder,
            first: true,
        }
    }

    /// Goes to the next item; `false` at the container's end.
    #[inline]
    fn advance(&mut self, close: u8) -> Result<bool, Error> {
        if self.decoder.peek() == Some(close) {
            return Ok(false);
        }
        if !std::mem::take(&mut self.first) {
            self.decoder.expect(b',', "`,`")?;
        }
        Ok(true)
    }

    fn name<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<K::Value, Error> {
        if self.decoder.peek() != Some(b'"') {
            return Err(Fault::new(self.decoder.pos, "a name in double quotes").into());
        }
        let start = self.decoder.pos;
        let name = self.decoder.string()?;
        seed.deserialize(NameDecoder(name))
            .map_err(|error| error.or_at(start))
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        if !self.advance(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.decoder).map(Some)
    }
}

impl<'de> MapAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        if !self.advance(b'}')? {
            return Ok(None);
        }
        self.name(seed).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.decoder.expect(b':', "`:`")?;
        seed.deserialize(&mut *self.decoder)
    }
}

impl<'de> EnumAccess<'de> for Items<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(mut self, seed: V) -> Result<(V::Value, Self), Error> {
        let variant = self.name(seed)?;
        self.decoder.expect(b':', "`:`")?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Deserialize::deserialize(self.decoder)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.decoder)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Error> {
        self.decoder.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.decoder.deserialize_struct("", fields, visitor)
    }
}

/// Hands a value's text to `RawValue`, in the shape it asks for.
pub(super) struct Raw<'de>(pub(super) Option<&'de str>);

impl<'de> MapAccess<'de> for Raw<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        if self.0.is_none() {
            return Ok(None);
        }
        seed.deserialize(BorrowedStrDeserializer::new(RAW_VALUE))
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let text = self
            .0
            .take()
            .ok_or_else(|| Error::custom("the value was taken already"))?;
        seed.deserialize(BorrowedStrDeserializer::new(text))
    }
}
