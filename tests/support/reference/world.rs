//! What the parts of one scenario share: the clock, the trace, everything
//! that effects may change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolfall::policy::{ListenerRegistration, Waterfall};
use toolfall::{
    Arguments, BoxError, CallView, CodedError, ContextMessage, Decision, Filter, GuardList,
    GuardRegistration, PostDecision, PostRequest, Registration, Registry, Scope,
};

use super::scenario::{Effect, ErrorSpec, RestrictionSpec, Run, Scenario};

pub(crate) struct World {
    pub(crate) registry: Registry,
    pub(crate) pre: Waterfall<CallView, Decision>,
    pub(crate) post: Waterfall<PostRequest, PostDecision>,
    pub(crate) guards: GuardList,
    /// Whether tools are declared repeatable: a retry needs them to be.
    pub(crate) repeatable: bool,
    batch: bool,
    scopes: HashMap<String, Scope>,
    state: Mutex<State>,
}

struct State {
    start: Instant,
    events: Vec<Value>,
    /// The call that plays, where calls play one after another.
    current: Option<String>,
    token: CancellationToken,
    attempts: HashMap<String, u64>,
    tools: HashMap<(Option<String>, String), Registration>,
    kept: HashMap<String, Kept>,
}

/// A registration that may be lifted by its id.
#[allow(dead_code, reason = "kept only to be dropped")]
pub(crate) enum Kept {
    Guard(GuardRegistration),
    Mask(Registration),
    Listener(ListenerRegistration),
}

