//! How a model is told of the call that runs a program.
//!
//! ```
//! use toolfall::sdk::{Language, run_code};
//!
//! let declared = run_code::declaration(Language::Python);
//! assert_eq!(declared.name, run_code::NAME);
//! assert_eq!(declared.parameters["required"][0], "code");
//! ```

use serde_json::{Value, json};

use super::{Language, LanguageError, ToolDeclaration};

/// What a model calls to run a program. No tool may have this name.
pub const NAME: &str = "run_code";

/// The declaration of [`NAME`] for programs in `language`: what it takes
/// (`code` and `description`, both required), and what it gives: what was
/// printed, and what was returned if something was.
pub fn declaration(language: Language) -> ToolDeclaration {
    let (description, code) = match language {
        Language::TypeScript => (
            "Execute a TypeScript program that calls the declared tools. `code` is the BODY of an \
             async function, with `await` and `return <value>`; only what it returns and prints \
             comes back. `description` says in a few words what the program is for.",
            "The program: the body of an async TypeScript function.",
        ),
        Language::Python => (
            "Execute a Python program that calls the declared tools. `code` is the BODY of an \
             async function, with `await` and `return <value>`; only what it returns and prints \
             comes back. `description` says in a few words what the program is for.",
            "The program: the body of an async Python function.",
        ),
    };
    ToolDeclaration::new(NAME, description, parameters(code)).output(output())
}

/// The [`declaration`] for a runtime that calls its language so; without a
/// runtime, the one for TypeScript.
///
/// # Errors
///
/// [`LanguageError::NoFlavor`] for a language that is not known.
pub fn for_runtime(language: Option<&str>) -> Result<ToolDeclaration, LanguageError> {
    let Some(name) = language else {
        return Ok(declaration(Language::default()));
    };
    let language = Language::named(name).ok_or_else(|| LanguageError::NoFlavor {
        language: name.to_owned(),
    })?;
    Ok(declaration(language))
}

fn parameters(code: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": code},
            "description": {
                "type": "string",
                "description": "What the program is for, in a few words, for who watches.",
            },
        },
        "required": ["code", "description"],
        "additionalProperties": false,
    })
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "logs": {"type": "array", "items": {"type": "string"}},
            "result": {},
        },
        "required": ["logs"],
        "additionalProperties": false,
    })
}
