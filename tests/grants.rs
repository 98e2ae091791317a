//! Grants: answers of a person that hold for more than one call.

#[path = "support/facade.rs"]
mod support;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use support::{Counter, Log, echo, registry};
use tokio_util::sync::CancellationToken;
use toolfall::pipeline::BoxPipeline;
use toolfall::policy::grants::{Grant, GrantError, GrantStore, GrantedBy, Grants, MemoryGrants};
use toolfall::{
    ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView, DecidedBy,
    Decision, FailureKind, Pipeline, Scope, ToolResult,
};

fn arguments(text: &str) -> Arguments {
    Arguments::from_text(text).expect("good arguments")
}

fn times(uses: u32) -> NonZeroU32 {
    NonZeroU32::new(uses).expect("a number of uses")
}

/// A call by somebody, because only for an agent is anybody asked.
fn request(id: &'static str, tool: &'static str, arguments: &str) -> CallRequest {
    CallRequest::new(id, tool, arguments, CancellationToken::new()).with_scope(Scope::new("agent"))
}

/// A pipeline that asks about everything, and people who refuse.
struct Host {
    pipeline: BoxPipeline,
    store: MemoryGrants,
    asked: Counter,
    granted: Log,
}

impl Host {
    fn new() -> Self {
        Self::with(|_: CallView| async { Decision::ask("really?").by_rule("careful") })
    }

    fn with<F, Fut>(policy: F) -> Self
    where
        F: Fn(CallView) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Decision> + Send + 'static,
    {
        let (store, asked, granted) = (MemoryGrants::new(), Counter::default(), Log::default());
        let (count, log): (Counter, Log) = (asked.clone(), granted.clone());
        let pipeline = Pipeline::builder(registry([echo("write"), echo("read")]))
            .pre_decision(Grants::new(store.clone(), policy))
            .approval(move |_: &ApprovalRequest| {
                count.add();
                ApprovalOutcome::Rejected
            })
            .observer(move |call: &CallView, _: &ToolResult| {
                if let Some(by) = call.extensions().get::<GrantedBy>() {
                    log.push(by.names().join("+"));
                }
            })
            .build()
            .boxed();
        Self {
            pipeline,
            store,
            asked,
            granted,
        }
    }

    /// Whether the call runs.
    async fn runs(&self, tool: &'static str, arguments: &str) -> bool {
        self.runs_for(&Scope::new("agent"), tool, arguments).await
    }

    async fn runs_for(&self, scope: &Scope, tool: &'static str, arguments: &str) -> bool {
        let request = request("1", tool, arguments).with_scope(scope.clone());
        !self.pipeline.run(request).await.is_error()
    }
}

