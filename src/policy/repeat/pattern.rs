//! Patterns over whole names, in which only `*` is special.

/// Whether `pattern` matches all of `name`; `*` stands for any run of
/// characters, also none.
///
/// Goes back to the last `*` only, so the time is at most the product of the
/// two lengths.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut in_pattern, mut in_name) = (0, 0);
    // Where the last star stands, and how far it reached into the name.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(in_pattern) {
            Some(b'*') => {
                star = Some((in_pattern, in_name));
                in_pattern += 1;
            }
            Some(byte) if *byte == name[in_name] => {
                in_pattern += 1;
                in_name += 1;
            }
            _ => {
                let Some((place, reached)) = star else {
                    return false;
                };
                star = Some((place, reached + 1));
                in_pattern = place + 1;
                in_name = reached + 1;
            }
        }
    }
    pattern[in_pattern..].iter().all(|byte| *byte == b'*')
}
