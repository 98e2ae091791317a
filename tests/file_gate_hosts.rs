//! The gate below a host's own tools, and in several workspaces.

#[path = "support/files.rs"]
mod support;

use std::fs;

use serde_json::{Value, json};
use support::{Place, code, going};
use toolfall::workspace::{Edit, Workspace};
use toolfall::{BoxError, Pipeline, Registry, ToolContext, ToolDef, raw_tool};

/// An editor with one tool for everything, as a host may write it.
fn editor(workspace: &Workspace) -> ToolDef {
    let workspace = workspace.clone();
    let parameters = json!({"type": "object"});
    raw_tool(
        "editor",
        "Views and changes files",
        parameters,
        move |arguments, ctx: ToolContext| {
            let files = workspace.files(ctx.call());
            let cancelled = ctx.cancellation().clone();
            let done = tokio::task::spawn_blocking(move || {
                let value = arguments.value();
                let text = |name: &str| value[name].as_str().unwrap_or_default();
                match text("command") {
                    "view" => Ok(files.read(text("path"), &cancelled)?.text),
                    "create" => files
                        .write(text("path"), text("text"), &cancelled)
                        .map(|_| "created".to_owned()),
                    "insert" => {
                        let before = files.read(text("path"), &cancelled)?.text;
                        let after = format!("{}{before}", text("text"));
                        files
                            .write(text("path"), &after, &cancelled)
                            .map(|_| "inserted".to_owned())
                    }
                    _ => {
                        let edit = Edit::new(text("old"), text("new"));
                        files
                            .edit(text("path"), &edit, &cancelled)
                            .map(|_| "replaced".to_owned())
                    }
                }
            });
            async move {
                match done.await? {
                    Ok(text) => Ok(Value::String(text)),
                    Err(error) => {
                        let code = error.code().to_owned();
                        let error = toolfall::CodedError::new("Editor", code, error.to_string());
                        Err(BoxError::from(error))
                    }
                }
            }
        },
    )
}

/// With an editor built on [`Workspace::files`], beside the usual tools.
///
/// conformance: FSGATE-36
#[tokio::test]
async fn a_hosts_own_editor_goes_through_the_same_gate() {
    let place = Place::guarded();
    let _editor = place.registry.register(editor(&place.workspace)).unwrap();
    let call = |arguments: Value| place.call("editor", arguments);
    let view = || call(json!({"command": "view", "path": "a"}));
    let create = |text: &str| call(json!({"command": "create", "path": "a", "text": text}));
    let replace = |old: &str, new: &str| {
        call(json!({"command": "str_replace", "path": "a", "old": old, "new": new}))
    };
    place.put("a", "one");
    assert_eq!(code(&create("two").await), "FS_NOT_OBSERVED");
    assert_eq!(code(&replace("one", "two").await), "FS_NOT_OBSERVED");
    assert_eq!(code(&view().await), "ok");
    assert_eq!(code(&replace("one", "two").await), "ok");
    assert_eq!(code(&place.edit("a", "two", "three").await), "ok");
    let insert = call(json!({"command": "insert", "path": "a", "text": "0 "})).await;
    assert_eq!(code(&insert), "ok");
    assert_eq!(place.holds("a").as_deref(), Some("0 three"));
    fs::remove_file(place.path("a")).unwrap();
    assert_eq!(code(&create("again").await), "FS_STALE_VERSION");
    assert_eq!(code(&view().await), "FS_NOT_FOUND");
    assert_eq!(code(&replace("one", "two").await), "FS_NOT_FOUND");
    assert_eq!(code(&create("again").await), "ok");
    assert_eq!(place.holds("a").as_deref(), Some("again"));
}

/// conformance: FSGATE-38
#[tokio::test]
async fn there_is_one_workspace_at_a_time() {
    let (first, second) = (Place::guarded(), Place::guarded());
    first.put("a", "of the first");
    second.put("a", "of the second");
    let registry = Registry::new();
    let mounted = registry.register_all(first.workspace.tools()).unwrap();
    let rejected = registry.register_all(second.workspace.tools());
    assert!(rejected.is_err(), "the names are taken");
    let pipeline = Pipeline::builder(registry.clone()).build();
    let read = || pipeline.call("1", "read_file", r#"{"path":"a"}"#, going());
    assert_eq!(read().await.text(), "1\tof the first");
    drop(mounted);
    assert_eq!(code(&read().await), "UNKNOWN_TOOL");
    let _mounted = registry.register_all(second.workspace.tools()).unwrap();
    assert_eq!(read().await.text(), "1\tof the second");
}

/// conformance: FSGATE-30
#[tokio::test]
async fn a_relative_path_means_the_agents_own_workspace() {
    let place = Place::guarded();
    place.put("a", "of the host");
    fs::create_dir(place.path("sub")).unwrap();
    place.put("sub/a", "of the agent");
    let own = Workspace::open(place.path("sub")).unwrap();
    let tools = own.gate(place.gate.clone()).tools();
    let _own = place.registry.register_all_in(&place.agent, tools).unwrap();
    assert_eq!(place.read("a").await.text(), "1\tof the agent");
    assert_eq!(code(&place.edit("a", "agent", "helper").await), "ok");
    assert_eq!(place.holds("sub/a").as_deref(), Some("of the helper"));
    assert_eq!(place.holds("a").as_deref(), Some("of the host"));
}
