//! A host under load: its tools, what they check, and what is counted.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicIsize, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::host::{Host, OpenScope};
use toolfall::pipeline::BoxPipeline;
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, Denial, Filter, Registration, Scope, ToolContext,
    ToolDef, ToolResult, codes, raw_tool,
};

/// Scopes with this in their name hide `danger` for their whole life.
pub(crate) const MASKED: &str = "masked";
/// Scopes with this in their name have a guard against `guarded` for their
/// whole life.
pub(crate) const GUARDED: &str = "guarded";
/// Tools that are there for everybody, always.
pub(crate) const OPEN: [&str; 4] = ["open_0", "open_1", "open_2", "open_3"];
/// Tools that come and go together.
pub(crate) const PAIR: [&str; 2] = ["pair_a", "pair_b"];

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) calls: AtomicU64,
    pub(crate) results: AtomicU64,
    pub(crate) observed: AtomicU64,
    pub(crate) bodies: AtomicU64,
    pub(crate) unknown: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) scopes: AtomicU64,
    pub(crate) changes: AtomicU64,
    pub(crate) coherent: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Counts how many closures are alive that were registered.
pub(crate) struct Probe(Arc<AtomicIsize>);

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) struct World {
    pub(crate) host: Host,
    pub(crate) pipeline: BoxPipeline,
    pub(crate) counts: Arc<Counts>,
    pub(crate) alive: Arc<AtomicIsize>,
    violations: Arc<Mutex<Vec<String>>>,
    /// Scopes that any task may call from, while others replace them.
    shared: Vec<Mutex<Option<OpenScope>>>,
    /// Taken for reading by whoever changes something, and for writing to see
    /// several views of one moment.
    pub(crate) changing: RwLock<()>,
}

impl World {
    pub(crate) fn new() -> Arc<Self> {
        let host = Host::new();
        let counts = Arc::new(Counts::default());
        let told = counts.clone();
        let observer = move |_: &CallView, _: &ToolResult| add(&told.observed);
        host.observers().register(observer).keep();
        let world = Arc::new(Self {
            pipeline: host.pipeline().build().boxed(),
            host,
            counts,
            alive: Arc::default(),
            violations: Arc::default(),
            shared: (0..3).map(|_| Mutex::new(None)).collect(),
            changing: RwLock::new(()),
        });
        for name in OPEN {
            world
                .host
                .registry()
                .register(world.tool(name, None))
                .unwrap()
                .keep();
        }
        for name in ["danger", "guarded"] {
            world
                .host
                .registry()
                .register(world.tool(name, None))
                .unwrap()
                .keep();
        }
        (0..3).for_each(|place| world.replace(place));
        world
    }

    pub(crate) fn probe(&self) -> Probe {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Probe(self.alive.clone())
    }

    pub(crate) fn expect(&self, holds: bool, what: impl FnOnce() -> String) {
        expect(&self.violations, holds, what);
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        std::mem::take(
            &mut self
                .violations
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// A tool that checks who calls it; `owner` is the scope it is for.
    pub(crate) fn tool(&self, name: &str, owner: Option<&Scope>) -> ToolDef {
        let probe = Arc::new(self.probe());
        let (violations, counts) = (self.violations.clone(), self.counts.clone());
        // An identity alone: a tool must not keep its scope alive.
        let owner = owner.map(Scope::id);
        let body = move |_: Arguments, cx: ToolContext| {
            let held = probe.clone();
            add(&counts.bodies);
            let call = cx.call();
            let forbidden = match call.name() {
                "danger" => Some(MASKED),
                "guarded" => Some(GUARDED),
                _ => None,
            };
            let mut chain = call.scope().into_iter().flat_map(Scope::chain);
            let permitted = match (forbidden, owner) {
                (Some(word), _) => !chain.any(|scope| scope.name().contains(word)),
                (None, Some(owner)) => chain.any(|scope| scope.id() == owner),
                (None, None) => true,
            };
            expect(&violations, permitted, || {
                format!("{} ran for {:?}", call.name(), call.scope())
            });
            async move {
                tokio::task::yield_now().await;
                let _held = held;
                Ok::<Value, BoxError>(Value::String("ran".to_owned()))
            }
        };
        let tool = raw_tool(name.to_owned(), "", json!({"type": "object"}), body);
        // Some overlap in a batch and some are barriers.
        if name.ends_with(['0', '2', 'a']) {
            tool.parallel()
        } else {
            tool
        }
    }

    /// Does something that changes what is registered.
    pub(crate) fn change<T>(&self, change: impl FnOnce() -> T) -> T {
        let _changing = self.changing.read().unwrap_or_else(PoisonError::into_inner);
        add(&self.counts.changes);
        change()
    }

    pub(crate) fn request(&self, id: String, name: String, scope: &Scope) -> CallRequest {
        add(&self.counts.calls);
        CallRequest::new(id, name, "{}", CancellationToken::new()).with_scope(scope.clone())
    }

    pub(crate) fn received(&self, result: &ToolResult) {
        add(&self.counts.results);
        if result.code() == Some(codes::UNKNOWN_TOOL) {
            add(&self.counts.unknown);
        }
    }

    /// Opens a scope that hides `danger` and denies `guarded`, and puts it
    /// where everybody finds it; the one that was there is disposed.
    pub(crate) fn replace(&self, place: usize) {
        let scope = self.host.open(format!("{MASKED} and {GUARDED}"));
        add(&self.counts.scopes);
        let pair = PAIR.map(|name| self.tool(name, Some(scope.scope())));
        let old = self.change(|| {
            scope.restrict(&Filter::deny(["danger"])).unwrap().keep();
            let probe = self.probe();
            let guard = move |call: &CallView| {
                let _ = &probe;
                (call.name() == "guarded").then(|| Denial::new("guarded"))
            };
            scope.guard(guard).keep();
            let pair = self.host.registry().register_all_in(scope.scope(), pair);
            pair.unwrap().into_iter().for_each(Registration::keep);
            self.slot(place).replace(scope)
        });
        self.change(|| drop(old));
    }

    /// A scope nested in one of the shared ones.
    pub(crate) fn visitor(&self, place: usize) -> Scope {
        let shared = self.slot(place);
        let shared = shared.as_ref().expect("only the end takes them away");
        shared.scope().nested("visitor")
    }

    fn slot(&self, place: usize) -> std::sync::MutexGuard<'_, Option<OpenScope>> {
        self.shared[place]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn names(&self, scope: &Scope) -> BTreeSet<String> {
        self.host
            .registry()
            .names(Some(scope))
            .into_iter()
            .collect()
    }

    /// Everything that was registered for good goes too.
    pub(crate) fn tear_down(&self) {
        for place in 0..self.shared.len() {
            drop(self.slot(place).take());
        }
    }
}

fn expect(violations: &Mutex<Vec<String>>, holds: bool, what: impl FnOnce() -> String) {
    if !holds {
        let mut violations = violations.lock().unwrap_or_else(PoisonError::into_inner);
        if violations.len() < 20 {
            violations.push(what());
        }
    }
}

/// Numbers that need not be good.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap_or(0)
    }
}
