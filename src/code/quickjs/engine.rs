//! One program in one engine, on the thread of whoever calls.
//!
//! The engine is a synchronous machine: it runs until the program settles or
//! waits for an answer, and then asks [`Outside`] for one. Nothing in it knows
//! a clock but the thread's own of its computing.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::function::Func;
use rquickjs::promise::PromiseState;
use rquickjs::{Array, Context, Ctx, Function, Object, Promise, Runtime, Value as Js};
use serde_json::{Value, json};

use super::convert::{self, Plain, Refused};
use super::edge::{Call, Ending, Limits, Outside, Reply, Roster, Stop};
use super::render::Renderer;
use crate::code::RunFailureKind;

/// What is put before the program, on its first line so that every line keeps
/// its number.
const BEFORE: &str = "(async()=>{";
const AFTER: &str = "\n})";
const PRELUDE: &str = include_str!("prelude.js");

pub(super) const ARGUMENTS: &str = "binding arguments must be lossless JSON";
pub(super) const RESOLUTION: &str = "binding resolution must be lossless JSON";
pub(super) const COMPLETION: &str = "program completion must be lossless JSON";

/// The engine refuses to use more of the stack than this; the thread has to
/// have more, for what runs without asking.
pub(super) const STACK: usize = 1024 * 1024;

/// Runs the JavaScript `program` to its end.
pub(super) fn run<O: Outside>(
    program: &str,
    namespaces: &[Roster],
    limits: &Limits,
    stop: &Arc<Stop>,
    outside: Rc<O>,
) -> Ending {
    let engine = Runtime::new().and_then(|engine| {
        let context = Context::custom::<(
            intrinsic::Date,
            intrinsic::Eval,
            intrinsic::RegExpCompiler,
            intrinsic::RegExp,
            intrinsic::Json,
            intrinsic::Proxy,
            intrinsic::MapSet,
            intrinsic::TypedArrays,
            intrinsic::Promise,
            intrinsic::WeakRef,
        )>(&engine)?;
        Ok((engine, context))
    });
    let Ok((engine, context)) = engine else {
        return Ending::OutOfMemory;
    };
    engine.set_max_stack_size(STACK);
    engine.set_memory_limit(limits.heap_bytes);
    engine.set_interrupt_handler(Some(interrupter(limits.compute, Arc::clone(stop))));
    context.with(|ctx| {
        let world = World {
            shared: Rc::default(),
            limits: *limits,
            outside,
        };
        world.run(&ctx, program, namespaces, stop)
    })
}

/// Whether an engine ran out of memory so thoroughly that it could not make
/// the error either: then it throws `null`, as a program can that has one of
/// these words.
fn is_full(thrown: &Js<'_>, program: &str) -> bool {
    thrown.is_null()
        && !["throw", "reject"]
            .iter()
            .any(|word| program.contains(word))
}

/// Asked by the engine every few thousand steps.
fn interrupter(compute: Option<Duration>, stop: Arc<Stop>) -> Box<dyn FnMut() -> bool> {
    let begun = thread_time();
    Box::new(move || {
        if compute.is_some_and(|budget| thread_time().saturating_sub(begun) >= budget) {
            stop.spend();
        }
        stop.ending().is_some()
    })
}

/// How long this thread has computed so far.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Handles of the engine's that natives need. They are no part of the engine's
/// own graph of objects, so that it could not collect a cycle through them:
/// they are taken out before the engine goes.
struct Handles<'js> {
    plain: Plain<'js>,
    settle: Function<'js>,
    well_formed: Function<'js>,
}

type Shared<'js> = Rc<RefCell<Option<Rc<Handles<'js>>>>>;

struct World<'js, O> {
    shared: Shared<'js>,
    limits: Limits,
    outside: Rc<O>,
}

impl<O> Drop for World<'_, O> {
    fn drop(&mut self) {
        self.shared.borrow_mut().take();
    }
}

