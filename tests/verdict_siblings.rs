//! A verdict never depends on siblings: what the policies decide of a call is
//! the same whatever else stands in its batch, and in whatever order.
//!
//! Three policies depend on history by their nature: a budget counts what was
//! spent, a reminder counts repeats, a grant with a number of uses is used
//! up. They depend on earlier calls alone: what stands after a call never
//! changes what becomes of it.

#[path = "support/siblings.rs"]
mod siblings;

use std::num::NonZeroUsize;

use proptest::prelude::*;
use siblings::{PATHS, Spec, TOOLS, Verdict, counting, spec, stateless};
use tokio_util::sync::CancellationToken;
use toolfall::approval::ApprovalMode;
use toolfall::pipeline::BoxPipeline;
use toolfall::{CallRequest, Scheduler, Scope};

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
