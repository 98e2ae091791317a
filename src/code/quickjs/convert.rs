//! Values between the engine and JSON.
//!
//! What leaves the engine is read property by property from here: the
//! program's own `JSON` and every `toJSON` are never asked. A proxy is
//! refused, a getter runs like any other code of the program, and what is no
//! plain data is refused instead of turned into something else.

use rquickjs::object::Filter;
use rquickjs::{Array, Atom, Ctx, Object, Value as Js};
use serde_json::{Map, Number, Value};
use toolfall_layers::{MAX_DEPTH, check_value};

/// Integers beyond this are not all exact in an engine that knows doubles.
const EXACT: u64 = 1 << 53;

/// Why a value stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is no lossless JSON.
    Lossy,
    /// It takes more bytes as JSON than are left.
    TooLarge,
    /// The engine threw while it was read: an exception is pending.
    Threw,
}

impl From<rquickjs::Error> for Refused {
    fn from(error: rquickjs::Error) -> Self {
        match error {
            // A lone surrogate.
            rquickjs::Error::Utf8(_) => Self::Lossy,
            _ => Self::Threw,
        }
    }
}

/// The prototypes of plain data, taken before any program ran.
pub(super) struct Plain<'js> {
    object: Object<'js>,
    array: Object<'js>,
}

impl<'js> Plain<'js> {
    pub(super) fn of(ctx: &Ctx<'js>) -> rquickjs::Result<Self> {
        let prototype = |object: Object<'js>| object.get_prototype();
        let object = prototype(Object::new(ctx.clone())?);
        let array = prototype(Array::new(ctx.clone())?.into_object());
        match (object, array) {
            (Some(object), Some(array)) => Ok(Self { object, array }),
            _ => Err(rquickjs::Error::Unknown),
        }
    }

    fn is_plain_object(&self, object: &Object<'js>) -> bool {
        object
            .get_prototype()
            .is_none_or(|prototype| prototype == self.object)
    }

    /// Reads a value out of the engine, of at most `limit` bytes as JSON.
    ///
    /// # Errors
    ///
    /// For `undefined`, functions, symbols, big integers, `-0`, numbers that
    /// are not finite, lone surrogates, holes, symbols and hidden properties
    /// as keys, proxies, everything with a prototype of its own, cycles, and
    /// more than [`MAX_DEPTH`] levels.
    pub(super) fn read(&self, value: &Js<'js>, limit: usize) -> Result<Value, Refused> {
        let mut reader = Reader {
            plain: self,
            left: limit,
        };
        let value = reader.value(value, 0)?;
        // Names that `serde_json` keeps for itself.
        check_value(&value).map_err(|_| Refused::Lossy)?;
        Ok(value)
    }
}

struct Reader<'a, 'js> {
    plain: &'a Plain<'js>,
    left: usize,
}

