//! Which calls are allowed, asked about or denied.

use std::fmt;
use std::str::FromStr;

use crate::session::{Body, EffectiveRecord, Record};
use crate::tool::Barred;
use crate::{CallView, Decision};

/// Which calls are allowed, asked about or denied.
///
/// What is dangerous and what makes edits is declared by the tool
/// ([`ToolDef::dangerous`](crate::ToolDef::dangerous),
/// [`ToolDef::edits`](crate::ToolDef::edits)) or by a rule of the host
/// ([`SessionPolicy::dangerous_if`](super::SessionPolicy::dangerous_if)).
/// A name says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApprovalPolicy {
    /// Every call may go on.
    AllowAll,
    /// Every call is denied.
    DenyAll,
    /// Dangerous calls are asked about, the others may go on.
    AskDangerous,
    /// Edits and dangerous calls are asked about, the others may go on.
    AskEdits,
}

impl ApprovalPolicy {
    /// The word used in records and settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AllowAll => "allow-all",
            Self::DenyAll => "deny-all",
            Self::AskDangerous => "ask-dangerous",
            Self::AskEdits => "ask-edits",
        }
    }
}

impl fmt::Display for ApprovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no [`ApprovalPolicy`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected the approval policy \"allow-all\", \"deny-all\", \"ask-dangerous\" or \
     \"ask-edits\", found {found:?}"
)]
pub struct UnknownPolicy {
    /// The word, at most 64 characters of it.
    pub found: String,
}

impl FromStr for ApprovalPolicy {
    type Err = UnknownPolicy;

    fn from_str(word: &str) -> Result<Self, UnknownPolicy> {
        match word {
            "allow-all" => Ok(Self::AllowAll),
            "deny-all" => Ok(Self::DenyAll),
            "ask-dangerous" => Ok(Self::AskDangerous),
            "ask-edits" => Ok(Self::AskEdits),
            _ => Err(UnknownPolicy {
                found: word.chars().take(64).collect(),
            }),
        }
    }
}

/// Who set the policy that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PolicySource {
    /// The session's current preset.
    Preset,
    /// The user, for all sessions.
    User,
    /// The user, for this session.
    Session,
    /// Nobody: everything is denied.
    Nothing,
}

impl PolicySource {
    /// The word used in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preset => "preset",
            Self::User => "user",
            Self::Session => "session",
            Self::Nothing => "nothing",
        }
    }

    /// The source that a record's word names.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Preset, Self::User, Self::Session, Self::Nothing]
            .into_iter()
            .find(|source| source.as_str() == word)
    }
}

impl fmt::Display for PolicySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The policy that applies, and who set it.
///
/// ```
/// use toolfall::permission::ApprovalPolicy::{AllowAll, AskEdits, DenyAll};
/// use toolfall::permission::{EffectivePolicy, PolicySource};
///
/// let effective = EffectivePolicy::resolve(Some(AllowAll), Some(AskEdits), None);
/// assert_eq!((effective.policy, effective.source), (AskEdits, PolicySource::User));
///
/// let effective = EffectivePolicy::resolve(None, None, None);
/// assert_eq!((effective.policy, effective.source), (DenyAll, PolicySource::Nothing));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EffectivePolicy {
    /// The policy.
    pub policy: ApprovalPolicy,
    /// Who set it.
    pub source: PolicySource,
}

impl EffectivePolicy {
    /// The nearest policy that is set: the session's, else the user's, else
    /// the preset's. Nothing set means that everything is denied.
    pub fn resolve(
        preset: Option<ApprovalPolicy>,
        user: Option<ApprovalPolicy>,
        session: Option<ApprovalPolicy>,
    ) -> Self {
        let nearest = [
            (session, PolicySource::Session),
            (user, PolicySource::User),
            (preset, PolicySource::Preset),
        ];
        nearest
            .into_iter()
            .find_map(|(policy, source)| policy.map(|policy| Self { policy, source }))
            .unwrap_or(Self {
                policy: ApprovalPolicy::DenyAll,
                source: PolicySource::Nothing,
            })
    }

