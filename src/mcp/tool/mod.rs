//! What an MCP server says of a tool, as a tool of the registry.

mod answer;
mod body;
mod call;
mod content;
mod digest;
mod failure;
mod hints;
mod images;
mod mcp_tool;
mod name;
mod options;
mod output;
mod quarantine;

pub use self::answer::AnswerMeta;
pub use self::call::{CallFailure, Caller, RawCall, RawProgress};
pub use self::images::{ImageModel, ImageStore, ImageStoreError, Images, NewImage, StoredImage};
pub use self::mcp_tool::McpTool;
pub use self::name::public_name;
pub use self::options::ToolOptions;
pub use self::quarantine::Quarantine;