#[tokio::test]
async fn an_exact_grant_covers_the_same_call_whatever_its_id() {
    let host = Host::new();
    let same = arguments(r#"{"path":"a"}"#);
    let grant = Grant::exact_call("that file", "write", &same);
    host.store.add(grant).unwrap();
    for id in ["1", "other", ""] {
        let call = request(id, "write", r#"{"path":"a"}"#);
        assert!(!host.pipeline.run(call).await.is_error());
    }
    assert_eq!(host.granted.take(), ["that file"; 3]);
    assert_eq!(host.asked.get(), 0, "nobody is asked");
    assert!(!host.runs("write", r#"{"path":"b"}"#).await);
    assert!(
        !host.runs("write", r#"{ "path":"a"}"#).await,
        "byte for byte"
    );
    assert!(!host.runs("read", r#"{"path":"a"}"#).await);
    assert_eq!(host.asked.get(), 3, "whoever is not covered is asked about");
    assert!(host.granted.take().is_empty());
}

#[tokio::test]
async fn a_grant_made_of_a_call_covers_it_again() {
    let store = MemoryGrants::new();
    let answers = store.clone();
    let asked = Counter::default();
    let count = asked.clone();
    let pipeline = Pipeline::builder(registry([echo("write")]))
        .pre_decision(Grants::new(store, |_: &CallView| {
            Decision::ask_without_reason()
        }))
        .approval(move |request: &ApprovalRequest| {
            count.add();
            let grant = Grant::exact("from now on", request.call());
            match answers.add(grant) {
                Ok(()) => ApprovalOutcome::AllowedOnce,
                Err(_) => ApprovalOutcome::Rejected,
            }
        })
        .build();
    for _ in 0..3 {
        let result = pipeline.run(request("1", "write", r#"{"n":1}"#)).await;
        assert!(!result.is_error());
    }
    assert_eq!(asked.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_grant_ends_with_its_time() {
    let host = Host::new();
    let minute = Duration::from_secs(60);
    let grant = || Grant::tool("a minute", "write").expires_after(minute);
    host.store.add(grant()).unwrap();
    tokio::time::advance(Duration::from_millis(59_999)).await;
    assert!(host.runs("write", "{}").await);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(!host.runs("write", "{}").await, "at its end");
    assert!(host.store.names().is_empty(), "and it is freed");
    host.store.add(grant()).expect("its name is free again");
    tokio::time::advance(minute * 2).await;
    assert!(!host.runs("write", "{}").await);

    let forever = Grant::tool("forever", "write").expires_after(Duration::MAX);
    host.store.add(forever).unwrap();
    tokio::time::advance(minute).await;
    assert!(host.runs("write", "{}").await);
}

#[tokio::test]
async fn uses_run_out_and_grants_are_revoked() {
    let host = Host::new();
    let twice = Grant::tool("twice", "write").uses(times(2));
    host.store.add(twice).unwrap();
    host.store.add(Grant::tool("always", "write")).unwrap();
    assert_eq!(host.store.uses_left("twice"), Some(Some(times(2))));
    for _ in 0..3 {
        assert!(host.runs("write", "{}").await);
    }
    let granted = host.granted.take();
    assert_eq!(granted, ["twice", "twice", "always"], "the oldest first");
    assert_eq!(host.store.names(), ["always"]);
    assert_eq!(host.store.uses_left("always"), Some(None));
    assert!(host.store.revoke("always"));
    assert!(!host.runs("write", "{}").await);
    assert!(!host.store.revoke("always"));
    assert_eq!(host.store.uses_left("always"), None);
}

#[tokio::test]
async fn a_grant_holds_within_its_scope_and_ends_with_it() {
    let host = Host::new();
    let preset = Scope::new("preset");
    let agent = preset.nested("agent");
    let grant = Grant::tool("for the preset", "write").within(&preset);
    host.store.add(grant).unwrap();
    assert!(host.runs_for(&agent, "write", "{}").await);
    assert!(host.runs_for(&preset, "write", "{}").await);
    let namesake = Scope::new("preset");
    assert!(!host.runs_for(&namesake, "write", "{}").await);
    assert!(!host.runs("write", "{}").await);
    drop((agent, preset));
    assert!(host.store.names().is_empty(), "nobody can use it any more");
}

#[tokio::test]
async fn stores_bound_what_they_keep_and_tell_grants_apart() {
    let store = MemoryGrants::with_limit(2);
    let once = |name: &str| Grant::tool(name, "write").uses(times(1));
    assert_eq!(store.add(once(" ")).unwrap_err(), GrantError::NoName);
    store.add(once("a")).unwrap();
    let taken = store.add(once("a")).unwrap_err();
    assert!(matches!(taken, GrantError::NameTaken { name } if name == "a"));
    store.add(once("b")).unwrap();
    let full = store.add(once("c")).unwrap_err();
    assert_eq!(
        full.to_string(),
        "expected fewer than 2 standing grants, found 2"
    );
    store.revoke("a");
    store.add(once("c")).unwrap();
    assert_eq!(store.names(), ["b", "c"]);
}

/// Of many calls at once exactly as many run as the grant has uses.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_calls_never_share_the_last_use() {
    for uses in [1, 7] {
        let host = Arc::new(Host::new());
        let grant = Grant::tool("few", "write").uses(times(uses));
        host.store.add(grant).unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let barrier = Arc::new(tokio::sync::Barrier::new(32));
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..32 {
            let (host, ran, barrier) = (host.clone(), ran.clone(), barrier.clone());
            calls.spawn(async move {
                barrier.wait().await;
                if host.runs("write", "{}").await {
                    ran.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        calls.join_all().await;
        let uses = usize::try_from(uses).unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), uses);
        assert_eq!(host.granted.take(), vec!["few"; uses]);
        assert_eq!(host.asked.get(), 32 - uses);
    }
}

#[tokio::test]
async fn what_is_no_ask_spends_nothing() {
    let host = Host::with(|call: CallView| async move {
        match call.name() {
            "read" => Decision::Allow,
            _ => Decision::deny("never").by_rule("closed"),
        }
    });
    for tool in ["read", "write"] {
        let once = Grant::tool(tool, tool).uses(times(1));
        host.store.add(once).unwrap();
    }
    assert!(host.runs("read", "{}").await);
    let denied = host
        .pipeline
        .call("1", "write", "{}", CancellationToken::new());
    let denied = denied.await;
    assert_eq!(denied.text(), "Error: never");
    let rule = DecidedBy::Policy(Some("closed".into()));
    assert_eq!(denied.decided_by(), Some(&rule), "the policy's own rule");
    assert_eq!(host.store.names(), ["read", "write"]);
    assert!(host.granted.take().is_empty());
}

/// A store that cannot tell fails the call; nothing runs.
#[tokio::test]
async fn a_store_that_fails_allows_nothing() {
    struct Broken(bool);
    impl GrantStore for Broken {
        fn spend(&self, _: &CallView) -> Result<Option<String>, BoxError> {
            assert!(self.0, "the store fell");
            Err("the store is gone".into())
        }
    }
    for orderly in [true, false] {
        let pipeline = Pipeline::builder(registry([echo("write")]))
            .pre_decision(Grants::new(Broken(orderly), |_: &CallView| {
                Decision::ask("really?")
            }))
            .approval(|_: &ApprovalRequest| ApprovalOutcome::AllowedOnce)
            .build();
        let result = pipeline.call("1", "write", "{}", CancellationToken::new());
        assert_eq!(result.await.kind(), Some(FailureKind::Policy));
    }
}

/// Every stage that asks needs a grant of its own, and each is named.
#[tokio::test]
async fn stacked_stages_need_a_grant_each() {
    let (first, second) = (MemoryGrants::new(), MemoryGrants::new());
    let granted = Log::<String>::default();
    let log = granted.clone();
    let ask = |_: &CallView| Decision::ask("really?");
    let pipeline = Pipeline::builder(registry([echo("write")]))
        .pre_decision(Grants::new(first.clone(), ask))
        .pre_decision(Grants::new(Arc::new(second.clone()), ask))
        .observer(move |call: &CallView, _: &ToolResult| {
            if let Some(by) = call.extensions().get::<GrantedBy>() {
                log.push(by.names().join("+"));
            }
        })
        .build();
    let call = || pipeline.call("1", "write", "{}", CancellationToken::new());
    first.add(Grant::tool("one", "write")).unwrap();
    assert!(call().await.is_error());
    second.add(Grant::tool("two", "write")).unwrap();
    assert!(!call().await.is_error());
    assert_eq!(granted.take(), ["one", "one+two"]);
}

#[cfg(feature = "rules")]
#[tokio::test]
async fn a_rule_says_which_calls_a_grant_covers() {
    use toolfall::policy::{Rule, RuleList, Test, Verdict};

    let host = Host::new();
    let rules = RuleList::new([
        Rule::deny("secrets").argument("/path", Test::path("docs/secret/**")),
        Rule::allow("docs")
            .tool("wr*")
            .argument("/path", Test::path("docs/**")),
    ]);
    // Only what a rule allows is covered, not what the default would allow.
    let rules = rules.unwrap().otherwise(Verdict::Allow);
    host.store
        .add(Grant::matching("docs today", rules))
        .unwrap();
    assert!(host.runs("write", r#"{"path":"docs/a/b"}"#).await);
    assert_eq!(host.granted.take(), ["docs today"]);
    for (tool, arguments) in [
        ("write", r#"{"path":"docs/../etc/passwd"}"#),
        ("write", r#"{"path":"docs/secret/key"}"#),
        ("write", "{}"),
        ("write", "no json"),
        ("read", r#"{"path":"docs/a"}"#),
    ] {
        assert!(!host.runs(tool, arguments).await, "{tool} {arguments}");
    }
}

#[derive(Clone, Debug)]
enum Says {
    Allow,
    Ask,
    Deny,
}

proptest! {
    /// Whatever grants stand: what the policy denies stays denied, in its own
    /// words, and only an ask that a grant covers becomes an allow.
    #[test]
    fn a_grant_never_relaxes_a_deny(
        grants in prop::collection::vec((0..4_u8, 0..2_u8, 0..2_u8, 0..4_u32), 0..6),
        calls in prop::collection::vec(
            (prop_oneof![Just(Says::Allow), Just(Says::Ask), Just(Says::Deny)], 0..2_u8, 0..2_u8),
            1..12,
        ),
        later in any::<bool>(),
    ) {
        const TOOLS: [&str; 2] = ["write", "read"];
        const ARGUMENTS: [&str; 2] = ["{}", r#"{"a":1}"#];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let host = Host::with(move |call: CallView| async move {
                if later {
                    tokio::task::yield_now().await;
                }
                match call.id().as_str() {
                    "allow" => Decision::Allow,
                    "ask" => Decision::ask("really?"),
                    _ => Decision::deny("never").by_rule("closed"),
                }
            });
            for (place, (kind, tool, text, uses)) in grants.into_iter().enumerate() {
                let (name, tool) = (place.to_string(), TOOLS[usize::from(tool)]);
                let grant = match kind {
                    0 | 1 => {
                        let exact = arguments(ARGUMENTS[usize::from(text)]);
                        Grant::exact_call(name, tool, &exact)
                    }
                    _ => Grant::tool(name, tool),
                };
                let grant = match NonZeroU32::new(uses) {
                    Some(uses) => grant.uses(uses),
                    None => grant,
                };
                host.store.add(grant).unwrap();
            }
            for (says, tool, text) in calls {
                let id = match says {
                    Says::Allow => "allow",
                    Says::Ask => "ask",
                    Says::Deny => "deny",
                };
                let before = host.store.names();
                let (tool, text) = (TOOLS[usize::from(tool)], ARGUMENTS[usize::from(text)]);
                let result = host.pipeline.call(id, tool, text, CancellationToken::new()).await;
                let granted = host.granted.take();
                match says {
                    Says::Allow => assert!(!result.is_error() && granted.is_empty()),
                    Says::Ask => assert_eq!(result.is_error(), granted.is_empty()),
                    Says::Deny => {
                        assert_eq!(result.text(), "Error: never");
                        let rule = DecidedBy::Policy(Some("closed".into()));
                        assert_eq!(result.decided_by(), Some(&rule));
                        assert!(granted.is_empty());
                    }
                }
                if !matches!(says, Says::Ask) {
                    assert_eq!(host.store.names(), before, "nothing is spent");
                }
            }
        });
    }
}
