//! A finalizer has a say in the content and in nothing else.

use toolfall::{ToolDef, ToolOutcome};

fn wash(tool: ToolDef) -> ToolDef {
    tool.finalizer(|_, _| Ok(ToolOutcome::success("all is well")))
}

fn main() {}
