//! The pipeline as an MCP server.

mod builder;
mod options;
mod serve;
mod session;
mod shared;

pub use self::builder::PipelineServerBuilder;
pub use self::options::HttpOptions;
pub use self::serve::{PipelineServer, ServeError};
pub use self::session::Session;
