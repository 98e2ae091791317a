//! The session log under a pipeline and a scheduler.

#[allow(dead_code)] // shared with other tests
#[path = "support/session_sink.rs"]
mod sink;
#[path = "support/sched.rs"]
mod support;

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use sink::TestSink;
use support::{World, idle};
use tokio::time::sleep;
use toolfall::pipeline::BoxPipeline;
use toolfall::session::{
    Body, CallRecord, MemorySink, Options, ResultRecord, SessionLog, SessionRecorder, SyncPolicy,
    check,
};
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, CodedError, ContentBlock, ContextMessage,
    ContextSource, Decision, Effect, FailureKind, Pipeline, PostDecision, PostRequest, Scheduler,
    ToolContext, Validation, raw_tool,
};

fn kinds(log: &SessionLog) -> Vec<String> {
    let records = log.records().unwrap();
    records
        .iter()
        .map(|record| record.body.kind().to_owned())
        .collect()
}

fn calls(log: &SessionLog) -> Vec<CallRecord> {
    let bodies = log.records().unwrap().into_iter().map(|record| record.body);
    bodies
        .filter_map(|body| {
            if let Body::Call(call) = body {
                Some(call)
            } else {
                None
            }
        })
        .collect()
}

fn results(log: &SessionLog) -> Vec<ResultRecord> {
    let bodies = log.records().unwrap().into_iter().map(|record| record.body);
    bodies
        .filter_map(|body| {
            if let Body::Result(end) = body {
                Some(end)
            } else {
                None
            }
        })
        .collect()
}

fn assert_clean(log: &SessionLog) {
    let records = log.records().unwrap();
    let findings = check::check(&records);
    assert!(findings.is_empty(), "{findings:?} in {records:#?}");
}

/// The scheduler of `world`, recorded in `log`.
fn scheduler(world: &World, log: &SessionLog, limit: usize) -> Scheduler<BoxPipeline> {
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    world
        .pipeline_with(recorder.clone())
        .scheduler()
        .limit(NonZeroUsize::new(limit).unwrap())
        .journal(recorder)
}

/// The policy already finds the call record, the body the started record, and
/// the result cites the call.
///
/// conformance: SCHED-30
#[tokio::test(start_paused = true)]
async fn a_call_is_recorded_before_its_policy_and_started_before_its_body() {
    let log = SessionLog::in_memory();
    let world = World::new();
    let seen: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let (by_policy, by_body) = (seen.clone(), seen.clone());
    let (policy_log, body_log) = (log.clone(), log.clone());
    let tool = raw_tool(
        "look",
        "",
        json!({"type": "object"}),
        move |_: Arguments, _: ToolContext| {
            by_body.lock().unwrap().push(kinds(&body_log));
            async { Ok::<Value, BoxError>(Value::Null) }
        },
    );
    world.registry.register(tool).unwrap().keep();
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    let scheduler = Pipeline::builder(world.registry.clone())
        .pre_decision(move |_: &CallView| {
            by_policy.lock().unwrap().push(kinds(&policy_log));
            Decision::Allow
        })
        .recorder(recorder.clone())
        .build()
        .scheduler()
        .journal(recorder);
    scheduler
        .batch([world.call("look", "a", Value::Null)], world.cancel.clone())
        .run()
        .await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0], ["tool/call"]);
    assert_eq!(seen[1], ["tool/call", "tool/started"]);
    assert_eq!(kinds(&log), ["tool/call", "tool/started", "tool/result"]);
    let (call, end) = (&calls(&log)[0], &results(&log)[0]);
    assert_eq!((call.call, call.id.as_str()), (end.call, end.id.as_str()));
    assert_eq!(call.agent.as_deref(), Some("agent"));
    assert!(!call.unordered && !call.synthetic);
    assert_clean(&log);
}

/// conformance: SCHED-25
#[tokio::test(start_paused = true)]
async fn results_pair_in_model_order_however_the_calls_interleave() {
    let (log, world) = (SessionLog::in_memory(), World::new());
    world.hold("body:a");
    let batch = scheduler(&world, &log, 2).batch(world.calls("safe", "abc"), world.cancel.clone());
    let run = tokio::spawn(batch.run());
    idle().await;
    assert_eq!(calls(&log).len(), 3);
    assert!(results(&log).is_empty());
    world.release("body:a");
    run.await.unwrap();
    let pairs: Vec<(u64, String)> = results(&log)
        .into_iter()
        .map(|end| (end.call, end.id))
        .collect();
    let made: Vec<(u64, String)> = calls(&log)
        .into_iter()
        .map(|call| (call.call, call.id))
        .collect();
    assert_eq!(pairs, made);
    assert_clean(&log);
}