    /// What the policy decides of `call`, by what its tool declares. A tool
    /// that does not exist is nobody's to decide: the call goes on, and is
    /// answered with `UNKNOWN_TOOL`.
    ///
    /// The body is refused, with the code `TOOL_REPLACED`, if its turn comes
    /// and the tool is one that was decided about as harmless, or as not
    /// there, and meanwhile declares otherwise.
    pub fn decide(self, call: &CallView) -> Decision {
        self.decide_with(call, |_| false, |_| false)
    }

    /// As [`decide`](Self::decide); the rules are asked only where they matter.
    pub(super) fn decide_with(
        self,
        call: &CallView,
        dangerous: impl FnOnce(&CallView) -> bool,
        edits: impl FnOnce(&CallView) -> bool,
    ) -> Decision {
        let Some(tool) = call.definition() else {
            let any = self.policy != ApprovalPolicy::AllowAll;
            Barred {
                any,
                ..Barred::default()
            }
            .note(call);
            return Decision::Allow;
        };
        let name = call.name();
        let is_dangerous = || {
            let declared = tool.is_dangerous();
            let why = || reason(declared, name, "is dangerous");
            (declared || dangerous(call)).then(why)
        };
        let makes_edits = || {
            let declared = tool.makes_edits();
            let why = || reason(declared, name, "changes files");
            (declared || edits(call)).then(why)
        };
        let asked = |why: Option<String>| why.map_or(Decision::Allow, Decision::ask);
        // What is allowed, or asked about, is what the tool declares by now.
        let mut barred = Barred::default();
        let decision = match self.policy {
            ApprovalPolicy::AllowAll => Decision::Allow,
            ApprovalPolicy::DenyAll => Decision::deny(match self.source {
                PolicySource::Nothing => {
                    format!("tool \"{name}\" is denied: no approval policy is set")
                }
                _ => format!("tool \"{name}\" is denied by the approval policy \"deny-all\""),
            }),
            ApprovalPolicy::AskDangerous => {
                let why = is_dangerous();
                barred.dangerous = why.is_none();
                asked(why)
            }
            ApprovalPolicy::AskEdits => {
                let why = is_dangerous();
                barred.dangerous = why.is_none();
                let why = why.or_else(makes_edits);
                barred.edits = why.is_none();
                asked(why)
            }
        };
        barred.note(call);
        decision.by_rule(self.to_string())
    }

    /// What the last `permission/effective` record of a log says, if it can
    /// be understood.
    pub fn last_in<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Self> {
        let effective = records.into_iter().filter_map(|record| match &record.body {
            Body::Effective(effective) => Some(effective),
            _ => None,
        });
        let record = effective.last()?;
        Some(Self {
            policy: record.policy.parse().ok()?,
            source: PolicySource::from_word(&record.source)?,
        })
    }

    /// The session's own policy by the last record of a log. Of a record that
    /// cannot be understood, and may be of one, the strictest is made.
    pub(super) fn own_in(records: &[Record]) -> Option<ApprovalPolicy> {
        let mut effective = records.iter().filter_map(|record| match &record.body {
            Body::Effective(effective) => Some(effective),
            _ => None,
        });
        let record = effective.next_back()?;
        match PolicySource::from_word(&record.source) {
            Some(PolicySource::Session) => {
                Some(record.policy.parse().unwrap_or(ApprovalPolicy::DenyAll))
            }
            Some(_) => None,
            None => Some(ApprovalPolicy::DenyAll),
        }
    }

    pub(super) fn record(self) -> EffectiveRecord {
        EffectiveRecord {
            policy: self.policy.as_str().to_owned(),
            source: self.source.as_str().to_owned(),
        }
    }
}

/// Says whether the tool declares it or a rule says it of this call.
fn reason(declared: bool, tool: &str, what: &str) -> String {
    let of = if declared { "" } else { "this call of " };
    format!("{of}tool \"{tool}\" {what}")
}

/// As rules are named in decisions: `approval policy ask-edits (session)`.
impl fmt::Display for EffectivePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "approval policy {} ({})", self.policy, self.source)
    }
}