impl World {
    pub(crate) fn new(scenario: &Scenario) -> Arc<Self> {
        let mut scopes: HashMap<String, Scope> = HashMap::new();
        for spec in &scenario.scopes {
            let scope = match &spec.parent {
                Some(parent) => scopes[parent].nested(spec.name.as_str()),
                None => Scope::new(spec.name.as_str()),
            };
            scopes.insert(spec.name.clone(), scope);
        }
        let retries = |spec: &super::scenario::AroundSpec| {
            spec.kind == super::scenario::AroundKind::RetryOnce
        };
        Arc::new(Self {
            registry: Registry::new(),
            pre: Waterfall::new(Decision::Allow),
            post: Waterfall::new(PostDecision::accept()),
            guards: GuardList::new(),
            repeatable: scenario.around.iter().any(retries),
            batch: scenario.run == Run::Batch,
            scopes,
            state: Mutex::new(State {
                start: Instant::now(),
                events: Vec::new(),
                current: None,
                token: CancellationToken::new(),
                attempts: HashMap::new(),
                tools: HashMap::new(),
                kept: HashMap::new(),
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn scope(&self, name: &str) -> Scope {
        self.scopes[name].clone()
    }

    /// Whether a listener for `scope` hears `call`.
    pub(crate) fn hears(&self, scope: Option<&String>, call: &CallView) -> bool {
        let Some(wanted) = scope.map(|name| self.scope(name)) else {
            return true;
        };
        call.scope()
            .is_some_and(|scope| scope.chain().any(|scope| *scope == wanted))
    }

    /// Starts the clock for a call, or for the batch (`None`).
    pub(crate) fn begin(&self, call: Option<&str>) -> CancellationToken {
        let mut state = self.state();
        state.start = Instant::now();
        state.current = call.map(str::to_owned);
        state.token = CancellationToken::new();
        state.token.clone()
    }

    pub(crate) fn event(&self, call: Option<&str>, ev: &str, fields: Value) {
        let mut state = self.state();
        let t = Instant::now().duration_since(state.start);
        let mut event = Map::new();
        event.insert("t".into(), json!(u64::try_from(t.as_millis()).unwrap()));
        if let Some(call) = call {
            event.insert("call".into(), json!(call));
        }
        event.insert("ev".into(), json!(ev));
        if let Value::Object(fields) = fields {
            event.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
        state.events.push(Value::Object(event));
    }

    pub(crate) fn take_events(&self) -> Vec<Value> {
        std::mem::take(&mut self.state().events)
    }

    /// Cancels the caller's token; only the first time counts.
    pub(crate) fn cancel(&self) {
        let (token, call) = {
            let state = self.state();
            (state.token.clone(), state.current.clone())
        };
        if !token.is_cancelled() {
            self.event(call.as_deref().filter(|_| !self.batch), "cancel", json!({}));
            token.cancel();
        }
    }

    /// Counts an entry into the body of `call`.
    pub(crate) fn attempt(&self, call: &str) -> u64 {
        let mut state = self.state();
        let attempt = state.attempts.entry(call.to_owned()).or_default();
        *attempt += 1;
        *attempt
    }

    pub(crate) fn keep(&self, id: &str, kept: Kept) {
        self.state().kept.insert(id.to_owned(), kept);
    }

    pub(crate) fn register(self: &Arc<Self>, tool: &super::scenario::ToolSpec) {
        let definition = super::tools::tool(self, tool);
        let registration = match &tool.scope {
            None => self.registry.register(definition),
            Some(scope) => self.registry.register_in(&self.scopes[scope], definition),
        };
        let registration = registration.expect("scenarios register what can be registered");
        let key = (tool.scope.clone(), tool.name.clone());
        let old = self.state().tools.insert(key, registration);
        assert!(old.is_none(), "a scenario registered a name twice");
    }

    pub(crate) fn restrict(&self, spec: &RestrictionSpec) {
        let filter = match &spec.allow {
            Some(allow) => Filter::allow(allow).and_deny(&spec.deny),
            None => Filter::deny(&spec.deny),
        };
        let scope = &self.scopes[&spec.scope];
        let mask = self.registry.restrict(scope, &filter);
        let mask = mask.expect("scenarios restrict what can be restricted");
        match &spec.id {
            Some(id) => self.keep(id, Kept::Mask(mask)),
            None => mask.keep(),
        }
    }

    fn unregister(&self, name: &str, scope: Option<&String>) {
        let key = (scope.cloned(), name.to_owned());
        let old = self.state().tools.remove(&key);
        drop(old);
    }

    pub(crate) fn carry_out(self: &Arc<Self>, effects: &[Effect]) {
        for effect in effects {
            if effect.cancel {
                self.cancel();
            }
            if let Some(name) = &effect.unregister {
                self.unregister(name, effect.scope.as_ref());
            }
            if let Some(tool) = &effect.register {
                self.register(tool);
            }
            if let Some(tool) = &effect.replace {
                self.unregister(&tool.name, tool.scope.as_ref());
                self.register(tool);
            }
            if let Some(guard) = &effect.guard {
                super::guards::register(self, guard);
            }
            if let Some(pre) = &effect.pre {
                super::listeners::register_pre(self, pre);
            }
            if let Some(id) = &effect.lift {
                let lifted = self.state().kept.remove(id);
                assert!(lifted.is_some(), "a scenario lifted what is not there");
            }
        }
    }
}

/// Waits, ignoring cancellation.
pub(crate) async fn wait(ms: Option<u64>) {
    if let Some(ms) = ms.filter(|ms| *ms > 0) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

/// Whether `name` is what `tools` says: a name, a prefix and `*`, or all.
pub(crate) fn matches(tools: Option<&String>, name: &str) -> bool {
    match tools {
        None => true,
        Some(tools) => match tools.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == tools,
        },
    }
}

pub(crate) fn error(spec: &ErrorSpec) -> BoxError {
    match (&spec.name, &spec.code) {
        (Some(name), Some(code)) => {
            CodedError::new(name.clone(), code.clone(), spec.message.clone()).into()
        }
        _ => spec.message.clone().into(),
    }
}

/// Fills a template in.
pub(crate) fn fill(template: &str, call: &CallView, value: Option<&Value>) -> String {
    let mut text = template.replace("{call}", call.id().as_str());
    if let Some(value) = value {
        text = text.replace("{value}", &plain(value));
    }
    if let Some(Value::Object(arguments)) = call.arguments().map(Arguments::value) {
        for (name, value) in arguments {
            text = text.replace(&format!("{{arg.{name}}}"), &plain(value));
        }
    }
    text
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(crate) fn context(template: &str, call: &CallView) -> ContextMessage {
    ContextMessage::text("plugin", "scenario", fill(template, call, None))
}
