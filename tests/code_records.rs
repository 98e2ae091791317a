//! What the log keeps of the calls that a program makes.

#![cfg(feature = "code")]

#[path = "support/code.rs"]
mod code;
#[path = "support/facade.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use code::{
    Coded, Run, Scripted, coded, ended, returned, run_code, run_code_by, run_code_from, sleeper,
    threw,
};
use serde_json::{Value, json};
use support::{Log, any_object, echo, registry, request};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolfall::card::{Moment, from_log};
use toolfall::code::{Dispatched, RunFailureKind, RunOutcome};
use toolfall::policy::Next;
use toolfall::registry::Presentation;
use toolfall::session::check::{Audit, Problem, check};
use toolfall::session::{
    Body, CallRecord, DispatchRecord, DispatchStartRecord, MemorySink, Options, Record,
    ResultRecord, SessionLog, SessionRecorder, StartedRecord, TurnRecord,
};
use toolfall::{
    Arguments, BoxError, CallRequest, CallView, ContentBlock, Decision, Pipeline, PostDecision,
    PostRequest, Scope, ToolContext, ToolDef, ToolResult, codes, raw_tool,
};

struct Recorded {
    coded: Coded,
    log: SessionLog,
}

fn recorded(tools: impl IntoIterator<Item = ToolDef>, runtime: Scripted) -> Recorded {
    Recorded {
        coded: coded(registry(tools), Presentation::Both, runtime),
        log: SessionLog::in_memory(),
    }
}

impl Recorded {
    async fn run(&self, call: CallRequest) -> ToolResult {
        let pipeline = Pipeline::builder(self.coded.registry.clone())
            .recorder(Arc::new(SessionRecorder::new(self.log.clone())))
            .build();
        pipeline.run(call).await
    }

    /// The records, which are in order.
    fn records(&self) -> Vec<Record> {
        let records = self.log.records().unwrap();
        assert_eq!(check(&records), [], "{records:#?}");
        records
    }
}

fn kinds(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.body.kind()).collect()
}

fn starts(records: &[Record]) -> Vec<DispatchStartRecord> {
    let starts = records.iter().filter_map(|record| match &record.body {
        Body::DispatchStart(start) => Some(start.clone()),
        _ => None,
    });
    starts.collect()
}

fn ends(records: &[Record]) -> Vec<DispatchRecord> {
    let ends = records.iter().filter_map(|record| match &record.body {
        Body::Dispatch(end) => Some(end.clone()),
        _ => None,
    });
    ends.collect()
}

fn calls(name: &'static str, arguments: &[Value]) -> Scripted {
    let arguments = arguments.to_vec();
    Scripted::new(move |run: Run| {
        let calls: Vec<_> = arguments
            .iter()
            .map(|given| run.call(name, given.clone()))
            .collect();
        async move {
            let answers = futures_util::future::join_all(calls).await;
            returned(answers.into_iter().map(Result::unwrap_or_default).collect())
        }
    })
}

