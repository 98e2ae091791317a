//! A policy decides about the arguments and never changes them.

use toolfall_layers::{Arguments, CallView, Decision, PreDecisionLayer};

fn main() {
    PreDecisionLayer::new(|call: &CallView| {
        *call.arguments().unwrap() = Arguments::empty();
        Decision::Allow
    });
}
