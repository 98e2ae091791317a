//! Messages that carry values: an object's members by their texts, and texts
//! longer than arguments may be.
//!
//! A value inside a message is judged on its own, so that a message tells its
//! receiver who sent it also where the value that it carries is refused.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    decode,
    error::{ArgumentsError, CheckError, Malformed},
    scan::{Fault, Scan, Stop, check_whole, skip_white},
    string,
};

/// So many members a message has at most.
const MEMBERS: usize = 64;
/// The places in longer texts cannot be kept.
const LONGEST: usize = i32::MAX as usize;

/// One member of an object.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// Its name, decoded.
    pub name: Cow<'a, str>,
    /// Its value's text: JSON, of which nothing is known but that it is. An
    /// error where it is nested too deep; then it is the last member.
    pub value: Result<&'a str, CheckError>,
}

/// Splits the object that `text` is into its members.
///
/// What the values hold is not judged: [`Arguments::from_text`] and
/// [`read_json`] do that. Needs a bounded stack, whatever the text.
///
/// ```
/// let members = toolfall_layers::json_members(r#"{"id": 1, "args": {"a": 1e400}}"#)?;
/// assert_eq!(members[0].value.as_ref().unwrap(), &"1");
/// assert_eq!(members[1].name, "args");
/// assert!(toolfall_layers::read_json(members[1].value.as_ref().unwrap(), 100).is_err());
/// # Ok::<(), toolfall_layers::CheckError>(())
/// ```
///
/// # Errors
///
/// If the text is no JSON object, has a name twice or more than 64 members,
/// or is longer than 2 GiB.
///
/// [`Arguments::from_text`]: super::Arguments::from_text
pub fn json_members(text: &str) -> Result<Vec<Member<'_>>, CheckError> {
    if text.len() > LONGEST {
        let error = ArgumentsError::too_large(text.len(), LONGEST);
        return Err(CheckError::Lossy(error));
    }
    split(text)
        .map_err(|fault| CheckError::Malformed(Malformed::at(text, fault.at, fault.expected)))
}

fn split(text: &str) -> Result<Vec<Member<'_>>, Fault> {
    let bytes = text.as_bytes();
    let mut members: Vec<Member<'_>> = Vec::new();
    let (start, byte) = skip_white(bytes, 0);
    if byte != b'{' {
        return Err(Fault::new(start, "an object"));
    }
    let (mut pos, mut byte) = skip_white(bytes, start + 1);
    if byte == b'}' {
        return end(bytes, pos + 1, members);
    }
    loop {
        if byte != b'"' {
            return Err(Fault::new(pos, "a name in double quotes"));
        }
        let quoted = string::read(bytes, pos + 1)?;
        let name = string::decoded(&text[pos + 1..quoted.close], quoted.escaped);
        if members.len() == MEMBERS || members.iter().any(|member| member.name == name) {
            return Err(Fault::new(pos, "few names, each of them once"));
        }
        let (colon, byte_there) = skip_white(bytes, quoted.close + 1);
        if byte_there != b':' {
            return Err(Fault::new(colon, "`:` after the name"));
        }
        let (value, _) = skip_white(bytes, colon + 1);
        pos = match Scan::new(text).run(value) {
            Ok(pos) => pos,
            Err(Stop::Malformed(fault)) => return Err(fault),
            Err(stop @ Stop::TooDeep(_)) => {
                let value = Err(stop.explain(text));
                members.push(Member { name, value });
                return Ok(members);
            }
        };
        members.push(Member {
            name,
            value: Ok(&text[value..pos]),
        });
        (pos, byte) = skip_white(bytes, pos);
        match byte {
            b',' => (pos, byte) = skip_white(bytes, pos + 1),
            b'}' => return end(bytes, pos + 1, members),
            _ => return Err(Fault::new(pos, "`,` or `}`")),
        }
    }
}

fn end<'a>(bytes: &[u8], pos: usize, members: Vec<Member<'a>>) -> Result<Vec<Member<'a>>, Fault> {
    let (end, _) = skip_white(bytes, pos);
    if end == bytes.len() {
        Ok(members)
    } else {
        Err(Fault::new(end, "nothing after the object"))
    }
}

/// Reads one value from a text of at most `longest` bytes, without loss: as
/// [`Arguments::value`](super::Arguments::value), for texts of a length of
/// the caller's choice.
///
/// ```
/// use toolfall_layers::read_json;
///
/// assert_eq!(read_json("[1, 2.5]", 8).unwrap(), serde_json::json!([1, 2.5]));
/// assert!(read_json("[1, 2.5]", 7).is_err());
/// assert!(read_json("18446744073709551616", 100).is_err());
/// ```
///
/// # Errors
///
/// As for [`check_json`](super::check_json), but for the length: that is
/// `longest` bytes, and never more than 2 GiB.
pub fn read_json(text: &str, longest: usize) -> Result<Value, CheckError> {
    let longest = longest.min(LONGEST);
    if text.len() > longest {
        let error = ArgumentsError::too_large(text.len(), longest);
        return Err(CheckError::Lossy(error));
    }
    check_whole(text)?;
    decode::decode(text).map_err(|_| {
        // The scanner let through nothing that the decoder refuses.
        CheckError::Malformed(Malformed::at(text, 0, "a value"))
    })
}
