//! A folder with file tools over it, and calls on behalf of scopes.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use toolfall::workspace::Workspace;
use toolfall::workspace::gate::FileGate;
use toolfall::{CallRequest, Pipeline, Registry, Scope, ToolResult};

/// A token that nobody cancels.
pub fn going() -> CancellationToken {
    CancellationToken::new()
}

/// A folder whose files are changed through a gate.
pub struct Place {
    folder: TempDir,
    pub registry: Registry,
    pub gate: FileGate,
    pub workspace: Workspace,
    pub agent: Scope,
}

impl Place {
    /// With the policy.
    pub fn guarded() -> Self {
        Self::with(FileGate::read_before_edit())
    }

    /// Without any.
    pub fn bare() -> Self {
        Self::with(FileGate::new())
    }

    pub fn with(gate: FileGate) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("root")).expect("a root");
        let workspace = Workspace::open(folder.path().join("root"))
            .expect("it is there")
            .gate(gate.clone());
        let registry = Registry::new();
        for tool in registry.register_all(workspace.tools()).expect("fresh") {
            tool.keep();
        }
        Self {
            folder,
            registry,
            gate,
            workspace,
            agent: Scope::new("agent"),
        }
    }

    /// A path below the root.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("root").join(name)
    }

    /// A path beside the root.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    pub fn holds(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// Everything in the root, hidden files too.
    pub fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.path("")).expect("the root");
        let mut names: Vec<String> = names
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub async fn call_in(
        &self,
        scope: Option<&Scope>,
        name: &'static str,
        arguments: Value,
    ) -> ToolResult {
        let pipeline = Pipeline::builder(self.registry.clone()).build();
        let mut request = CallRequest::new("1", name, arguments.to_string(), going());
        if let Some(scope) = scope {
            request = request.with_scope(scope.clone());
        }
        pipeline.run(request).await
    }

    pub async fn call(&self, name: &'static str, arguments: Value) -> ToolResult {
        self.call_in(Some(&self.agent), name, arguments).await
    }

    pub async fn read(&self, path: &str) -> ToolResult {
        self.call("read_file", json!({"path": path})).await
    }

    pub async fn write(&self, path: &str, text: &str) -> ToolResult {
        let arguments = json!({"path": path, "content": text});
        self.call("write_file", arguments).await
    }

    pub async fn edit(&self, path: &str, old: &str, new: &str) -> ToolResult {
        let arguments = json!({"path": path, "old_text": old, "new_text": new});
        self.call("edit_file", arguments).await
    }
}

/// The code of a failure, or `ok`.
pub fn code(result: &ToolResult) -> String {
    match (result.is_error(), result.code()) {
        (false, _) => "ok".to_owned(),
        (true, code) => code.unwrap_or("none").to_owned(),
    }
}
