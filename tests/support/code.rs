//! Programs written as closures, and what they run in.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::code::{
    BindingArguments, BindingFuture, CodeConfig, CodeMode, CodeRuntime, Misuse, Namespace,
    RunFailureKind, RunOutcome, RunRequest, RuntimeSlot,
};
use toolfall::registry::Presentation;
use toolfall::{
    Arguments, BoxError, CallRequest, Registration, Registry, Scope, ToolContext, ToolDef, raw_tool,
};

pub type Running = BoxFuture<'static, Result<RunOutcome, Misuse>>;
type Program = dyn Fn(Run) -> Running + Send + Sync;

/// A runtime whose every program is one closure.
#[derive(Clone)]
pub struct Scripted {
    language: String,
    program: Arc<Program>,
    requests: Arc<Mutex<Vec<RunRequest>>>,
}

impl Scripted {
    pub fn new<F, Fut>(program: F) -> Self
    where
        F: Fn(Run) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = RunOutcome> + Send + 'static,
    {
        Self::or_misuse(move |run| {
            let running = program(run);
            async move { Ok(running.await) }
        })
    }

    pub fn or_misuse<F, Fut>(program: F) -> Self
    where
        F: Fn(Run) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RunOutcome, Misuse>> + Send + 'static,
    {
        Self {
            language: "typescript".to_owned(),
            program: Arc::new(move |run| Box::pin(program(run))),
            requests: Arc::default(),
        }
    }

    pub fn language(mut self, language: &str) -> Self {
        language.clone_into(&mut self.language);
        self
    }

    /// What the runtime was asked to run.
    pub fn requests(&self) -> Vec<RunRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl CodeRuntime for Scripted {
    fn language(&self) -> &str {
        &self.language
    }

    fn isolation(&self) -> &'static str {
        "a closure"
    }

    fn run(&self, request: RunRequest) -> BoxFuture<'_, Result<RunOutcome, Misuse>> {
        self.requests.lock().unwrap().push(request.clone());
        (self.program)(Run(request))
    }

    fn dispose(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a program sees.
#[derive(Clone)]
pub struct Run(pub RunRequest);

impl Run {
    fn tools(&self) -> &Namespace {
        &self.0.namespaces[0]
    }

    /// Calls a tool with the JSON `arguments`.
    pub fn call(&self, name: &str, arguments: Value) -> BindingFuture {
        self.call_with(name, Arguments::from_serialize(&arguments).unwrap())
    }

    pub fn call_with(&self, name: &str, arguments: impl Into<BindingArguments>) -> BindingFuture {
        self.tools().binding.call(name, arguments.into())
    }

    pub fn members(&self) -> Vec<String> {
        self.tools().members.clone()
    }

    pub async fn cancelled(&self) {
        self.0.cancel.token().cancelled().await;
    }
}

/// A program that returned `value`.
pub fn returned(value: Value) -> RunOutcome {
    RunOutcome::completed(Vec::new(), Some(value))
}

/// A program that returned nothing.
pub fn ended() -> RunOutcome {
    RunOutcome::completed(Vec::new(), None)
}

/// A program that threw.
pub fn threw(message: &str) -> RunOutcome {
    RunOutcome::failed(Vec::new(), RunFailureKind::Exception, message)
}

/// Code mode over a registry.
pub struct Coded {
    pub registry: Registry,
    pub slot: RuntimeSlot,
    pub mode: CodeMode,
    pub attached: Registration,
}

/// Code mode with everything by default but the presentation.
pub fn coded(registry: Registry, presentation: Presentation, runtime: Scripted) -> Coded {
    coded_by(registry, CodeConfig::presenting(presentation), runtime)
}

/// Code mode that runs so many calls of a program at a time.
pub fn coded_with_limit(registry: Registry, limit: usize, runtime: Scripted) -> Coded {
    let config = CodeConfig::presenting(Presentation::Both);
    let limit = NonZeroUsize::new(limit).unwrap();
    coded_by(registry, config.max_parallel_sub_calls(limit), runtime)
}

fn coded_by(registry: Registry, config: CodeConfig, runtime: Scripted) -> Coded {
    let slot = RuntimeSlot::new();
    slot.mount(runtime).unwrap().keep();
    let mode = CodeMode::new(slot.clone(), config);
    let attached = mode.attach(&registry).unwrap();
    Coded {
        registry,
        slot,
        mode,
        attached,
    }
}

/// A call that runs the one program.
pub fn run_code() -> CallRequest {
    run_code_by(CancellationToken::new())
}

pub fn run_code_by(cancel: CancellationToken) -> CallRequest {
    CallRequest::new("call-1", "run_code", program(), cancel)
}

pub fn run_code_from(scope: &Scope) -> CallRequest {
    run_code().with_scope(scope.clone())
}

pub fn program() -> Arguments {
    Arguments::from_serialize(&json!({"code": "(a closure)", "description": "tries"})).unwrap()
}

/// A tool that notes `enter NAME` and `exit NAME` with its `n`, and sleeps in
/// between as long as `ms` says.
pub fn sleeper(name: &'static str, log: &super::support::Log) -> ToolDef {
    let log = log.clone();
    raw_tool(
        name,
        "Takes its time",
        json!({"type": "object"}),
        move |arguments: Arguments, ctx: ToolContext| {
            let (log, given) = (log.clone(), arguments.value().clone());
            async move {
                let n = &given["n"];
                log.push(format!("enter {name}{n}"));
                let time = Duration::from_millis(given["ms"].as_u64().unwrap_or(0));
                let cancelled = ctx.cancellation().cancelled();
                let end = tokio::select! {
                    () = tokio::time::sleep(time) => "exit",
                    () = cancelled => "cancelled",
                };
                log.push(format!("{end} {name}{n}"));
                Ok::<Value, BoxError>(given)
            }
        },
    )
}
