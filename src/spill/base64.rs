//! Base64, piece by piece: no second copy of what may be megabytes.

use std::io::{self, Write};

const SPACE: u8 = 64;
const PAD: u8 = 65;
const OTHER: u8 = 66;

/// What each byte stands for. Both alphabets are read, and the line breaks
/// that mail puts in are passed over.
const MEANING: [u8; 256] = {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut table = [OTHER; 256];
    let mut value = 0;
    while value < 64 {
        table[letters[value as usize] as usize] = value;
        value += 1;
    }
    table[b'-' as usize] = 62;
    table[b'_' as usize] = 63;
    table[b'=' as usize] = PAD;
    table[b' ' as usize] = SPACE;
    table[b'\t' as usize] = SPACE;
    table[b'\r' as usize] = SPACE;
    table[b'\n' as usize] = SPACE;
    table
};

/// How many bytes `text` stands for; none if it is no base64.
pub(super) fn decoded_len(text: &str) -> Option<u64> {
    let (mut letters, mut pads) = (0_u64, 0_u64);
    for byte in text.bytes() {
        match MEANING[usize::from(byte)] {
            SPACE => {}
            PAD => pads += 1,
            OTHER => return None,
            _ if pads > 0 => return None,
            _ => letters += 1,
        }
    }
    let is_whole = match (letters % 4, pads) {
        (1, _) => false,
        (_, 0) => true,
        (rest, pads) => pads <= 2 && rest + pads == 4,
    };
    is_whole.then_some(letters / 4 * 3 + (letters % 4).saturating_sub(1))
}

/// Writes the bytes that `text` stands for. What is no base64 is passed over.
pub(super) fn decode(text: &str, to: &mut dyn Write) -> io::Result<()> {
    const ROOM: usize = 3 * 4096;
    let mut piece = Vec::with_capacity(ROOM);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in text.bytes() {
        let value = MEANING[usize::from(byte)];
        if value >= SPACE {
            continue;
        }
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            let [.., byte] = (bits >> held).to_be_bytes();
            piece.push(byte);
        }
        if piece.len() == ROOM {
            to.write_all(&piece)?;
            piece.clear();
        }
    }
    to.write_all(&piece)
}

#[cfg(test)]
mod tests {
    use super::{decode, decoded_len};

    #[test]
    fn lengths_are_those_of_what_is_decoded() {
        for (text, wanted) in [
            ("", Some(&b""[..])),
            ("AA==", Some(b"\0")),
            ("AA", Some(b"\0")),
            ("AAA=", Some(b"\0\0")),
            ("+/-_", Some(b"\xfb\xff\xbf")),
            ("aGVs\r\nbG8=\n", Some(b"hello")),
            ("A", None),
            ("AAAAA", None),
            ("AA=A", None),
            ("AA===", None),
            ("AAAA=", None),
            ("=", None),
            ("====", None),
            ("AAA==", None),
            ("A*AA", None),
            ("ÀAAA", None),
        ] {
            let mut bytes = Vec::new();
            decode(text, &mut bytes).unwrap();
            let len = decoded_len(text);
            assert_eq!(len, wanted.map(|it| it.len() as u64), "{text:?}");
            if let Some(wanted) = wanted {
                assert_eq!(bytes, wanted, "{text:?}");
            }
        }
    }
}
