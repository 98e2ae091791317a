//! Tools whose names and descriptions mean something to a language.
#![allow(dead_code)] // Each test file uses its own part.

use serde_json::json;
use toolfall::sdk::ToolDeclaration;

/// Text that would end a comment, a string, a line or a block, were it not
/// escaped; `!` is in no other text.
pub(crate) const HOSTILE: [&str; 24] = [
    "*/ pwned!(); /*",
    "\"; pwned!(); \"",
    "\"\"\"\n        pwned!()\n        \"\"\"",
    "\\\"\"\"; pwned!()",
    "\\",
    "\"",
    "'''",
    "\nimport pwned!",
    "\r\n    pwned!()",
    "\u{2028}pwned!()",
    "\u{85}pwned!()",
    "\u{c}pwned!()",
    "\0pwned!()",
    "```\n# pwned!\n```",
    "`${pwned!()}`",
    "// pwned!",
    "# pwned!",
    "</script>pwned!",
    "\u{1b}]0;pwned!\u{7}",
    "*\\/pwned!*/",
    "**/pwned!",
    "/** pwned!",
    "{pwned!}",
    "\u{202e}pwned!",
];

/// Each hostile text, and each two of them together, in every place where a
/// text can be.
pub(crate) fn hostile() -> Vec<ToolDeclaration> {
    let mut texts: Vec<String> = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
    for first in HOSTILE {
        texts.extend(HOSTILE.iter().map(|second| format!("{first}{second}")));
    }
    let mut tools = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        let inner = json!({
            "type": "object",
            "properties": {
                "fine": {"type": "string", "description": text},
                "choice": {"enum": [text, format!("{text}{text}")]},
            },
            "required": ["fine"],
            "description": text,
        });
        let schema = json!({
            "type": "object",
            "properties": {text: inner, "plain": inner},
            "required": [text],
            "title": text,
        });
        let name = format!("tool{place}");
        tools.push(ToolDeclaration::new(name, &**text, inner.clone()).output(schema.clone()));
        tools.push(ToolDeclaration::new(&**text, &**text, schema).output(inner));
    }
    tools
}

/// Names that mean something to a language, as tools and as fields.
pub(crate) fn awkward() -> Vec<ToolDeclaration> {
    let names = [
        "Any",
        "Args",
        "Literal",
        "NotRequired",
        "Protocol",
        "Tools",
        "ToolCallError",
        "TypedDict",
        "Awkward",
        "async",
        "bool",
        "class",
        "constructor",
        "dict",
        "float",
        "function",
        "get",
        "import",
        "int",
        "items",
        "keys",
        "list",
        "match",
        "new",
        "print",
        "prototype",
        "readonly",
        "self",
        "static",
        "str",
        "super",
        "then",
        "toString",
        "tools",
        "type",
        "typeof",
        "unknown",
        "yield",
        "zoo",
        "AwkwardArgs",
        "ZooArgs",
        "__proto__",
        "_",
        "$",
        "a$b",
        "\u{e9}t\u{e9}",
        "1",
        "1e3",
        "01",
        "-",
        "JsonValue",
        "Record",
        "Promise",
        "ToolName",
    ];
    let texts = |_: &str| json!({"type": ["string", "boolean", "number", "integer", "null"]});
    let properties: serde_json::Map<_, _> = names
        .iter()
        .map(|name| ((*name).to_owned(), texts(name)))
        .collect();
    let mut tools = Vec::new();
    for name in names {
        let fields: serde_json::Map<_, _> = [name, "str", "list", "zzz"]
            .into_iter()
            .map(|field| {
                (
                    field.to_owned(),
                    json!({"type": "array", "items": {"const": name}}),
                )
            })
            .collect();
        let parameters = json!({"type": "object", "properties": fields});
        let output = json!({"type": "object", "properties": properties.clone()});
        tools.push(ToolDeclaration::new(name, name, parameters).output(output));
    }
    tools
}
