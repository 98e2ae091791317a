//! Names that are safe as one part of a path, on any system.

use std::fmt::Write as _;

/// `text` as one part of a path: letters, digits, `.`, `_` and `-` of ASCII
/// stay, anything else becomes `~` and four hexadecimal digits for each of its
/// UTF-16 units. Different texts give different names.
///
/// ```
/// use toolfall::spill::path_segment;
///
/// assert_eq!(path_segment("web_fetch.txt"), "web_fetch.txt");
/// assert_eq!(path_segment("../etc/passwd"), "..~002Fetc~002Fpasswd");
/// assert_eq!(path_segment(".."), "~002E~002E");
/// ```
pub fn path_segment(text: &str) -> String {
    match text {
        "" => return "~".to_owned(),
        "." => return "~002E".to_owned(),
        ".." => return "~002E~002E".to_owned(),
        _ => {}
    }
    let mut segment = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-') {
            segment.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(segment, "~{unit:04X}");
            }
        }
    }
    segment
}