/// The record has the content, the error and the metadata, not the value.
///
/// conformance: FINAL-28, FINAL-29, EXEC-40
#[tokio::test(start_paused = true)]
async fn what_a_result_record_holds() {
    let log = SessionLog::in_memory();
    let world = World::new();
    let secret = raw_tool(
        "secret",
        "",
        json!({"type": "object"}),
        |_: Arguments, _: ToolContext| async { Ok::<Value, BoxError>(json!({"canonical": 42})) },
    )
    .render(|_| Ok(vec![ContentBlock::text("what the model sees")]))
    .presentation_meta(|value| Ok(json!({"shown": value["canonical"]})));
    let coded = raw_tool(
        "coded",
        "",
        json!({"type": "object"}),
        |_: Arguments, _: ToolContext| async {
            Err::<Value, BoxError>(CodedError::new("DiskError", "DISK_FULL", "no room").into())
        },
    );
    for tool in [secret, coded] {
        world.registry.register(tool).unwrap().keep();
    }
    let calls = [
        world.call("secret", "a", Value::Null),
        world.call("coded", "b", Value::Null),
    ];
    scheduler(&world, &log, 1)
        .batch(calls, world.cancel.clone())
        .run()
        .await;
    let ends = results(&log);
    assert_eq!(ends[0].content, [ContentBlock::text("what the model sees")]);
    assert_eq!(ends[0].meta, Some(json!({"shown": 42})));
    assert!(!ends[0].is_error && ends[0].error.is_none());
    let error = ends[1].error.as_ref().unwrap();
    assert!(ends[1].is_error);
    assert_eq!(error.message, "no room");
    assert_eq!(
        (error.name.as_deref(), error.code.as_deref()),
        (Some("DiskError"), Some("DISK_FULL"))
    );
    assert!(ends[1].meta.is_none());
    let sink = MemorySink::default();
    let (copy, _) = SessionLog::with_sink(sink.clone(), Options::new()).unwrap();
    for record in log.records().unwrap() {
        copy.append(record.body).unwrap();
    }
    let text = String::from_utf8(sink.bytes()).unwrap();
    assert!(!text.contains("canonical"), "the value is not in {text}");
    assert_clean(&log);
}

/// conformance: EXEC-30
#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_json_are_recorded_exactly() {
    let log = SessionLog::in_memory();
    let world = World::new();
    let free = raw_tool(
        "free",
        "",
        json!({"type": "object"}),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(arguments.value().clone())
        },
    )
    .validation(Validation::FreeText);
    world.registry.register(free).unwrap().keep();
    let call = |name: &'static str| CallRequest::new("1", name, "not json", world.cancel.clone());
    let batch = [
        call("free"),
        call("safe"),
        CallRequest::new("2", "safe", "{\"a\":1,\"a\":2}", world.cancel.clone()),
    ];
    scheduler(&world, &log, 1)
        .batch(batch, world.cancel.clone())
        .run()
        .await;
    let texts: Vec<String> = calls(&log).into_iter().map(|call| call.arguments).collect();
    assert_eq!(texts, ["not json", "not json", "{\"a\":1,\"a\":2}"]);
    let ends = results(&log);
    assert_eq!(ends[0].content, [ContentBlock::text("not json")]);
    assert!(ends[1].is_error && ends[2].is_error);
    assert_clean(&log);
}

/// conformance: EXEC-49
#[tokio::test(start_paused = true)]
async fn a_replaced_content_is_filed_under_the_models_own_id() {
    let log = SessionLog::in_memory();
    let world = World::new();
    let pipeline = Pipeline::builder(world.registry.clone())
        .post_execute(|_: &PostRequest| {
            PostDecision::replace_content(vec![ContentBlock::text("other")])
        })
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();
    pipeline
        .run(world.call("safe", "toolu_7", Value::Null))
        .await;
    let end = &results(&log)[0];
    assert_eq!(end.id, "toolu_7");
    assert_eq!(end.content, [ContentBlock::text("other")]);
    assert_eq!(end.call, calls(&log)[0].call);
    assert!(calls(&log)[0].unordered, "made outside a batch");
}