/// conformance: CODE-19, NEST-01
#[tokio::test]
async fn each_call_has_one_pair_of_records() {
    let given = [json!({"n": 1}), json!({"n": 2}), json!({"n": 3})];
    let run = recorded([echo("read").parallel()], calls("read", &given));
    run.run(run_code_from(&Scope::new("agent"))).await;
    let records = run.records();
    let kinds = kinds(&records);
    assert_eq!(kinds[..2], ["tool/call", "tool/started"]);
    assert_eq!(kinds.last(), Some(&"tool/result"));
    for (kind, count) in [("tool/code-dispatch-start", 3), ("tool/code-dispatch", 3)] {
        assert_eq!(
            kinds.iter().filter(|it| **it == kind).count(),
            count,
            "{kind}"
        );
    }
    assert_eq!(kinds.iter().filter(|it| **it == "tool/call").count(), 1);

    let (starts, ends) = (starts(&records), ends(&records));
    for (place, (start, end)) in starts.iter().zip(&ends).enumerate() {
        let id = format!("call-1:code:{}", place + 1);
        assert_eq!(
            (&*start.root_call_id, &*start.parent_call_id),
            ("call-1", "call-1")
        );
        assert_eq!(start.sub_call_id, id);
        assert_eq!((start.root, start.parent), (Some(1), Some(1)));
        assert_eq!(
            (&*start.name, start.agent.as_deref()),
            ("read", Some("agent"))
        );
        assert_eq!(start.arguments, given[place].to_string());
        assert_eq!((end.call, &end.sub_call_id), (start.call, &id));
        assert_eq!((&end.name, &end.arguments), (&start.name, &start.arguments));
        assert_eq!(end.content, [ContentBlock::text(given[place].to_string())]);
        assert!(!end.is_error);
    }
    // Each line has the names of the reference's own events.
    let line = serde_json::to_value(&records[2]).unwrap();
    assert_eq!(line["type"], "tool/code-dispatch-start");
    for name in [
        "rootCallId",
        "parentCallId",
        "subCallId",
        "name",
        "arguments",
    ] {
        assert!(line[name].is_string(), "{name}: {line}");
    }
    let again: Record = serde_json::from_value(line).unwrap();
    assert_eq!(again, records[2]);
}

/// conformance: CODE-19, CODE-40, CODE-41, NEST-08, NEST-10
#[tokio::test(start_paused = true)]
async fn a_call_that_is_aborted_is_recorded_before_the_run_is() {
    for fail in [false, true] {
        let log = Log::<String>::default();
        let runtime = Scripted::new(move |run: Run| async move {
            let _left = run.call("write", json!({"n": 1, "ms": 1000}));
            sleep(Duration::from_millis(5)).await;
            if fail { threw("no") } else { ended() }
        });
        let run = recorded([sleeper("write", &log)], runtime);
        assert_eq!(run.run(run_code()).await.is_error(), fail);
        let records = run.records();
        let wanted = [
            "tool/call",
            "tool/started",
            "tool/code-dispatch-start",
            "tool/started",
            "tool/code-dispatch",
            "tool/result",
        ];
        assert_eq!(kinds(&records), wanted);
        let [end] = &ends(&records)[..] else {
            panic!("one call")
        };
        assert!(end.is_error);
        assert_eq!(
            end.error.as_ref().unwrap().code.as_deref(),
            Some(codes::ABORTED)
        );
    }
}

/// conformance: CODE-20, CODE-21
#[tokio::test]
async fn the_log_keeps_the_content_and_the_program_gets_the_value() {
    let picture = ContentBlock::Image {
        data: "aGk=".into(),
        mime_type: "image/png".into(),
    };
    let content = vec![ContentBlock::text("x".repeat(300)), picture];
    let shown = content.clone();
    let look = raw_tool(
        "look",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async { Ok::<_, BoxError>(json!(7)) },
    )
    .render(move |_| Ok(shown.clone()));
    let run = recorded([look], calls("look", &[json!({})]));
    let result = run.run(run_code()).await;
    assert_eq!(result.text(), "[\n  7\n]");
    let records = run.records();
    assert_eq!(ends(&records)[0].content, content);
    assert_eq!(ends(&records).len(), 1);
}

/// conformance: CODE-21
#[tokio::test]
async fn what_a_program_saw_is_not_what_the_model_reads() {
    let secret = raw_tool(
        "secret",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async {
            Ok::<_, BoxError>(json!("between the tool and the program"))
        },
    );
    let runtime = Scripted::new(|run: Run| async move {
        let secret = run.call("secret", json!({})).await.unwrap();
        let logs = vec!["curated".to_owned()];
        RunOutcome::completed(logs, Some(secret.as_str().unwrap().len().into()))
    });
    let run = recorded([secret], runtime);
    let pipeline = Pipeline::builder(run.coded.registry.clone())
        .recorder(Arc::new(SessionRecorder::new(run.log.clone())))
        .build();
    let cancel = CancellationToken::new();
    let batch = pipeline
        .scheduler()
        .batch([run_code_by(cancel.clone())], cancel);
    let report = batch.run().await;
    let [only] = &report.committed[..] else {
        panic!("one call, one result")
    };
    assert_eq!(only.result.text(), "curated\n32");
    assert!(report.end.contexts.is_empty());
    // Whoever makes messages of a log finds one call with one result.
    let records = run.records();
    let told = records.iter().filter(|record| {
        matches!(
            record.body,
            Body::Call(_) | Body::Result(_) | Body::Context(_)
        )
    });
    let told: Vec<_> = told
        .map(|record| serde_json::to_string(record).unwrap())
        .collect();
    assert_eq!(told.len(), 2);
    assert!(
        told.iter().all(|line| !line.contains("between the tool")),
        "{told:?}"
    );
}