impl<'js> Reader<'_, 'js> {
    /// Every value costs a byte at least, so that what refers to one object
    /// many times cannot grow without a bound.
    fn spend(&mut self, bytes: usize) -> Result<(), Refused> {
        self.left = self.left.checked_sub(bytes).ok_or(Refused::TooLarge)?;
        Ok(())
    }

    /// Recurses no deeper than `MAX_DEPTH`.
    fn value(&mut self, value: &Js<'js>, level: usize) -> Result<Value, Refused> {
        if value.is_null() {
            self.spend(4)?;
            return Ok(Value::Null);
        }
        if let Some(flag) = value.as_bool() {
            self.spend(4)?;
            return Ok(Value::Bool(flag));
        }
        if let Some(number) = value.as_number() {
            self.spend(1)?;
            return number_out(number).map(Value::Number).ok_or(Refused::Lossy);
        }
        if let Some(text) = value.as_string() {
            let text = text.to_string()?;
            self.spend(text.len() + 2)?;
            return Ok(Value::String(text));
        }
        if value.is_proxy() || value.is_function() || level > MAX_DEPTH {
            return Err(Refused::Lossy);
        }
        self.spend(2)?;
        if let Some(array) = value.as_array() {
            return self.array(array, level).map(Value::Array);
        }
        match value.as_object() {
            Some(object) if self.plain.is_plain_object(object) => {
                self.object(object, level).map(Value::Object)
            }
            _ => Err(Refused::Lossy),
        }
    }

    fn array(&mut self, array: &Array<'js>, level: usize) -> Result<Vec<Value>, Refused> {
        let object = array.as_object();
        if object.get_prototype().as_ref() != Some(&self.plain.array) {
            return Err(Refused::Lossy);
        }
        // `length` is one more. Counted first: a sparse array may claim
        // billions of elements.
        let length = length(array)?;
        if own(object) != length.saturating_add(1) {
            return Err(Refused::Lossy);
        }
        self.spend(length)?;
        let mut values = Vec::with_capacity(length);
        for index in 0..length {
            values.push(self.value(&array.get::<Js<'js>>(index)?, level + 1)?);
        }
        Ok(values)
    }

    fn object(
        &mut self,
        object: &Object<'js>,
        level: usize,
    ) -> Result<Map<String, Value>, Refused> {
        let keys = object.own_keys::<Atom<'js>>(Filter::new().string().enum_only());
        if keys.len() != own(object) {
            return Err(Refused::Lossy);
        }
        let mut map = Map::new();
        for key in keys {
            let key = key?;
            let name = key.to_js_string()?.to_string()?;
            self.spend(name.len() + 3)?;
            let value = self.value(&object.get::<_, Js<'js>>(key)?, level + 1)?;
            map.insert(name, value);
        }
        Ok(map)
    }
}

/// The length of an array: beyond the integers of the engine too, where
/// `Array::len` panics.
pub(super) fn length(array: &Array<'_>) -> rquickjs::Result<usize> {
    let length: f64 = array.as_object().get("length")?;
    // At most 2^32 - 1.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(length as usize)
}

/// How many keys an object has itself, of any kind.
fn own(object: &Object<'_>) -> usize {
    let all = Filter::new().string().symbol();
    object.own_keys::<Atom<'_>>(all).len()
}

/// A number of the engine's as JSON, if none of it is lost.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn number_out(number: f64) -> Option<Number> {
    if number == 0.0 && number.is_sign_negative() {
        return None;
    }
    // The bounds are exact in a double, and the cast is exact between them.
    if number.fract() == 0.0 && number.abs() < i64::MAX as f64 {
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
}

/// Makes a value of the engine from one of the host's.
///
/// # Errors
///
/// [`Refused::Lossy`] for what would not arrive as it is: integers that no
/// double holds, `-0.0`, more than [`MAX_DEPTH`] levels.
pub(super) fn write<'js>(ctx: &Ctx<'js>, value: &Value) -> Result<Js<'js>, Refused> {
    if check_value(value).is_err() || !is_exact(value) {
        return Err(Refused::Lossy);
    }
    // The engine's parser defines own properties, also `__proto__`, and asks
    // nothing that a program could have changed.
    let text = serde_json::to_string(value).map_err(|_| Refused::Lossy)?;
    Ok(ctx.json_parse(text)?)
}

/// Whether every number in `value` is one of the engine's. Recurses no deeper
/// than `check_value` let pass.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            if let Some(integer) = number.as_u64() {
                is_double(integer)
            } else if let Some(integer) = number.as_i64() {
                is_double(integer.unsigned_abs())
            } else {
                number
                    .as_f64()
                    .is_some_and(|float| float != 0.0 || float.is_sign_positive())
            }
        }
        Value::Array(values) => values.iter().all(is_exact),
        Value::Object(map) => map.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Whether a double holds `integer`: its significant bits are 53 at most.
fn is_double(integer: u64) -> bool {
    integer <= EXACT || (integer >> integer.trailing_zeros()) < EXACT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_told_from_doubles() {
        for exact in [0, 1, EXACT - 1, EXACT, 1 << 60, u64::MAX - 2047] {
            assert!(is_double(exact), "{exact}");
        }
        for lossy in [EXACT + 1, u64::MAX, (1 << 60) + 1] {
            assert!(!is_double(lossy), "{lossy}");
        }
    }

    #[test]
    fn numbers_leave_as_they_are() {
        let text = |number: f64| number_out(number).map(|number| number.to_string());
        assert_eq!(text(3.0).as_deref(), Some("3"));
        assert_eq!(
            text(-9_007_199_254_740_992.0).as_deref(),
            Some("-9007199254740992")
        );
        assert_eq!(text(0.1).as_deref(), Some("0.1"));
        assert_eq!(text(1e300).as_deref(), Some("1e+300"));
        for lossy in [-0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(text(lossy), None);
        }
    }
}
