//! Number tokens: their grammar, and whether 64 bits hold them unchanged.

use super::scan::Fault;

/// What a number token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// An integer from zero up.
    Unsigned(u64),
    /// An integer below zero.
    Negative(i64),
    /// Anything with a fraction, an exponent, or written `-0`.
    Float,
    /// A number that `u64`, `i64` and `f64` would all change.
    Lossy,
}

/// Reads the number that starts at `start` (a digit or a minus sign) and
/// returns what it is and where it ends.
#[inline]
pub(super) fn read(text: &str, start: usize) -> Result<(Number, usize), Fault> {
    let bytes = text.as_bytes();
    let negative = bytes.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let mut pos = first;
    let mut magnitude = 0_u64;
    let mut overflow = false;
    while let Some(digit) = digit_at(bytes, pos) {
        match magnitude
            .checked_mul(10)
            .and_then(|tens| tens.checked_add(digit))
        {
            Some(next) => magnitude = next,
            None => overflow = true,
        }
        pos += 1;
    }
    if pos == first {
        return Err(Fault::new(pos, "a digit"));
    }
    if bytes[first] == b'0' && pos > first + 1 {
        return Err(Fault::new(
            first + 1,
            "no further digit after a leading zero",
        ));
    }
    if !matches!(bytes.get(pos), Some(b'.' | b'e' | b'E')) {
        let number = match (negative, overflow) {
            (_, true) => Number::Lossy,
            (false, false) => Number::Unsigned(magnitude),
            (true, false) if magnitude == 0 => Number::Float,
            (true, false) => 0_i64
                .checked_sub_unsigned(magnitude)
                .map_or(Number::Lossy, Number::Negative),
        };
        return Ok((number, pos));
    }
    read_float(text, start, first, pos)
}

/// The rest of [`read`], from the point or the exponent at `pos` on.
fn read_float(
    text: &str,
    start: usize,
    first: usize,
    mut pos: usize,
) -> Result<(Number, usize), Fault> {
    let bytes = text.as_bytes();
    let mut digits = pos - first;
    if bytes.get(pos) == Some(&b'.') {
        let fraction = pos + 1;
        pos = skip_digits(bytes, fraction);
        if pos == fraction {
            return Err(Fault::new(pos, "a digit after the point"));
        }
        digits += pos - fraction;
    }
    let mut exponent_digits = 0;
    if let Some(b'e' | b'E') = bytes.get(pos) {
        pos += 1;
        if let Some(b'+' | b'-') = bytes.get(pos) {
            pos += 1;
        }
        let exponent = pos;
        pos = skip_digits(bytes, exponent);
        if pos == exponent {
            return Err(Fault::new(pos, "a digit in the exponent"));
        }
        exponent_digits = pos - exponent;
    }
    // Every decimal of up to 15 digits survives the way through an f64, as
    // long as its exponent stays far from where f64 ends.
    let kept = (digits <= 15 && exponent_digits <= 2) || is_kept_by_f64(&text[start..pos]);
    Ok((if kept { Number::Float } else { Number::Lossy }, pos))
}

/// Whether an `f64` read from `token` prints as the same decimal, or as
/// another one of the same length: where two shortest decimals lead back to a
/// float, printers differ in which they choose.
fn is_kept_by_f64(token: &str) -> bool {
    let Ok(float) = token.parse::<f64>() else {
        return false;
    };
    // `{:e}` prints the shortest digits that lead back to the float.
    let printed = format!("{float:e}");
    let (Some(written), Some(printed)) = (Decimal::of(token), Decimal::of(&printed)) else {
        return false;
    };
    float.is_finite()
        && (written == printed || (written.len == printed.len && lies_between(float, &written)))
}

/// Whether `float` lies in the very middle between `written` and its
/// neighbour of as many digits.
fn lies_between(float: f64, written: &Decimal) -> bool {
    // A float in the middle of two such decimals has few digits more, so
    // sixty digits hold it exactly.
    let exact = format!("{:.60e}", float.abs());
    let digits: String = exact
        .split('e')
        .next()
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let (head, tail) = digits.split_at(written.len);
    let Ok(below) = head.parse::<u64>() else {
        return false;
    };
    let number = written.digits[..written.len]
        .iter()
        .fold(0, |sum, &digit| sum * 10 + u64::from(digit));
    tail.starts_with('5')
        && tail[1..].bytes().all(|digit| digit == b'0')
        && (number == below || number == below + 1)
}

/// The integer that a float's token stands for, if it is one of 64 bits:
/// `1.0`, `1e3`, `-0.0`.
///
/// It is taken from the digits, because an `f64` past 2^53 may stand for an
/// integer beside the one that was written.
pub(super) fn integral(token: &str) -> Option<Number> {
    let decimal = Decimal::of(token)?;
    let exponent = u32::try_from(decimal.exponent).ok()?;
    let digits = decimal.digits[..decimal.len]
        .iter()
        .fold(0_u128, |sum, &digit| sum * 10 + u128::from(digit));
    let magnitude = digits.checked_mul(10_u128.checked_pow(exponent)?)?;
    let magnitude = u64::try_from(magnitude).ok()?;
    if decimal.negative && magnitude != 0 {
        0_i64.checked_sub_unsigned(magnitude).map(Number::Negative)
    } else {
        Some(Number::Unsigned(magnitude))
    }
}

/// As many digits as the longest 64-bit integer has; the shortest print of
/// an `f64` never has more than 17.
const DIGITS: usize = 20;

/// A decimal in one form only: digits without zeros at either end, times a
/// power of ten. Zero has no digits.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: [u8; DIGITS],
    len: usize,
    exponent: i64,
}

impl Decimal {
    /// `None` where `token` has more significant digits than [`DIGITS`].
    fn of(token: &str) -> Option<Self> {
        let (negative, rest) = match token.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, token),
        };
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], exponent(&rest[at + 1..])),
            None => (rest, 0),
        };
        let mut decimal = Self {
            negative,
            digits: [0; DIGITS],
            len: 0,
            exponent,
        };
        let mut zeros = 0_usize;
        let mut point = false;
        for byte in mantissa.bytes() {
            if byte == b'.' {
                point = true;
                continue;
            }
            // A digit behind the point counts one power of ten less; a zero
            // that turns out to be a trailing one is counted back below.
            if point {
                decimal.exponent -= 1;
            }
            if byte == b'0' {
                zeros += usize::from(decimal.len > 0);
                continue;
            }
            if decimal.len + zeros >= DIGITS {
                return None;
            }
            decimal.len += zeros;
            zeros = 0;
            decimal.digits[decimal.len] = byte - b'0';
            decimal.len += 1;
        }
        decimal.exponent += i64::try_from(zeros).ok()?;
        if decimal.len == 0 {
            decimal.exponent = 0;
        }
        Some(decimal)
    }
}

/// The exponent's value. It stops growing far past every float's range and
/// past what a text's length could make up for.
fn exponent(text: &str) -> i64 {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = digits.bytes().fold(0_i64, |sum, digit| {
        (sum * 10 + i64::from(digit - b'0')).min(1 << 50)
    });
    if negative { -value } else { value }
}

#[inline]
fn digit_at(bytes: &[u8], pos: usize) -> Option<u64> {
    bytes
        .get(pos)
        .filter(|byte| byte.is_ascii_digit())
        .map(|byte| u64::from(byte - b'0'))
}

fn skip_digits(bytes: &[u8], mut pos: usize) -> usize {
    while digit_at(bytes, pos).is_some() {
        pos += 1;
    }
    pos
}
