//! Runs programs in Python for tests.

#![allow(dead_code, reason = "each test file needs a part of it")]

use std::sync::{Arc, Mutex};

use serde_json::Value;
use toolfall::code::python::PythonRuntime;
use toolfall::code::{
    BindingArguments, BindingFuture, Budgets, CodeRuntime, ErrorClass, Namespace, RunFailureKind,
    RunOutcome, RunRequest,
};

pub(crate) fn python(budgets: &Budgets) -> PythonRuntime {
    let builder = PythonRuntime::builder().budgets(budgets.clone());
    builder.build().expect("there is a Python")
}

/// `tools.echo`, which keeps what it was called with, and `tools.fail`.
pub(crate) fn tools(seen: &Arc<Mutex<Vec<Value>>>) -> Namespace {
    let seen = Arc::clone(seen);
    Namespace {
        global: "tools".to_owned(),
        members: vec!["echo".to_owned(), "fail".to_owned()],
        error_class: Some(ErrorClass {
            name: "ToolCallError".to_owned(),
            member_property: "toolName".to_owned(),
        }),
        binding: Arc::new(
            move |member: &str, arguments: BindingArguments| -> BindingFuture {
                let BindingArguments::Kept(arguments) = arguments else {
                    return Box::pin(async { Err("nothing".to_owned()) });
                };
                let value = arguments.value().clone();
                seen.lock().unwrap().push(value.clone());
                let fails = member == "fail";
                Box::pin(async move {
                    if fails {
                        Err("no".to_owned())
                    } else {
                        Ok(value)
                    }
                })
            },
        ),
    }
}

pub(crate) async fn run(program: &str) -> RunOutcome {
    run_with(&Budgets::default(), program).await
}

pub(crate) async fn run_with(budgets: &Budgets, program: &str) -> RunOutcome {
    let seen = Arc::default();
    let request = RunRequest::new(program).namespace(tools(&seen));
    python(budgets).run(request).await.unwrap()
}

pub(crate) fn kind(outcome: &RunOutcome) -> Option<RunFailureKind> {
    outcome.error.as_ref().map(|error| error.kind)
}

pub(crate) fn message(outcome: &RunOutcome) -> &str {
    outcome.error.as_ref().map_or("", |error| &error.message)
}

/// Python functions that write to every descriptor there may be.
pub(crate) const FORGE: &str = r#"
import os, json
def forge(*lines):
    for line in lines:
        if not isinstance(line, str): line = json.dumps(line)
        for fd in range(3, 16):
            try: os.write(fd, line.encode() + b"\n")
            except OSError: pass
"#;

pub(crate) fn forging(program: &str) -> String {
    format!("{FORGE}{program}")
}
