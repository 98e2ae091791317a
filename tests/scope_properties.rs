//! Any sequence of changes over any tree of scopes, beside a simple model.

#[path = "support/scope_model.rs"]
mod model;

use std::collections::BTreeSet;

use model::World;
use proptest::prelude::*;
use proptest::sample::Index;
use toolfall::{Filter, Registry, Scope};

#[derive(Clone, Debug)]
enum Change {
    /// Opens a scope, inside another one or not.
    Open(Option<Index>),
    Register(Option<Index>, usize),
    /// Registers several at once; a name twice is refused as a whole.
    RegisterAll(Option<Index>, Vec<usize>),
    /// Names that are allowed and denied, as a rule of inherited tools.
    Restrict(Index, Option<BTreeSet<usize>>, BTreeSet<usize>, bool),
    /// Unregisters a tool, or lifts a mask.
    Drop(Index),
    Dispose(Index),
    /// Lets a handle on a scope go, which may end the scope.
    Forget(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let scope = || proptest::option::weighted(0.7, any::<Index>());
    let name = || 0..model::NAMES.len();
    let names = move || proptest::collection::btree_set(name(), 0..3);
    prop_oneof![
        3 => scope().prop_map(Change::Open),
        8 => (scope(), name()).prop_map(|(scope, name)| Change::Register(scope, name)),
        1 => (scope(), proptest::collection::vec(name(), 0..4))
            .prop_map(|(scope, names)| Change::RegisterAll(scope, names)),
        5 => (any::<Index>(), proptest::option::of(names()), names(), proptest::bool::weighted(0.1))
            .prop_map(|(scope, allow, deny, any)| Change::Restrict(scope, allow, deny, any)),
        4 => any::<Index>().prop_map(Change::Drop),
        1 => any::<Index>().prop_map(Change::Dispose),
        1 => any::<Index>().prop_map(Change::Forget),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// What every scope sees, is told, and can run is what the model says;
    /// reading leaves no layer behind, and a layer goes with the last thing
    /// in it.
    ///
    /// conformance: REG-29, REG-37, REG-38, REG-58, REG-59
    #[test]
    fn every_scope_sees_what_the_model_says(
        changes in proptest::collection::vec(change(), 1..40),
        order in proptest::collection::vec(any::<Index>(), 100),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut world = World::new();
        for (step, change) in changes.into_iter().enumerate() {
            match change {
                Change::Open(parent) => world.open(parent),
                Change::Register(scope, name) => world.register(scope, &[name], false),
                Change::RegisterAll(scope, names) => world.register(scope, &names, true),
                Change::Restrict(scope, allow, deny, any) => {
                    world.restrict(scope, allow.as_ref(), &deny, any);
                }
                Change::Drop(held) => world.drop_one(held),
                Change::Dispose(scope) => world.dispose(scope),
                Change::Forget(scope) => world.forget(scope),
            }
            world.check();
            if step % 5 == 0 {
                runtime.block_on(world.check_calls());
            }
        }
        runtime.block_on(world.check_calls());
        for held in order {
            world.drop_one(held);
            world.check();
        }
        world.check_nothing_is_left();
    }
}

/// conformance: REG-29
#[test]
fn masks_of_one_scope_intersect_and_lift_independently() {
    let registry = Registry::new();
    for name in ["a", "b", "c"] {
        registry.register(model::tool(name, "")).unwrap().keep();
    }
    let scope = Scope::new("agent");
    let allow = registry.restrict(&scope, &Filter::allow(["a", "b"]));
    let deny = registry.restrict(&scope, &Filter::deny(["b"]));
    assert_eq!(registry.names(Some(&scope)), ["a"]);
    drop(allow);
    assert_eq!(registry.names(Some(&scope)), ["a", "c"]);
    drop(deny);
    assert_eq!(registry.names(Some(&scope)), ["a", "b", "c"]);
    assert_eq!(registry.scopes(), 0);
}

/// conformance: REG-37, REG-38
#[test]
fn nobody_nested_gets_back_what_an_ancestor_hides() {
    let registry = Registry::new();
    for name in ["a", "b"] {
        registry.register(model::tool(name, "")).unwrap().keep();
    }
    let parent = Scope::new("preset");
    let child = parent.nested("agent");
    let _hidden = registry.restrict(&parent, &Filter::deny(["b"])).unwrap();
    assert_eq!(registry.names(Some(&parent)), ["a"]);
    assert_eq!(registry.names(Some(&child)), ["a"]);
    let _allowed = registry.restrict(&child, &Filter::allow(["b"])).unwrap();
    assert!(registry.names(Some(&child)).is_empty());
}

#[test]
fn a_registration_that_outlives_its_scope_leaves_nothing_behind() {
    let registry = Registry::new();
    let scope = Scope::new("agent");
    let body = std::sync::Arc::new(());
    let held = body.clone();
    let tool = model::tool("a", "").presentation_meta(move |_| {
        let _ = &held;
        Ok(serde_json::Value::Null)
    });
    let registration = registry.register_in(&scope, tool).unwrap();
    drop(scope);
    drop(registration);
    assert_eq!(registry.scopes(), 0);
    assert_eq!(std::sync::Arc::strong_count(&body), 1, "the tool is gone");
}

#[test]
fn what_changes_nothing_is_not_announced() {
    let registry = Registry::new();
    let mut changes = registry.changes();
    assert!(registry.register_all([]).unwrap().is_empty());
    let scope = Scope::new("agent");
    assert!(registry.restrict(&scope, &Filter::deny(["a"])).is_err());
    assert!(!changes.has_changed().unwrap());
    registry.dispose(&scope);
    assert_eq!(*changes.borrow_and_update(), 1);
    registry.dispose(&scope);
    assert!(!changes.has_changed().unwrap());
}
