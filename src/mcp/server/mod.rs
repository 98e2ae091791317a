//! The pipeline as an MCP server.
