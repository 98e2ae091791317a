//! Rules as they are written, and what they say of paths, texts and command
//! lines in any spelling.

use serde_json::{Value, json};
use toolfall::policy::{Rule, RuleList, RuleTextError, Test, Verdict, WrittenRules};

/// Takes the first byte of `data` as what the rest is: rules in TOML (`T`) or
/// JSON (`J`), or a pattern and, on the next line, what it is held against: a
/// path (`p`), a command line (`a`), a text for a glob (`g`) or a regular
/// expression (`r`); in capitals without regard to case.
pub fn check(data: &[u8]) {
    let Some((kind, Ok(text))) = data
        .split_first()
        .map(|(kind, rest)| (*kind, std::str::from_utf8(rest)))
    else {
        return;
    };
    let (pattern, subject) = text.split_once('\n').unwrap_or((text, ""));
    match kind {
        b'T' => loaded(text, RuleList::from_toml(text)),
        b'J' => {
            loaded(text, RuleList::from_json(text));
            written(text);
        }
        b'p' | b'P' => asked(Test::path(pattern), kind, subject, paths),
        b'a' | b'A' => asked(Test::argv(pattern.split(' ')), kind, subject, commands),
        b'g' | b'G' => asked(Test::glob(pattern), kind, subject, texts),
        b'r' | b'R' => asked(Test::regex(pattern), kind, subject, texts),
        _ => {}
    }
}

fn asked(test: Test, kind: u8, subject: &str, check: fn(&Asked, &str)) {
    let test = if kind.is_ascii_uppercase() {
        test.ignore_case()
    } else {
        test
    };
    if let Some(test) = Asked::new(test) {
        check(&test, subject);
    }
}

/// Rules that load decide; those that do not say where.
fn loaded(text: &str, rules: Result<RuleList, RuleTextError>) {
    let rules = match rules {
        Ok(rules) => rules,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            let lines = text.split('\n').count();
            assert!(error.line().is_none_or(|line| line <= lines), "{error}");
            return;
        }
    };
    for tool in ["", "a", "read_file", "é"] {
        for arguments in [
            json!(null),
            json!({}),
            json!({"a": 1, "b": [null, "x/../y"], "path": "a/b"}),
            json!({"a": "rm -rf 'x y'", "b": {"c": 1.5}, "path": "/etc/passwd"}),
        ] {
            let (verdict, by) = rules.verdict(tool, &arguments);
            assert_eq!(rules.verdict(tool, &arguments), (verdict, by));
        }
    }
}

/// What is read is written so that it is read the same.
fn written(text: &str) {
    let Ok(rules) = serde_json::from_str::<WrittenRules>(text) else {
        return;
    };
    let once = serde_json::to_string(&rules).expect("rules are written");
    let again: WrittenRules = serde_json::from_str(&once).expect("and read again");
    assert_eq!(again, rules);
    assert_eq!(rules.compile().is_ok(), again.compile().is_ok());
}

/// A test, in one rule of each verdict.
struct Asked {
    test: Test,
    allows: RuleList,
    asks: RuleList,
    denies: RuleList,
}

impl Asked {
    /// `None` for a test that rules refuse, with a place.
    fn new(test: Test) -> Option<Self> {
        let list = |verdict| {
            let rule = Rule::new("rule", verdict).argument("/a", test.clone());
            RuleList::new([rule])
        };
        match list(Verdict::Allow) {
            Ok(allows) => Some(Self {
                allows,
                asks: list(Verdict::Ask).expect("it was taken before"),
                denies: list(Verdict::Deny).expect("it was taken before"),
                test,
            }),
            Err(error) => {
                assert!(
                    error.pointer().starts_with("/rules/0/arguments/0"),
                    "{error}"
                );
                assert!(!error.to_string().is_empty());
                None
            }
        }
    }

    /// Whether the test holds; `None` where that cannot be told.
    fn holds(&self, value: &Value) -> Option<bool> {
        let arguments = json!({ "a": value });
        let matches = |list: &RuleList| list.verdict("tool", &arguments).1.is_some();
        let (allows, denies) = (matches(&self.allows), matches(&self.denies));
        assert!(denies || !allows, "an allow matches what no denial does");
        assert_eq!(matches(&self.asks), denies);
        (allows == denies).then_some(allows)
    }

    /// Two spellings of one thing never get opposite answers.
    fn agree(&self, one: &Value, other: &Value) {
        if let (Some(first), Some(second)) = (self.holds(one), self.holds(other)) {
            assert_eq!(first, second, "{one} and {other} for {:?}", self.test);
        }
    }
}

fn texts(test: &Asked, subject: &str) {
    let value = json!(subject);
    let _ = test.holds(&value);
    // What nobody sees, and the wide forms of ASCII, are for somebody the same.
    let wide: String = subject
        .chars()
        .map(|char| match char {
            '!'..='~' => char::from_u32(u32::from(char) + 0xfee0).unwrap_or(char),
            char => char,
        })
        .collect();
    test.agree(&value, &json!(wide));
    test.agree(&value, &json!(format!("{subject}\u{200b}")));
    assert_ne!(
        test.holds(&json!([subject])),
        Some(true),
        "a list is no text"
    );
    assert_eq!(test.holds(&Value::Null), Some(false));
}

fn paths(test: &Asked, subject: &str) {
    texts(test, subject);
    if subject.is_empty() {
        return;
    }
    let value = json!(subject);
    let mut others = vec![
        format!("{subject}/"),
        format!("{subject}/."),
        format!("{subject}//"),
        subject.replace('/', "//"),
        subject.replace('/', "/./"),
    ];
    if subject.starts_with('/') {
        others.push(format!("/..{subject}"));
    } else {
        others.push(format!("./{subject}"));
        others.push(format!(".//{subject}"));
    }
    for other in others {
        test.agree(&value, &json!(other));
    }
}

fn commands(test: &Asked, line: &str) {
    let value = json!(line);
    let told = test.holds(&value);
    if line.contains(['\n', '\r', ';', '|', '&', '$', '`', '\\', '<', '>']) {
        let quoted = line.contains(['\'', '"']);
        assert!(quoted || told.is_none(), "a shell makes more of {line:?}");
    }
    test.agree(&value, &json!(format!("  {line}\t ")));
    // The same words, apart and each in quotes.
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    if words.is_empty() || line.contains(['\'', '"', '\0']) {
        return;
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    test.agree(&json!(words), &json!(quoted.join(" ")));
    test.agree(&json!(words), &json!(quoted.join("\t")));
    if !line.contains('\t') {
        test.agree(&value, &json!(words));
    }
}