/// conformance: CTX-08, CTX-09
#[tokio::test(start_paused = true)]
async fn contexts_follow_both_results_and_are_kept_as_they_are() {
    let log = SessionLog::in_memory();
    let world = World::new();
    let note = |id: &str| ContextMessage {
        id: Some(id.to_owned()),
        source: ContextSource {
            kind: "tool".into(),
            name: "noting".into(),
            summary: Some("one line".to_owned()),
        },
        content: vec![ContentBlock::text(format!("note {id}"))],
        meta: Some(json!({"of": id})),
    };
    let tool = raw_tool(
        "noting",
        "",
        json!({"type": "object"}),
        move |arguments: Arguments, ctx: ToolContext| async move {
            let key = arguments.value()["k"].as_str().unwrap();
            ctx.defer_context(note(key));
            Ok::<Value, BoxError>(Value::Null)
        },
    );
    world.registry.register(tool.parallel()).unwrap().keep();
    let recorder = Arc::new(SessionRecorder::new(log.clone()));
    let scheduler = world
        .pipeline_with(recorder.clone())
        .scheduler()
        .journal(recorder.clone());
    let calls = world.calls("noting", "ab");
    let report = scheduler.batch(calls, world.cancel.clone()).run().await;
    recorder.contexts(&report.end.contexts).unwrap();
    let kinds = kinds(&log);
    assert_eq!(
        kinds[kinds.len() - 3..],
        ["tool/result", "context/message", "context/message"]
    );
    assert_eq!(results(&log).len(), 2);
    for (record, id) in log
        .records()
        .unwrap()
        .into_iter()
        .skip(kinds.len() - 2)
        .zip(["a", "b"])
    {
        let Body::Context(context) = record.body else {
            panic!("expected a context")
        };
        assert_eq!(context.id.as_deref(), Some(id));
        assert_eq!(context.role, "user");
        assert_eq!(
            context.source,
            Some(json!({"kind": "tool", "name": "noting", "summary": "one line"}))
        );
        assert_eq!(context.metadata, Some(json!({"of": id})));
        assert_eq!(context.content, [ContentBlock::text(format!("note {id}"))]);
    }
    assert_clean(&log);
}

