//! Rule lists: the first match decides, and every verdict names its rule.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::policy::{Rule, RuleError, RuleList, Test, Verdict};
use toolfall::{Arguments, BoxError, Pipeline, Registry, ToolContext, ToolResult, raw_tool};

fn list(rules: impl IntoIterator<Item = Rule>) -> RuleList {
    RuleList::new(rules).expect("the rules are good")
}

fn verdict(rules: &RuleList, tool: &str, arguments: Value) -> (Verdict, Option<String>) {
    let (verdict, rule) = rules.verdict(tool, &arguments);
    (verdict, rule.map(str::to_owned))
}

async fn call(rules: RuleList, name: &'static str, arguments: &str) -> ToolResult {
    let registry = Registry::new();
    let body = |_: Arguments, _: ToolContext| async { Ok::<Value, BoxError>(json!("ran")) };
    let tool = raw_tool(name, "", json!({"type": "object"}), body);
    registry.register(tool).expect("a fresh name").keep();
    let pipeline = Pipeline::builder(registry).pre_decision(rules).build();
    let token = CancellationToken::new();
    pipeline.call("1", name, arguments, token).await
}

#[test]
fn the_first_match_decides_whatever_follows() {
    let rules = list([
        Rule::allow("reads").tool("read_*"),
        Rule::deny("all files").tool("*_file"),
        Rule::ask("rest"),
    ]);
    let decided = |tool| verdict(&rules, tool, json!({}));
    assert_eq!(
        decided("read_file"),
        (Verdict::Allow, Some("reads".to_owned()))
    );
    assert_eq!(
        decided("write_file"),
        (Verdict::Deny, Some("all files".to_owned()))
    );
    assert_eq!(decided("other"), (Verdict::Ask, Some("rest".to_owned())));
}

#[test]
fn what_no_rule_matches_gets_the_default() {
    let rules = list([Rule::allow("a").tool("a")]);
    assert_eq!(verdict(&rules, "b", json!({})), (Verdict::Ask, None));
    let rules = rules.otherwise(Verdict::Deny);
    assert_eq!(verdict(&rules, "b", json!({})), (Verdict::Deny, None));
}

#[test]
fn arguments_are_tested_at_their_pointers() {
    let rules = list([
        Rule::deny("prod")
            .argument("/target/env", Test::equals("prod"))
            .argument("/force", Test::equals(true)),
        Rule::deny("many").argument("/count", Test::equals(3)),
        Rule::deny("hosts").argument("/hosts/0", Test::glob("*.internal")),
        Rule::deny("sudo").argument("/sudo", Test::present()),
    ])
    .otherwise(Verdict::Allow);
    let denied = |arguments| verdict(&rules, "x", arguments).1;
    let both = json!({"target": {"env": "prod"}, "force": true});
    assert_eq!(denied(both).as_deref(), Some("prod"));
    assert_eq!(
        denied(json!({"target": {"env": "prod"}})),
        None,
        "all tests must hold"
    );
    assert_eq!(
        denied(json!({"count": 3.0})).as_deref(),
        Some("many"),
        "3.0 is 3"
    );
    assert_eq!(denied(json!({"count": "3"})), None, "a string is no number");
    assert_eq!(
        denied(json!({"hosts": ["db/a.internal"]})).as_deref(),
        Some("hosts")
    );
    assert_eq!(denied(json!({"hosts": [5]})), None);
    assert_eq!(denied(json!({"sudo": null})).as_deref(), Some("sudo"));
    assert_eq!(denied(json!("free text")), None);
}

#[test]
fn a_path_is_tested_in_its_plain_form() {
    let rules = list([
        Rule::deny("secrets").argument("/path", Test::path("secrets/**")),
        Rule::deny("top").argument("/path", Test::path("*.toml")),
        Rule::deny("up").argument("/path", Test::path("../**")),
    ])
    .otherwise(Verdict::Allow);
    let denied = |path: &str| verdict(&rules, "read", json!({"path": path})).1;
    for path in [
        "secrets/key",
        "./secrets/key",
        "secrets//a/key",
        "a/../secrets/key",
        "./a/b/../../secrets/./key",
    ] {
        assert_eq!(denied(path).as_deref(), Some("secrets"), "{path}");
    }
    assert_eq!(denied("a/../../b").as_deref(), Some("up"));
    assert_eq!(denied("./x.toml").as_deref(), Some("top"));
    for path in ["public/key", "secrets2/key", "a/x.toml", "secrets/../a"] {
        assert_eq!(denied(path), None, "{path}");
    }
}

#[tokio::test]
async fn a_denial_says_why_and_which_rule() {
    let rules = list([Rule::deny("no writing").because("this is read only")]);
    let result = call(rules, "write", "{}").await;
    assert_eq!(result.text(), "Error: this is read only");
    let by = result.decided_by().expect("a policy decided").to_string();
    assert_eq!(by, "policy \"no writing\"");

    let rules = list([Rule::deny("quiet").tool("w*")]);
    let result = call(rules, "write", "{}").await;
    assert_eq!(
        result.text(),
        "Error: tool \"write\" is denied by rule \"quiet\""
    );

    let result = call(list([]).otherwise(Verdict::Deny), "write", "{}").await;
    assert_eq!(result.text(), "Error: no rule allows tool \"write\"");
    let by = result.decided_by().expect("a policy decided").to_string();
    assert_eq!(by, "policy \"otherwise\"");
}

#[tokio::test]
async fn an_allowed_call_runs_and_a_question_without_anybody_is_a_denial() {
    let result = call(list([Rule::allow("all")]), "write", "{}").await;
    assert_eq!(result.text(), "ran");
    let result = call(list([]), "write", "{}").await;
    assert_eq!(result.text(), "Error: no rule covers tool \"write\"");
    assert!(result.is_error());
}

#[test]
fn a_rule_that_cannot_be_used_is_refused_with_its_name() {
    let error = |rules: Vec<Rule>| RuleList::new(rules).expect_err("a bad rule");
    assert!(matches!(
        error(vec![Rule::deny("ok"), Rule::deny(" ")]),
        RuleError::NoName { place: 2 }
    ));
    assert!(matches!(
        error(vec![Rule::deny("a"), Rule::allow("a")]),
        RuleError::NameTaken { rule } if rule == "a"
    ));
    let glob = error(vec![Rule::deny("a").tool("x[")]);
    assert!(
        glob.to_string()
            .starts_with("rule \"a\": expected a glob, found \"x[\""),
        "{glob}"
    );
    let pointer = error(vec![Rule::deny("a").argument("path", Test::present())]);
    assert_eq!(
        pointer.to_string(),
        "rule \"a\": expected a JSON pointer, empty or beginning with \"/\", found \"path\""
    );
}
