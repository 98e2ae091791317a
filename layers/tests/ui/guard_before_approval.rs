//! A guard outside the approval, where a grant would come after it.

use std::convert::Infallible;

use toolfall_layers::*;
use tower::{Service, ServiceBuilder, service_fn};

fn pipeline<S>(_: S)
where
    S: Service<CallRequest, Response = ToolResult, Error = Infallible>,
{
}

fn main() {
    let body = service_fn(|call: ClearedCall| async move {
        drop(call);
        Ok::<_, BoxError>(ToolOutcome::failure("no tools"))
    });
    pipeline(
        ServiceBuilder::new()
            .layer(ResultNotifyLayer::new())
            .layer(GuardLayer::new(|_: &CallView| None::<Denial>))
            .layer(ApprovalLayer::unavailable())
            .service(body),
    );
}
