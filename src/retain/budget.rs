//! Budgets out of configurations.

use serde_json::Value;

/// Why a value is no budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{name} must be a non-negative integer")]
pub struct BudgetError {
    /// What the configuration calls the budget, `maxItems` for instance.
    pub name: String,
    /// What was found, as JSON.
    pub found: String,
}

/// The budget that `value` gives, called `name` in messages: `maxItems`,
/// `maxBytes`, `headBytes` or `tailBytes`, for instance.
///
/// Numbers count by their value, so `2.0` is 2.
///
/// # Errors
///
/// [`BudgetError`] for anything but a whole number from 0 to what a `usize`
/// holds.
///
/// ```
/// use serde_json::json;
/// use toolfall::retain::budget;
///
/// assert_eq!(budget("maxItems", &json!(100)).unwrap(), 100);
/// let error = budget("maxItems", &json!(1.5)).unwrap_err();
/// assert_eq!(error.to_string(), "maxItems must be a non-negative integer");
/// assert_eq!(error.found, "1.5");
/// ```
pub fn budget(name: &str, value: &Value) -> Result<usize, BudgetError> {
    let whole = value.as_u64().or_else(|| whole(value.as_f64()?));
    whole
        .and_then(|whole| usize::try_from(whole).ok())
        .ok_or_else(|| BudgetError {
            name: name.to_owned(),
            found: value.to_string(),
        })
}

/// The integer that a float is, if every integer up to it is a float too.
fn whole(float: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !(0.0..=EXACT).contains(&float) || float.fract() != 0.0 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the float is an integer from 0 to 2^53"
    )]
    Some(float as u64)
}
