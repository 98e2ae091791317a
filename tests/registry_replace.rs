//! Many tools in the places of many others, in one change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use toolfall::{
    Arguments, BoxError, Filter, RegisterError, Registry, Scope, ToolContext, ToolDef, raw_tool,
};

fn tool(name: &'static str) -> ToolDef {
    let body = |_: Arguments, _: ToolContext| async { Ok::<_, BoxError>(Value::Null) };
    raw_tool(name, "", json!({"type": "object"}), body)
}

#[test]
fn old_tools_go_and_new_ones_come_in_one_change() {
    let registry = Registry::new();
    let mut held = registry.register_all([tool("a"), tool("b")]).unwrap();
    registry.register(tool("z")).unwrap().keep();
    let changes = registry.changes();
    let before = *changes.borrow();

    registry
        .replace_all(&mut held, [tool("c"), tool("b")])
        .unwrap();
    assert_eq!(*changes.borrow(), before + 1);
    // What is there again has its place again.
    assert_eq!(registry.names(None), ["b", "z", "c"]);
    assert_eq!(held.len(), 2);

    drop(held);
    assert_eq!(registry.names(None), ["z"]);
}

#[test]
fn a_name_that_is_taken_changes_nothing() {
    let registry = Registry::new();
    registry.register(tool("z")).unwrap().keep();
    let mut held = registry.register_all([tool("a"), tool("b")]).unwrap();
    let changes = registry.changes();
    let before = *changes.borrow();

    let error = registry.replace_all(&mut held, [tool("c"), tool("z")]);
    assert!(matches!(error, Err(RegisterError::NameTaken { name }) if name == "z"));
    let twice = registry.replace_all(&mut held, [tool("c"), tool("c")]);
    assert!(matches!(twice, Err(RegisterError::NameTaken { name }) if name == "c"));
    assert_eq!(*changes.borrow(), before);
    assert_eq!(registry.names(None), ["z", "a", "b"]);

    drop(held);
    assert_eq!(registry.names(None), ["z"]);
}

#[test]
fn readers_find_a_tool_that_is_replaced_at_every_moment() {
    let registry = Registry::new();
    let mut held = registry.register_all([tool("a"), tool("b")]).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let reader = std::thread::spawn({
        let (registry, over) = (registry.clone(), over.clone());
        move || {
            while !over.load(Ordering::Relaxed) {
                assert_eq!(registry.names(None), ["a", "b"]);
                assert!(registry.contains("b", None));
            }
        }
    });
    for _ in 0..2_000 {
        registry
            .replace_all(&mut held, [tool("a"), tool("b")])
            .unwrap();
    }
    over.store(true, Ordering::Relaxed);
    reader.join().unwrap();
}

#[test]
fn a_scope_has_its_own_and_a_disposed_one_none() {
    let registry = Registry::new();
    let scope = Scope::new("agent");
    registry.register(tool("a")).unwrap().keep();
    let mut held = registry.register_all_in(&scope, [tool("a")]).unwrap();
    registry
        .replace_all_in(&scope, &mut held, [tool("a"), tool("b")])
        .unwrap();
    assert_eq!(registry.names(Some(&scope)), ["a", "b"]);
    assert_eq!(registry.names(None), ["a"]);

    registry.dispose(&scope);
    let error = registry.replace_all_in(&scope, &mut held, [tool("b")]);
    assert!(matches!(error, Err(RegisterError::Disposed { .. })));
    registry.replace_all_in(&scope, &mut held, []).unwrap();
    assert!(held.is_empty());
}

#[test]
fn a_mask_hides_what_takes_the_place_of_what_it_hides() {
    let registry = Registry::new();
    let mut held = registry.register_all([tool("a"), tool("b")]).unwrap();
    let scope = Scope::new("agent");
    let _mask = registry.restrict(&scope, &Filter::deny(["a"])).unwrap();
    registry
        .replace_all(&mut held, [tool("a"), tool("b")])
        .unwrap();
    assert_eq!(registry.names(Some(&scope)), ["b"]);
}

#[test]
fn other_registries_lose_what_is_replaced_here() {
    let (here, there) = (Registry::new(), Registry::new());
    let mut held = there.register_all([tool("a")]).unwrap();
    here.replace_all(&mut held, [tool("b")]).unwrap();
    assert!(there.names(None).is_empty());
    assert_eq!(here.names(None), ["b"]);
}
