//! Programs of the system's, each with everything that it starts.

#[cfg(any(feature = "workspace", feature = "mcp-client"))]
mod environment;
mod group;

#[cfg(any(feature = "workspace", feature = "mcp-client"))]
pub(crate) use self::environment::environment;
pub(crate) use self::group::Group;
