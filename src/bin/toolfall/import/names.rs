//! Names of servers that a configuration takes.

/// So long a name may be: what is left of 64 characters is the tool's.
const LONGEST: usize = 24;

/// A name like `written` that a table `[[mcp]]` takes,
/// and that none of `taken` has.
pub(super) fn valid(written: &str, taken: &[String]) -> String {
    let mut name = String::new();
    for letter in written.trim().chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() || letter == '-' => name.push(letter),
            _ if name.ends_with(['_', '-']) || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    name.truncate(LONGEST);
    let name = match name.trim_end_matches(['_', '-']) {
        "" => "server",
        name => name,
    };
    let free = |name: &String| !taken.contains(name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    // Of the numbers one more than there are names is always free.
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(free)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::valid;

    #[test]
    fn names_stay_readable_and_apart() {
        let taken = ["github".to_owned()];
        for (written, wanted) in [
            ("github", "github-2"),
            ("GitHub (work)", "GitHub_work"),
            ("@scope/pkg", "scope_pkg"),
            ("a__b_", "a_b"),
            ("ünï", "n"),
            ("  ", "server"),
            (
                "io.github.user/some-very-long-name",
                "io_github_user_some-very",
            ),
        ] {
            assert_eq!(valid(written, &taken), wanted, "{written}");
        }
    }
}