/// conformance: CODE-22
#[tokio::test]
async fn without_a_recorder_nothing_is_recorded() {
    let coded = coded(
        registry([echo("read")]),
        Presentation::Both,
        calls("read", &[json!({})]),
    );
    let elsewhere = SessionLog::in_memory();
    let result = Pipeline::builder(coded.registry.clone())
        .build()
        .run(run_code())
        .await;
    assert_eq!(result.text(), "[\n  {}\n]");
    assert_eq!(elsewhere.records().unwrap(), []);
}

/// conformance: CODE-23, NEST-17
#[tokio::test]
async fn listeners_shape_the_copy_alone_and_may_fail() {
    let run = recorded([echo("read")], calls("read", &[json!({"n": 1})]));
    let copies = run.coded.mode.log_copies();
    let shaping = copies.register(|copy: Dispatched, _: Next<_, _>| async move {
        assert_eq!(copy.call().id().as_str(), "call-1:code:1");
        assert_eq!(copy.content(), [ContentBlock::text(r#"{"n":1}"#)]);
        Some(vec![ContentBlock::text("redacted")])
    });
    let result = run.run(run_code()).await;
    assert_eq!(result.value().unwrap()["result"], json!([{"n": 1}]));
    assert_eq!(
        ends(&run.records())[0].content,
        [ContentBlock::text("redacted")]
    );
    drop(shaping);

    let failing = copies.register(|_: Dispatched, _: Next<_, _>| async {
        Err::<Option<Vec<ContentBlock>>, _>(BoxError::from("the listener failed"))
    });
    assert!(!run.run(run_code()).await.is_error());
    drop(failing);
    let panicking = copies.register(|_: Dispatched, _: Next<_, _>| async {
        panic!("the listener panicked");
        #[allow(unreachable_code)]
        None
    });
    assert!(!run.run(run_code()).await.is_error());
    drop(panicking);
    let ends = ends(&run.records());
    assert_eq!(ends.len(), 3);
    for end in &ends[1..] {
        assert_eq!(end.content, [ContentBlock::text(r#"{"n":1}"#)]);
    }
}

/// conformance: CODE-24, NEST-09
#[tokio::test(start_paused = true)]
async fn a_call_that_never_began_has_no_record() {
    let log = Log::<String>::default();
    let runtime = Scripted::new(|run: Run| async move {
        let _live = run.call("write", json!({"n": 1, "ms": 1000}));
        let _queued = run.call("write", json!({"n": 2}));
        sleep(Duration::from_millis(5)).await;
        threw("no")
    });
    let run = recorded([sleeper("write", &log)], runtime);
    run.run(run_code()).await;
    let records = run.records();
    let subs: Vec<_> = starts(&records)
        .into_iter()
        .map(|start| start.sub_call_id)
        .collect();
    assert_eq!(subs, ["call-1:code:1"]);
    assert_eq!(ends(&records).len(), 1);
}

/// conformance: CODE-16, CODE-35, NEST-13, NEST-14
#[tokio::test]
async fn refused_calls_leave_no_record_and_denied_ones_a_pair() {
    let runtime = Scripted::new(|run: Run| async move {
        let missing = toolfall::code::BindingArguments::Missing;
        run.call_with("read", missing).await.unwrap_err();
        run.call("read", json!({})).await.unwrap_err();
        ended()
    });
    let coded = coded(registry([echo("read")]), Presentation::Both, runtime);
    let log = SessionLog::in_memory();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .pre_decision(|call: &CallView| match call.name() {
            "read" => Err(BoxError::from("the policy broke")),
            _ => Ok(Decision::Allow),
        })
        .build();
    pipeline.run(run_code()).await;
    let records = log.records().unwrap();
    assert_eq!(check(&records), []);
    let ends = ends(&records);
    assert_eq!(ends.len(), 1);
    assert!(ends[0].is_error && ends[0].sub_call_id == "call-1:code:1");
}

/// conformance: CODE-18
#[tokio::test]
async fn tool_and_log_get_the_same_arguments() {
    let seen = Arc::new(Mutex::new(Value::Null));
    let kept = seen.clone();
    let deep = (0..120).fold(json!("leaf"), |value, _| json!([value]));
    let tool = raw_tool(
        "deep",
        "",
        any_object(),
        move |arguments: Arguments, _: ToolContext| {
            *kept.lock().unwrap() = arguments.value().clone();
            async { Ok::<_, BoxError>(json!(null)) }
        },
    );
    let run = recorded([tool], calls("deep", &[json!({"deep": deep})]));
    run.run(run_code()).await;
    let start = starts(&run.records()).remove(0);
    let logged: Value = serde_json::from_str(&start.arguments).unwrap();
    assert_eq!(logged, json!({"deep": deep}));
    assert_eq!(*seen.lock().unwrap(), logged);

    // Deeper ones are refused before anything of the call exists.
    let deeper = format!("{{\"deep\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let runtime = Scripted::new(move |run: Run| {
        let deeper = Arguments::from_text(deeper.clone());
        async move {
            let message = run.call_with("echo", deeper).await.unwrap_err();
            returned(message.into())
        }
    });
    let run = recorded([echo("echo")], runtime);
    let result = run.run(run_code()).await;
    assert!(
        result
            .text()
            .starts_with("tool arguments must be lossless JSON: ")
    );
    assert_eq!(starts(&run.records()).len(), 0);
}

/// Composite tools called by programs, and programs run by composite tools.
#[tokio::test]
async fn nested_calls_keep_their_places() {
    let both = raw_tool(
        "both",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            ctx.call_tool("read", r#"{"n": 2}"#).await?;
            Ok::<_, BoxError>(json!(null))
        },
    );
    let outer = raw_tool(
        "outer",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            ctx.call_tool("run_code", code::program()).await?;
            Ok::<_, BoxError>(json!(null))
        },
    );
    let run = recorded([echo("read"), both, outer], calls("both", &[json!({})]));
    run.run(request("outer", "{}")).await;
    let records = run.records();
    let start = &starts(&records)[0];
    assert_eq!(start.root_call_id, "call_1");
    assert_eq!(start.parent_call_id, "call_1:call:1");
    assert_eq!(start.sub_call_id, "call_1:call:1:code:1");
    let nested = records.iter().find_map(|record| match &record.body {
        Body::Call(call) if call.name == "read" => Some(call.clone()),
        _ => None,
    });
    assert_eq!(nested.unwrap().parent, Some(start.call));

    // A card shows them as calls of the model's own.
    let views = from_log(&records, &run.coded.registry, None);
    let moments: Vec<_> = views
        .iter()
        .filter(|view| view.call == start.call)
        .collect();
    assert_eq!(moments.len(), 2);
    assert_eq!(
        (moments[0].moment, moments[1].moment),
        (Moment::Call, Moment::Result)
    );
    assert_eq!(moments[1].tool.as_deref(), Some("both"));
}

/// A model that sends no ids, or the same one again.
#[tokio::test]
async fn odd_ids_of_the_model_are_no_problem() {
    let run = recorded([echo("read")], calls("read", &[json!({})]));
    for id in ["", "", "same", "same"] {
        let call = CallRequest::new(id, "run_code", code::program(), CancellationToken::new());
        run.run(call).await;
    }
    let roots: Vec<_> = starts(&run.records())
        .into_iter()
        .map(|it| it.root_call_id)
        .collect();
    assert_eq!(roots, ["#1", "#3", "same", "same"]);
}

fn record(seq: u64, body: impl Into<Body>) -> Record {
    Record {
        seq,
        at: None,
        body: body.into(),
    }
}

fn start(call: u64, [root, parent, sub]: [&str; 3]) -> DispatchStartRecord {
    DispatchStartRecord {
        call,
        root_call_id: root.to_owned(),
        parent_call_id: parent.to_owned(),
        sub_call_id: sub.to_owned(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
        ..DispatchStartRecord::default()
    }
}

fn end(call: u64, [root, parent, sub]: [&str; 3]) -> DispatchRecord {
    DispatchRecord {
        call,
        root_call_id: root.to_owned(),
        parent_call_id: parent.to_owned(),
        sub_call_id: sub.to_owned(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
        ..DispatchRecord::default()
    }
}

fn found(bodies: impl IntoIterator<Item = Body>) -> Vec<String> {
    let bodies = bodies.into_iter().enumerate();
    let records: Vec<_> = bodies
        .map(|(place, body)| record(place as u64 + 1, body))
        .collect();
    check(&records)
        .into_iter()
        .map(|finding| finding.to_string())
        .collect()
}

/// conformance: CODE-49, NEST-18
#[test]
fn records_outside_a_turn_or_without_ids_count_for_nothing() {
    let ids = ["root", "root", "child"];
    let turn = || TurnRecord {
        turn: "1".to_owned(),
    };
    let outside = found([
        Body::TurnStart(turn()),
        Body::TurnEnd(turn()),
        start(1, ids).into(),
        end(1, ids).into(),
        Body::TurnStart(turn()),
        start(1, ids).into(),
        end(1, ids).into(),
        Body::TurnEnd(turn()),
    ]);
    let says = "the call \"child\" of a program stands outside any open turn";
    assert_eq!(
        outside,
        [format!("line 3: {says}"), format!("line 4: {says}")]
    );

    for empty in [
        ["", "root", "child"],
        ["root", "", "child"],
        ["root", "root", ""],
    ] {
        let found = found([
            start(1, empty).into(),
            start(1, ids).into(),
            end(1, ids).into(),
        ]);
        let [found] = &found[..] else {
            panic!("one finding: {found:?}")
        };
        assert!(found.contains("must carry non-empty rootCallId"), "{found}");
    }
    let without_end = found([start(1, ids).into()]);
    assert_eq!(without_end, ["line 1: call 1 has no result"]);
    let without_start = found([end(7, ids).into()]);
    assert_eq!(without_start, ["line 1: there is no call 7"]);
}

/// conformance: CODE-50, NEST-18
#[test]
fn a_call_stays_below_its_root() {
    let (ids, other) = (["root", "root", "child"], ["another-root", "x", "child"]);
    let changed = found([
        start(1, ids).into(),
        end(1, ids).into(),
        start(2, other).into(),
        start(3, ids).into(),
        end(3, ids).into(),
    ]);
    assert_eq!(changed, ["line 3: changed rootCallId for subCallId child"]);

    let foreign = ["another-root", "child", "grandchild"];
    let foreign = found([
        start(1, ids).into(),
        end(1, ids).into(),
        start(2, foreign).into(),
    ]);
    let says = "line 3: parentCallId child does not belong to rootCallId another-root";
    assert_eq!(foreign, [says]);

    let own = ["root", "child", "grandchild"];
    let fine = [start(1, ids), start(2, own)].map(Body::from);
    let ends = [end(2, own), end(1, ids)].map(Body::from);
    assert_eq!(found(fine.into_iter().chain(ends)), Vec::<String>::new());

    // One record at a time, as a log is written.
    let mut audit = Audit::after(&[record(1, start(1, ids))]);
    let findings = audit.observe(&record(2, start(2, other)));
    assert_eq!(
        findings[0].problem,
        Problem::RootChanged {
            sub: "child".to_owned()
        }
    );
    assert_eq!(audit.observe(&record(3, end(1, ids))), []);
    assert_eq!(audit.finish(), [], "what was refused is not open");
}

/// A process that ends in the middle of a program.
#[test]
fn recovery_closes_open_calls_of_programs_first() {
    let sink = MemorySink::default();
    let options = || Options::new().clock(|| None);
    let (log, _) = SessionLog::with_sink(sink.clone(), options()).unwrap();
    let outer = CallRecord {
        call: log.new_call(),
        id: "root".to_owned(),
        name: "run_code".to_owned(),
        ..CallRecord::default()
    };
    log.append(outer).unwrap();
    log.append(StartedRecord { call: 1 }).unwrap();
    for (number, started) in [(2, true), (3, false)] {
        let sub = format!("root:code:{}", number - 1);
        let start = DispatchStartRecord {
            parent: Some(1),
            root: Some(1),
            ..start(log.new_call(), ["root", "root", &sub])
        };
        assert_eq!(start.call, number);
        log.append(start).unwrap();
        if started {
            log.append(StartedRecord { call: number }).unwrap();
        }
    }
    drop(log);

    let (log, recovery) = SessionLog::with_sink(sink.clone(), options()).unwrap();
    let interrupted: Vec<_> = recovery.interrupted.iter().map(|call| call.call).collect();
    assert_eq!(interrupted, [1, 2, 3]);
    assert_eq!(
        recovery.interrupted[1]
            .dispatch
            .as_ref()
            .unwrap()
            .sub_call_id,
        "root:code:1"
    );
    let records = log.records().unwrap();
    assert_eq!(check(&records), []);
    let closed = ends(&records);
    let codes_of: Vec<_> = closed
        .iter()
        .map(|end| (end.interrupted, end.error.clone().unwrap().code.unwrap()))
        .collect();
    let wanted = [
        (true, codes::INTERRUPTED.to_owned()),
        (true, codes::ABORTED_BEFORE_DISPATCH.to_owned()),
    ];
    assert_eq!(codes_of, wanted);
    assert_eq!(
        (&*closed[0].sub_call_id, &*closed[0].arguments),
        ("root:code:1", "{}")
    );
    assert!(matches!(
        &records.last().unwrap().body,
        Body::Result(ResultRecord { call: 1, .. })
    ));
    drop(log);
    let (_, again) = SessionLog::with_sink(sink, options()).unwrap();
    assert!(again.is_clean());
}

/// Dropping the outer call at any moment leaves a log in order.
#[tokio::test(start_paused = true)]
async fn a_dropped_run_leaves_no_record_with_one_half() {
    for at in 0..30 {
        let log = Log::<String>::default();
        let given: Vec<_> = (1..5).map(|n| json!({"n": n, "ms": 5})).collect();
        let run = recorded(
            [sleeper("read", &log).parallel_when(|given| given["n"] != 3)],
            calls("read", &given),
        );
        run.coded
            .mode
            .log_copies()
            .register(|_: Dispatched, next: Next<_, _>| async move {
                sleep(Duration::from_millis(3)).await;
                next.run().await
            })
            .keep();
        {
            let mut call = Box::pin(run.run(run_code()));
            let _ = tokio::time::timeout(Duration::from_millis(at), &mut call).await;
        }
        sleep(Duration::from_secs(1)).await;
        let records = run.records();
        assert_eq!(
            starts(&records).len(),
            ends(&records).len(),
            "after {at} ms"
        );
    }
}

/// A body that never ends, and a runtime that waits for it: cancelling the
/// outer call ends all of it.
#[tokio::test(start_paused = true)]
async fn a_cancelled_run_leaves_a_log_in_order() {
    let log = Log::<String>::default();
    let runtime = Scripted::new(|run: Run| async move {
        let call = run.call("write", json!({"n": 1, "ms": 100_000}));
        tokio::select! {
            _ = call => ended(),
            () = run.cancelled() => RunOutcome::failed(vec![], RunFailureKind::Abort, "aborted"),
        }
    });
    let run = recorded([sleeper("write", &log)], runtime);
    let cancel = CancellationToken::new();
    let cancels = async {
        sleep(Duration::from_millis(5)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(run.run(run_code_by(cancel.clone())), cancels);
    assert!(result.text().contains("code run failed (abort)"));
    assert_eq!(ends(&run.records()).len(), 1);
}

/// A post-execute policy of a call that is in its commit when the outer future
/// is dropped still leaves the whole record.
#[tokio::test(start_paused = true)]
async fn policies_that_wait_lose_no_record() {
    let coded = coded(
        registry([echo("read")]),
        Presentation::Both,
        calls("read", &[json!({}), json!({})]),
    );
    let log = SessionLog::in_memory();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .post_execute(|_: PostRequest| async {
            sleep(Duration::from_millis(10)).await;
            PostDecision::accept()
        })
        .build();
    {
        let mut call = Box::pin(pipeline.run(run_code()));
        let _ = tokio::time::timeout(Duration::from_millis(15), &mut call).await;
    }
    sleep(Duration::from_secs(1)).await;
    let records = log.records().unwrap();
    assert_eq!(check(&records), []);
    assert_eq!(ends(&records).len(), 2);
}

/// A listener that never answers holds the run no longer than the caller does.
#[tokio::test(start_paused = true)]
async fn a_listener_that_hangs_ends_with_the_outer_call() {
    let run = recorded([echo("read")], calls("read", &[json!({"n": 1})]));
    let copies = run.coded.mode.log_copies();
    copies
        .register(|_: Dispatched, _: Next<_, _>| {
            std::future::pending::<Option<Vec<ContentBlock>>>()
        })
        .keep();
    let cancel = CancellationToken::new();
    let mut running = Box::pin(run.run(run_code_by(cancel.clone())));
    let waited = tokio::time::timeout(Duration::from_secs(60), &mut running).await;
    assert!(waited.is_err(), "the copy is waited for");
    cancel.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(5), &mut running).await;
    assert_eq!(ended.unwrap().code(), Some(codes::ABORTED));
    assert_eq!(
        ends(&run.records())[0].content,
        [ContentBlock::text(r#"{"n":1}"#)]
    );
}

/// What a tool hides of its calls is hidden in a program's as well.
#[tokio::test]
async fn secrets_of_calls_are_in_no_record() {
    let picture = ContentBlock::Image {
        data: "aGk=".into(),
        mime_type: "image/png".into(),
    };
    let tool = raw_tool(
        "log_in",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async {
            Ok::<_, BoxError>(json!({"token": "tok-12345678"}))
        },
    )
    .render(move |_| {
        Ok(vec![
            ContentBlock::text("got tok-12345678"),
            picture.clone(),
        ])
    })
    .secret_arguments(["/password"])
    .secret_results(["/token"]);
    let run = recorded(
        [tool],
        calls("log_in", &[json!({"password": "correct-horse"})]),
    );
    let recorder = Arc::new(SessionRecorder::new(run.log.clone()));
    let pipeline = Pipeline::builder(run.coded.registry.clone())
        .recorder(recorder.clone())
        .build();
    let result = pipeline.run(run_code()).await;
    assert!(
        result.text().contains("tok-12345678"),
        "the program gets it"
    );
    recorder.contexts(result.contexts()).unwrap();
    let records = run.records();
    let [start] = &starts(&records)[..] else {
        panic!("one call")
    };
    assert!(start.redacted && start.arguments.contains("[redacted]"));
    let mut inner = records.clone();
    // The outer result is the program's own, which returned the token.
    inner.retain(|record| !matches!(record.body, Body::Result(_)));
    let logged = serde_json::to_string(&inner).unwrap();
    for secret in ["correct-horse", "tok-12345678"] {
        assert!(!logged.contains(secret), "{logged}");
    }
    assert!(logged.contains("context/message"));
}
