//! A world of gated tools, policies and observers for the scheduler's tests.
//!
//! Everything that happens is written down in one list. `pre:a` is the policy
//! of call `a` beginning and `pre:a.` its end; likewise `ask:`, `body:` and
//! `post:`. `done:a` is the notification. What is held waits there until it
//! is let go.

#![allow(dead_code)] // each test file uses a part of it

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolfall::pipeline::BoxPipeline;
use toolfall::scheduler::{BatchReport, Journal};
use toolfall::{
    ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView, ContextMessage,
    Decision, Pipeline, PostDecision, PostRequest, Recorded, Recorder, Registry, Scheduler, Scope,
    ToolContext, ToolDef, ToolResult, raw_tool,
};

#[derive(Clone, Default)]
pub(crate) struct World {
    events: Arc<Mutex<Vec<String>>>,
    gates: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
    pub(crate) registry: Registry,
    pub(crate) cancel: CancellationToken,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

/// What a call's arguments make of it.
fn text<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    arguments[name].as_str()
}

fn arguments_of(call: &CallView) -> Value {
    call.arguments()
        .map_or(Value::Null, |arguments| arguments.value().clone())
}

/// The call's key; of an odd call its id.
pub(crate) fn key(call: &CallView) -> String {
    let arguments = arguments_of(call);
    text(&arguments, "k")
        .unwrap_or(call.id().as_str())
        .to_owned()
}

pub(crate) fn context(from: &str) -> ContextMessage {
    ContextMessage::text("tool", from.to_owned(), format!("context of {from}"))
}

/// Whose context each of the messages is.
pub(crate) fn authors(contexts: &[ContextMessage]) -> Vec<&str> {
    contexts
        .iter()
        .map(|context| &*context.source.name)
        .collect()
}

pub(crate) fn texts(report: &BatchReport) -> Vec<String> {
    report
        .committed
        .iter()
        .map(|call| call.result.text())
        .collect()
}

pub(crate) fn codes(report: &BatchReport) -> Vec<Option<&str>> {
    report
        .committed
        .iter()
        .map(|call| call.result.code())
        .collect()
}

impl World {
    /// A world with the tools `safe` (parallel) and `lone` (exclusive).
    pub(crate) fn new() -> Self {
        let world = Self::default();
        world
            .registry
            .register(world.tool("safe").parallel())
            .unwrap()
            .keep();
        world.registry.register(world.tool("lone")).unwrap().keep();
        world
    }

    pub(crate) fn say(&self, event: impl Into<String>) {
        self.events.lock().unwrap().push(event.into());
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    /// The events that begin with one of `kinds`, in one line.
    pub(crate) fn only(&self, kinds: &[&str]) -> String {
        let events = self.events();
        let chosen: Vec<&str> = events
            .iter()
            .filter(|event| kinds.iter().any(|kind| event.starts_with(kind)))
            .map(String::as_str)
            .collect();
        chosen.join(" ")
    }

    pub(crate) fn bodies(&self) -> String {
        self.only(&["body:"])
    }

    pub(crate) fn has(&self, event: &str) -> bool {
        self.events().iter().any(|seen| seen == event)
    }

    /// Bodies that are open now.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// The most bodies that were open at a time.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    pub(crate) fn hold(&self, place: &str) {
        self.gates
            .lock()
            .unwrap()
            .insert(place.to_owned(), Arc::new(Semaphore::new(0)));
    }

    /// Lets one go that waits at `place`, or will.
    pub(crate) fn release(&self, place: &str) {
        self.gates.lock().unwrap()[place].add_permits(1);
    }

    async fn wait(&self, place: &str) {
        let gate = self.gates.lock().unwrap().get(place).cloned();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
    }

    pub(crate) async fn pass(&self, place: String) {
        self.say(&place);
        self.wait(&place).await;
        self.say(format!("{place}."));
    }

    /// A body that passes its gate and then does what its arguments say.
    pub(crate) fn tool(&self, name: &str) -> ToolDef {
        let world = self.clone();
        raw_tool(
            name.to_owned(),
            "A gated tool",
            json!({"type": "object", "required": ["k"]}),
            move |arguments: Arguments, ctx: ToolContext| {
                let world = world.clone();
                async move { world.body(arguments.value(), &ctx).await }
            },
        )
    }

