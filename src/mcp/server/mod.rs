//! The pipeline as an MCP server.

mod answer;
mod builder;
mod calls;
mod handler;
mod http;
mod listing;
mod notices;
mod options;
mod parked;
mod questions;
mod running;
mod serve;
mod session;
mod shared;
mod state;
mod transport;

pub use self::builder::PipelineServerBuilder;
pub use self::options::HttpOptions;
pub use self::serve::{PipelineServer, ServeError};
pub use self::session::Session;
