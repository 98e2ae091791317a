//! What the two roles read each in their own way.

use rmcp::model::RequestId;
use rmcp::service::{ServiceRole, TxJsonRpcMessage};
use serde_json::value::RawValue;

/// A role that speaks in lines.
pub(crate) trait LineRole: ServiceRole {
    /// What is remembered of the messages sent.
    type Sent: Default + Send;

    /// Sees every message before it is sent.
    fn sent(_sent: &mut Self::Sent, _message: &TxJsonRpcMessage<Self>) {}

    /// Reads the result of the request `id`.
    fn result(
        _sent: &mut Self::Sent,
        _id: &RequestId,
        text: &str,
    ) -> serde_json::Result<Self::PeerResp> {
        serde_json::from_str(text)
    }

    /// Reads a request out of its `line`.
    fn request(
        _method: &str,
        line: &[u8],
        _params: Option<&RawValue>,
    ) -> serde_json::Result<Self::PeerReq> {
        serde_json::from_slice(line)
    }
}

#[cfg(feature = "mcp-client")]
mod client {
    use std::collections::HashSet;

    use rmcp::RoleClient;
    use rmcp::model::{
        ClientNotification, ClientRequest, CustomResult, JsonRpcMessage, NumberOrString, RequestId,
        ServerResult,
    };
    use rmcp::service::TxJsonRpcMessage;

    use super::LineRole;

    impl LineRole for RoleClient {
        /// The requests whose results are kept as they are written.
        type Sent = HashSet<RequestId>;

        fn sent(sent: &mut Self::Sent, message: &TxJsonRpcMessage<Self>) {
            match message {
                JsonRpcMessage::Request(request) if is_kept(&request.request) => {
                    sent.insert(request.id.clone());
                }
                JsonRpcMessage::Notification(notification) => {
                    if let ClientNotification::CancelledNotification(cancelled) =
                        &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        sent.remove(id);
                    }
                }
                _ => {}
            }
        }

        fn result(
            sent: &mut Self::Sent,
            id: &RequestId,
            text: &str,
        ) -> serde_json::Result<ServerResult> {
            if sent.remove(id) || number(id).is_some_and(|id| sent.remove(&id)) {
                let value = serde_json::from_str(text)?;
                return Ok(ServerResult::CustomResult(CustomResult::new(value)));
            }
            serde_json::from_str(text)
        }
    }

    fn is_kept(request: &ClientRequest) -> bool {
        matches!(
            request,
            ClientRequest::CallToolRequest(_) | ClientRequest::ListToolsRequest(_)
        )
    }

    /// Some servers send the id back as text.
    pub(crate) fn number(id: &RequestId) -> Option<RequestId> {
        match id {
            NumberOrString::String(text) => text.parse().ok().map(NumberOrString::Number),
            NumberOrString::Number(_) => None,
        }
    }
}
#[cfg(feature = "mcp-client")]
pub(crate) use self::client::number;

#[cfg(feature = "mcp-server")]
mod server {
    use std::borrow::Cow;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use rmcp::RoleServer;
    use rmcp::model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, RequestMetaObject,
    };
    use serde::Deserialize;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::super::decode::{Envelope, present};
    use super::LineRole;

    /// The arguments of a call, as the client wrote them: nothing rounded,
    /// nothing dropped. Rides in the extensions of the request; not there if
    /// the client sent none.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct RawArguments(pub(crate) Arc<str>);

    /// The params of `tools/call`, the arguments unread.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        #[serde(rename = "_meta")]
        meta: Option<JsonObject>,
        name: String,
        #[serde(borrow, default, deserialize_with = "present")]
        arguments: Option<&'a RawValue>,
        input_responses: Option<BTreeMap<String, Value>>,
        request_state: Option<String>,
    }

    /// Reads the arguments of the one `tools/call` request in `body`.
    pub(crate) fn raw_arguments(body: &[u8]) -> Option<RawArguments> {
        #[derive(Deserialize)]
        struct Only<'a> {
            #[serde(borrow, default, deserialize_with = "present")]
            arguments: Option<&'a RawValue>,
        }
        let envelope = serde_json::from_slice::<Envelope<'_>>(body).ok()?;
        if envelope.method.as_deref() != Some("tools/call") {
            return None;
        }
        let params = serde_json::from_str::<Only<'_>>(envelope.params?.get()).ok()?;
        params.arguments.map(kept)
    }

    fn kept(arguments: &RawValue) -> RawArguments {
        RawArguments(Arc::from(arguments.get()))
    }

    impl LineRole for RoleServer {
        type Sent = ();

        /// The typed arguments of a call stay empty: whoever answers it reads
        /// [`RawArguments`].
        fn request(
            method: &str,
            line: &[u8],
            params: Option<&RawValue>,
        ) -> serde_json::Result<ClientRequest> {
            if method != "tools/call" {
                return serde_json::from_slice(line);
            }
            let read: Params<'_> = serde_json::from_str(params.map_or("{}", RawValue::get))?;
            let mut params = CallToolRequestParams::new(Cow::Owned(read.name));
            params.input_responses = read.input_responses;
            params.request_state = read.request_state;
            let mut request = CallToolRequest::new(params);
            if let Some(meta) = read.meta {
                request.extensions.insert(RequestMetaObject::from(meta));
            }
            if let Some(arguments) = read.arguments {
                request.extensions.insert(kept(arguments));
            }
            Ok(ClientRequest::CallToolRequest(request))
        }
    }
}
#[cfg(feature = "mcp-server")]
pub(crate) use self::server::{RawArguments, raw_arguments};
