//! A verdict never depends on siblings: what the policies decide of a call is
//! the same whatever else stands in its batch, and in whatever order.
//!
//! Three policies depend on history by their nature: a budget counts what was
//! spent, a reminder counts repeats, a grant with a number of uses is used
//! up. They depend on earlier calls alone: what stands after a call never
//! changes what becomes of it.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::approval::{Answerers, ApprovalMode};
use toolfall::pipeline::BoxPipeline;
use toolfall::policy::budget::{Budgets, Limits};
use toolfall::policy::grants::{Grant, Grants, MemoryGrants};
use toolfall::policy::repeat::{RepeatConfig, RepeatReminder};
use toolfall::policy::{Next, Rule, RuleList, Test, Waterfall};
use toolfall::{
    ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView, Decision, Denial,
    Pipeline, Registry, Scheduler, Scope, ToolContext, ToolResult, raw_tool,
};

const TOOLS: [&str; 4] = ["read", "write", "other", "missing"];
const PATHS: [&str; 7] = [
    "free", "rule", "asks", "never", "listener", "outer", "guard",
];

/// One call of a batch.
#[derive(Clone, Debug, PartialEq)]
struct Spec {
    tool: usize,
    path: usize,
    fails: bool,
    exclusive: bool,
    /// How long its policy, its approver and its body take.
    wait: u64,
    /// Arguments that break the tool's schema.
    invalid: bool,
}

fn spec() -> impl Strategy<Value = Spec> {
    (
        0..TOOLS.len(),
        0..PATHS.len(),
        prop::bool::weighted(0.2),
        any::<bool>(),
        0..4_u64,
        prop::bool::weighted(0.1),
    )
        .prop_map(|(tool, path, fails, exclusive, wait, invalid)| Spec {
            tool,
            path,
            fails,
            exclusive,
            wait,
            invalid,
        })
}

impl Spec {
    fn arguments(&self) -> String {
        let path = if self.invalid {
            json!(5)
        } else {
            json!(PATHS[self.path])
        };
        json!({
            "path": path,
            "fails": self.fails,
            "exclusive": self.exclusive,
            "wait": self.wait,
        })
        .to_string()
    }
}

/// Everything that a policy can decide of a call, and what the model reads.
#[derive(Debug, PartialEq)]
struct Verdict {
    is_error: bool,
    decided_by: Option<String>,
    kind: Option<&'static str>,
    code: Option<String>,
    message: Option<String>,
    text: String,
    contexts: Vec<Option<String>>,
}

impl Verdict {
    fn of(result: &ToolResult) -> Self {
        let contexts = result.contexts().iter();
        Self {
            is_error: result.is_error(),
            decided_by: result.decided_by().map(ToString::to_string),
            kind: result.kind().map(toolfall::FailureKind::as_str),
            code: result.code().map(str::to_owned),
            message: result.message().map(str::to_owned),
            text: result.text(),
            contexts: contexts
                .map(|context| context.source.summary.clone())
                .collect(),
        }
    }
}

fn path(call: &CallView) -> &str {
    let arguments = call.arguments().map(Arguments::value);
    arguments
        .and_then(|value| value["path"].as_str())
        .unwrap_or_default()
}

async fn wait(arguments: Option<&Arguments>) {
    let ms = arguments.and_then(|arguments| arguments.value()["wait"].as_u64());
    tokio::time::sleep(Duration::from_millis(ms.unwrap_or(0))).await;
}

fn registry() -> Registry {
    let registry = Registry::new();
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    for name in &TOOLS[..3] {
        let tool = raw_tool(
            *name,
            "",
            schema.clone(),
            |arguments: Arguments, _: ToolContext| async move {
                wait(Some(&arguments)).await;
                if arguments.value()["fails"] == true {
                    return Err(BoxError::from("the body failed"));
                }
                Ok(arguments.value()["path"].clone())
            },
        )
        .parallel_when(|arguments: &Value| arguments["exclusive"] != true);
        registry.register(tool).unwrap().keep();
    }
    registry
}

fn rules() -> RuleList {
    let at = |path: &str| Test::equals(path);
    RuleList::new([
        Rule::deny("no rules").argument("/path", at("rule")),
        Rule::ask("writing").tool("write"),
        Rule::ask("asked").argument("/path", at("asks")),
        Rule::ask("refused").argument("/path", at("never")),
        Rule::allow("the rest").tool("{read,other}"),
    ])
    .unwrap()
}

/// The policies that keep nothing: rules, listeners, a person, a guard.
fn stateless(mode: ApprovalMode) -> BoxPipeline {
    let listeners = Waterfall::new(Decision::Allow);
    listeners
        .register(
            |call: CallView, next: Next<CallView, Decision>| async move {
                wait(call.arguments()).await;
                match (path(&call), call.name()) {
                    ("outer", "other") => Ok(Decision::Allow),
                    ("outer", _) => Ok(Decision::ask("is that so?")),
                    _ => next.run().await,
                }
            },
        )
        .keep();
    listeners
        .register(
            |call: CallView, next: Next<CallView, Decision>| async move {
                if path(&call) == "listener" {
                    return Ok(Decision::deny("no listeners").by_rule("inner"));
                }
                next.run().await
            },
        )
        .keep();
    let answerers = Answerers::new();
    answerers.set_mode(mode);
    answerers
        .register(|asked: ApprovalRequest| async move {
            wait(asked.call().arguments()).await;
            Some(if path(asked.call()) == "never" {
                ApprovalOutcome::Rejected
            } else {
                ApprovalOutcome::AllowedOnce
            })
        })
        .keep();
    Pipeline::builder(registry())
        .pre_decision(listeners)
        .pre_decision(rules())
        .approval(answerers)
        .guard(|call: &CallView| (path(call) == "guard").then(|| Denial::new("no guards")))
        .build()
        .boxed()
}

