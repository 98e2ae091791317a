//! Rules as files write them.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::error::{RuleError, RuleErrorKind};
use super::list::RuleList;
use super::rule::{Rule, Verdict};
use super::test::Test;

/// Permission rules: of those that match a call the strictest decides.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenRules {
    /// What holds where no rule matches; a person is asked unless said.
    #[serde(default)]
    pub otherwise: Verdict,
    /// The rules. Of several that are equally strict the first is cited.
    #[serde(default)]
    pub rules: Vec<WrittenRule>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenRule {
    /// Cited by results and records; no two rules share one.
    pub name: String,
    /// What the rule says of the calls that it matches.
    pub verdict: Verdict,
    /// Globs over names of tools, of which one must match; every tool
    /// without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Tests of the arguments; all must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<WrittenTest>,
    /// What the model or the person who is asked is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// One test: where, and what must hold there.
///
/// Exactly one kind of test is given; `at_most` goes with `at_least`, and
/// `path` with `below`. See [`Test`] for what each says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenTest {
    /// A JSON pointer, `""` for the arguments themselves; a segment `*` means
    /// every element of an array.
    pub at: String,
    /// The value is this one.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub equals: Option<Value>,
    /// The value is one of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<Value>>,
    /// A string that the glob matches whole; `*` crosses `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// A string that the regular expression matches whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// A path that the glob matches; `*` stays within a folder, `**` does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A path that the file system resolves to a place below this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<PathBuf>,
    /// A path that the file system resolves to a place not below this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<PathBuf>,
    /// A number not above this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// A number not below this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// A command with these words, each a glob; a last `**` stands for any
    /// further words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Whether there is a value, `null` included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
    /// Whether there is nothing, or `null`, `""`, `[]` or `{}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<bool>,
    /// Whether large and small letters are the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_case: bool,
}

/// What the parser makes of a date, which no argument ever equals.
const TOML_DATE: &str = "$__toml_private_datetime";

/// A `null` that is written is a value like any other.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl WrittenRules {
    /// Takes relative roots (`below`, `outside`) from `folder`, as
    /// [`RuleList::from_file`] takes them from the file's own.
    pub fn relative_to(mut self, folder: &Path) -> Self {
        let tests = self.rules.iter_mut().flat_map(|rule| &mut rule.arguments);
        for root in tests
            .flat_map(|test| [&mut test.below, &mut test.outside])
            .flatten()
        {
            *root = folder.join(&*root);
        }
        self
    }

    /// The rules, ready to decide.
    ///
    /// # Errors
    ///
    /// [`RuleError`] for the first rule that cannot be used; its
    /// [pointer](RuleError::pointer) says where it stands in here.
    pub fn compile(self) -> Result<RuleList, RuleError> {
        let otherwise = self.otherwise;
        let mut rules = Vec::with_capacity(self.rules.len());
        for (index, written) in self.rules.into_iter().enumerate() {
            let mut rule = Rule::new(written.name, written.verdict);
            rule.tools = written.tools;
            rule.reason = written.because;
            for (place, test) in written.arguments.into_iter().enumerate() {
                let pointer = test.at.clone();
                let test = test.test().map_err(|kind| RuleError {
                    rule: Some(rule.name.clone()),
                    pointer: format!("/rules/{index}/arguments/{place}"),
                    kind,
                })?;
                rule = rule.argument(pointer, test);
            }
            rules.push(rule);
        }
        Ok(RuleList::new(rules)?.otherwise(otherwise))
    }
}

impl WrittenTest {
    const KINDS: &str = "one of `equals`, `one_of`, `glob`, `regex`, `path`, `below`, `outside`, \
        `at_most`, `at_least`, `argv`, `present` and `empty`, of which `path` goes with \
        `below` and `at_most` with `at_least`";

    fn test(self) -> Result<Test, RuleErrorKind> {
        let mut values = self.equals.iter().chain(self.one_of.iter().flatten());
        if values.any(|value| value.get(TOML_DATE).is_some()) {
            return Err(RuleErrorKind::Keys {
                expected: "a value of JSON",
                found: "a date of TOML; write a string".to_owned(),
            });
        }
        let mut tests = vec![];
        let mut keys = vec![];
        let mut take = |key: &'static str, test: Option<Test>| {
            if let Some(test) = test {
                keys.push(key);
                tests.push(test);
            }
        };
        take("equals", self.equals.map(Test::equals));
        take("one_of", self.one_of.map(Test::one_of));
        take("glob", self.glob.map(Test::glob));
        take("regex", self.regex.map(Test::regex));
        match (self.below, self.path) {
            (Some(root), Some(glob)) => take("path", Some(Test::path_below(root, glob))),
            (root, glob) => {
                take("below", root.map(Test::below));
                take("path", glob.map(Test::path));
            }
        }
        take("outside", self.outside.map(Test::outside));
        if self.at_least.is_some() || self.at_most.is_some() {
            take("at_least", Some(Test::within(self.at_least, self.at_most)));
        }
        take("argv", self.argv.map(Test::argv));
        let present = |there| {
            if there {
                Test::present()
            } else {
                Test::absent()
            }
        };
        take("present", self.present.map(present));
        let empty = |empty| if empty { Test::empty() } else { Test::filled() };
        take("empty", self.empty.map(empty));
        match (tests.pop(), tests.is_empty()) {
            (Some(test), true) if self.ignore_case => Ok(test.ignore_case()),
            (Some(test), true) => Ok(test),
            _ => Err(RuleErrorKind::Keys {
                expected: Self::KINDS,
                found: if keys.is_empty() {
                    "none".to_owned()
                } else {
                    format!("`{}`", keys.join("` and `"))
                },
            }),
        }
    }
}
