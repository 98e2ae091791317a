//! What a retainer holds. One test, because counting is global.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use toolfall::retain::TextRetainer;

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocated and not yet given back since `region`.
fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated - change.bytes_deallocated
}

/// conformance: RETAIN-13
#[test]
fn no_more_than_the_budget_is_held() {
    let small = vec![b'x'; 8 << 10];
    let large = vec![b'y'; 4 << 20];
    let both = TextRetainer::head_and_tail;
    for (mut retainer, budget) in [
        (TextRetainer::head(1000), 1000),
        (TextRetainer::tail(100_000), 100_000),
        (both(60_000, 60_001), 120_001),
        (both(3, 0), 3),
        (both(0, 0), 0),
    ] {
        let region = Region::new(GLOBAL);
        for _ in 0..100 {
            retainer.push(&small);
            assert!(held(&region) <= budget, "{} of {budget}", held(&region));
        }
        let (before, calls) = (held(&region), region.change());
        retainer.push(&large);
        let after = region.change();
        assert_eq!(held(&region), before, "a full retainer takes no more");
        assert_eq!(after.allocations, calls.allocations);
        assert_eq!(after.reallocations, calls.reallocations);
        let kept = retainer.finish();
        assert!(held(&region) <= budget, "the text needs no second buffer");
        assert_eq!(region.change().allocations, calls.allocations);
        assert_eq!(kept.kept_bytes, budget as u64);
    }

    // A large budget costs nothing before there is something to hold.
    let region = Region::new(GLOBAL);
    let mut retainer = both(1 << 40, 1 << 40);
    retainer.push("abc");
    assert!(held(&region) < 64);
    drop(retainer);
}
