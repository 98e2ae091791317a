//! A clearance can be neither made nor copied.

use toolfall_layers::ClearedCall;

// The private field is read as well: the compiler tells of private fields in a
// literal only where nothing else is wrong.
fn forge(call: &ClearedCall) -> ClearedCall {
    ClearedCall { view: call.view.clone(), replaced: None, fused: false }
}

fn mint() -> toolfall_layers::ExecutionToken {
    toolfall_layers::ExecutionToken::mint()
}

fn copy(call: &ClearedCall) -> ClearedCall {
    call.clone()
}

fn main() {}
