//! A finalizer answers at once.

use toolfall::{BoxError, ContentBlock, ToolDef};

fn slow(tool: ToolDef) -> ToolDef {
    tool.finalizer(|_, _| async { Ok::<Option<Vec<ContentBlock>>, BoxError>(None) })
}

fn main() {}
