//! Canonical base64: one text for the same bytes, and no other.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The bytes that `text` stands for; `None` where it is empty, or not what an
/// encoder of the standard alphabet writes: padded, without white space, and
/// with zeros in the bits that stand for nothing.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok();
    bytes.filter(|bytes| !bytes.is_empty())
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