/// The policies that count.
fn counting() -> BoxPipeline {
    let store = MemoryGrants::new();
    for (name, tool) in [("first", "write"), ("second", "read")] {
        let grant = Grant::tool(name, tool).uses(NonZeroU32::new(2).unwrap());
        store.add(grant).unwrap();
    }
    let limits = Limits::new()
        .calls(6)
        .tool("other", 2)
        .consecutive_failures(4);
    let reminder = RepeatReminder::new(RepeatConfig {
        thresholds: vec![2, 3],
        ..RepeatConfig::default()
    });
    Pipeline::builder(registry())
        .post_execute(reminder.unwrap())
        .decision_layer(Budgets::new(limits).layer())
        .pre_decision(Grants::new(store, rules()))
        .build()
        .boxed()
}

async fn run(pipeline: &BoxPipeline, specs: &[Spec], limit: NonZeroUsize) -> Vec<Verdict> {
    let scheduler: Scheduler<BoxPipeline> = pipeline.scheduler().limit(limit);
    let cancel = CancellationToken::new();
    let scope = Scope::new("agent");
    let requests: Vec<CallRequest> = (0..)
        .zip(specs)
        .map(|(place, spec)| {
            let id = format!("call_{place}");
            CallRequest::new(id, TOOLS[spec.tool], spec.arguments(), cancel.clone())
                .with_scope(scope.clone())
        })
        .collect();
    let report = scheduler.batch(requests, cancel).run().await;
    let committed = report.committed.iter();
    committed.map(|call| Verdict::of(&call.result)).collect()
}

fn on_paused_time<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

/// A batch, the same in another order, with a part taken out and others put in.
fn batches() -> impl Strategy<Value = (Vec<Spec>, Vec<Spec>)> {
    prop::collection::vec(spec(), 1..8).prop_flat_map(|batch| {
        let changed = (
            Just(batch.clone()).prop_shuffle(),
            0..batch.len(),
            prop::collection::vec(spec(), 0..5),
        )
            .prop_flat_map(|(mut shuffled, left_out, added)| {
                shuffled.truncate(shuffled.len() - left_out);
                shuffled.extend(added);
                Just(shuffled).prop_shuffle()
            });
        (Just(batch), changed)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn a_verdict_never_depends_on_siblings(
        (batch, changed) in batches(),
        limit in 1..5_usize,
        asks in any::<bool>(),
    ) {
        let mode = if asks { ApprovalMode::Ask } else { ApprovalMode::Never };
        let limit = NonZeroUsize::new(limit).unwrap();
        on_paused_time(async {
            let pipeline = stateless(mode);
            for specs in [batch, changed] {
                let together = run(&pipeline, &specs, limit).await;
                prop_assert_eq!(together.len(), specs.len());
                for (spec, verdict) in specs.iter().zip(together) {
                    // A pipeline of its own, so that nothing can be left over.
                    let alone = run(&stateless(mode), std::slice::from_ref(spec), limit).await;
                    prop_assert_eq!(&verdict, &alone[0], "{:?}", spec);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_comes_after_a_call_never_changes_it(
        batch in prop::collection::vec(spec(), 1..10),
        after in prop::collection::vec(spec(), 1..6),
        limit in 1..5_usize,
    ) {
        let limit = NonZeroUsize::new(limit).unwrap();
        on_paused_time(async {
            let short = run(&counting(), &batch, limit).await;
            let longer: Vec<Spec> = batch.iter().chain(&after).cloned().collect();
            let long = run(&counting(), &longer, limit).await;
            prop_assert_eq!(&long[..batch.len()], &short[..]);
            Ok(())
        })?;
    }
}

/// The batches above would show nothing if every call came to the same.
#[test]
fn the_policies_of_these_tests_decide_in_every_way() {
    let call = |tool: usize, path: usize| Spec {
        tool,
        path,
        fails: false,
        exclusive: false,
        wait: 1,
        invalid: false,
    };
    on_paused_time(async {
        let limit = NonZeroUsize::new(3).unwrap();
        let all: Vec<Spec> = (0..PATHS.len()).map(|path| call(0, path)).collect();
        let verdicts = run(&stateless(ApprovalMode::Ask), &all, limit).await;
        let told: Vec<&str> = verdicts
            .iter()
            .map(|verdict| verdict.text.as_str())
            .collect();
        assert_eq!(told[0], "free");
        assert_eq!(
            told[1],
            "Error: tool \"read\" is denied by rule \"no rules\""
        );
        assert_eq!(told[2], "asks");
        assert_eq!(verdicts[3].kind, Some("denied"));
        assert_eq!(told[4], "Error: no listeners");
        assert_eq!(told[5], "outer", "asked, and allowed");
        assert_eq!(told[6], "Error: no guards");
        let never = run(&stateless(ApprovalMode::Never), &all, limit).await;
        assert!(never[2].is_error && never[5].is_error);

        // The ones that count do depend on what came before.
        let thrice = [call(1, 0), call(1, 0), call(1, 0)];
        let counted = run(&counting(), &thrice, limit).await;
        assert!(!counted[0].is_error && !counted[1].is_error && counted[2].is_error);
        assert_eq!(counted[1].contexts, [Some("write × 2".to_owned())]);
        let others = [call(2, 0), call(2, 0), call(2, 1)];
        let counted = run(&counting(), &others, limit).await;
        assert_eq!(counted[2].code.as_deref(), Some("BUDGET_EXCEEDED"));
    });
}
