//! The Model Context Protocol, on both sides of the pipeline.
//!
//! Tools of MCP servers join the registry and are called as any tool is;
//! the pipeline serves MCP clients as a server.

#[cfg(feature = "mcp-client")]
pub mod client;
mod lines;
#[cfg(feature = "mcp-server")]
pub mod server;
#[cfg(feature = "mcp-client")]
pub mod tool;
