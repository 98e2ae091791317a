//! Random batches against a model, and against what must always hold.

#[path = "support/sched_model.rs"]
mod model;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::{Decided, Model, Spec, Times, What};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use toolfall::pipeline::BoxPipeline;
use toolfall::scheduler::{BatchReport, Journal};
use toolfall::{
    ApprovalOutcome, ApprovalRequest, Arguments, BoxError, CallRequest, CallView, Decision, Effect,
    Pipeline, PostDecision, PostRequest, Recorded, Recorder, Registry, Scheduler, Scope,
    ToolContext, ToolResult, raw_tool,
};

/// How a batch is disturbed.
#[derive(Clone, Copy, Debug)]
enum Disturbed {
    No,
    CancelledAfter(u64),
    DroppedAfter(u64),
}

#[derive(Clone)]
struct World {
    specs: Arc<Vec<Spec>>,
    start: Instant,
    log: Arc<Mutex<Log>>,
}

#[derive(Default)]
struct Log {
    /// In the order in which it happened.
    events: Vec<(u64, usize, What)>,
    calls: Vec<usize>,
    results: Vec<(usize, Effect, bool)>,
    notified: Vec<usize>,
}

async fn wait(ms: u64) {
    if ms > 0 {
        sleep(Duration::from_millis(ms)).await;
    }
}

fn place(id: &str) -> usize {
    id.parse().unwrap()
}

