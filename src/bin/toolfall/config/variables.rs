//! `${NAME}` in texts of the file: variables of the environment.

use std::borrow::Cow;

/// Whether `name` can be a variable's.
pub(crate) fn is_variable(name: &str) -> bool {
    let mut letters = name.bytes();
    let begins = |letter: u8| letter.is_ascii_alphabetic() || letter == b'_';
    letters.next().is_some_and(begins)
        && letters.all(|letter| begins(letter) || letter.is_ascii_digit())
}

/// `text` with the values of the variables that it names, which `look_up`
/// knows. `${NAME:-default}` takes the default where the variable is not set
/// or empty, and `$${` stands for `${` itself.
///
/// # Errors
///
/// A message that says what was expected.
pub(super) fn expanded(
    text: &str,
    look_up: impl Fn(&str) -> Option<String>,
) -> Result<Cow<'_, str>, String> {
    if !text.contains("${") {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let Some((inside, after)) = after.split_once('}') else {
            return Err("expected a `}` after `${`, found none; `$${` stands for `${`".to_owned());
        };
        rest = after;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_variable(name) {
            return Err(format!(
                "expected the name of a variable in `${{…}}`, found {name:?}; `$${{` stands for `${{`"
            ));
        }
        match (
            look_up(name).filter(|value| !value.is_empty() || default.is_none()),
            default,
        ) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => {
                return Err(format!(
                    "expected the variable {name} in the environment, found it not set; \
                     ${{{name}:-…}} gives a default"
                ));
            }
        }
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::expanded;

    fn of(text: &str) -> Result<String, String> {
        let look_up = |name: &str| match name {
            "A" => Some("one".to_owned()),
            "EMPTY" => Some(String::new()),
            // Values are not read again.
            "LOOP" => Some("${A}".to_owned()),
            _ => None,
        };
        expanded(text, look_up).map(std::borrow::Cow::into_owned)
    }

    #[test]
    fn variables_are_put_in() {
        for (text, wanted) in [
            ("plain $A", "plain $A"),
            ("x${A}y${A}", "xoneyone"),
            ("${B:-two}", "two"),
            ("${EMPTY:-two}", "two"),
            ("${EMPTY}", ""),
            ("${A:-two}", "one"),
            ("$${A}", "${A}"),
            ("${LOOP}", "${A}"),
        ] {
            assert_eq!(of(text).as_deref(), Ok(wanted), "{text}");
        }
        for (text, wanted) in [
            ("${B}", "the variable B"),
            ("${A", "`}`"),
            ("${a b}", "\"a b\""),
            ("${}", "\"\""),
        ] {
            let why = of(text).expect_err(text);
            assert!(why.contains(wanted), "{text}: {why}");
        }
    }
}
