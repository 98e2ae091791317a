//! A post-execute decision replaces the value or the content.

use toolfall_layers::{PostDecision, PostRequest};

fn both(_: &PostRequest) -> PostDecision {
    PostDecision::replace_value(1.into()).replace_content(Vec::new())
}

fn main() {}
