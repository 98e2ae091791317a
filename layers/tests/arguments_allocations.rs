//! What arguments cost in allocations. One test, because counting is global.

use std::alloc::System;

use serde::Deserialize;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use toolfall_layers::{Arguments, check_json};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Deserialize)]
struct Limits {
    limit: u32,
    deep: Option<bool>,
}

#[test]
fn an_ordinary_call_allocates_once() {
    let text = r#"{"limit":10,"deep":true}"#.to_owned();
    let empty = Arguments::empty();
    let region = Region::new(GLOBAL);
    let count = || region.change().allocations;

    check_json(&text).unwrap();
    assert_eq!(count(), 0, "the scan");
    let arguments = Arguments::from_text(text).unwrap();
    assert_eq!(count(), 1, "the shared part");
    let limits: Limits = arguments.decode().unwrap();
    let shared = (arguments.clone(), Arguments::empty(), *arguments.digest());
    assert_eq!(count(), 1, "reading, sharing and digesting");

    assert!(limits.limit == 10 && limits.deep == Some(true));
    assert!(shared.0 == arguments && shared.1 == empty);
}
