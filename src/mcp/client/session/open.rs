//! The beginning of a connection.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::Transport;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::ask::{refusal, unsent, whole};
use super::handler::Handler;
use super::owner::{Kept, own};
use super::watch::Watched;
use super::{Endpoint, Inner, Session, SessionEvent, SessionOptions};
use crate::mcp::client::connector::{ConnectError, Gone, Stop, Wire};
use crate::mcp::lines::{LONGEST, Lines, Report};

pub(super) async fn open(
    endpoint: &Endpoint,
    options: &SessionOptions,
) -> Result<Session, ConnectError> {
    let limit = options.connect_timeout;
    let deadline = Instant::now()
        .checked_add(limit)
        .unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400 * 365));
    let events = options.events.clone();
    match endpoint {
        Endpoint::Wire(connector) => {
            let Wire {
                reader,
                writer,
                gone,
                stop,
            } = timeout_at(deadline, connector.connect())
                .await
                .unwrap_or_else(|_| Err(late(limit)))?;
            let heard = events.clone();
            let report: Report = Arc::new(move |what| heard(SessionEvent::Garbage(what)));
            let lines = Lines::<RoleClient>::new(reader, writer, LONGEST, report);
            begin(
                Watched::new(lines, None, events),
                gone,
                stop,
                deadline,
                options,
            )
            .await
        }
        Endpoint::Http(http) => {
            let renewed = events.clone();
            let (transport, raw) = http.transport(Arc::new(move || {
                renewed(SessionEvent::ToolsChanged);
            }))?;
            let watched = Watched::new(transport, Some(raw), events);
            begin(watched, None, Stop::nothing(), deadline, options).await
        }
    }
}

async fn begin<T>(
    transport: Watched<T>,
    gone: Option<Gone>,
    mut stop: Stop,
    deadline: Instant,
    options: &SessionOptions,
) -> Result<Session, ConnectError>
where
    T: Transport<RoleClient> + 'static,
    Watched<T>: Transport<RoleClient, Error = T::Error>,
{
    let introduced = {
        let lifecycle = if options.legacy {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            }
        };
        let serving = serve_client_with_lifecycle_and_ct(
            Handler::new(),
            transport,
            lifecycle,
            CancellationToken::new(),
        );
        let span = tracing::info_span!("mcp", server = options.server);
        timeout_at(deadline, serving.instrument(span)).await
    };
    let error = match introduced {
        Ok(Ok(service)) => return Ok(keep(service, gone, stop, options)),
        Ok(Err(error)) => failed(&error),
        Err(_) => late(options.connect_timeout),
    };
    // The pipes are closed: the peer can go, and the next one waits for that.
    stop.now();
    Err(match gone {
        Some(gone) => error.until(gone.wait()),
        None => error,
    })
}

fn keep(
    service: RunningService<RoleClient, Handler>,
    gone: Option<Gone>,
    stop: Stop,
    options: &SessionOptions,
) -> Session {
    let peer = service.peer().clone();
    let closing = CancellationToken::new();
    let lost = CancellationToken::new();
    let (over, is_over) = oneshot::channel::<()>();
    let kept = Kept {
        service,
        gone,
        stop,
        closing: closing.clone(),
        lost: lost.clone(),
        events: options.events.clone(),
    };
    let is_lost = lost.clone().drop_guard();
    tokio::spawn(async move {
        let _is_lost = is_lost;
        own(kept).await;
        drop(over);
    });
    let inner = Inner {
        peer,
        options: options.clone(),
        runtime: tokio::runtime::Handle::current(),
        lost,
        gone: Gone::new(async move {
            let _ = is_over.await;
        }),
        _last: closing.clone().drop_guard(),
        closing,
    };
    Session {
        inner: Arc::new(inner),
    }
}

fn late(limit: Duration) -> ConnectError {
    ConnectError::new(format!(
        "expected the MCP server to introduce itself within {} ms, found no answer",
        limit.as_millis()
    ))
}

fn failed(error: &ClientInitializeError) -> ConnectError {
    let message = if error.is_authorization_required() {
        "the MCP server asks for authorization"
    } else {
        "the MCP server did not introduce itself"
    };
    // What the older way came to says more than that both ways failed.
    let cause = match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => fallback,
        other => other,
    };
    ConnectError::new(message).because(match cause {
        ClientInitializeError::TransportError { error, .. } => unsent(error).1,
        ClientInitializeError::JsonRpcError(error) => refusal(error),
        // What came instead may be long.
        ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ExpectedInitResponse(_) => {
            "expected the server's introduction, found another result".to_owned()
        }
        other => whole(other),
    })
}
