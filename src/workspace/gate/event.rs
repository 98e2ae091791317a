//! What listeners are asked and told.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use toolfall_layers::Scope;

/// A file as listeners know it: one key for all paths that lead to it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Target {
    key: Arc<str>,
    display: Arc<str>,
}

impl Target {
    /// A target known by `key` and shown as `display`.
    ///
    /// The workspace's own targets have the file's whole path without links
    /// as their key, and are shown as the call named them.
    ///
    /// # Errors
    ///
    /// [`EmptyTarget`] if either is empty.
    ///
    /// ```
    /// use toolfall::workspace::gate::Target;
    ///
    /// assert_eq!(Target::new("/srv/a.txt", "a.txt")?.display(), "a.txt");
    /// assert!(Target::new("", "a.txt").is_err());
    /// # Ok::<(), toolfall::workspace::gate::EmptyTarget>(())
    /// ```
    pub fn new(
        key: impl Into<Arc<str>>,
        display: impl Into<Arc<str>>,
    ) -> Result<Self, EmptyTarget> {
        let (key, display) = (key.into(), display.into());
        if key.is_empty() {
            return Err(EmptyTarget { part: "key" });
        }
        if display.is_empty() {
            return Err(EmptyTarget {
                part: "display path",
            });
        }
        Ok(Self { key, display })
    }

    /// What it is known by; the same for a link and for the file it leads to.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The path as it was asked for, for messages.
    pub fn display(&self) -> &str {
        &self.display
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.key).finish()
    }
}

/// A target without a key, or without a path to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a {part} of a file, found an empty text")]
pub struct EmptyTarget {
    part: &'static str,
}

/// What a file held: the SHA-256 of its bytes.
///
/// A file that was touched, or written with the same bytes, has the version
/// that it had; times and sizes play no part.
///
/// ```
/// use toolfall::workspace::gate::Version;
///
/// assert_eq!(Version::of(b"one"), Version::of(b"one"));
/// assert_ne!(Version::of(b"one"), Version::of(b"two"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version([u8; 32]);

impl Version {
    /// The version of a file that holds `content`.
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// The version of what is left to read. Keeps a few KiB in memory.
    pub(in crate::workspace) fn reading(mut content: impl Read) -> io::Result<Self> {
        let (mut digest, mut part) = (Sha256::new(), [0; 8 << 10]);
        loop {
            match content.read(&mut part) {
                Ok(0) => return Ok(Self(digest.finalize().into())),
                Ok(read) => digest.update(&part[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl fmt::Display for Version {
    /// `sha256:` and 64 hexadecimal digits in lower case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({self})")
    }
}

/// What must hold when a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteGuard {
    /// There is nothing yet; else `FS_NOT_OBSERVED`.
    CreateIfAbsent,
    /// There is a file of this version; else `FS_STALE_VERSION`.
    ReplaceIfVersion(Version),
    /// Nothing: a file is made or replaced.
    Unconditional,
}

/// What must hold when a passage of a file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditGuard {
    /// The file has this version; else `FS_STALE_VERSION`.
    IfVersion(Version),
    /// Nothing: whatever the file holds is edited.
    Unconditional,
}

/// Somebody is about to write or to edit a file.
#[derive(Clone, Debug)]
pub struct Intent {
    target: Target,
    owner: Option<Scope>,
}

impl Intent {
    /// An intent of `owner`, the scope of the call; nobody's without one.
    pub const fn new(target: Target, owner: Option<Scope>) -> Self {
        Self { target, owner }
    }

    /// The file.
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// On whose behalf it is.
    pub const fn owner(&self) -> Option<&Scope> {
        self.owner.as_ref()
    }
}

/// What was found at a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A file of this version.
    Present(Version),
    /// Nothing, which is not the same as never having looked.
    Absent,
}

/// Somebody has seen what is at a target: by reading it, or by writing it.
#[derive(Clone, Debug)]
pub struct Observation {
    target: Target,
    owner: Option<Scope>,
    seen: Seen,
}

impl Observation {
    /// `owner`, the scope of the call, has `seen` this.
    pub const fn new(target: Target, owner: Option<Scope>, seen: Seen) -> Self {
        Self {
            target,
            owner,
            seen,
        }
    }

    /// The file.
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Who has seen it.
    pub const fn owner(&self) -> Option<&Scope> {
        self.owner.as_ref()
    }

    /// What was seen.
    pub const fn seen(&self) -> Seen {
        self.seen
    }
}
