//! The names of a store's folders and files.

use std::fmt::Write as _;

use toolfall_layers::Digest;

use super::path_segment;

/// The longest name of a file's own, so that the whole fits everywhere.
const LONGEST: usize = 180;
/// The longest ending that is kept where a name is cut, `.jsonl` for instance.
const ENDING: usize = 8;
const HEX: usize = 12;

/// The folder of a session: the same for the same id, and no other's.
pub(super) fn folder_name(owner: &str) -> String {
    let mut name = format!("session-{}", Digest::of(owner));
    name.truncate("session-".len() + HEX);
    name
}

/// The name of a file: nobody can guess it, and it is one part of a path.
pub(super) fn file_name(id: [u8; 6], suggested: &str) -> String {
    let mut own = path_segment(suggested);
    if own.len() > LONGEST {
        // ASCII alone, so any place is a place to cut. How it ends says what
        // kind of file it is, and stays.
        let ending = own.rfind('.').filter(|at| own.len() - at <= ENDING);
        let ending = ending.map_or(String::new(), |at| own.split_off(at));
        own.truncate(LONGEST - ending.len());
        own += &ending;
    }
    let mut name = String::with_capacity(HEX + 1 + own.len());
    for byte in id {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name + "-" + &own
}

/// The name of a file that is being written.
pub(super) fn partial_name(name: &str) -> String {
    format!(".{name}")
}

pub(super) fn is_folder_name(name: &str) -> bool {
    name.strip_prefix("session-")
        .is_some_and(|hex| hex.len() == HEX && is_hex(hex))
}

pub(super) fn is_file_name(name: &str) -> bool {
    let name = name.strip_prefix('.').unwrap_or(name);
    name.split_once('-')
        .is_some_and(|(hex, own)| hex.len() == HEX && is_hex(hex) && !own.is_empty())
}

fn is_hex(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
