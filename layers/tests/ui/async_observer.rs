//! Observers are synchronous.

use toolfall_layers::{CallView, ResultNotifyLayer, ToolResult};

fn main() {
    let _ = ResultNotifyLayer::new().observer(|_: &CallView, _: &ToolResult| async {});
}
