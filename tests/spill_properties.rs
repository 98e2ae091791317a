//! Whatever text, cap and locator: what is shown fits, is both ends of the
//! original, and its number is right; or the original stays.

#[path = "support/facade.rs"]
mod facade;
#[path = "support/spill.rs"]
mod support;

use facade::{Counter, registry, request, returns};
use proptest::prelude::*;
use support::{Does, Spilling, registered, spilling, text};
use toolfall::Pipeline;

fn long_text() -> impl Strategy<Value = String> {
    let character = prop_oneof![Just('a'), Just('é'), Just('€'), Just('😀'), any::<char>()];
    proptest::collection::vec(character, 0..300).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn what_is_shown_fits_and_is_both_ends(whole in long_text(), cap in 0_usize..400) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let Spilling { stub, policy, mount } = spilling(cap, Does::Saves);
        let registry = registry([returns("big", text(whole.as_str()), &Counter::default())]);
        let pipeline = Pipeline::builder(registry)
            .post_execute(registered(&policy))
            .build();
        let shown = runtime.block_on(pipeline.run(request("big", "{}"))).text();
        drop(mount);
        if shown == whole {
            // Short enough, or too small a cap for even the notice.
            prop_assert!(whole.len() <= cap || cap < 101);
            return Ok(());
        }
        prop_assert!(shown.len() <= cap && cap < whole.len());
        prop_assert_eq!(&*stub.saved()[0].content, whole.as_str());
        let at = shown.rfind("(Omitted ").unwrap();
        let ends = shown[..at].strip_suffix("\n\n").unwrap_or(&shown[..at]);
        let omitted: usize = shown[at + "(Omitted ".len()..]
            .split(' ').next().unwrap().parse().unwrap();
        prop_assert_eq!(ends.len() + omitted, whole.len());
        let is_both_ends = ends.char_indices().map(|(cut, _)| cut).chain([ends.len()])
            .any(|cut| whole.starts_with(&ends[..cut]) && whole.ends_with(&ends[cut..]));
        prop_assert!(is_both_ends, "{ends:?} are no ends");
        // All of the room is used but for characters at the two cuts and a
        // shorter number.
        prop_assert!(ends.is_empty() || shown.len() + 9 >= cap);
    }
}
