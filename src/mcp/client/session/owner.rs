//! Who keeps a connection, and ends it in order.

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ServerCapabilities, SubscriptionFilter};
use rmcp::service::{Peer, RunningService, ServiceError};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::SessionEvent;
use super::handler::Handler;
use super::watch::Events;
use crate::mcp::client::connector::{Gone, Stop};

/// How long is waited before changes are asked for again.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_AT_MOST: Duration = Duration::from_secs(60);
/// So long the last messages may take.
const LEAVE: Duration = Duration::from_secs(4);
/// So long the last words of a peer that is gone are waited for.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// What there is to keep.
pub(super) struct Kept {
    pub(super) service: RunningService<RoleClient, Handler>,
    pub(super) gone: Option<Gone>,
    pub(super) stop: Stop,
    pub(super) closing: CancellationToken,
    /// Cancelled when the connection is over.
    pub(super) lost: CancellationToken,
    pub(super) events: Events,
}

/// Ready when the connection is over and the peer is gone.
pub(super) async fn own(kept: Kept) {
    let Kept {
        service,
        gone,
        mut stop,
        closing,
        lost,
        events,
    } = kept;
    let cancel = service.cancellation_token();
    let hears = listen(service.peer().clone(), events);
    let left = async {
        match gone.clone() {
            Some(gone) => gone.wait().await,
            None => std::future::pending().await,
        }
        // What it wrote last is still read. Who left its group may hold the
        // pipe for ever.
        sleep(LAST_WORDS).await;
    };
    {
        let ended = service.waiting();
        tokio::pin!(ended);
        let over = tokio::select! {
            _ = &mut ended => true,
            () = closing.cancelled() => false,
            () = left => false,
            () = hears => false,
        };
        if !over {
            cancel.cancel();
            // A panic in there ends the connection as well; a server that
            // does not take its leave is left.
            let _ = timeout(LEAVE, ended).await;
        }
    }
    lost.cancel();
    // Both directions are closed: now the peer can go.
    stop.now();
    if let Some(gone) = gone {
        gone.wait().await;
    }
}

/// Asks a server of the new protocol for news of its tools; an older one
/// tells unasked. Never ready.
async fn listen(peer: Peer<RoleClient>, events: Events) {
    if asks(&peer) {
        let mut pause = AGAIN;
        let mut again = false;
        loop {
            let began = Instant::now();
            match hear(&peer, again, &events).await {
                // The server cannot.
                Err(ServiceError::McpError(error)) => {
                    tracing::debug!(%error, "an MCP server tells no changes");
                    break;
                }
                Err(error) => tracing::debug!(%error, "listening to an MCP server ended"),
                Ok(()) => {}
            }
            if began.elapsed() > AGAIN_AT_MOST {
                pause = AGAIN;
            }
            sleep(pause).await;
            pause = AGAIN_AT_MOST.min(pause * 2);
            again = true;
        }
    }
    std::future::pending::<()>().await;
}

fn asks(peer: &Peer<RoleClient>) -> bool {
    peer.peer_info().is_some_and(|info| {
        let tells = |offered: &ServerCapabilities| {
            offered
                .tools
                .as_ref()
                .is_some_and(|tools| tools.list_changed == Some(true))
        };
        !info.protocol_version.has_initialize() && tells(&info.capabilities)
    })
}

/// Ready when the server tells nothing more. The news themselves are heard
/// where messages come in.
async fn hear(peer: &Peer<RoleClient>, again: bool, events: &Events) -> Result<(), ServiceError> {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut news = peer.listen(filter).await?;
    if again {
        // What changed in the meantime was not told.
        events(SessionEvent::ToolsChanged);
    }
    while news.next().await?.is_some() {}
    Ok(())
}