impl<'js, O: Outside> World<'js, O> {
    fn run(&self, ctx: &Ctx<'js>, program: &str, spaces: &[Roster], stop: &Stop) -> Ending {
        let prepared = self.prepare(ctx, spaces);
        let Ok(handles) = prepared else {
            ctx.catch();
            return stop.ending().unwrap_or(Ending::OutOfMemory);
        };
        let begun = begin(ctx, program);
        let promise = match begun {
            Ok(promise) => promise,
            Err(error) => return self.failed(ctx, &handles, &error, program, stop),
        };
        loop {
            loop {
                if let Some(ending) = stop.ending() {
                    return ending;
                }
                if promise.state() != PromiseState::Pending {
                    return self.settled(ctx, &handles, &promise, program, stop);
                }
                if !ctx.execute_pending_job() {
                    break;
                }
            }
            // Nothing can run before a call is answered. Without an open call
            // nothing ever will, and whoever keeps the time ends the run.
            let Some(reply) = self.outside.reply() else {
                return stop.ending().unwrap_or(Ending::Stopped);
            };
            if let Err(error) = settle(ctx, &handles, reply) {
                if let Some(ending) = stop.ending() {
                    return ending;
                }
                if !matches!(error, rquickjs::Error::Exception) {
                    return Ending::OutOfMemory;
                }
                ctx.catch();
            }
        }
    }

    fn prepare(&self, ctx: &Ctx<'js>, spaces: &[Roster]) -> rquickjs::Result<Rc<Handles<'js>>> {
        let plain = Plain::of(ctx)?;
        let native = Object::new(ctx.clone())?;
        let call = self.native_call();
        native.set("call", Func::from(call))?;
        native.set("log", Func::from(self.native_log()))?;
        let options = || {
            let mut options = EvalOptions::default();
            options.filename = Some("runtime".to_owned());
            options
        };
        let prelude: Function<'js> = ctx.eval_with_options(PRELUDE, options())?;
        let described: Vec<Value> = spaces.iter().map(describe).collect();
        let described = ctx.json_parse(Value::Array(described).to_string())?;
        let handles: Object<'js> = prelude.call((native, described))?;
        let handles = Rc::new(Handles {
            plain,
            settle: handles.get("settle")?,
            well_formed: handles.get("wellFormed")?,
        });
        *self.shared.borrow_mut() = Some(Rc::clone(&handles));
        Ok(handles)
    }

    /// The id of a call that was made, or why it was not.
    fn native_call(
        &self,
    ) -> impl Fn(Ctx<'js>, usize, String, Array<'js>) -> rquickjs::Result<Js<'js>> + 'js + use<'js, O>
    where
        O: 'js,
    {
        use rquickjs::IntoJs as _;
        let (shared, outside) = (Rc::clone(&self.shared), Rc::clone(&self.outside));
        let limit = self.limits.value_bytes;
        let last = Cell::new(0_u64);
        move |ctx, namespace, member, values| {
            let Some(handles) = shared.borrow().clone() else {
                return Err(rquickjs::Error::Unknown);
            };
            let arguments = match values.len() {
                0 => Ok(None),
                1 => {
                    let value: Js<'js> = values.get(0)?;
                    if value.is_undefined() {
                        Ok(None)
                    } else {
                        handles.plain.read(&value, limit).map(Some)
                    }
                }
                many => {
                    return format!("{member} takes one argument, found {many}").into_js(&ctx);
                }
            };
            let arguments = match arguments {
                Ok(arguments) => arguments,
                // A getter's exception is the program's own.
                Err(Refused::Threw) => return Err(rquickjs::Error::Exception),
                Err(Refused::Lossy) => return ARGUMENTS.into_js(&ctx),
                Err(Refused::TooLarge) => {
                    return format!("binding arguments exceed {limit} bytes").into_js(&ctx);
                }
            };
            // Counted after the arguments were read: a getter may call, too.
            let id = last.get() + 1;
            last.set(id);
            let call = Call {
                id,
                namespace,
                member,
                arguments,
            };
            match outside.call(call) {
                // Exact for longer than any run.
                #[allow(clippy::cast_precision_loss)]
                Ok(()) => (id as f64).into_js(&ctx),
                Err(message) => message.into_js(&ctx),
            }
        }
    }

    fn native_log(
        &self,
    ) -> impl Fn(Ctx<'js>, Array<'js>) -> rquickjs::Result<()> + 'js + use<'js, O>
    where
        O: 'js,
    {
        let (shared, outside) = (Rc::clone(&self.shared), Rc::clone(&self.outside));
        let left = Cell::new(self.limits.log_bytes.saturating_add(1));
        move |ctx, values| {
            let Some(handles) = shared.borrow().clone() else {
                return Ok(());
            };
            // Whoever counts has seen too much already.
            if left.get() == 0 {
                return Ok(());
            }
            let values = values
                .iter::<Js<'js>>()
                .collect::<rquickjs::Result<Vec<_>>>()?;
            let text = Renderer::new(&ctx, &handles.well_formed, left.get()).printed(&values);
            left.set(left.get().saturating_sub(text.len()));
            outside.log(text);
            Ok(())
        }
    }

    fn settled(
        &self,
        ctx: &Ctx<'js>,
        handles: &Handles<'js>,
        promise: &Promise<'js>,
        program: &str,
        stop: &Stop,
    ) -> Ending {
        let value = match promise.result::<Js<'js>>() {
            Some(Ok(value)) => value,
            Some(Err(error)) => return self.failed(ctx, handles, &error, program, stop),
            None => return Ending::Stopped,
        };
        if value.is_undefined() {
            return Ending::Completed(None);
        }
        match handles.plain.read(&value, self.limits.value_bytes) {
            Ok(value) => Ending::Completed(Some(value)),
            Err(Refused::TooLarge) => Ending::TooLarge,
            Err(Refused::Lossy | Refused::Threw) => stop.ending().unwrap_or_else(|| {
                ctx.catch();
                Ending::Failed(RunFailureKind::InvalidOutput, COMPLETION.to_owned())
            }),
        }
    }

