//! Servers whose tools join the registry.

mod connector;
mod error;
mod events;
mod generation;
mod http;
mod raw_results;
mod reconnect;
mod server_config;
mod session;
mod source;
#[cfg(unix)]
mod stdio;
mod supervisor;

pub use self::connector::{ConnectError, Connector, Wire};
pub use self::error::{LoadError, StartError};
pub use self::events::{EventKind, ServerEvent};
pub use self::http::{Http, HttpError};
pub use self::reconnect::{Reconnect, ReconnectError};
pub use self::server_config::{ConfigError, McpServer};
pub use self::source::{McpSource, ServerState};
#[cfg(unix)]
pub use self::stdio::Stdio;
