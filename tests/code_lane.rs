//! The lane of a program's calls: what overlaps, in which order, and what
//! becomes of it when the program is over.

#![cfg(feature = "code")]

#[path = "support/code.rs"]
mod code;
#[path = "support/facade.rs"]
mod support;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use code::{
    Coded, Run, Scripted, coded, coded_with_limit, ended, returned, run_code, run_code_by, sleeper,
    threw,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use support::{Counter, Log, any_object, context, echo, registry, returns, texts};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toolfall::code::{CodeConfig, Misuse, RunFailureKind, RunOutcome};
use toolfall::registry::Presentation;
use toolfall::{
    Arguments, BoxError, CallView, Decision, Pipeline, PostDecision, PostRequest, Registration,
    ToolContext, ToolDef, ToolResult, codes, raw_tool,
};

/// A program that makes `calls` at once and waits for all of them.
fn at_once(calls: &[(&'static str, Value)]) -> Scripted {
    let calls = calls.to_vec();
    Scripted::new(move |run: Run| {
        let calls: Vec<_> = calls
            .iter()
            .map(|(name, given)| run.call(name, given.clone()))
            .collect();
        async move {
            let answers = join_all(calls).await;
            returned(json!(
                answers.iter().filter(|answer| answer.is_ok()).count()
            ))
        }
    })
}

fn calls(names: &[&'static str], ms: u64) -> Vec<(&'static str, Value)> {
    let numbered = names.iter().enumerate();
    numbered
        .map(|(place, name)| (*name, json!({"n": place + 1, "ms": ms})))
        .collect()
}

async fn result_of(coded: &Coded) -> ToolResult {
    let pipeline = Pipeline::builder(coded.registry.clone()).build();
    pipeline.run(run_code()).await
}

/// conformance: CODE-25, NEST-01
#[tokio::test(start_paused = true)]
async fn safe_calls_overlap() {
    let log = Log::<String>::default();
    let coded = coded(
        registry([sleeper("read", &log).parallel()]),
        Presentation::Both,
        at_once(&calls(&["read"; 3], 50)),
    );
    let began = Log::<String>::default();
    let started = began.clone();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .guard(move |call: &CallView| {
            started.push(call.id().to_string());
            None::<toolfall::Denial>
        })
        .build();
    let start = tokio::time::Instant::now();
    assert_eq!(pipeline.run(run_code()).await.value().unwrap()["result"], 3);
    assert!(start.elapsed() < Duration::from_millis(60));
    let log = log.take();
    assert_eq!(log[..3], ["enter read1", "enter read2", "enter read3"]);
    let ids = ["call-1", "call-1:code:1", "call-1:code:2", "call-1:code:3"];
    assert_eq!(began.take(), ids);
}

/// The most that were open at a time.
fn peak(log: &[String]) -> usize {
    let (mut open, mut peak) = (0_usize, 0);
    for line in log {
        if line.starts_with("enter") {
            open += 1;
        } else {
            open -= 1;
        }
        peak = peak.max(open);
    }
    peak
}

/// conformance: CODE-26, NEST-03
#[tokio::test(start_paused = true)]
async fn no_more_overlap_than_the_limit_says() {
    for (limit, wanted) in [(2, 2), (1, 1), (3, 3)] {
        let log = Log::<String>::default();
        let mut program = calls(&["read"; 3], 10);
        program[0].1["ms"] = json!(5);
        let coded = coded_with_limit(
            registry([sleeper("read", &log).parallel()]),
            limit,
            at_once(&program),
        );
        assert!(!result_of(&coded).await.is_error());
        let log = log.take();
        assert_eq!(peak(&log), wanted, "{log:?}");
        if limit == 2 {
            let third = log.iter().position(|line| line == "enter read3").unwrap();
            assert_eq!(log[third - 1], "exit read1");
        }
    }
    assert_eq!(
        CodeConfig::default().max_parallel_sub_calls,
        NonZeroUsize::new(10).unwrap()
    );
    let log = Log::<String>::default();
    let coded = coded(
        registry([sleeper("read", &log).parallel()]),
        Presentation::Both,
        at_once(&calls(&["read"; 25], 10)),
    );
    assert!(!result_of(&coded).await.is_error());
    assert_eq!(peak(&log.take()), 10);

    for bad in [json!(0), json!(1.5), json!(-1), json!("3"), json!(null)] {
        let error = CodeConfig::from_json(&json!({"maxParallelSubCalls": bad})).unwrap_err();
        let says = "maxParallelSubCalls must be a positive integer";
        assert!(error.to_string().starts_with(says), "{error}");
    }
}

/// conformance: CODE-27, NEST-04
#[tokio::test(start_paused = true)]
async fn calls_of_a_tool_that_says_nothing_run_one_after_the_other() {
    let log = Log::<String>::default();
    let coded = coded(
        registry([sleeper("write", &log)]),
        Presentation::Both,
        at_once(&calls(&["write"; 3], 5)),
    );
    assert!(!result_of(&coded).await.is_error());
    let wanted: Vec<String> = (1..=3)
        .flat_map(|n| [format!("enter write{n}"), format!("exit write{n}")])
        .collect();
    assert_eq!(log.take(), wanted);
}

/// conformance: CODE-28, NEST-02
#[tokio::test(start_paused = true)]
async fn an_exclusive_call_is_a_barrier() {
    let log = Log::<String>::default();
    let coded = coded(
        registry([sleeper("read", &log).parallel(), sleeper("write", &log)]),
        Presentation::Both,
        at_once(&calls(&["read", "read", "write", "read"], 5)),
    );
    assert!(!result_of(&coded).await.is_error());
    let log = log.take();
    assert_eq!(log[..2], ["enter read1", "enter read2"]);
    assert_eq!(
        log[4..],
        ["enter write3", "exit write3", "enter read4", "exit read4"]
    );
}

fn named(request: &PostRequest) -> String {
    let arguments = request.call().arguments().unwrap().value();
    format!("{}{}", request.call().name(), arguments["n"])
}

/// conformance: CODE-29, NEST-06
#[tokio::test(start_paused = true)]
async fn nothing_begins_before_an_exclusive_call_is_committed() {
    let log = Log::<String>::default();
    let coded = coded(
        registry([sleeper("read", &log).parallel(), sleeper("write", &log)]),
        Presentation::Both,
        at_once(&calls(&["write", "read"], 0)),
    );
    let [pre, post] = std::array::from_fn(|_| log.clone());
    let pipeline = Pipeline::builder(coded.registry.clone())
        .pre_decision(move |call: &CallView| {
            pre.push(format!("pre {}", call.name()));
            Decision::Allow
        })
        .post_execute(move |request: PostRequest| {
            let post = post.clone();
            async move {
                sleep(Duration::from_millis(50)).await;
                post.push(format!("post {}", request.call().name()));
                PostDecision::accept()
            }
        })
        .build();
    pipeline.run(run_code()).await;
    let wanted = [
        "pre run_code",
        "pre write",
        "enter write1",
        "exit write1",
        "post write",
        "pre read",
        "enter read2",
        "exit read2",
        "post read",
        "post run_code",
    ];
    assert_eq!(log.take(), wanted);
}

/// conformance: CODE-30, NEST-05
#[tokio::test(start_paused = true)]
async fn policies_do_not_overlap_and_bodies_do() {
    let log = Log::<String>::default();
    let coded = coded(
        registry([sleeper("read", &log).parallel()]),
        Presentation::Both,
        at_once(&calls(&["read", "read"], 50)),
    );
    let pre = log.clone();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .pre_decision(move |call: CallView| {
            let pre = pre.clone();
            async move {
                if call.parent().is_some() {
                    pre.push(format!("judge {}", call.id()));
                    let slow = call.id().as_str().ends_with(":1");
                    sleep(Duration::from_millis(if slow { 20 } else { 1 })).await;
                    pre.push(format!("judged {}", call.id()));
                }
                Decision::Allow
            }
        })
        .build();
    pipeline.run(run_code()).await;
    let log = log.take();
    let judged: Vec<_> = log
        .iter()
        .filter(|line| line.starts_with("judge"))
        .collect();
    let wanted = [
        "judge call-1:code:1",
        "judged call-1:code:1",
        "judge call-1:code:2",
        "judged call-1:code:2",
    ];
    assert_eq!(judged, wanted);
    let bodies: Vec<_> = log
        .iter()
        .filter(|line| !line.starts_with("judge"))
        .cloned()
        .collect();
    assert_eq!(peak(&bodies), 2);
}

/// conformance: CODE-31, NEST-07
#[tokio::test(start_paused = true)]
async fn commits_keep_the_order_of_the_calls() {
    let log = Log::<String>::default();
    let mut program = calls(&["read", "read"], 0);
    program[0].1["ms"] = json!(50);
    let coded = coded(
        registry([sleeper("read", &log).parallel()]),
        Presentation::Both,
        at_once(&program),
    );
    let post = log.clone();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .post_execute(move |request: &PostRequest| {
            if request.call().parent().is_none() {
                return PostDecision::accept();
            }
            post.push(format!("post {}", named(request)));
            PostDecision::accept().with_context(context(&named(request)))
        })
        .build();
    let result = pipeline.run(run_code()).await;
    let wanted = [
        "enter read1",
        "enter read2",
        "exit read2",
        "exit read1",
        "post read1",
        "post read2",
    ];
    assert_eq!(log.take(), wanted);
    assert_eq!(texts(result.contexts()), ["read1", "read2"]);
}

/// conformance: CODE-32
#[tokio::test(start_paused = true)]
async fn a_call_is_classified_when_it_begins() {
    let log = Log::<String>::default();
    let held: Arc<Mutex<Vec<Registration>>> = Arc::default();
    let registry = registry([]);
    held.lock()
        .unwrap()
        .push(registry.register(sleeper("read", &log).parallel()).unwrap());
    // The first call takes the safe tool away and puts an exclusive one there.
    let (theirs, again) = (registry.clone(), held.clone());
    let replacing = log.clone();
    let replace = raw_tool(
        "replace",
        "",
        any_object(),
        move |_: Arguments, _: ToolContext| {
            again.lock().unwrap().clear();
            let registered = theirs.register(sleeper("read", &replacing)).unwrap();
            again.lock().unwrap().push(registered);
            async { Ok::<_, BoxError>(json!(null)) }
        },
    );
    registry.register(replace).unwrap().keep();
    let coded = coded(
        registry,
        Presentation::Both,
        at_once(&calls(&["replace", "read", "read"], 5)),
    );
    assert_eq!(result_of(&coded).await.value().unwrap()["result"], 3);
    assert_eq!(peak(&log.take()), 1);
}

/// conformance: CODE-33
#[tokio::test(start_paused = true)]
async fn a_value_is_there_once_the_call_is_committed() {
    let log = Log::<String>::default();
    let program = log.clone();
    let runtime = Scripted::new(move |run: Run| {
        let log = program.clone();
        async move {
            run.call("echo", json!({})).await.unwrap();
            log.push("value");
            ended()
        }
    });
    let coded = coded(registry([echo("echo")]), Presentation::Both, runtime);
    let post = log.clone();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .post_execute(move |_: PostRequest| {
            let post = post.clone();
            async move {
                sleep(Duration::from_millis(10)).await;
                post.push("posted");
                PostDecision::accept()
            }
        })
        .build();
    pipeline.run(run_code()).await;
    assert_eq!(log.take(), ["posted", "value", "posted"]);
}

/// conformance: CODE-37, CODE-38
#[tokio::test(start_paused = true)]
async fn a_program_that_is_over_calls_nothing() {
    let log = Log::<String>::default();
    let left = Arc::new(Mutex::new(None));
    let later = Arc::new(Mutex::new(Vec::new()));
    let (kept, queued) = (left.clone(), later.clone());
    let runtime = Scripted::new(move |run: Run| {
        let (left, later) = (kept.clone(), queued.clone());
        async move {
            let live = run.call("writer", json!({"n": 1, "ms": 1000}));
            let waiting = run.call("writer", json!({"n": 2}));
            later.lock().unwrap().extend([live, waiting]);
            sleep(Duration::from_millis(5)).await;
            *left.lock().unwrap() = Some(run);
            ended()
        }
    });
    let coded = coded(
        registry([sleeper("writer", &log)]),
        Presentation::Both,
        runtime,
    );
    assert!(!result_of(&coded).await.is_error());
    assert_eq!(log.take(), ["enter writer1", "cancelled writer1"]);

    let run = left.lock().unwrap().take().unwrap();
    let over = "run_code run is over (run_code settled)";
    let message = run.call("writer", json!({})).await.unwrap_err();
    assert_eq!(message, format!("{over}; writer not dispatched"));
    let later = std::mem::take(&mut *later.lock().unwrap());
    let messages: Vec<_> = join_all(later)
        .await
        .into_iter()
        .map(Result::unwrap_err)
        .collect();
    assert_eq!(
        messages,
        [
            format!("{over}; writer result discarded"),
            format!("{over}; writer tool call abandoned"),
        ]
    );
    assert_eq!(log.take(), Vec::<String>::new());
}

/// conformance: CODE-39, CODE-40, NEST-08
#[tokio::test(start_paused = true)]
async fn a_commit_in_progress_is_waited_for_and_aborted() {
    let observed = Log::<(String, bool)>::default();
    let results = observed.clone();
    let answer = Arc::new(Mutex::new(None));
    let kept = answer.clone();
    let runtime = Scripted::new(move |run: Run| {
        let kept = kept.clone();
        async move {
            *kept.lock().unwrap() = Some(run.call("echo", json!({"n": 1})));
            sleep(Duration::from_millis(5)).await;
            ended()
        }
    });
    let coded = coded(registry([echo("echo")]), Presentation::Both, runtime);
    let pipeline = Pipeline::builder(coded.registry.clone())
        .post_execute(|request: PostRequest| async move {
            if request.call().parent().is_some() {
                sleep(Duration::from_millis(100)).await;
            }
            PostDecision::accept()
        })
        .observer(move |call: &CallView, result: &ToolResult| {
            results.push((call.name().to_owned(), result.is_error()));
        })
        .build();
    let result = pipeline.run(run_code()).await;
    assert!(!result.is_error());
    let wanted = [("echo".to_owned(), true), ("run_code".to_owned(), false)];
    assert_eq!(
        observed.take(),
        wanted,
        "the nested success became an aborted failure"
    );
    let left = answer.lock().unwrap().take().unwrap();
    let answer = left.await;
    let says = "run_code run is over (run_code settled); echo result discarded";
    assert_eq!(answer.unwrap_err(), says);
}

/// conformance: CODE-41, NEST-09, NEST-10
#[tokio::test(start_paused = true)]
async fn whatever_ends_a_run_its_calls_come_to_rest_before_the_result() {
    type End = fn() -> Result<RunOutcome, Misuse>;
    let ends: [(End, &str); 3] = [
        (
            || Ok(threw("thrown")),
            "code run failed (exception): thrown",
        ),
        (
            || Err(Misuse::Disposed),
            "a program cannot be run after disposal",
        ),
        (|| panic!("it broke"), "the code runtime panicked: it broke"),
    ];
    for (end, says) in ends {
        let (log, results) = (Log::<String>::default(), Log::<String>::default());
        let noted = results.clone();
        let runtime = Scripted::or_misuse(move |run: Run| async move {
            let _live = run.call("write", json!({"n": 1, "ms": 10_000}));
            let _queued = run.call("write", json!({"n": 2}));
            sleep(Duration::from_millis(5)).await;
            end()
        });
        let coded = coded(
            registry([sleeper("write", &log)]),
            Presentation::Both,
            runtime,
        );
        let pipeline = Pipeline::builder(coded.registry.clone())
            .observer(move |call: &CallView, _: &ToolResult| noted.push(call.id().to_string()))
            .build();
        let start = tokio::time::Instant::now();
        let result = pipeline.run(run_code()).await;
        assert!(start.elapsed() < Duration::from_secs(1));
        assert_eq!(result.message(), Some(says));
        assert_eq!(log.take(), ["enter write1", "cancelled write1"]);
        assert_eq!(results.take(), ["call-1:code:1", "call-1"]);
    }
}

async fn aborts(run: Run) -> RunOutcome {
    let live = run.call("write", json!({"n": 1, "ms": 10_000}));
    let queued = run.call("write", json!({"n": 2}));
    let calls = join_all([live, queued]);
    tokio::select! {
        () = run.cancelled() => RunOutcome::failed(vec![], RunFailureKind::Abort, "aborted"),
        _ = calls => ended(),
    }
}

/// conformance: CODE-42, NEST-11
#[tokio::test(start_paused = true)]
async fn cancelling_the_run_cancels_its_calls() {
    let log = Log::<String>::default();
    let coded = coded(
        registry([sleeper("write", &log)]),
        Presentation::Both,
        Scripted::new(aborts),
    );
    let pipeline = Pipeline::builder(coded.registry.clone()).build();
    let cancel = CancellationToken::new();
    let call = pipeline.run(run_code_by(cancel.clone()));
    let cancels = async {
        sleep(Duration::from_millis(5)).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(call, cancels);
    assert!(
        result.text().contains("code run failed (abort)"),
        "{}",
        result.text()
    );
    assert_eq!(log.take(), ["enter write1", "cancelled write1"]);
}

/// conformance: NEST-12
#[tokio::test(start_paused = true)]
async fn a_program_that_goes_on_after_a_cancellation_calls_nothing() {
    let runs = Counter::default();
    let cancel = CancellationToken::new();
    let outer = cancel.clone();
    let runtime = Scripted::new(move |run: Run| {
        outer.cancel();
        async move {
            let message = run.call("count", json!({})).await.unwrap_err();
            let says = "run_code run is over (run_code cancelled); count not dispatched";
            assert_eq!(message, says);
            returned(json!("fine"))
        }
    });
    let coded = coded(
        registry([returns("count", json!(1), &runs)]),
        Presentation::Both,
        runtime,
    );
    let pipeline = Pipeline::builder(coded.registry.clone()).build();
    let result = pipeline.run(run_code_by(cancel)).await;
    assert_eq!(result.code(), Some(codes::ABORTED));
    assert_eq!(runs.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_flood_waits_its_turn_and_keeps_its_order() {
    let log = Log::<String>::default();
    let noted = log.clone();
    let count = raw_tool(
        "count",
        "",
        any_object(),
        move |arguments: Arguments, _: ToolContext| {
            noted.push(arguments.value()["n"].to_string());
            async { Ok::<_, BoxError>(json!(null)) }
        },
    );
    let runtime = Scripted::new(|run: Run| {
        let flood: Vec<_> = (0..3_000)
            .map(|n| run.call("count", json!({"n": n})))
            .collect();
        async move {
            returned(json!(
                join_all(flood).await.iter().filter(|it| it.is_ok()).count()
            ))
        }
    });
    let coded = coded(registry([count.parallel()]), Presentation::Both, runtime);
    assert_eq!(result_of(&coded).await.value().unwrap()["result"], 3_000);
    let wanted: Vec<_> = (0..3_000).map(|n| n.to_string()).collect();
    assert!(log.take() == wanted, "in the order in which they were made");
}

/// A flood that nobody waits for, in futures that outlive the run.
#[tokio::test(start_paused = true)]
async fn a_flood_that_is_left_behind_holds_nothing_up() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let runs = Counter::default();
    let held = kept.clone();
    let runtime = Scripted::new(move |run: Run| {
        let held = held.clone();
        async move {
            let flood: Vec<_> = (0..20_000).map(|_| run.call("count", json!({}))).collect();
            *held.lock().unwrap() = flood;
            ended()
        }
    });
    let coded = coded(
        registry([returns("count", json!(1), &runs)]),
        Presentation::Both,
        runtime,
    );
    let result = tokio::time::timeout(Duration::from_secs(5), result_of(&coded)).await;
    assert!(!result.unwrap().is_error());
    assert_eq!(runs.get(), 0, "the program was over before anything began");
    let kept = std::mem::take(&mut *kept.lock().unwrap());
    let messages: Vec<_> = join_all(kept)
        .await
        .into_iter()
        .map(Result::unwrap_err)
        .collect();
    let says = "run_code run is over (run_code settled); count tool call abandoned";
    let abandoned = messages.iter().filter(|message| *message == says).count();
    assert_eq!(abandoned, 16 * 1024);
    let refused = messages
        .iter()
        .filter(|it| it.starts_with("too many tool calls wait: "));
    assert_eq!(refused.count(), 20_000 - 16 * 1024);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_nobody_wants_is_made_all_the_same() {
    let log = Log::<String>::default();
    let runtime = Scripted::new(|run: Run| async move {
        drop(run.call("write", json!({"n": 1, "ms": 5})));
        run.call("write", json!({"n": 2})).await.unwrap();
        ended()
    });
    let coded = coded(
        registry([sleeper("write", &log)]),
        Presentation::Both,
        runtime,
    );
    assert!(!result_of(&coded).await.is_error());
    let wanted = ["enter write1", "exit write1", "enter write2", "exit write2"];
    assert_eq!(log.take(), wanted);
}

/// Dropping the outer call at any moment leaves every call with one result.
#[tokio::test(start_paused = true)]
async fn a_run_may_be_dropped_anywhere() {
    for at in 0..40 {
        let (began, done) = (Counter::default(), Counter::default());
        let (starts, results) = (began.clone(), done.clone());
        let log = Log::<String>::default();
        let coded = coded(
            registry([sleeper("read", &log).parallel(), sleeper("write", &log)]),
            Presentation::Both,
            at_once(&calls(&["read", "read", "write", "read"], 5)),
        );
        let pipeline = Pipeline::builder(coded.registry.clone())
            .pre_decision(move |_: CallView| {
                starts.add();
                async {
                    sleep(Duration::from_millis(1)).await;
                    Decision::Allow
                }
            })
            .observer(move |_: &CallView, _: &ToolResult| results.add())
            .build();
        {
            let mut call = Box::pin(pipeline.run(run_code()));
            let limit = Duration::from_millis(at);
            let _ = tokio::time::timeout(limit, &mut call).await;
        }
        sleep(Duration::from_secs(1)).await;
        let log = log.take();
        let entered = log.iter().filter(|line| line.starts_with("enter")).count();
        assert_eq!(entered * 2, log.len(), "bodies come to their end: {log:?}");
        assert_eq!(began.get(), done.get(), "after {at} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn programs_nest_no_deeper_than_calls_do() {
    let deepest = Counter::default();
    let reached = deepest.clone();
    let runtime = Scripted::new(move |run: Run| {
        reached.add();
        async move {
            returned(
                run.call("again", json!({}))
                    .await
                    .unwrap_or_else(Value::from),
            )
        }
    });
    let again = raw_tool(
        "again",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            let result = ctx.call_tool("run_code", code::program()).await?;
            Ok::<_, BoxError>(result.text().into())
        },
    );
    let coded = coded(registry([again]), Presentation::Both, runtime);
    let result = result_of(&coded).await;
    assert!(
        result.text().contains("nested at most 16 deep"),
        "{}",
        result.text()
    );
    assert!(deepest.get() <= 9);
}

/// Tools that the stack's own parts break under do not break the lane.
#[tokio::test(start_paused = true)]
async fn what_panics_is_one_failure() {
    let renders: ToolDef =
        returns("renders", json!(1), &Counter::default()).render(|_| panic!("the renderer broke"));
    let panics = raw_tool(
        "panics",
        "",
        any_object(),
        |_: Arguments, _: ToolContext| async {
            panic!("the body broke");
            #[allow(unreachable_code)]
            Ok::<Value, BoxError>(json!(null))
        },
    );
    let runtime = Scripted::new(|run: Run| async move {
        let mut answers = Vec::new();
        for name in ["renders", "panics", "echo"] {
            answers.push(match run.call(name, json!({})).await {
                Ok(value) => value,
                Err(message) => message.into(),
            });
        }
        returned(json!(answers))
    });
    let coded = coded(
        registry([renders, panics, echo("echo")]),
        Presentation::Both,
        runtime,
    );
    let pipeline = Pipeline::builder(coded.registry.clone())
        .observer(|_: &CallView, _: &ToolResult| -> () { panic!("the observer broke") })
        .build();
    let result = pipeline.run(run_code()).await;
    let answers = &result.value().unwrap()["result"];
    assert!(answers[0].as_str().unwrap().contains("the renderer broke"));
    assert!(answers[1].as_str().unwrap().contains("the body broke"));
    assert_eq!(answers[2], json!({}));
}