#[tokio::test(start_paused = true)]
async fn nested_calls_cite_their_parents() {
    let log = SessionLog::in_memory();
    let world = World::new();
    for (name, next) in [("top", "mid"), ("mid", "safe")] {
        let tool = raw_tool(
            name,
            "",
            json!({"type": "object"}),
            move |_: Arguments, ctx: ToolContext| async move {
                Ok::<Value, BoxError>(ctx.call_tool(next, r#"{"k":"n"}"#).await?.text().into())
            },
        );
        world.registry.register(tool).unwrap().keep();
    }
    let calls_made = [
        world.call("safe", "a", Value::Null),
        world.call("top", "b", Value::Null),
    ];
    scheduler(&world, &log, 1)
        .batch(calls_made, world.cancel.clone())
        .run()
        .await;
    let made = calls(&log);
    let line = |n: usize| (made[n].name.as_str(), made[n].parent, made[n].root);
    let (top, mid) = (made[1].call, made[2].call);
    assert_eq!(line(0), ("safe", None, None));
    assert_eq!(line(1), ("top", None, None));
    assert_eq!(line(2), ("mid", Some(top), Some(top)));
    assert_eq!(line(3), ("safe", Some(mid), Some(top)));
    assert_eq!(made[3].id, "b:call:1:call:1");
    assert_clean(&log);
}

/// A call that cannot be recorded does not run, and its answer says so.
#[tokio::test(start_paused = true)]
async fn without_a_call_record_nothing_runs() {
    let (sink, world) = (TestSink::default(), World::new());
    let (log, _) = SessionLog::with_sink(sink.clone(), Options::new()).unwrap();
    *sink.0.room.lock().unwrap() = Some(3);
    let batch = scheduler(&world, &log, 2).batch(world.calls("safe", "ab"), world.cancel.clone());
    let report = batch.run().await;
    for call in &report.committed {
        assert_eq!(
            call.result.kind(),
            Some(FailureKind::Unrecorded),
            "{}",
            call.result.text()
        );
        assert_eq!(call.result.effect(), Effect::NotStarted);
    }
    assert_eq!(world.only(&["pre:", "body:"]), "");
    *sink.0.room.lock().unwrap() = None;
    assert!(calls(&log).is_empty() && results(&log).is_empty());
}

/// Likewise where the record of the start cannot be written.
#[tokio::test(start_paused = true)]
async fn without_a_started_record_the_body_is_not_entered() {
    let (sink, world) = (TestSink::default(), World::new());
    let (log, _) = SessionLog::with_sink(sink.clone(), Options::new()).unwrap();
    world.hold("pre:a");
    let batch = scheduler(&world, &log, 2).batch(world.calls("safe", "ab"), world.cancel.clone());
    let run = tokio::spawn(batch.run());
    idle().await;
    *sink.0.room.lock().unwrap() = Some(0);
    world.release("pre:a");
    idle().await;
    let report = run.await.unwrap();
    let kinds: Vec<_> = report
        .committed
        .iter()
        .map(|call| call.result.kind())
        .collect();
    assert_eq!(kinds, [Some(FailureKind::Unrecorded); 2]);
    assert_eq!(world.bodies(), "");
}

/// A result that cannot be recorded stands.
#[tokio::test(start_paused = true)]
async fn without_a_result_record_the_result_stands() {
    let (sink, world) = (TestSink::default(), World::new());
    let (log, _) = SessionLog::with_sink(sink.clone(), Options::new()).unwrap();
    world.hold("body:a");
    let batch = scheduler(&world, &log, 2).batch(world.calls("safe", "a"), world.cancel.clone());
    let run = tokio::spawn(batch.run());
    idle().await;
    *sink.0.room.lock().unwrap() = Some(0);
    world.release("body:a");
    let report = run.await.unwrap();
    assert_eq!(report.committed[0].result.text(), "a");
}

/// With `Every`, the policy waits for the call record to be safe, and the
/// body for the started record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_record_is_safe_before_what_follows_it() {
    let (sink, world) = (TestSink::default(), World::new());
    let options = Options::new().sync(SyncPolicy::Every);
    let (log, _) = SessionLog::with_sink(sink.clone(), options).unwrap();
    let mut syncing = sink.watch();
    sink.shut(true);
    let batch = scheduler(&world, &log, 2).batch(world.calls("safe", "a"), world.cancel.clone());
    let run = tokio::spawn(batch.run());
    syncing.recv().await.unwrap();
    sleep(Duration::from_millis(20)).await;
    assert_eq!(
        world.only(&["pre:", "body:"]),
        "",
        "the call record is not safe"
    );
    assert_eq!(kinds(&log), ["tool/call"]);

    world.hold("pre:a");
    sink.shut(false);
    while !world.has("pre:a") {
        sleep(Duration::from_millis(1)).await;
    }
    sink.shut(true);
    world.release("pre:a");
    syncing.recv().await.unwrap();
    sleep(Duration::from_millis(20)).await;
    assert_eq!(world.bodies(), "", "the started record is not safe");
    assert_eq!(kinds(&log), ["tool/call", "tool/started"]);
    sink.shut(false);
    assert_eq!(run.await.unwrap().committed[0].result.text(), "a");
    assert!(sink.syncs() >= 2);
    assert_clean(&log);
}

/// Cancelled while the started record is made safe, or its sync fails: the
/// body is not entered, which is no contradiction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_not_entered_after_all() {
    for fails in [false, true] {
        let (sink, world) = (TestSink::default(), World::new());
        let options = Options::new().sync(SyncPolicy::Every);
        let (log, _) = SessionLog::with_sink(sink.clone(), options).unwrap();
        world.hold("pre:a");
        let batch =
            scheduler(&world, &log, 2).batch(world.calls("safe", "a"), world.cancel.clone());
        let run = tokio::spawn(batch.run());
        while !world.has("pre:a") {
            sleep(Duration::from_millis(1)).await;
        }
        let mut syncing = sink.watch();
        sink.shut(true);
        world.release("pre:a");
        syncing.recv().await.unwrap();
        if fails {
            sink.0.sync_fails.store(true, Ordering::SeqCst);
        } else {
            world.cancel.cancel();
        }
        sink.shut(false);
        let report = run.await.unwrap();
        let result = &report.committed[0].result;
        let kind = if fails {
            FailureKind::Unrecorded
        } else {
            FailureKind::Cancelled
        };
        assert_eq!(
            (result.kind(), result.effect()),
            (Some(kind), Effect::NotStarted)
        );
        assert_eq!(world.bodies(), "");
        if !fails {
            assert_clean(&log);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_still_gets_its_result_record() {
    let (log, world) = (SessionLog::in_memory(), World::new());
    world.hold("body:a");
    let pipeline = world.pipeline_with(Arc::new(SessionRecorder::new(log.clone())));
    let task = tokio::spawn({
        let (pipeline, call) = (pipeline.clone(), world.call("safe", "a", Value::Null));
        async move { pipeline.run(call).await }
    });
    idle().await;
    task.abort();
    idle().await;
    assert!(results(&log).is_empty(), "the body has not come to its end");
    world.release("body:a");
    idle().await;
    let end = &results(&log)[0];
    assert_eq!(end.error.as_ref().unwrap().code.as_deref(), Some("ABORTED"));
    assert_eq!(end.effect.as_deref(), Some("stopped"));
    assert_clean(&log);
}

/// A call whose future was dropped before anybody polled it has a record of
/// both: what came in and that it never ran.
///
/// conformance: CANCEL-20
#[tokio::test(start_paused = true)]
async fn a_call_dropped_before_its_first_poll_has_both_records() {
    let log = SessionLog::in_memory();
    let pipeline = toolfall::Pipeline::builder(toolfall::Registry::new())
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();
    let token = tokio_util::sync::CancellationToken::new();
    let request = toolfall::CallRequest::new("c1", "echo", "{}", token);
    drop(tower::Service::call(&mut pipeline.clone(), request));
    assert_eq!(kinds(&log), ["tool/call", "tool/result"]);
    let code = results(&log)[0].error.clone().and_then(|error| error.code);
    assert_eq!(code.as_deref(), Some("ABORTED_BEFORE_DISPATCH"));
    assert_clean(&log);
}

fn more() -> impl Strategy<Value = (bool, Value)> {
    let what = prop_oneof![
        4 => (0..12_u64).prop_map(|ms| json!({"ms": ms})),
        1 => Just(json!({"deny": "no"})),
        1 => Just(json!({"pre_fails": "down"})),
        1 => Just(json!({"guard": "no"})),
        1 => (0..9_u64).prop_map(|ms| json!({"ms": ms, "fail": "broken"})),
        1 => (0..9_u64).prop_map(|ms| json!({"ms": ms, "ask": true})),
        1 => Just(json!({"ask": true, "answer": "rejected"})),
        1 => (0..9_u64).prop_map(|ms| json!({"ms": ms, "nest": true})),
        1 => Just(json!({"cancels": true})),
    ];
    (prop::bool::weighted(0.25), what)
}

/// A whole session of two batches over one log, the first perhaps cancelled
/// or dropped.
async fn session(batch: &[(bool, Value)], limit: usize, every: bool, drop_after: Option<u64>) {
    let policy = if every {
        SyncPolicy::Every
    } else {
        SyncPolicy::Never
    };
    let (log, _) =
        SessionLog::with_sink(MemorySink::default(), Options::new().sync(policy)).unwrap();
    let world = World::new();
    let nest = raw_tool(
        "nest",
        "",
        json!({"type": "object"}),
        |arguments: Arguments, ctx: ToolContext| async move {
            let inner = json!({"k": "n", "ms": arguments.value()["ms"]}).to_string();
            let (a, b) = tokio::join!(
                ctx.call_tool("safe", inner.clone()),
                ctx.call_tool("lone", inner)
            );
            Ok::<Value, BoxError>(json!([a?.text(), b?.text()]))
        },
    );
    world.registry.register(nest.parallel()).unwrap().keep();
    let calls: Vec<CallRequest> = batch
        .iter()
        .enumerate()
        .map(|(n, (exclusive, more))| {
            let tool = match (&more["nest"], exclusive) {
                (Value::Bool(true), _) => "nest",
                (_, true) => "lone",
                (_, false) => "safe",
            };
            world.call(tool, &n.to_string(), more.clone())
        })
        .collect();
    let count = calls.len();
    let run = tokio::spawn(
        scheduler(&world, &log, limit)
            .batch(calls, world.cancel.clone())
            .run(),
    );
    if let Some(ms) = drop_after {
        sleep(Duration::from_millis(ms)).await;
        run.abort();
    }
    let _ = run.await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.running(), 0);
    let second = World::new();
    scheduler(&second, &log, limit)
        .batch(second.calls("safe", "ab"), second.cancel.clone())
        .run()
        .await;
    assert_clean(&log);
    let top = calls_of_the_model(&log);
    assert_eq!(top, count + 2);
    assert_eq!(
        results(&log).len(),
        log.records()
            .unwrap()
            .iter()
            .filter(|record| record.body.kind() == "tool/call")
            .count()
    );
}

fn calls_of_the_model(log: &SessionLog) -> usize {
    calls(log)
        .iter()
        .filter(|call| call.parent.is_none())
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_log_of_any_session_is_sound(
        batch in prop::collection::vec(more(), 0..10),
        limit in 1..4_usize,
        every in prop::bool::weighted(0.3),
        drop_after in prop::option::of(0..40_u64),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(session(&batch, limit, every, drop_after));
    }
}
