//! What an MCP server says of a tool, as a tool of the registry.
