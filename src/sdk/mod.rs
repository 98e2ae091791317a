//! Tools declared to a model that writes programs (feature `code`).
//!
//! Instead of calling tools one by one, a model may write a program in
//! TypeScript or Python that does. [`Sdk`] writes what the model reads for
//! that: how such a program is written, and the tools as declarations with
//! their types. [`run_code`] declares the one call that runs a program.
//!
//! The text depends on the tools alone, to the byte: they are sorted by name
//! in byte order, and nothing depends on the order of a map. An object's
//! required properties come first, as they are listed, then the others by
//! name. Whatever names and descriptions hold, they end neither their
//! comment, nor their string, nor their line. Schemas of any depth take time
//! in proportion to their size, and no recursion.
//!
//! # Example
//!
//! ```
//! use serde_json::json;
//! use toolfall::sdk::{Language, Sdk, ToolDeclaration};
//!
//! let read = ToolDeclaration::new(
//!     "read",
//!     "Reads a file.",
//!     json!({
//!         "type": "object",
//!         "properties": {"path": {"type": "string"}},
//!         "required": ["path"],
//!         "additionalProperties": false,
//!     }),
//! )
//! .output(json!({"type": "array", "items": {"type": "string"}}));
//!
//! let text = Sdk::new(Language::Python).render(&[read.clone()]);
//! assert!(text.contains(
//!     r#"class ReadArgs(TypedDict):
//!     path: str
//!
//! class Tools(Protocol):
//!     async def read(self, args: ReadArgs) -> list[str]:
//!         """Reads a file.""""#
//! ));
//!
//! let text = Sdk::new(Language::TypeScript).declarations(&[read]);
//! assert!(text.contains("  read: string[];"));
//! ```
//!
//! # Versions of Unicode
//!
//! What is an identifier in Python, and how a class is named after a tool in
//! another script, depends on tables: of identifiers and of normalization in
//! Unicode 18 here, and of upper case as the standard library has them, in
//! Unicode 16 at least. A character that is newer than a runtime's own tables
//! may be declared as a name there; it can always be called by its text.

mod declaration;
mod instructions;
mod language;
mod number;
mod prose;
pub mod python;
pub mod run_code;
mod shape;
pub mod typescript;
pub(crate) mod words;

pub use self::declaration::{ToolDeclaration, declarations};
pub use self::language::{Language, LanguageError};

/// Writes what a model reads before it writes programs. See the
/// [module docs](self) for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdk {
    language: Language,
}

impl Sdk {
    /// For programs in `language`.
    pub const fn new(language: Language) -> Self {
        Self { language }
    }

    /// For a runtime that calls its language so.
    ///
    /// # Errors
    ///
    /// [`LanguageError::NoRenderer`] for a language that is not known.
    pub fn for_runtime(language: &str) -> Result<Self, LanguageError> {
        let named = Language::named(language).map(Self::new);
        named.ok_or_else(|| LanguageError::NoRenderer {
            language: language.to_owned(),
        })
    }

    /// The language of the programs.
    pub const fn language(self) -> Language {
        self.language
    }

    /// How a program is written, in words: Markdown, without the tools.
    pub const fn instructions(self) -> &'static str {
        instructions::of(self.language)
    }

    /// The declarations of `tools` as source text that the language's own
    /// checkers take. Of tools with one name the first is declared.
    pub fn declarations(self, tools: &[ToolDeclaration]) -> String {
        match self.language {
            Language::TypeScript => typescript::declarations(tools),
            Language::Python => python::declarations(tools),
        }
    }

    /// The instructions, and the declarations of `tools` in a fenced block.
    pub fn render(self, tools: &[ToolDeclaration]) -> String {
        let (instructions, declarations) = (self.instructions(), self.declarations(tools));
        format!("{instructions}\n```{}\n{declarations}```\n", self.language)
    }
}
