//! A connector whose panics are failures, and whose last peer is known.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::mcp::client::connector::{ConnectError, Connector, Gone, Wire};
use crate::policy::Contained;

/// A connector, with a note of the peer that it connected to last.
pub(super) struct Noted {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) peer: Arc<Mutex<Option<Gone>>>,
}

impl Connector for Noted {
    fn connect(&self) -> BoxFuture<'static, Result<Wire, ConnectError>> {
        let peer = self.peer.clone();
        let connector = self.connector.clone();
        let connecting = async move {
            let wire = connector.connect().await?;
            peer.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(&wire.gone);
            Ok(wire)
        };
        Contained::new(connecting)
            .map(|connected| {
                connected.unwrap_or_else(|panic| {
                    Err(ConnectError::new(format!(
                        "the connector panicked: {panic}"
                    )))
                })
            })
            .boxed()
    }
}
