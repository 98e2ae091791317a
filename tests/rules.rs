//! Rule lists: the strictest match decides, and every verdict names its rule.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::policy::{AllowedBy, Rule, RuleErrorKind, RuleList, Test, Verdict};
use toolfall::{
    Arguments, BoxError, CallView, Pipeline, Registry, ToolContext, ToolResult, raw_tool,
};

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
fn the_strictest_match_decides_whatever_the_order() {
    let rules = list([
        Rule::allow("all"),
        Rule::ask("files").tool("*_file"),
        Rule::deny("writing").tool("write_*"),
        Rule::deny("files too").tool("write_file"),
    ]);
    let decided = |tool| verdict(&rules, tool, json!({}));
    assert_eq!(decided("other"), (Verdict::Allow, Some("all".to_owned())));
    assert_eq!(
        decided("read_file"),
        (Verdict::Ask, Some("files".to_owned()))
    );
    assert_eq!(
        decided("write_file"),
        (Verdict::Deny, Some("writing".to_owned())),
        "of two denials the first is cited"
    );
}

#[test]
fn what_no_rule_matches_gets_the_default() {
    let rules = list([Rule::allow("a").tool("a")]);
    assert_eq!(verdict(&rules, "b", json!({})), (Verdict::Ask, None));
    let rules = rules.otherwise(Verdict::Deny);
    assert_eq!(verdict(&rules, "b", json!({})), (Verdict::Deny, None));
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

/// An allow has no place for a name, so the call carries it.
#[tokio::test]
async fn an_allow_says_which_rule_too() {
    let named = Arc::new(Mutex::new(vec![]));
    let seen = named.clone();
    let registry = Registry::new();
    let body = |_: Arguments, _: ToolContext| async { Ok::<Value, BoxError>(json!("ran")) };
    let tool = raw_tool("read", "", json!({"type": "object"}), body);
    registry.register(tool).expect("a fresh name").keep();
    let pipeline = Pipeline::builder(registry)
        .pre_decision(list([Rule::deny("no").tool("w*"), Rule::allow("reading")]))
        .pre_decision(list([]).otherwise(Verdict::Allow))
        .observer(move |call: &CallView, _: &ToolResult| {
            let by = call.extensions().get::<AllowedBy>().expect("a name");
            seen.lock().expect("no panic").extend_from_slice(by.names());
        })
        .build();
    let result = pipeline
        .call("1", "read", "{}", CancellationToken::new())
        .await;
    assert_eq!(result.text(), "ran");
    assert_eq!(*named.lock().expect("no panic"), ["reading", "otherwise"]);
}

/// The registry knows a tool by one name, so a denied tool is not reached by
/// another spelling, not even where everything else is allowed.
#[tokio::test]
async fn another_spelling_of_a_name_reaches_no_tool() {
    let rules = || list([Rule::deny("no").tool("delete_file")]).otherwise(Verdict::Allow);
    let registry = Registry::new();
    let body = |_: Arguments, _: ToolContext| async { Ok::<Value, BoxError>(json!("ran")) };
    let tool = raw_tool("delete_file", "", json!({"type": "object"}), body);
    registry.register(tool).expect("a fresh name").keep();
    let pipeline = Pipeline::builder(registry).pre_decision(rules()).build();
    for name in [
        "Delete_File",
        "DELETE_FILE",
        "delete_file ",
        "delete\u{200b}_file",
        "dеlete_file",
        "ｄｅｌｅｔｅ＿ｆｉｌｅ",
        "./delete_file",
        "functions.delete_file",
    ] {
        let result = pipeline
            .call("1", name, "{}", CancellationToken::new())
            .await;
        assert_eq!(result.code(), Some("UNKNOWN_TOOL"), "{name}");
    }
    let result = pipeline
        .call("1", "delete_file", "{}", CancellationToken::new())
        .await;
    let by = result.decided_by().expect("a policy decided").to_string();
    assert_eq!(by, "policy \"no\"");
}

/// What is no JSON passes no test for an allow, and each for a denial.
#[tokio::test]
async fn malformed_arguments_are_never_allowed_by_a_test() {
    let tested = |rule: Rule| list([rule.argument("/a", Test::equals(1))]);
    for arguments in ["{\"a\":1", "{\"a\":1,\"a\":2}", "no json"] {
        let result = call(tested(Rule::allow("one")), "t", arguments).await;
        assert_ne!(result.text(), "ran");
        let denying = tested(Rule::deny("one")).otherwise(Verdict::Allow);
        let result = call(denying, "t", arguments).await;
        assert_ne!(result.text(), "ran");
    }
}

#[test]
fn a_rule_that_cannot_be_used_is_refused_with_its_name() {
    let error = |rules: Vec<Rule>| RuleList::new(rules).expect_err("a bad rule");
    let unnamed = error(vec![Rule::deny("ok"), Rule::deny(" ")]);
    assert!(matches!(unnamed.kind(), RuleErrorKind::NoName { place: 2 }));
    for name in ["a", "otherwise"] {
        let taken = error(vec![Rule::deny("a"), Rule::allow(name)]);
        assert!(matches!(taken.kind(), RuleErrorKind::NameTaken { name: it } if it == name));
        assert_eq!(taken.pointer(), "/rules/1/name");
    }
    for (rule, pointer, told) in [
        (
            Rule::deny("a").tool("x").tool("x["),
            "/rules/0/tools/1",
            "rule \"a\": expected a glob, found \"x[\"",
        ),
        (
            Rule::deny("a").argument("path", Test::present()),
            "/rules/0/arguments/0/at",
            "rule \"a\": expected a JSON pointer, empty or beginning with \"/\", found \"path\"",
        ),
        (
            Rule::deny("a").argument("/~2", Test::present()),
            "/rules/0/arguments/0/at",
            "rule \"a\": expected a JSON pointer",
        ),
        (
            Rule::deny("a").argument("/a", Test::regex("(")),
            "/rules/0/arguments/0",
            "rule \"a\": expected a regular expression, found \"(\"",
        ),
        (
            Rule::deny("a").argument("/a", Test::regex("a)|(?:b")),
            "/rules/0/arguments/0",
            "rule \"a\": expected a regular expression",
        ),
        (
            Rule::deny("a").argument("/a", Test::regex("\\w{1000}{1000}")),
            "/rules/0/arguments/0",
            "rule \"a\": expected a regular expression",
        ),
        (
            Rule::deny("a").argument("/a", Test::below("some/folder")),
            "/rules/0/arguments/0",
            "rule \"a\": expected an absolute path for the root, found \"some/folder\"",
        ),
        (
            Rule::deny("a").argument("/a", Test::at_most(f64::NAN)),
            "/rules/0/arguments/0",
            "rule \"a\": expected a finite number for the limit, found NaN",
        ),
        (
            Rule::deny("a").argument("/a", Test::argv([""; 0])),
            "/rules/0/arguments/0",
            "rule \"a\": expected a pattern for the program, found none",
        ),
    ] {
        let error = error(vec![rule]);
        assert!(error.to_string().starts_with(told), "{error}");
        assert_eq!((error.rule(), error.pointer()), (Some("a"), pointer));
    }
}