impl World {
    fn new(specs: &[Spec]) -> Self {
        Self {
            specs: Arc::new(specs.to_vec()),
            start: Instant::now(),
            log: Arc::default(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap()
    }

    fn note(&self, call: usize, what: What) {
        let event = (self.now(), call, what);
        self.log.lock().unwrap().events.push(event);
    }

    fn spec(&self, call: &CallView) -> (usize, Spec) {
        let place = place(call.id().as_str());
        (place, self.specs[place].clone())
    }

    async fn body(self, ctx: ToolContext) -> Result<Value, BoxError> {
        let (call, spec) = self.spec(ctx.call());
        self.note(call, What::Body);
        tokio::select! {
            biased;
            () = wait(spec.body) => {}
            () = ctx.cancellation().cancelled(), if spec.cooperative => {}
        }
        self.note(call, What::BodyEnd);
        if spec.fails {
            Err("failed".into())
        } else {
            Ok(Value::Null)
        }
    }

    fn scheduler(&self, cap: usize) -> Scheduler<BoxPipeline> {
        let registry = Registry::new();
        let world = self.clone();
        let tool = raw_tool(
            "t",
            "",
            json!({"type": "object"}),
            move |_: Arguments, ctx: ToolContext| world.clone().body(ctx),
        )
        .parallel_when(|arguments| arguments["exclusive"] != true);
        registry.register(tool).unwrap().keep();
        let (pre, ask, post, observer) = (self.clone(), self.clone(), self.clone(), self.clone());
        let journal = Arc::new(self.clone());
        Pipeline::builder(registry)
            .pre_decision(move |call: CallView| {
                let world = pre.clone();
                async move {
                    let (call, spec) = world.spec(&call);
                    world.note(call, What::Pre);
                    wait(spec.pre).await;
                    world.note(call, What::PreEnd);
                    match spec.decision {
                        Decided::Allow => Ok(Decision::Allow),
                        Decided::Deny => Ok(Decision::deny("no")),
                        Decided::PolicyFails => Err("down"),
                        Decided::Ask { .. } => Ok(Decision::ask_without_reason()),
                    }
                }
            })
            .approval(move |request: ApprovalRequest| {
                let (_, spec) = ask.spec(request.call());
                async move {
                    let Decided::Ask { after, granted } = spec.decision else {
                        return ApprovalOutcome::Unavailable;
                    };
                    wait(after).await;
                    if granted {
                        ApprovalOutcome::AllowedOnce
                    } else {
                        ApprovalOutcome::Rejected
                    }
                }
            })
            .post_execute(move |request: PostRequest| {
                let world = post.clone();
                async move {
                    let (call, spec) = world.spec(request.call());
                    world.note(call, What::Post);
                    wait(spec.post).await;
                    world.note(call, What::PostEnd);
                    PostDecision::accept()
                }
            })
            .observer(move |call: &CallView, _: &ToolResult| {
                let (call, _) = observer.spec(call);
                observer.note(call, What::Done);
                observer.log.lock().unwrap().notified.push(call);
            })
            .recorder(journal.clone())
            .build()
            .boxed()
            .scheduler()
            .limit(NonZeroUsize::new(cap).unwrap())
            .journal(journal)
    }

    fn calls(&self, cancel: &CancellationToken) -> Vec<CallRequest> {
        let call = |(n, spec): (usize, &Spec)| {
            let arguments = json!({"exclusive": spec.exclusive}).to_string();
            CallRequest::new(n.to_string(), "t", arguments, cancel.clone())
                .with_scope(Scope::new("agent"))
        };
        self.specs.iter().enumerate().map(call).collect()
    }
}

impl Recorder for World {
    fn call(&self, call: &CallView) -> Recorded {
        self.log
            .lock()
            .unwrap()
            .calls
            .push(place(call.id().as_str()));
        Recorded::Now(Ok(()))
    }

    fn result(&self, call: &CallView, result: &ToolResult) -> Result<(), BoxError> {
        let line = (place(call.id().as_str()), result.effect(), false);
        self.log.lock().unwrap().results.push(line);
        Ok(())
    }
}

impl Journal for World {
    fn not_started(&self, request: &CallRequest, result: &ToolResult) -> Result<(), BoxError> {
        let mut log = self.log.lock().unwrap();
        log.calls.push(place(request.id().as_str()));
        log.results
            .push((place(request.id().as_str()), result.effect(), true));
        Ok(())
    }
}

async fn play(world: &World, cap: usize, disturbed: Disturbed) -> Option<BatchReport> {
    let cancel = CancellationToken::new();
    let batch = world
        .scheduler(cap)
        .batch(world.calls(&cancel), cancel.clone());
    let mut run = tokio::spawn(batch.run());
    match disturbed {
        Disturbed::No => {}
        Disturbed::CancelledAfter(ms) => {
            tokio::select! {
                biased;
                report = &mut run => return Some(report.unwrap()),
                () = sleep(Duration::from_millis(ms)) => cancel.cancel(),
            }
        }
        Disturbed::DroppedAfter(ms) => {
            sleep(Duration::from_millis(ms)).await;
            run.abort();
            let report = run.await.ok();
            // Whatever was begun comes to its end meanwhile.
            sleep(Duration::from_secs(60)).await;
            return report;
        }
    }
    Some(run.await.unwrap())
}

/// What holds for every batch, however it went.
fn assert_sound(world: &World, cap: usize, disturbed: Disturbed) {
    let log = world.log.lock().unwrap();
    let all: Vec<usize> = (0..world.specs.len()).collect();
    assert_eq!(log.calls, all, "one call record each, in model order");
    let results: Vec<usize> = log.results.iter().map(|result| result.0).collect();
    assert_eq!(results, all, "one result record each, in model order");
    let begun: Vec<usize> = log
        .results
        .iter()
        .filter(|result| !result.2)
        .map(|result| result.0)
        .collect();
    assert_eq!(
        log.notified, begun,
        "one notification for each call that began"
    );

    let (mut deciding, mut posting, mut open) = (None, None, Vec::new());
    let mut lane: Vec<(What, usize)> = Vec::new();
    for &(at, call, what) in &log.events {
        match what {
            What::Pre => assert_eq!(deciding.replace(call), None, "policies never overlap"),
            What::PreEnd => assert_eq!(deciding.take(), Some(call)),
            What::Post => assert_eq!(posting.replace(call), None, "commits never overlap"),
            What::PostEnd => assert_eq!(posting.take(), Some(call)),
            What::Body => {
                if let Disturbed::CancelledAfter(ms) | Disturbed::DroppedAfter(ms) = disturbed {
                    assert!(at <= ms, "a body began after the cancellation");
                }
                open.push(call);
                assert!(open.len() <= cap, "more than {cap} bodies");
            }
            What::BodyEnd => {
                let before = open.len();
                open.retain(|other| *other != call);
                assert_eq!(open.len() + 1, before, "a body ends once");
            }
            What::Done => {}
        }
        if matches!(what, What::Pre | What::Post | What::Done) {
            lane.push((what, call));
        }
    }
    assert!(open.is_empty(), "no body is left: {open:?}");
    for kind in [What::Pre, What::Post, What::Done] {
        let order: Vec<usize> = lane
            .iter()
            .filter(|step| step.0 == kind)
            .map(|step| step.1)
            .collect();
        assert!(order.is_sorted(), "{kind:?} in model order: {order:?}");
    }
    for (call, spec) in world.specs.iter().enumerate() {
        let first = log.events.iter().position(|event| event.1 == call);
        let last = log.events.iter().rposition(|event| event.1 == call);
        if let (true, Some(first), Some(last)) = (spec.exclusive, first, last) {
            let others = log.events[first..=last]
                .iter()
                .filter(|event| event.1 != call);
            assert_eq!(
                others.count(),
                0,
                "call {call} is alone until it is committed"
            );
        }
        let entered = log
            .events
            .iter()
            .any(|event| event.1 == call && event.2 == What::Body);
        let truth = if entered {
            Effect::Stopped
        } else {
            Effect::NotStarted
        };
        assert_eq!(log.results[call].1, truth, "the effect of call {call}");
    }
}

fn spec() -> impl Strategy<Value = Spec> {
    let decision = prop_oneof![
        6 => Just(Decided::Allow),
        1 => Just(Decided::Deny),
        1 => Just(Decided::PolicyFails),
        3 => (0..8_u64, any::<bool>()).prop_map(|(after, granted)| Decided::Ask { after, granted }),
    ];
    let time = || prop_oneof![2 => Just(0), 3 => 1..6_u64];
    let flags = (
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
        any::<bool>(),
    );
    (flags, time(), decision, 0..20_u64, time()).prop_map(
        |((exclusive, fails, cooperative), pre, decision, body, post)| Spec {
            exclusive,
            pre,
            decision,
            body,
            fails,
            cooperative,
            post,
        },
    )
}

fn disturbed() -> impl Strategy<Value = Disturbed> {
    prop_oneof![
        2 => Just(Disturbed::No),
        1 => (0..60_u64).prop_map(Disturbed::CancelledAfter),
        1 => (0..60_u64).prop_map(Disturbed::DroppedAfter),
    ]
}

fn check(specs: &[Spec], cap: usize, disturbed: Disturbed) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = World::new(specs);
        let report = play(&world, cap, disturbed).await;
        assert_sound(&world, cap, disturbed);
        if let Some(report) = report {
            let places: Vec<usize> = report.committed.iter().map(|call| call.place).collect();
            assert_eq!(places, (0..specs.len()).collect::<Vec<_>>());
            for call in &report.committed {
                assert_eq!(call.id.as_str(), call.place.to_string());
            }
        }
        if let Disturbed::No = disturbed {
            let log = world.log.lock().unwrap();
            let times: Times = log
                .events
                .iter()
                .map(|&(at, call, what)| ((call, what), at))
                .collect();
            assert_eq!(times.len(), log.events.len(), "everything happens once");
            assert_eq!(times, Model::times(specs, cap));
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_does_what_the_model_says(
        specs in prop::collection::vec(spec(), 0..14),
        cap in 1..5_usize,
        disturbed in disturbed(),
    ) {
        check(&specs, cap, disturbed);
    }
}
