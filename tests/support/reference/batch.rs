//! Playing a batch through the scheduler, and the little of a host's loop
//! that the traces tell of.

use std::sync::Arc;

use serde_json::json;
use toolfall::scheduler::Journal;
use toolfall::{BoxError, CallRequest, CallView, Recorded, Recorder, Scheduler, Scope, ToolResult};

use super::compare::{Played, context_texts, told};
use super::play::{cancelling, request};
use super::scenario::{Scenario, Step};
use super::stack::stack;
use super::world::World;

/// Writes the records of a batch into the trace.
struct Records(Arc<World>);

impl Records {
    fn write(&self, id: &str, result: Option<&ToolResult>) {
        match result {
            None => self.0.event(Some(id), "call_record", json!({})),
            Some(result) => {
                let told = json!({"is_error": result.is_error(), "code": result.code()});
                self.0.event(Some(id), "result_record", told);
            }
        }
    }
}

impl Recorder for Records {
    fn call(&self, call: &CallView) -> Recorded {
        self.write(call.id().as_str(), None);
        Recorded::Now(Ok(()))
    }

    fn result(&self, call: &CallView, result: &ToolResult) -> Result<(), BoxError> {
        self.write(call.id().as_str(), Some(result));
        Ok(())
    }
}

impl Journal for Records {
    fn not_started(&self, request: &CallRequest, result: &ToolResult) -> Result<(), BoxError> {
        self.write(request.id().as_str(), None);
        self.write(request.id().as_str(), Some(result));
        Ok(())
    }
}

pub(crate) async fn batch(world: &Arc<World>, scenario: &Scenario) -> Played {
    let records = Arc::new(Records(world.clone()));
    let stack = stack(world, scenario, Some(records.clone()));
    let mut scheduler = Scheduler::new(stack, world.registry.clone()).journal(records);
    if let Some(limit) = scenario.max_parallel {
        scheduler = scheduler.limit(limit);
    }
    let token = world.begin(None);
    // A batch always has an agent.
    let scope = match &scenario.from {
        Some(name) => world.scope(name),
        None => Scope::new("agent"),
    };
    let calls = scenario.calls.iter().map(|step| match step {
        Step::Call(call) => request(call, Some(scope.clone()), token.clone()),
        Step::View(_) => unreachable!("a batch asks for no views"),
    });
    let calls: Vec<CallRequest> = calls.collect();
    let cancelling = cancelling(world, scenario.cancel_at);
    let report = scheduler.batch(calls, token).run().await;
    if let Some(cancelling) = cancelling {
        cancelling.abort();
    }
    let end = report.end;
    for text in context_texts(&end.contexts) {
        world.event(None, "context_record", json!({"text": text}));
    }
    // A turn goes on after its conclusion if something is left to be read.
    let next_request = !end.aborted && (!end.concludes || !end.contexts.is_empty());
    Played {
        calls: report
            .committed
            .iter()
            .map(|call| told(call.id.as_str(), &call.result))
            .collect(),
        batch: Some(json!({
            "aborted": end.aborted,
            "next_request": next_request,
            "contexts_delivered": context_texts(&end.contexts),
            "contexts_parked": context_texts(&end.parked),
        })),
        events: world.take_events(),
    }
}
