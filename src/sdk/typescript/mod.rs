//! Tools declared in TypeScript.
//!
//! ```
//! use serde_json::json;
//! use toolfall::sdk::typescript::type_of;
//!
//! let schema = json!({"type": "array", "items": {"enum": ["x", "y"]}});
//! assert_eq!(type_of(&schema), r#"("x" | "y")[]"#);
//! assert_eq!(type_of(&json!({"type": "tuple"})), "unknown");
//! ```

mod types;

use std::fmt::Write as _;

use serde_json::Value;

use self::types::{comment, key, type_at};
use super::ToolDeclaration;
use super::declaration::sorted;

/// The TypeScript type of what `schema` describes.
///
/// An object with properties is written on several lines. Never fails:
/// `unknown` stands for what is no JSON Schema or refers to what is not in
/// it, and `JsonValue` for what leads back to itself or is deeper than 180
/// lists and objects. What a type cannot say, as the length of a text, is
/// left out, so the type allows at least what the schema does.
pub fn type_of(schema: &Value) -> String {
    type_at(schema, 0)
}

/// What a program finds declared.
pub(super) fn declarations(tools: &[ToolDeclaration]) -> String {
    let tools = sorted(tools);
    let (mut arguments, mut outputs) = (String::new(), String::new());
    for tool in tools {
        let key = key(&tool.name);
        comment(&tool.description, 1, &mut arguments);
        let _ = writeln!(arguments, "  {key}: {};", type_at(&tool.parameters, 1));
        let output = tool.output.as_ref().map(|schema| type_at(schema, 1));
        let output = output.as_deref().unwrap_or("JsonValue");
        let _ = writeln!(outputs, "  {key}: {output};");
    }
    let (arguments, outputs) = (braced(&arguments), braced(&outputs));
    format!(
        "type JsonValue = null | boolean | number | string | JsonValue[] | {{ [key: string]: JsonValue }};

interface ToolArgsMap {arguments}

interface ToolOutputMap {outputs}

type ToolName = keyof ToolOutputMap;

declare class ToolCallError extends Error {{
  readonly toolName: ToolName;
}}

declare const tools: {{
  [K in ToolName]: (args: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>;
}};
"
    )
}

fn braced(lines: &str) -> String {
    if lines.is_empty() {
        "{}".to_owned()
    } else {
        format!("{{\n{lines}}}")
    }
}
