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

/// What each step costs. The harness's own thread allocates now and then, so
/// the least of a few rounds is what the step itself needs.
#[test]
fn an_ordinary_call_allocates_once() {
    let rounds = [(); 5].map(|()| round());
    let least = |step: usize| rounds.iter().map(|round| round[step]).min();
    assert_eq!(least(0), Some(0), "the scan");
    assert_eq!(least(1), Some(1), "the shared part");
    assert_eq!(least(2), Some(0), "reading, sharing and digesting");
}

fn round() -> [usize; 3] {
    let text = r#"{"limit":10,"deep":true}"#.to_owned();
    let empty = Arguments::empty();
    let mut region = Region::new(GLOBAL);
    let mut count = || region.change_and_reset().allocations;

    check_json(&text).unwrap();
    let scan = count();
    let arguments = Arguments::from_text(text).unwrap();
    let shared_part = count();
    let limits: Limits = arguments.decode().unwrap();
    let shared = (arguments.clone(), Arguments::empty(), *arguments.digest());
    let reading = count();

    assert!(limits.limit == 10 && limits.deep == Some(true));
    assert!(shared.0 == arguments && shared.1 == empty);
    [scan, shared_part, reading]
}
