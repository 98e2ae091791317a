//! Tools declared in Python.
//!
//! ```
//! use serde_json::json;
//! use toolfall::sdk::python::type_of;
//!
//! let schema = json!({"type": "array", "items": {"enum": ["x", "y"]}});
//! assert_eq!(type_of(&schema), r#"list[Literal["x", "y"]]"#);
//! assert_eq!(type_of(&json!({"type": "tuple"})), "Any");
//! ```

mod classes;
mod names;
mod types;

use std::fmt::Write as _;

use serde_json::Value;

use self::classes::Declared;
use self::types::{Classes, Used};
use super::declaration::sorted;
use super::shape::{Shapes, read};
use super::{ToolDeclaration, prose};

/// The Python type of what `schema` describes, where no class can be
/// declared: an object with properties is `dict[str, Any]`.
///
/// Never fails: `Any` stands for what is no JSON Schema or refers to what is
/// not in it, for what leads back to itself, and for what lies in more than
/// 180 brackets. What a type cannot say, as the length of a text, is left
/// out, so the type allows at least what the schema does.
pub fn type_of(schema: &Value) -> String {
    let Ok(shapes) = read(schema) else {
        return "Any".to_owned();
    };
    let mut out = String::new();
    let (root, mut used) = ((Shapes::ROOT, 0), Used::default());
    types::write(&shapes, root, "", Classes::None, &mut used, &mut out);
    out
}

/// What a program finds declared.
pub(super) fn declarations(tools: &[ToolDeclaration]) -> String {
    let tools = sorted(tools);
    let names = tools.iter().map(|tool| &*tool.name);
    let methods = names.filter(|name| names::is_method(name));
    let mut declared = Declared::beside(methods.clone());
    let mut members = String::new();
    if methods.count() == 0 {
        // A body of comments alone is none.
        members.push_str("    pass\n");
    }
    for tool in tools.iter().copied() {
        let class = names::of_tool(&tool.name);
        let arguments = declared.position(Some(&tool.parameters), &format!("{class}Args"));
        let output = declared.position(tool.output.as_ref(), &format!("{class}Output"));
        member(tool, &arguments, &output, &mut members);
    }
    let (classes, used) = (declared.classes, declared.used);
    let imports = imports(used, !classes.is_empty());
    format!(
        "from typing import {imports}

class ToolCallError(Exception):
    toolName: str

{classes}class Tools(Protocol):
{members}
tools: Tools
"
    )
}

fn imports(used: Used, typed_dict: bool) -> String {
    let names = [
        (used.any, "Any"),
        (used.literal, "Literal"),
        (used.not_required, "NotRequired"),
        (true, "Protocol"),
        (typed_dict, "TypedDict"),
    ];
    let used = names.into_iter().filter(|(used, _)| *used);
    used.map(|(_, name)| name).collect::<Vec<_>>().join(", ")
}

/// A method; or a comment, where Python has no such name.
fn member(tool: &ToolDeclaration, arguments: &str, output: &str, out: &mut String) {
    let description = prose::one_line(&tool.description);
    if !names::is_method(&tool.name) {
        let name = prose::quoted(&tool.name);
        let _ = writeln!(out, "    # tools[{name}](args: {arguments}) -> {output}");
        if !description.is_empty() {
            let _ = writeln!(out, "    #   {description}");
        }
        return;
    }
    let name = &tool.name;
    let _ = write!(
        out,
        "    async def {name}(self, args: {arguments}) -> {output}:"
    );
    if description.is_empty() {
        out.push_str(" ...\n");
    } else {
        let text = description.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = write!(out, "\n        \"\"\"{text}\"\"\"\n");
    }
}
