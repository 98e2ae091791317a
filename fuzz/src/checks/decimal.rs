//! Decimals compared digit by digit, without arithmetic on floats.

/// A number in one form only: digits without zeros at either end, times a
/// power of ten.
#[derive(Debug, PartialEq, Eq)]
pub struct Decimal {
    pub negative: bool,
    pub digits: String,
    pub exponent: i64,
}

impl Decimal {
    /// What `token`, a number of JSON, stands for.
    pub fn of(token: &str) -> Self {
        let negative = token.starts_with('-');
        let token = token.trim_start_matches('-');
        let (mantissa, power) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let kept = all.trim_end_matches('0');
        let digits = kept.trim_start_matches('0').to_owned();
        let exponent = if digits.is_empty() {
            0
        } else {
            power_of(power) + length(&all[kept.len()..]) - length(fraction)
        };
        Self {
            negative,
            digits,
            exponent,
        }
    }
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// Powers past any float's are all the same.
fn power_of(text: &str) -> i64 {
    let digits = text.trim_start_matches(['+', '-']).trim_start_matches('0');
    let power = match digits {
        "" => 0,
        digits => digits.parse::<i64>().unwrap_or(1 << 50).min(1 << 50),
    };
    if text.starts_with('-') { -power } else { power }
}
