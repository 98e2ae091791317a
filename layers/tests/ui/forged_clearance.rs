//! A clearance can be neither made nor copied.

use toolfall_layers::{CallView, ClearedCall};

fn forge(view: CallView) -> ClearedCall {
    ClearedCall { view, replaced: None, fused: false }
}

fn copy(call: &ClearedCall) -> ClearedCall {
    call.clone()
}

fn main() {}
