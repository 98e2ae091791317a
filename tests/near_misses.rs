//! What is offered instead of a name that nobody registered.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::{Arguments, BoxError, CallRequest, Pipeline, Registry, ToolContext, raw_tool};

/// Every name compared with every other, without a short cut.
fn expected(wanted: &str, known: &BTreeSet<String>) -> Vec<String> {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let wanted = plain(wanted);
    let mut alike: Vec<(f64, &String)> = known
        .iter()
        .map(|name| {
            let score = strsim::normalized_damerau_levenshtein(&wanted, &plain(name));
            let contained = plain(name).len() >= 3 && wanted.contains(&plain(name));
            (if contained { 0.9 } else { score }, name)
        })
        .filter(|(score, _)| *score >= 0.75)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    alike
        .into_iter()
        .take(3)
        .map(|(_, name)| name.clone())
        .collect()
}

proptest! {
    #[test]
    fn names_that_are_alike_are_offered_and_no_others(
        known in proptest::collection::btree_set("[ab_0-2ä]{1,12}", 1..20),
        wanted in "[ABab_0-2ä]{1,12}",
    ) {
        prop_assume!(!known.contains(&wanted));
        let registry = Registry::new();
        for name in &known {
            let tool = raw_tool(name.clone(), "", json!({"type": "object"}), |_: Arguments, _: ToolContext| async {
                Ok::<Value, BoxError>(Value::Null)
            });
            registry.register(tool).unwrap().keep();
        }
        let pipeline = Pipeline::builder(registry).build();
        let call = CallRequest::new("1", wanted.clone(), "{}", CancellationToken::new());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let text = runtime.block_on(pipeline.run(call)).text();
        let offered: Vec<String> = expected(&wanted, &known)
            .into_iter()
            .map(|name| format!("\"{name}\""))
            .collect();
        let note = format!("Did you mean {}?", offered.join(" or "));
        prop_assert_eq!(text.contains("Did you mean"), !offered.is_empty(), "{}", text);
        prop_assert!(offered.is_empty() || text.ends_with(&note), "{} for {}", text, note);
    }
}
