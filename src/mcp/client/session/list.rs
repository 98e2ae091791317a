//! All tools of a server.

use std::sync::Arc;

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use serde_json::Value;
use tokio::time::timeout;

use super::ask::{Refused, ask};
use super::{Inner, SessionError};

/// How much a listing may be.
pub(super) struct Budget {
    pub(super) pages: usize,
    pub(super) tools: usize,
    /// Of all definitions as JSON.
    pub(super) bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            pages: 1_000,
            tools: 20_000,
            bytes: 64 << 20,
        }
    }
}

pub(super) async fn list(inner: &Arc<Inner>, budget: Budget) -> Result<Vec<Value>, SessionError> {
    let limit = inner.options.list_timeout;
    timeout(limit, pages(inner, budget))
        .await
        .unwrap_or(Err(SessionError::TimedOut(limit)))
}

async fn pages(inner: &Arc<Inner>, budget: Budget) -> Result<Vec<Value>, SessionError> {
    let mut tools = Vec::new();
    let mut bytes = 0_usize;
    let mut cursor: Option<String> = None;
    for _ in 0..budget.pages {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let request = match cursor {
            None => ListToolsRequest::default(),
            Some(_) => ListToolsRequest::with_param(params),
        };
        let page = ask(inner, ClientRequest::ListToolsRequest(request))
            .await
            .map_err(|refused| match refused {
                Refused::Closed(how) => SessionError::Closed(how),
                Refused::Protocol { code, message } => SessionError::Protocol { code, message },
                Refused::Malformed(what) => SessionError::Malformed(what),
            })?;
        let (found, next) = page_of(page)?;
        for tool in found {
            bytes = bytes.saturating_add(tool.to_string().len());
            if bytes > budget.bytes {
                let most = budget.bytes;
                return Err(beyond(format!("at most {most} bytes of definitions")));
            }
            if tools.len() == budget.tools {
                return Err(beyond(format!("at most {} tools", budget.tools)));
            }
            tools.push(tool);
        }
        match next {
            None => return Ok(tools),
            next if next == cursor => {
                return Err(SessionError::Malformed(
                    "expected another nextCursor than that of the page before, found it again"
                        .to_owned(),
                ));
            }
            next => cursor = next,
        }
    }
    Err(beyond(format!("at most {} pages", budget.pages)))
}

fn page_of(page: Value) -> Result<(Vec<Value>, Option<String>), SessionError> {
    let malformed = |what: &str| Err(SessionError::Malformed(what.to_owned()));
    let Value::Object(mut page) = page else {
        return malformed("expected a page that is an object");
    };
    let Some(Value::Array(tools)) = page.remove("tools") else {
        return malformed("expected an array at /tools");
    };
    match page.remove("nextCursor") {
        None | Some(Value::Null) => Ok((tools, None)),
        Some(Value::String(next)) => Ok((tools, Some(next))),
        Some(_) => malformed("expected a string at /nextCursor"),
    }
}

fn beyond(most: String) -> SessionError {
    SessionError::Malformed(format!("expected {most}, found more"))
}
