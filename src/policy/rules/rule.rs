//! One rule, as it is written.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::test::Test;

/// What a rule says of the calls that it matches.
///
/// The order is that of strictness: allow, ask, deny.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Deserialize,
    Serialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may go on.
    Allow,
    /// A person must be asked.
    #[default]
    Ask,
    /// The call is refused.
    Deny,
}

impl Verdict {
    /// The word used in configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Verdict {
    type Err = String;

    /// # Errors
    ///
    /// Says which words are known.
    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "allow" => Ok(Self::Allow),
            "ask" => Ok(Self::Ask),
            "deny" => Ok(Self::Deny),
            _ => Err(format!(
                "expected \"allow\", \"ask\" or \"deny\", found {word:?}"
            )),
        }
    }
}

/// A rule: which calls it matches, and what it says of them.
///
/// It matches a call if one of its tool globs matches the name (or it has
/// none) and all of its argument tests hold. Where a test
/// [cannot tell](super#what-a-test-can-tell), an allow does not match, and an
/// ask or a deny does. Nothing is compiled before the rule is put in a
/// [`RuleList`](super::RuleList).
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) name: String,
    pub(super) verdict: Verdict,
    pub(super) tools: Vec<String>,
    pub(super) arguments: Vec<(String, Test)>,
    pub(super) reason: Option<String>,
}

impl Rule {
    /// A rule called `name` with `verdict`, for every call until narrowed.
    pub fn new(name: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            name: name.into(),
            verdict,
            tools: Vec::new(),
            arguments: Vec::new(),
            reason: None,
        }
    }

    /// A rule that lets calls go on.
    pub fn allow(name: impl Into<String>) -> Self {
        Self::new(name, Verdict::Allow)
    }

    /// A rule that has a person asked.
    pub fn ask(name: impl Into<String>) -> Self {
        Self::new(name, Verdict::Ask)
    }

    /// A rule that refuses calls.
    pub fn deny(name: impl Into<String>) -> Self {
        Self::new(name, Verdict::Deny)
    }

    /// Narrows the rule to tools whose name matches `glob`; called again, to
    /// either of them. `*` matches any run of characters. The name is taken
    /// letter by letter: see [names](super#names).
    pub fn tool(mut self, glob: impl Into<String>) -> Self {
        self.tools.push(glob.into());
        self
    }

    /// Narrows the rule to calls in whose arguments `test` holds at
    /// `pointer`, a JSON pointer: `""` is the arguments themselves.
    ///
    /// A segment `*` means every element of an array. An allow needs the test
    /// to hold for all of them, and for one at least; for an ask or a deny
    /// one is enough. An array without elements is a place where nothing is.
    pub fn argument(mut self, pointer: impl Into<String>, test: Test) -> Self {
        self.arguments.push((pointer.into(), test));
        self
    }

    /// Says why, to the model or to the person who is asked.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}