    fn failed(
        &self,
        ctx: &Ctx<'js>,
        handles: &Handles<'js>,
        error: &rquickjs::Error,
        program: &str,
        stop: &Stop,
    ) -> Ending {
        if let Some(ending) = stop.ending() {
            return ending;
        }
        if !matches!(error, rquickjs::Error::Exception) {
            return Ending::exception(format!("SyntaxError: {error}"));
        }
        let thrown = ctx.catch();
        if is_full(&thrown, program) {
            return Ending::OutOfMemory;
        }
        // More than may leave is cut by whoever counts.
        let limit = self.limits.value_bytes;
        let message = Renderer::new(ctx, &handles.well_formed, limit).thrown(&thrown, BEFORE.len());
        if let Some(ending) = stop.ending() {
            return ending;
        }
        if message.starts_with("InternalError: out of memory") {
            return Ending::OutOfMemory;
        }
        Ending::exception(message)
    }
}

fn begin<'js>(ctx: &Ctx<'js>, program: &str) -> rquickjs::Result<Promise<'js>> {
    let mut options = EvalOptions::default();
    options.filename = Some("program.ts".to_owned());
    let source = [BEFORE, program, AFTER].concat();
    let body: Function<'js> = ctx.eval_with_options(source, options)?;
    body.call(())
}

fn settle<'js>(ctx: &Ctx<'js>, handles: &Handles<'js>, reply: Reply) -> rquickjs::Result<()> {
    #[allow(clippy::cast_precision_loss)]
    let id = reply.id as f64;
    let message = match reply.result {
        Ok(value) => match convert::write(ctx, &value) {
            Ok(value) => return handles.settle.call((id, true, value)),
            Err(Refused::Threw) => {
                ctx.catch();
                "InternalError: out of memory".to_owned()
            }
            Err(_) => RESOLUTION.to_owned(),
        },
        Err(message) => message,
    };
    handles.settle.call((id, false, message))
}

fn describe(roster: &Roster) -> Value {
    let class = roster
        .error_class
        .as_ref()
        .map(|(name, property)| json!({"name": name, "memberNameProperty": property}));
    json!({"global": roster.global, "names": roster.names, "errorClass": class})
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
