//! References in a client's file to what stands elsewhere.

use std::fmt::Write as _;

/// `text` with its references as `toolfall.toml` writes them, `${NAME}`, and
/// those that have no counterpart there.
pub(super) fn translated(text: &str) -> (String, Vec<String>) {
    let mut out = String::with_capacity(text.len());
    let mut strange = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, after)) = after.split_once('}') else {
            // Nothing is referred to; the text stays what it is.
            out.push_str("$${");
            rest = after;
            continue;
        };
        rest = after;
        if let Some(name) = meant(inside) {
            let _ = write!(out, "${{{name}}}");
            continue;
        }
        let sign = format!("${{{inside}}}");
        out.push('$');
        out.push_str(&sign);
        strange.push(sign);
    }
    out.push_str(rest);
    (out, strange)
}

/// The variable, perhaps with a default, that a reference means.
fn meant(inside: &str) -> Option<String> {
    if inside == "userHome" {
        return Some("HOME".to_owned());
    }
    if let Some(id) = inside.strip_prefix("input:") {
        return Some(input(id));
    }
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    // What a client fills in itself is in camel case.
    let is_own = [
        "workspaceFolder",
        "workspaceFolderBasename",
        "pathSeparator",
    ]
    .contains(&name);
    if is_own || !crate::config::is_variable(name) {
        return None;
    }
    Some(match default {
        Some(default) => format!("{name}:-{default}"),
        None => name.to_owned(),
    })
}

/// The variable for an input that the client asks a person for.
pub(super) fn input(id: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() => letter.to_ascii_uppercase(),
        _ => '_',
    };
    let name: String = id.chars().map(letter).collect();
    match name.chars().next() {
        Some('0'..='9') | None => format!("INPUT_{name}"),
        Some(_) => name,
    }
}

/// Whether there is a reference in a text for `toolfall.toml`.
pub(super) fn refers(text: &str) -> bool {
    text.replace("$${", "").contains("${")
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn references_are_translated() {
        for (written, wanted, strange) in [
            ("Bearer ${env:TOKEN}", "Bearer ${TOKEN}", 0),
            ("${TOKEN}", "${TOKEN}", 0),
            ("${PORT:-80}", "${PORT:-80}", 0),
            ("${input:api-key}", "${API_KEY}", 0),
            ("${userHome}/x", "${HOME}/x", 0),
            ("${workspaceFolder}/x", "$${workspaceFolder}/x", 1),
            ("${command:x}", "$${command:x}", 1),
            ("a ${b", "a $${b", 0),
            ("$HOME", "$HOME", 0),
        ] {
            let (text, found) = translated(written);
            assert_eq!((text.as_str(), found.len()), (wanted, strange), "{written}");
        }
    }
}
