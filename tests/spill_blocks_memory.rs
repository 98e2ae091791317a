//! Storing a picture holds no second copy of it.

#[path = "support/facade.rs"]
mod facade;
#[path = "support/spill.rs"]
mod support;

use std::alloc::System;

use facade::{Counter, registry, request, returns};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::base64;
use toolfall::spill::{LocalSpillStore, SpillConfig, SpillPolicy, SpillSlot};
use toolfall::{CallView, ContentBlock, Pipeline};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const BYTES: usize = 12 << 20;

#[tokio::test]
async fn a_picture_is_decoded_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let slot = SpillSlot::new();
    slot.mount(LocalSpillStore::at(folder.path()).unwrap())
        .unwrap()
        .keep();
    let policy = SpillPolicy::new(slot, &SpillConfig::default().with_max_block_bytes(1_000))
        .owner(|_: &CallView| Some("sess-1".to_owned()));
    let picture: ContentBlock = serde_json::from_value(json!({
        "type": "image", "data": base64(&vec![7; BYTES]), "mimeType": "image/png"
    }))
    .unwrap();
    let tool =
        returns("shot", json!({}), &Counter::default()).render(move |_| Ok(vec![picture.clone()]));
    let registry = registry([tool]);
    let plain = Pipeline::builder(registry.clone()).build();
    let spilling = Pipeline::builder(registry).post_execute(policy).build();

    let region = Region::new(ALLOCATOR);
    plain.run(request("shot", "{}")).await;
    let without = region.change().bytes_allocated;
    let region = Region::new(ALLOCATOR);
    let result = spilling.run(request("shot", "{}")).await;
    let with = region.change().bytes_allocated;
    assert!(result.text().contains("Stored at: "), "{}", result.text());
    assert!(without > BYTES, "the tool's own copy is seen");
    assert!(
        with < without + (1 << 20),
        "{with} bytes, {without} without the policy"
    );
}
