//! The server over HTTP.

mod body;
mod gate;
mod sessions;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::any;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use self::gate::Gate;
use self::sessions::Sessions;
use super::HttpOptions;
use super::handler::Handler;
use super::shared::Shared;
use super::state::Life;

pub(super) fn router(shared: Arc<Shared>, options: HttpOptions) -> axum::Router {
    let life = Life {
        stop: options.shutdown.child_token(),
        end: shared.end.child_token(),
    };
    let sessions = Arc::new(Sessions::new(shared.clone(), life.clone(), &options));
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(options.hosts.clone())
        .with_allowed_origins(options.origins.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(options.body)
        .with_cancellation_token(life.end.clone());
    let gate = Arc::new(Gate::new(&options, life.clone(), sessions.clone()));
    let factory = move || {
        Ok(Handler {
            shared: shared.clone(),
            life: life.clone(),
        })
    };
    let service = StreamableHttpService::new(factory, sessions, config);
    let answer = move |request: Request| {
        let (gate, service) = (gate.clone(), service.clone());
        async move {
            match gate.pass(request).await {
                Ok(request) => service.handle(request).await.map(Body::new),
                Err(refusal) => refusal,
            }
        }
    };
    axum::Router::new().route(&options.path, any(answer))
}

/// An answer of our own, in plain words.
fn refusal(status: http::StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
}
