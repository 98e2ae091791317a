//! A policy decides about the arguments and never changes them.

use toolfall::{Arguments, CallView, Decision, Pipeline, Registry};

fn main() {
    Pipeline::builder(Registry::new()).pre_decision(|call: &CallView| {
        *call.arguments().unwrap() = Arguments::empty();
        Decision::Allow
    });
}
