//! Paths: in their plain form, or as the file system resolves them.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::holds::Holds;
use super::text::Pattern;

/// As many links as Linux follows.
const LINKS: usize = 40;
/// As long as Linux takes a path, in bytes.
const LENGTH: usize = 4096;

/// Where the paths begin that a pattern is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// At the root: `/etc/**`.
    Root,
    /// Wherever the tool begins: `secrets/**`.
    Base,
    /// Anywhere: `**/secrets/**`.
    Anywhere,
}

/// A test on a path.
#[derive(Clone, Debug)]
pub(super) enum PathTest {
    /// The plain form matches; nothing is asked of the file system. With
    /// whether the pattern leaves open where its paths begin.
    Plain(Pattern, Open),
    /// It is resolved to a place below the root, and matches there.
    Below(PathBuf, Pattern),
    /// It is resolved to a place that is not below the root.
    Outside(PathBuf, Pattern),
}

impl Open {
    /// How the paths of `glob` begin.
    pub(super) fn of(glob: &str) -> Self {
        // Of alternatives every part counts as a beginning: too many rather than
        // too few.
        let alternatives = glob
            .strip_prefix('{')
            .and_then(|rest| rest.rsplit_once('}'));
        let mut beginnings = alternatives
            .map_or(glob, |(alternatives, _)| alternatives)
            .split(|char| alternatives.is_some() && matches!(char, '{' | ',' | '}'));
        let one = |beginning: &str| {
            if beginning.starts_with('/') {
                Self::Root
            } else if beginning.starts_with("**") {
                Self::Anywhere
            } else {
                Self::Base
            }
        };
        let first = beginnings.next().map_or(Self::Base, one);
        if beginnings.all(|beginning| one(beginning) == first) {
            first
        } else {
            Self::Base
        }
    }

    /// Whether `plain`, which does not match, may be another way to write a
    /// path that does: that depends on where the tool begins.
    fn may_reach(self, plain: &str) -> bool {
        let leaves = plain == ".." || plain.starts_with("../");
        match self {
            Self::Root => leaves,
            Self::Base => leaves || plain.starts_with('/'),
            Self::Anywhere => false,
        }
    }
}

impl PathTest {
    pub(super) fn holds(&self, text: &str) -> Holds {
        match self {
            Self::Plain(glob, open) => glob.reading().ask(text, |text| {
                if is_odd(text) || climbs(text) {
                    return Holds::Unknown;
                }
                let plain = plain(text);
                match glob.matches(&plain) {
                    Holds::No if open.may_reach(&plain) => Holds::Unknown,
                    holds => holds,
                }
            }),
            Self::Below(root, glob) => glob.reading().ask(text, |text| below(root, glob, text)),
            Self::Outside(root, glob) => {
                let inside = glob.reading().ask(text, |text| below(root, glob, text));
                inside.not()
            }
        }
    }
}

/// Whether `text` leads below `root`, to a place that matches `glob`.
fn below(root: &Path, glob: &Pattern, text: &str) -> Holds {
    if is_odd(text) {
        return Holds::Unknown;
    }
    // Resolved at every call: what the root is may change under a host.
    let Ok(root) = root.canonicalize() else {
        return Holds::Unknown;
    };
    let Some(found) = resolve(&root, text) else {
        return Holds::Unknown;
    };
    let Ok(found) = found.strip_prefix(&root) else {
        let (found, root) = (found.to_string_lossy(), root.to_string_lossy());
        let (found, root) = (found.to_lowercase(), root.to_lowercase());
        // Where case is no difference, it may be the root in other letters.
        let alike = glob.reading().ignores_case() && Path::new(&found).starts_with(root);
        return if alike { Holds::Unknown } else { Holds::No };
    };
    match found.to_str() {
        Some("") => glob.matches("."),
        // Links may lead to a spelling that the text does not show.
        Some(found) => glob.holds(found),
        None => Holds::Unknown,
    }
}

/// Where `text` leads from `root`, through links and `..`, whether or not
/// there is anything. `None` if that cannot be told: links that go in a
/// circle, lead to nothing or are a process's own, places that may not be looked at, `..` after a
/// name that is not there.
fn resolve(root: &Path, text: &str) -> Option<PathBuf> {
    let mut at = root.to_owned();
    // What is left, last first; and whether a link said so.
    let mut left: Vec<(PathBuf, bool)> = vec![];
    push(&mut left, Path::new(text), false);
    let (mut links, mut missing) = (0, false);
    while let Some((step, by_link)) = left.pop() {
        match step.components().next()? {
            Component::CurDir => {}
            Component::RootDir => at = PathBuf::from("/"),
            Component::Prefix(_) => return None,
            Component::ParentDir if missing => return None,
            Component::ParentDir => {
                at.pop();
            }
            Component::Normal(name) => {
                at.push(name);
                if missing {
                    continue;
                }
                match at.symlink_metadata() {
                    // Another process finds another place behind the same link.
                    Ok(found) if found.is_symlink() && at.starts_with("/proc") => return None,
                    Ok(found) if found.is_symlink() => {
                        links += 1;
                        if links > LINKS {
                            return None;
                        }
                        let target = at.read_link().ok()?;
                        at.pop();
                        push(&mut left, &target, true);
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::NotFound && !by_link => {
                        missing = true;
                    }
                    Err(_) => return None,
                }
            }
        }
    }
    Some(at)
}

fn push(left: &mut Vec<(PathBuf, bool)>, path: &Path, by_link: bool) {
    let steps: Vec<_> = path
        .components()
        .map(|component| (PathBuf::from(component.as_os_str()), by_link))
        .collect();
    left.extend(steps.into_iter().rev());
}

/// Whether programs differ in what they make of the path: control characters,
/// a `\`, which separates names on some systems, a `~` or a variable that
/// stands for a folder, what is escaped or begins as in a URL, nothing at all,
/// or too much.
fn is_odd(text: &str) -> bool {
    let escapes = |three: &[u8]| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit);
    text.is_empty()
        || text.len() > LENGTH
        || text.starts_with(['~', '$'])
        || text.contains('\\')
        || has_scheme(text)
        || text.as_bytes().windows(3).any(escapes)
        || text.chars().any(char::is_control)
}

/// Whether it begins like a URL: `file:`, `https://`.
fn has_scheme(text: &str) -> bool {
    let text = text.trim_start();
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_word = scheme
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_word && (rest.starts_with("//") || scheme.eq_ignore_ascii_case("file"))
}

/// Whether there is a `..` after a name: where that leads depends on whether
/// the name is a link.
fn climbs(text: &str) -> bool {
    let mut named = false;
    text.split('/').any(|name| match name {
        "" | "." => false,
        ".." => named,
        _ => {
            named = true;
            false
        }
    })
}

/// The path without what says nothing: `.` and empty names, and `..` at the
/// root.
pub(super) fn plain(path: &str) -> String {
    let rooted = path.starts_with('/');
    let names: Vec<&str> = path
        .split('/')
        .filter(|name| match *name {
            "" | "." => false,
            ".." => !rooted,
            _ => true,
        })
        .collect();
    let joined = names.join("/");
    if rooted {
        format!("/{joined}")
    } else if joined.is_empty() {
        ".".to_owned()
    } else {
        joined
    }
}
