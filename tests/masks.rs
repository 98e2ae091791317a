//! What a scope inherits and may not see.

#[path = "support/facade.rs"]
mod support;

use support::{echo, registry, request_from, says};
use toolfall::{
    FailureKind, Filter, Pipeline, Registration, Registry, RestrictError, RestrictionSet, Scope,
};

fn names(registry: &Registry, scope: &Scope) -> Vec<String> {
    registry.names(Some(scope))
}

async fn text(registry: &Registry, name: &'static str, scope: Option<&Scope>) -> String {
    let pipeline = Pipeline::builder(registry.clone()).build();
    let result = pipeline.run(request_from(name, scope)).await;
    if result.is_error() {
        assert_eq!(result.kind(), Some(FailureKind::UnknownTool));
    }
    result
        .message()
        .map_or_else(|| result.text(), |message| format!("Error: {message}"))
}

fn restrict(registry: &Registry, scope: &Scope, filter: Filter) -> Registration {
    registry.restrict(scope, &filter).unwrap()
}

/// conformance: REG-25, REG-36, REG-40
#[tokio::test]
async fn an_allow_mask_hides_what_it_does_not_name() {
    let registry = registry([says("bash", "global bash"), says("read", "global read")]);
    let agent = Scope::new("agent");
    registry
        .register_in(&agent, says("mine", "mine"))
        .unwrap()
        .keep();
    let _mask = restrict(&registry, &agent, Filter::allow(["read"]));
    assert_eq!(names(&registry, &agent), ["read", "mine"]);
    assert_eq!(registry.names(None), ["bash", "read"]);
    let told: Vec<String> = registry
        .schemas(Some(&agent))
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(told, ["mine", "read"]);
    assert!(registry.get("bash", Some(&agent)).is_none());

    assert_eq!(
        text(&registry, "bash", Some(&agent)).await,
        "Error: unknown tool \"bash\""
    );
    assert_eq!(text(&registry, "read", Some(&agent)).await, "global read");
    assert_eq!(text(&registry, "mine", Some(&agent)).await, "mine");
    assert_eq!(text(&registry, "bash", None).await, "global bash");

    // It is no authority: the policies are asked about a hidden tool as about
    // any other name, and nothing of what is hidden is told.
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = asked.clone();
    let pipeline = Pipeline::builder(registry.clone())
        .pre_decision(move |_: &toolfall::CallView| {
            seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            toolfall::Decision::Allow
        })
        .build();
    let hidden = pipeline.run(request_from("bashh", Some(&agent))).await;
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
    assert_eq!(
        hidden.content().len(),
        1,
        "no near miss is offered: {}",
        hidden.text()
    );
}

/// conformance: REG-26, REG-27, REG-28
#[tokio::test]
async fn what_comes_later_meets_the_masks_that_are_there() {
    let registry = registry([echo("a"), echo("b")]);
    let (denied, allowed) = (Scope::new("denied"), Scope::new("allowed"));
    let _masks = [
        restrict(&registry, &denied, Filter::deny(["a"])),
        restrict(&registry, &allowed, Filter::allow(["a"])),
    ];
    registry.register(says("later", "later")).unwrap().keep();
    assert_eq!(names(&registry, &denied), ["b", "later"]);
    assert_eq!(names(&registry, &allowed), ["a"]);
    assert_eq!(text(&registry, "later", Some(&denied)).await, "later");
    assert_eq!(
        text(&registry, "later", Some(&allowed)).await,
        "Error: unknown tool \"later\""
    );
    for scope in [&denied, &allowed] {
        registry
            .register_in(scope, says("own", "own"))
            .unwrap()
            .keep();
        assert_eq!(text(&registry, "own", Some(scope)).await, "own");
        assert!(names(&registry, scope).contains(&"own".to_owned()));
    }
    // Its own tool is seen also under a name that its mask hides.
    registry
        .register_in(&denied, says("a", "own a"))
        .unwrap()
        .keep();
    assert_eq!(text(&registry, "a", Some(&denied)).await, "own a");
    // For what is nested in the scope, that is an inherited tool like another.
    let inner = denied.nested("inner");
    assert_eq!(text(&registry, "a", Some(&inner)).await, "own a");
    let _mask = restrict(&registry, &inner, Filter::deny(["a"]));
    assert_eq!(
        text(&registry, "a", Some(&inner)).await,
        "Error: unknown tool \"a\""
    );
}

/// conformance: REG-29, REG-57
#[test]
fn masks_intersect_and_are_lifted_one_by_one() {
    let registry = registry([echo("a"), echo("b"), echo("c")]);
    let agent = Scope::new("agent");
    let allow = restrict(&registry, &agent, Filter::allow(["a", "b"]));
    let deny = restrict(&registry, &agent, Filter::deny(["b"]));
    assert_eq!(names(&registry, &agent), ["a"]);
    drop(allow);
    assert_eq!(names(&registry, &agent), ["a", "c"]);
    // The same mask twice is two masks.
    let again = restrict(&registry, &agent, Filter::deny(["b"]));
    drop(deny);
    assert_eq!(names(&registry, &agent), ["a", "c"]);
    drop(again);
    assert_eq!(names(&registry, &agent), ["a", "b", "c"]);
    let both = restrict(&registry, &agent, Filter::allow(["a", "b"]).and_deny(["a"]));
    assert_eq!(names(&registry, &agent), ["b"]);
    drop(both);
}

/// conformance: REG-30
#[test]
fn a_filter_is_compiled_once() {
    let registry = registry([echo("a"), echo("b")]);
    let agent = Scope::new("agent");
    let filter = Filter::deny(["a"]);
    let _mask = registry.restrict(&agent, &filter).unwrap();
    let changed = filter.and_deny(["b"]);
    assert_eq!(names(&registry, &agent), ["b"]);
    drop(changed);
}

