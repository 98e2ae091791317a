//! A finalizer answers at once, and has a say in the content alone.

use std::sync::Arc;

use toolfall_layers::{CallView, ContentBlock, Definition, ToolOutcome};

fn wash(tool: &dyn Definition, call: &CallView, outcome: &ToolOutcome) -> ToolOutcome {
    tool.finalize(call, outcome).unwrap().unwrap()
}

async fn wait(tool: Arc<dyn Definition>, call: CallView, outcome: ToolOutcome) -> Vec<ContentBlock> {
    tool.finalize(&call, &outcome).await.unwrap().unwrap()
}

fn main() {}
