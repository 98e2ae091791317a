//! What a server may ask of us: nothing, for nothing is offered.
#![expect(
    deprecated,
    reason = "what is deprecated is still asked for, and declined"
)]

use std::future::ready;

use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ListRootsRequestMethod, ListRootsResult,
    ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ErrorData, RoleClient};

/// Declines. What the server tells is heard before it comes here.
pub(super) struct Handler {
    config: ClientConfig,
}

impl Handler {
    pub(super) fn new() -> Self {
        let us = Implementation::new("toolfall", env!("CARGO_PKG_VERSION"));
        let config = ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::V_2025_11_25);
        Self { config }
    }
}

impl ClientHandler for Handler {
    fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<ListRootsResult, ErrorData>> + Send + '_ {
        ready(Err(ErrorData::method_not_found::<ListRootsRequestMethod>()))
    }

    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }
}
