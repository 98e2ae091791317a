//! Stores, tools and warnings for the tests of spilled results.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, Once};

use serde_json::Value;
use toolfall::policy::Waterfall;
use toolfall::spill::{
    Saving, Spill, SpillConfig, SpillMount, SpillPolicy, SpillSlot, SpillStore, Spilled,
};
use toolfall::{BoxError, CallView, PostDecision, PostRequest};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

pub const HINT: &str = "Use the stub retrieval path.";

/// What a stub does with a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    Saves,
    Fails,
    Hangs,
    Panics,
    PanicsLater,
}

/// A store that keeps what it was given, at `/spill/NAME`.
#[derive(Clone)]
pub struct Stub {
    does: Does,
    saved: Arc<Mutex<Vec<Spill>>>,
}

impl Stub {
    pub fn new(does: Does) -> Self {
        listen();
        Self {
            does,
            saved: Arc::default(),
        }
    }

    /// How many handles on this stub there are.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.saved)
    }

    pub fn saved(&self) -> Vec<Spill> {
        self.saved.lock().unwrap().clone()
    }
}

impl SpillStore for Stub {
    fn save(&self, spill: Spill) -> Saving {
        assert_ne!(self.does, Does::Panics, "the store panics");
        let locator = format!("/spill/{}", spill.name);
        let bytes = spill.content.len() as u64;
        self.saved.lock().unwrap().push(spill);
        let does = self.does;
        Box::pin(async move {
            match does {
                Does::Saves => Ok(Spilled::new(locator, bytes, HINT)),
                Does::Fails => Err(BoxError::from("the disk is gone")),
                Does::Hangs => std::future::pending().await,
                Does::Panics | Does::PanicsLater => panic!("the store panics later"),
            }
        })
    }
}

/// A stub in its place, and the policy over it.
pub struct Spilling {
    pub stub: Stub,
    pub policy: SpillPolicy,
    pub mount: SpillMount,
}

/// A policy with the cap `cap` over a stub; every call belongs to a session.
pub fn spilling(cap: usize, does: Does) -> Spilling {
    let (stub, slot) = (Stub::new(does), SpillSlot::new());
    let mount = slot.mount(stub.clone()).unwrap();
    let policy = SpillPolicy::new(slot, &SpillConfig::max_inline_bytes(cap))
        .owner(|_: &CallView| Some("sess-1".to_owned()));
    Spilling {
        stub,
        policy,
        mount,
    }
}

/// Listeners with the policy among them.
pub fn registered(policy: &SpillPolicy) -> Waterfall<PostRequest, PostDecision> {
    let listeners = Waterfall::new(PostDecision::accept());
    policy
        .register(&listeners)
        .expect("there is a length")
        .keep();
    listeners
}

pub fn text(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

thread_local! {
    static WARNED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The warnings of this test's thread since the last look, one line each.
pub fn warnings() -> Vec<String> {
    WARNED.take()
}

/// Keeps warnings from now on. One subscriber for all threads: whether a place
/// in the code warns at all is remembered for the process.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::registry().with(Warnings);
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
}

struct Warnings;

struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        use std::fmt::Write as _;
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == tracing::Level::WARN {
            let mut words = Words(String::new());
            event.record(&mut words);
            WARNED.with_borrow_mut(|warned| warned.push(words.0));
        }
    }
}
