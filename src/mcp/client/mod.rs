//! Servers whose tools join the registry.

mod connector;
mod http;
mod raw_results;
mod session;
#[cfg(unix)]
mod stdio;

pub use self::connector::{ConnectError, Connector, Wire};
pub use self::http::{Http, HttpError};
#[cfg(unix)]
pub use self::stdio::Stdio;
