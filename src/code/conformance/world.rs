//! What the cases' programs may call.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::code::{Binding, BindingArguments, BindingFuture, ErrorClass, Namespace, RunRequest};

/// The functions of every namespace.
struct World;

const MEMBERS: [&str; 9] = [
    "echo",
    "fail",
    "wait",
    "never",
    "negative_zero",
    "deep",
    "panic",
    "__proto__",
    "constructor",
];

impl Binding for World {
    fn call(&self, member: &str, arguments: BindingArguments) -> BindingFuture {
        let member = member.to_owned();
        Box::pin(async move {
            let value = match arguments {
                BindingArguments::Kept(arguments) => arguments.value().clone(),
                BindingArguments::Missing => Value::Null,
                BindingArguments::Refused(error) => return Err(error.to_string()),
            };
            match member.as_str() {
                "echo" => Ok(value),
                "fail" => Err("deliberate failure".to_owned()),
                "wait" => {
                    let millis = value["ms"].as_u64().unwrap_or(0);
                    sleep(Duration::from_millis(millis)).await;
                    Ok(json!(millis))
                }
                "never" => pending().await,
                "negative_zero" => Ok(json!({"n": [-0.0]})),
                "deep" => Ok((0..500).fold(json!(0), |value, _| json!([value]))),
                "panic" => {
                    // Without a message on standard error: this is a test.
                    std::panic::resume_unwind(Box::new("deliberate panic"))
                }
                name => Ok(json!(name)),
            }
        })
    }
}

/// Binds `tools` and `helpers`, each with a class of its own, and `plain`.
pub(super) fn bind(request: RunRequest) -> RunRequest {
    let namespace = |global: &str, class: Option<(&str, &str)>| Namespace {
        global: global.to_owned(),
        members: MEMBERS.map(str::to_owned).to_vec(),
        error_class: class.map(|(name, property)| ErrorClass {
            name: name.to_owned(),
            member_property: property.to_owned(),
        }),
        binding: Arc::new(World),
    };
    request
        .namespace(namespace("tools", Some(("ToolCallError", "toolName"))))
        .namespace(namespace(
            "helpers",
            Some(("HelperCallError", "helperName")),
        ))
        .namespace(namespace("plain", None))
}
