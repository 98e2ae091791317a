//! Canonical base64: one text for the same bytes, and no other.

/// The bytes that `text` stands for; `None` where it is empty, or not what an
/// encoder of the standard alphabet writes: padded, without white space, and
/// with zeros in the bits that stand for nothing.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if text.is_empty() || !text.len().is_multiple_of(4) {
        return None;
    }
    let pads = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    if pads > 2 {
        return None;
    }
    let letters = &text[..text.len() - pads];
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for &letter in letters {
        bits = bits << 6 | u32::from(meaning(letter)?);
        held += 6;
        if held >= 8 {
            held -= 8;
            let [.., byte] = (bits >> held).to_be_bytes();
            bytes.push(byte);
        }
    }
    (bits & ((1 << held) - 1) == 0).then_some(bytes)
}

const fn meaning(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn only_what_an_encoder_writes_is_taken() {
        for (text, bytes) in [
            ("AA==", Some(&b"\0"[..])),
            ("AAA=", Some(b"\0\0")),
            ("aGVsbG8=", Some(b"hello")),
            ("+/+/", Some(b"\xfb\xff\xbf")),
            ("", None),
            ("AB==", None),
            ("AAB=", None),
            ("AA", None),
            ("A===", None),
            ("====", None),
            ("AA==AA==", None),
            ("AA=A", None),
            ("aGVs\nbG8=", None),
            ("-_-_", None),
            ("ÀÀ", None),
        ] {
            assert_eq!(decode(text).as_deref(), bytes, "{text:?}");
        }
    }
}
