//! Which names Python takes, and the names of classes.

use std::collections::{HashMap, HashSet};

use unicode_normalization::{UnicodeNormalization as _, is_nfkc};

use super::super::words::PYTHON_HARD;

/// Class names are cut to so many UTF-16 units, before what makes them
/// unique.
const MAX_UNITS: usize = 120;
/// What stands in front of a name that does not begin as one.
const PREFIX: &str = "Tool";

fn starts(c: char) -> bool {
    c == '_' || unicode_ident::is_xid_start(c)
}

/// Whether Python takes `name` as it is: an identifier, no keyword, and the
/// same after the normalization that Python puts every identifier through.
fn is_identifier(name: &str) -> bool {
    name.starts_with(starts)
        && name.chars().all(unicode_ident::is_xid_continue)
        && !PYTHON_HARD.contains(&name)
        && is_nfkc(name)
}

/// Whether a field of a class may have that name: not if Python would mangle
/// it, or keeps it for itself.
pub(super) fn is_field(name: &str) -> bool {
    let mangled = name.starts_with("__") && !name.ends_with("__");
    is_identifier(name) && !mangled && name != "__debug__"
}

/// What types are made of: a method of such a name would hide it from the
/// signatures that follow.
const TYPES: [&str; 8] = [
    "Any", "Literal", "bool", "dict", "float", "int", "list", "str",
];

/// Whether a method may have that name.
pub(super) fn is_method(name: &str) -> bool {
    is_identifier(name) && !name.starts_with('_') && !TYPES.contains(&name)
}

/// The words of `name`, each with a capital first letter, as one.
pub(super) fn pascal(name: &str) -> String {
    let mut pascal = String::with_capacity(name.len());
    let is_break = |c: char| c == '_' || !unicode_ident::is_xid_continue(c);
    for word in name.split(is_break) {
        let mut chars = word.chars();
        if let Some(first) = chars.next() {
            pascal.extend(first.to_uppercase());
            pascal.push_str(chars.as_str());
        }
    }
    pascal
}

/// The start of every class name of a tool.
pub(super) fn of_tool(name: &str) -> String {
    let pascal = pascal(name);
    if pascal.starts_with(starts) {
        pascal
    } else {
        format!("{PREFIX}{pascal}")
    }
}

/// `name` as Python would read it, and not too long.
fn base(name: &str) -> String {
    if name.is_ascii() {
        let kept = name.chars().filter(|c| unicode_ident::is_xid_continue(*c));
        return kept.take(MAX_UNITS).collect();
    }
    let mut units = 0;
    let fits = move |c: &char| {
        units += c.len_utf16();
        units <= MAX_UNITS
    };
    let normal = name.nfkc().filter(|c| unicode_ident::is_xid_continue(*c));
    normal.take_while(fits).collect()
}

/// The name of what is called `part` inside of a class.
pub(super) fn joined(class: &str, part: &str) -> String {
    base(&format!("{class}{part}"))
}

/// The names that are taken.
#[derive(Debug)]
pub(super) struct Taken {
    names: HashSet<String>,
    /// By name, the next number that may be free after it.
    next: HashMap<String, usize>,
}

impl Taken {
    /// With the names of `methods`, which would hide classes likewise.
    pub(super) fn new<'n>(methods: impl Iterator<Item = &'n str>) -> Self {
        let own = ["Tools", "ToolCallError"].into_iter();
        Self {
            names: own.chain(methods).map(str::to_owned).collect(),
            next: HashMap::new(),
        }
    }

    /// Takes `name`, or what it becomes with the first number from 2 on that
    /// is free.
    pub(super) fn claim(&mut self, name: &str) -> String {
        let base = base(name);
        if self.names.insert(base.clone()) {
            return base;
        }
        let next = self.next.entry(base.clone()).or_insert(2);
        loop {
            let name = format!("{base}{next}");
            *next += 1;
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }
}