/// conformance: REG-32, REG-33, REG-34, REG-39
#[test]
fn a_filter_that_cannot_be_meant_is_refused() {
    let registry = registry([echo("real")]);
    let agent = Scope::new("agent");
    registry.register_in(&agent, echo("local")).unwrap().keep();
    let refused = |registry: &Registry, filter: Filter| {
        registry.restrict(&agent, &filter).map(drop).unwrap_err()
    };
    let before = *registry.changes().borrow();

    let error = refused(&registry, Filter::default());
    assert!(
        matches!(error, RestrictError::NoOp) && error.to_string().contains("no-op"),
        "{error}"
    );
    assert_eq!(
        refused(&registry, Filter::deny([""; 0])),
        RestrictError::NoOp
    );
    assert_eq!(
        refused(&registry, Filter::allow(["local"])).to_string(),
        "unknown global tool \"local\"; known global tools: real"
    );
    assert_eq!(
        refused(&registry, Filter::deny(["reall", "real"])).to_string(),
        "unknown global tool \"reall\"; known global tools: real"
    );
    assert_eq!(
        refused(&registry, Filter::allow(["wraith"]).and_deny(["ghost"])).to_string(),
        "unknown global tools \"ghost\", \"wraith\"; known global tools: real"
    );
    let empty = Registry::new();
    assert_eq!(
        refused(&empty, Filter::deny(["x"])).to_string(),
        "unknown global tool \"x\"; known global tools: (none)"
    );
    assert_eq!(*registry.changes().borrow(), before, "nothing was changed");

    // Names are checked against what there is without masks.
    let _mask = restrict(&registry, &agent, Filter::deny(["real"]));
    let _again = restrict(&registry, &agent, Filter::allow(["real"]));
    let inner = agent.nested("inner");
    let _inner = restrict(&registry, &inner, Filter::deny(["real", "local"]));
    assert!(names(&registry, &inner).is_empty());

    registry.dispose(&agent);
    let error = refused(&registry, Filter::deny(["real"]));
    assert!(
        matches!(&error, RestrictError::Disposed { scope } if scope == "agent"),
        "{error}"
    );
}

/// What is known is told up to a bound.
#[test]
fn a_long_list_of_known_names_is_cut() {
    let many: Vec<&'static str> = (0..60).map(|n| &*format!("tool{n:02}").leak()).collect();
    let registry = registry(many.iter().map(|name| echo(name)));
    let error = registry
        .restrict(&Scope::new("a"), &Filter::deny(["x"]))
        .map(drop)
        .unwrap_err();
    let told = error.to_string();
    assert!(
        told.contains("known global tools: tool00, tool01") && told.ends_with("tool49 and 10 more"),
        "{told}"
    );
}

/// conformance: REG-35
#[tokio::test]
async fn a_mask_covers_what_a_parent_scope_registered() {
    let (registry, parent) = (Registry::new(), Scope::new("parent"));
    for name in ["a", "b"] {
        registry
            .register_in(&parent, says(name, "ran"))
            .unwrap()
            .keep();
    }
    let child = parent.nested("child");
    let _mask = restrict(&registry, &child, Filter::deny(["a"]));
    assert_eq!(names(&registry, &child), ["b"]);
    assert_eq!(names(&registry, &parent), ["a", "b"]);
    assert_eq!(
        text(&registry, "a", Some(&child)).await,
        "Error: unknown tool \"a\""
    );
    assert_eq!(text(&registry, "a", Some(&parent)).await, "ran");
}

/// conformance: REG-37, REG-38
#[tokio::test]
async fn an_ancestors_mask_reaches_every_nested_scope() {
    let registry = registry([says("bash", "ran"), says("read", "ran")]);
    let parent = Scope::new("parent");
    let child = parent.nested("child");
    let _mask = restrict(&registry, &parent, Filter::deny(["bash"]));
    let _tries = restrict(&registry, &child, Filter::allow(["bash", "read"]));
    for scope in [&parent, &child, &child.nested("deeper")] {
        assert_eq!(names(&registry, scope), ["read"]);
        assert_eq!(
            text(&registry, "bash", Some(scope)).await,
            "Error: unknown tool \"bash\""
        );
    }
}

/// conformance: REG-80
#[test]
fn a_filter_cannot_name_what_is_reserved() {
    let registry = registry([echo("a")]);
    for filter in [Filter::allow(["run_code", "a"]), Filter::deny(["run_code"])] {
        let error = registry
            .restrict(&Scope::new("a"), &filter)
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, RestrictError::Reserved { .. }));
        let told = error.to_string();
        assert!(
            told.contains("cannot name reserved Code Mode presentation transport"),
            "{told}"
        );
    }
}

#[test]
fn in_a_restriction_set_the_nearest_mention_wins() {
    let set = RestrictionSet::new()
        .layer([], ["bash", "deploy", "read"])
        .layer(["deploy", "both"], ["both"])
        .layer([], ["grep"])
        .layer(["bash"], [])
        .layer([], ["bash"]);
    let table = [
        ("bash", false),
        ("deploy", true),
        ("read", false),
        ("grep", false),
        ("both", true),
        ("nobody mentions it", true),
    ];
    for (name, allowed) in table {
        assert_eq!(set.allows(name), allowed, "{name}");
    }
    let filtered = set.filter(["write", "read", "deploy", "bash", "list"]);
    assert_eq!(filtered, ["write", "deploy", "list"]);
    assert!(RestrictionSet::new().allows("anything"));
}
