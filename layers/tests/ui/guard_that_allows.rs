//! A guard denies or abstains.

use toolfall_layers::{CallView, Decision, GuardLayer};

fn main() {
    let _ = GuardLayer::new(|_: &CallView| Decision::Allow);
    let _ = GuardLayer::new(|_: &CallView| true);
}