    pub(crate) async fn body(
        &self,
        arguments: &Value,
        ctx: &ToolContext,
    ) -> Result<Value, BoxError> {
        let _open = Open::new(self);
        let key = text(arguments, "k").unwrap().to_owned();
        self.say(format!("body:{key}"));
        if let Some(name) = text(arguments, "context") {
            ctx.defer_context(context(name));
        }
        if arguments["conclude"] == true {
            ctx.conclude_turn();
        }
        if let Some(ms) = arguments["ms"].as_u64() {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        if arguments["cancels"] == true {
            self.cancel.cancel();
        }
        let gate = format!("body:{key}");
        if arguments["coop"] == true {
            tokio::select! {
                biased;
                () = self.wait(&gate) => {}
                () = ctx.cancellation().cancelled() => {}
            }
        } else {
            self.wait(&gate).await;
        }
        assert!(arguments["panic"] != true, "{key} panicked");
        self.say(format!("body:{key}."));
        match text(arguments, "fail") {
            Some(message) => Err(message.into()),
            None => Ok(key.into()),
        }
    }

    /// The pipeline of this world, with whatever `recorder` records.
    pub(crate) fn pipeline_with(&self, recorder: Arc<dyn Recorder>) -> BoxPipeline {
        let (pre, ask, post, done) = (self.clone(), self.clone(), self.clone(), self.clone());
        Pipeline::builder(self.registry.clone())
            .pre_decision(move |call: CallView| {
                let world = pre.clone();
                async move { world.decide(&call).await }
            })
            .approval(move |request: ApprovalRequest| {
                let world = ask.clone();
                async move {
                    let call = request.call();
                    world.pass(format!("ask:{}", key(call))).await;
                    let arguments = arguments_of(call);
                    ApprovalOutcome::from_wire(text(&arguments, "answer").unwrap_or("allowed-once"))
                }
            })
            .guard(|call: &CallView| {
                let arguments = arguments_of(call);
                text(&arguments, "guard").map(|reason| toolfall::Denial::new(reason.to_owned()))
            })
            .post_execute(move |request: PostRequest| {
                let world = post.clone();
                async move {
                    let key = key(request.call());
                    world.pass(format!("post:{key}")).await;
                    let arguments = arguments_of(request.call());
                    let decision = PostDecision::accept();
                    match text(&arguments, "post_context") {
                        Some(name) => decision.with_context(context(name)),
                        None => decision,
                    }
                }
            })
            .observer(move |call: &CallView, _: &ToolResult| {
                done.say(format!("done:{}", key(call)));
            })
            .recorder(recorder)
            .build()
            .boxed()
    }

    async fn decide(&self, call: &CallView) -> Result<Decision, BoxError> {
        let key = key(call);
        self.pass(format!("pre:{key}")).await;
        let arguments = arguments_of(call);
        if let Some(error) = text(&arguments, "pre_fails") {
            return Err(error.into());
        }
        Ok(if let Some(reason) = text(&arguments, "deny") {
            Decision::deny(reason.to_owned())
        } else if arguments["ask"] == true {
            Decision::ask("because")
        } else {
            Decision::Allow
        })
    }

    pub(crate) fn journal(&self) -> Arc<Lines> {
        Arc::new(Lines(self.clone()))
    }

    pub(crate) fn scheduler(&self, limit: usize) -> Scheduler<BoxPipeline> {
        let journal = self.journal();
        self.pipeline_with(journal.clone())
            .scheduler()
            .limit(NonZeroUsize::new(limit).unwrap())
            .journal(journal)
    }

    /// A call of `tool` with the key `k` and more arguments; its id is `k`.
    pub(crate) fn call(&self, tool: &str, k: &str, more: Value) -> CallRequest {
        let mut arguments = json!({"k": k});
        if let (Some(arguments), Value::Object(more)) = (arguments.as_object_mut(), more) {
            arguments.extend(more);
        }
        CallRequest::new(
            k.to_owned(),
            tool.to_owned(),
            arguments.to_string(),
            self.cancel.clone(),
        )
        .with_scope(Scope::new("agent"))
    }

    /// One call for each letter.
    pub(crate) fn calls(&self, tool: &str, keys: &str) -> Vec<CallRequest> {
        keys.chars()
            .map(|k| self.call(tool, &k.to_string(), Value::Null))
            .collect()
    }

    /// Runs a batch of this world's token on a task of its own, and lets it
    /// come as far as it comes.
    pub(crate) async fn run(
        &self,
        limit: usize,
        calls: Vec<CallRequest>,
    ) -> JoinHandle<BatchReport> {
        let batch = self.scheduler(limit).batch(calls, self.cancel.clone());
        let run = tokio::spawn(batch.run());
        idle().await;
        run
    }
}

/// Counts an open body, also one that is dropped or panics.
struct Open(World);

impl Open {
    fn new(world: &World) -> Self {
        let now = world.running.fetch_add(1, Ordering::SeqCst) + 1;
        world.most.fetch_max(now, Ordering::SeqCst);
        Self(world.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A journal of lines in the world's list: `call c1`, `started c1`, `result c1`.
pub(crate) struct Lines(World);

impl Recorder for Lines {
    fn call(&self, call: &CallView) -> Recorded {
        self.0.say(format!("call {}", key(call)));
        Recorded::Now(Ok(()))
    }

    fn result(&self, call: &CallView, result: &ToolResult) -> Result<(), BoxError> {
        let _ = result;
        self.0.say(format!("result {}", key(call)));
        Ok(())
    }
}

impl Journal for Lines {
    fn not_started(&self, request: &CallRequest, result: &ToolResult) -> Result<(), BoxError> {
        assert!(result.is_synthetic());
        self.0.say(format!("call {}", request.id()));
        self.0.say(format!("result {}", request.id()));
        Ok(())
    }
}

/// Lets everything run until nothing can without a further push. With the
/// paused clock, sleeping ends only when all tasks are idle.
pub(crate) async fn idle() {
    tokio::time::sleep(Duration::from_nanos(1)).await;
}
