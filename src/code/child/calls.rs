//! The calls of one program.

use std::any::Any;
use std::collections::HashSet;
use std::panic::AssertUnwindSafe;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use futures_util::{FutureExt as _, future};
use serde_json::{Number, Value};
use toolfall_layers::{Arguments, check_value, discard_value, printable};

use crate::code::ledger::check_completion;
use crate::code::protocol::{Call, Reply};
use crate::code::{BindingArguments, Namespace};

/// So many ids are remembered that came out of order.
const OUT_OF_ORDER: usize = 1 << 16;

const ARGUMENTS: &str = "binding arguments must be lossless JSON";
const RESOLUTION: &str = "binding resolution must be lossless JSON";

/// Calls that run, side by side, until they are dropped with this.
pub(in crate::code) struct Calls<'a> {
    namespaces: &'a [Namespace],
    seen: Seen,
    running: FuturesUnordered<BoxFuture<'static, Reply>>,
}

impl<'a> Calls<'a> {
    pub(in crate::code) fn new(namespaces: &'a [Namespace]) -> Self {
        Self {
            namespaces,
            seen: Seen::default(),
            running: FuturesUnordered::new(),
        }
    }

    pub(in crate::code) fn len(&self) -> usize {
        self.running.len()
    }

    /// Begins a call. An id that was used before is ignored.
    pub(in crate::code) fn begin(&mut self, call: Call) {
        if !self.seen.first(call.id.number()) {
            return;
        }
        let namespace = self
            .namespaces
            .iter()
            .find(|namespace| namespace.global == call.global)
            .filter(|namespace| namespace.members.contains(&call.name));
        let id = call.id;
        let refuse = |message: String| {
            let result = Err(message);
            future::ready(Reply {
                id: id.clone(),
                result,
            })
            .boxed()
        };
        let running = match (namespace, call.args) {
            (None, _) => {
                let name = printable(&format!("{}.{}", call.global, call.name), 200);
                refuse(format!("unknown binding \"{name}\""))
            }
            (Some(_), Err(_)) => refuse(ARGUMENTS.to_owned()),
            (Some(namespace), Ok(arguments)) => {
                let binding = namespace.binding.clone();
                async move {
                    let called = async { binding.call(&call.name, kept(arguments)).await };
                    // A panic of a function is a failure of that function.
                    let result = AssertUnwindSafe(called).catch_unwind().await;
                    let result = result.unwrap_or_else(|panic| Err(panicked(&*panic)));
                    Reply {
                        id,
                        result: result.and_then(lossless),
                    }
                }
                .boxed()
            }
        };
        self.running.push(running);
    }

    /// The reply to the next call that ends; for ever while none runs.
    ///
    /// Cancel safe.
    pub(in crate::code) async fn next(&mut self) -> Reply {
        match self.running.next().await {
            Some(reply) => reply,
            None => future::pending().await,
        }
    }
}

fn kept(arguments: Arguments) -> BindingArguments {
    BindingArguments::Kept(arguments)
}

/// The value, if the program gets it as it is.
fn lossless(value: Value) -> Result<Value, String> {
    if check_completion(&value, usize::MAX).is_ok() && check_value(&value).is_ok() {
        return Ok(value);
    }
    discard_value(value);
    Err(RESOLUTION.to_owned())
}

fn panicked(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    match text {
        Some(text) => format!("the binding panicked: {}", printable(text, 200)),
        None => "the binding panicked".to_owned(),
    }
}

/// Which ids were used, in little memory where they come in order.
#[derive(Default)]
struct Seen {
    /// All whole numbers below this one.
    below: u64,
    others: HashSet<Id>,
}

/// One number, however it was written.
#[derive(PartialEq, Eq, Hash)]
enum Id {
    Whole(u64),
    Other(u64),
}

impl Seen {
    /// Whether `id` was not used yet; false as well where it cannot be kept.
    fn first(&mut self, id: &Number) -> bool {
        let whole = id.as_u64().or_else(|| {
            let float = id.as_f64()?;
            // Whole numbers up to here are exact as floats.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let whole = (0.0..9e15).contains(&float).then_some(float as u64)?;
            #[allow(clippy::cast_precision_loss, clippy::float_cmp)]
            (whole as f64 == float).then_some(whole)
        });
        let id = match whole {
            Some(whole) if whole < self.below => return false,
            Some(whole) => Id::Whole(whole),
            None => Id::Other(id.as_f64().unwrap_or_default().to_bits()),
        };
        if self.others.len() >= OUT_OF_ORDER || !self.others.insert(id) {
            return false;
        }
        while self.others.remove(&Id::Whole(self.below)) {
            self.below += 1;
        }
        true
    }
}
