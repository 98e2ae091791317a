//! Whatever the rules: the strictest that matches decides, in any order, and
//! another denial never lets more through.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolfall::policy::{Rule, RuleList, Test, Verdict};

const TOOLS: [&str; 3] = ["read", "write", "send"];

#[derive(Clone, Debug)]
struct Made {
    verdict: Verdict,
    glob: &'static str,
    tests: Vec<(&'static str, Test)>,
}

impl Made {
    fn rule(&self, name: usize) -> Rule {
        let rule = Rule::new(name.to_string(), self.verdict).tool(self.glob);
        let tests = self.tests.iter().cloned();
        tests.fold(rule, |rule, (at, test)| rule.argument(at, test))
    }
}

fn list(rules: &[(usize, Made)], otherwise: Verdict) -> RuleList {
    let rules = rules.iter().map(|(name, made)| made.rule(*name));
    RuleList::new(rules).unwrap().otherwise(otherwise)
}

fn a_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(Verdict::Allow),
        Just(Verdict::Ask),
        Just(Verdict::Deny)
    ]
}

fn a_test() -> impl Strategy<Value = Test> {
    prop_oneof![
        Just(Test::equals(1)),
        Just(Test::glob("a*")),
        Just(Test::regex("a|b")),
        Just(Test::path("a/**")),
        Just(Test::at_most(1)),
        Just(Test::argv(["a", "**"])),
        Just(Test::present()),
        Just(Test::absent()),
        Just(Test::empty()),
        Just(Test::filled()),
    ]
}

fn a_rule() -> impl Strategy<Value = Made> {
    let glob = prop_oneof![Just("*"), Just("{read,send}"), Just("write"), Just("?e*")];
    let at = prop_oneof![Just("/a"), Just("/b"), Just("/a/*"), Just("")];
    let tests = prop::collection::vec((at, a_test()), 0..3);
    (a_verdict(), glob, tests).prop_map(|(verdict, glob, tests)| Made {
        verdict,
        glob,
        tests,
    })
}

fn a_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("a"),
        Just("b"),
        Just("а"),
        Just("a/b"),
        Just("a/../b"),
        Just("a; b"),
        Just("ａ"),
        Just(""),
    ];
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(1)),
        Just(json!(1.0)),
        Just(json!(2)),
        Just(json!("1")),
        text.prop_map(Value::from),
    ];
    let list = prop::collection::vec(leaf.clone(), 0..3).prop_map(Value::from);
    prop_oneof![3 => leaf, 1 => list]
}

fn arguments() -> impl Strategy<Value = Value> {
    let name = prop_oneof![4 => Just("a"), 3 => Just("b"), 1 => Just("A")];
    prop::collection::btree_map(name, a_value(), 0..3).prop_map(|members| json!(members))
}

fn rules() -> impl Strategy<Value = Vec<(usize, Made)>> {
    prop::collection::vec(a_rule(), 0..7).prop_map(|rules| rules.into_iter().enumerate().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The verdict is that of the strictest rule that matches alone, and the
    /// first such rule is the one that is named.
    #[test]
    fn the_strictest_rule_decides_in_any_order(
        (before, after) in rules().prop_flat_map(|rules| (Just(rules.clone()), Just(rules).prop_shuffle())),
        otherwise in a_verdict(),
        tool in prop::sample::select(&TOOLS[..]),
        arguments in arguments(),
    ) {
        let mut matching: Option<(Verdict, String)> = None;
        for rule in &before {
            let alone = list(std::slice::from_ref(rule), otherwise);
            let (verdict, name) = alone.verdict(tool, &arguments);
            if let Some(name) = name
                && matching.as_ref().is_none_or(|(found, _)| verdict > *found)
            {
                matching = Some((verdict, name.to_owned()));
            }
        }
        let all = list(&before, otherwise);
        let (verdict, name) = all.verdict(tool, &arguments);
        let wanted = matching.as_ref().map_or((otherwise, None), |(found, rule)| {
            (*found, Some(rule.as_str()))
        });
        prop_assert_eq!((verdict, name), wanted);
        let shuffled = list(&after, otherwise);
        prop_assert_eq!(shuffled.verdict(tool, &arguments).0, verdict);
    }

    /// A denial more never lets more through, an ask more never allows more,
    /// and an allow more never touches what a rule stops.
    #[test]
    fn another_rule_only_goes_its_way(
        rules in rules(),
        more in a_rule(),
        at in 0_usize..7,
        otherwise in a_verdict(),
        tool in prop::sample::select(&TOOLS[..]),
        arguments in arguments(),
    ) {
        let (before, by) = {
            let list = list(&rules, otherwise);
            let (verdict, name) = list.verdict(tool, &arguments);
            (verdict, name.map(str::to_owned))
        };
        let mut with = rules.clone();
        with.insert(at.min(rules.len()), (99, more.clone()));
        let after = list(&with, otherwise).verdict(tool, &arguments).0;
        match more.verdict {
            Verdict::Deny => prop_assert!(after >= before),
            _ if by.is_some() => prop_assert!(after >= before),
            _ => {}
        }
    }

    /// What an allow matches, a denial of the same shape matches too.
    #[test]
    fn a_denial_matches_whatever_an_allow_of_its_shape_does(made in a_rule(), arguments in arguments()) {
        let of = |verdict| {
            let rule = (0, Made { verdict, ..made.clone() });
            list(&[rule], Verdict::Ask).verdict("read", &arguments).1.is_some()
        };
        prop_assert!(!of(Verdict::Allow) || of(Verdict::Deny));
        prop_assert_eq!(of(Verdict::Ask), of(Verdict::Deny));
    }
}
