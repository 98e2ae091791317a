//! Stores, tools and warnings for the tests of spilled results.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, Once};

use serde_json::Value;
use toolfall::policy::Waterfall;
use toolfall::spill::{
    Saving, Spill, SpillBytes, SpillConfig, SpillMount, SpillPolicy, SpillSlot, SpillStore, Spilled,
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
    kept: Arc<Mutex<Vec<SpillBytes>>>,
}

impl Stub {
    pub fn new(does: Does) -> Self {
        listen();
        Self {
            does,
            saved: Arc::default(),
            kept: Arc::default(),
        }
    }

    /// How many handles on this stub there are.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.saved)
    }

    pub fn saved(&self) -> Vec<Spill> {
        self.saved.lock().unwrap().clone()
    }

    /// What it was given that was no text.
    pub fn kept(&self) -> Vec<SpillBytes> {
        self.kept.lock().unwrap().clone()
    }

    fn saving(&self, name: &str, bytes: u64) -> Saving {
        let locator = format!("/spill/{name}");
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

impl SpillStore for Stub {
    fn save(&self, spill: Spill) -> Saving {
        assert_ne!(self.does, Does::Panics, "the store panics");
        let saving = self.saving(&spill.name, spill.content.len() as u64);
        self.saved.lock().unwrap().push(spill);
        saving
    }

    fn save_bytes(&self, bytes: SpillBytes) -> Saving {
        assert_ne!(self.does, Does::Panics, "the store panics");
        let saving = self.saving(&bytes.name, bytes.content.len());
        self.kept.lock().unwrap().push(bytes);
        saving
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
    spilling_as(&SpillConfig::max_inline_bytes(cap), does)
}

/// As [`spilling`], with any configuration.
pub fn spilling_as(config: &SpillConfig, does: Does) -> Spilling {
    let (stub, slot) = (Stub::new(does), SpillSlot::new());
    let mount = slot.mount(stub.clone()).unwrap();
    let policy = SpillPolicy::new(slot, config).owner(|_: &CallView| Some("sess-1".to_owned()));
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

/// The padded base64 of some bytes.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() {
                letter.into()
            } else {
                '='
            });
        }
    }
    text
}
