//! JSON as clients write it: with comments, and commas before a closing
//! bracket.

/// `text` without those; every other character keeps its line and column.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .chars()
        .peekable();
    // Where in `out` a comma stands that nothing has followed yet.
    let mut comma = None;
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('"', _) => {
                comma = None;
                out.push('"');
                while let Some(letter) = letters.next() {
                    out.push(letter);
                    match letter {
                        '\\' => out.extend(letters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => {
                out.push(' ');
                while let Some(letter) = letters.next_if(|letter| *letter != '\n') {
                    let _ = letter;
                    out.push(' ');
                }
            }
            ('/', Some('*')) => {
                letters.next();
                out.push_str("  ");
                while let Some(letter) = letters.next() {
                    if letter == '*' && letters.next_if_eq(&'/').is_some() {
                        out.push_str("  ");
                        break;
                    }
                    out.push(if letter == '\n' { '\n' } else { ' ' });
                }
            }
            (',', _) => {
                comma = Some(out.len());
                out.push(',');
            }
            ('}' | ']', _) => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(letter);
            }
            _ => {
                if !letter.is_whitespace() {
                    comma = None;
                }
                out.push(letter);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_is_no_json_becomes_spaces() {
        for (written, wanted) in [
            ("{\"a\": 1, // one\n}", "{\"a\": 1        \n}"),
            ("[1, /* two\n */ 2,]", "[1,       \n    2 ]"),
            ("{\"a\": \"// no, \\\"}\"}", "{\"a\": \"// no, \\\"}\"}"),
            ("[,]", "[ ]"),
            ("/*", "  "),
            ("\"open", "\"open"),
        ] {
            assert_eq!(plain(written), wanted, "{written}");
        }
    }
}
