//! Long results of programs, and of the calls that they make.

#![cfg(feature = "code")]

#[path = "support/code.rs"]
mod code;
#[path = "support/facade.rs"]
mod facade;
#[path = "support/spill.rs"]
mod spill;
// The programs' helpers look for the shared ones under this name.
use facade as support;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use code::{Coded, Run, Scripted, coded, coded_with_limit, ended, returned, run_code};
use facade::{Counter, Log, registry, returns};
use serde_json::json;
use spill::{Does, Spilling, registered, spilling, text, warnings};
use tokio::sync::Semaphore;
use toolfall::code::{RunFailureKind, RunOutcome};
use toolfall::registry::Presentation;
use toolfall::session::check::check;
use toolfall::session::{Body, DispatchRecord, SessionLog, SessionRecorder};
use toolfall::spill::{
    Saving, Spill, SpillConfig, SpillPolicy, SpillSlot, SpillSource, SpillStore, Spilled,
};
use toolfall::{ContentBlock, Pipeline, ToolDef, ToolResult};

fn reads(names: &'static [&'static str]) -> Scripted {
    Scripted::new(move |run: Run| async move {
        let mut lengths = Vec::new();
        for name in names {
            let value = run.call(name, json!({})).await.unwrap();
            lengths.push(value.as_str().map_or(0, str::len));
        }
        returned(json!(lengths))
    })
}

async fn ran(coded: &Coded) -> (ToolResult, Vec<DispatchRecord>) {
    let log = SessionLog::in_memory();
    let pipeline = Pipeline::builder(coded.registry.clone())
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();
    let result = pipeline.run(run_code()).await;
    let records = log.records().unwrap();
    assert_eq!(check(&records), []);
    let ends = records.into_iter().filter_map(|record| match record.body {
        Body::Dispatch(end) => Some(end),
        _ => None,
    });
    (result, ends.collect())
}

fn long(name: &'static str) -> ToolDef {
    returns(name, text("Q".repeat(2_000)), &Counter::default())
}

/// conformance: SPILL-20
#[tokio::test]
async fn a_run_over_its_limit_is_stored_like_any_result() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let logs = vec!["first log".to_owned(), "x".repeat(480)];
    let failed = RunOutcome::failed(logs, RunFailureKind::OutputLimit, "more than 500 bytes");
    let runtime = Scripted::new(move |_| std::future::ready(failed.clone()));
    let coded = coded(registry([]), Presentation::Code, runtime);
    let pipeline = Pipeline::builder(coded.registry.clone())
        .post_execute(registered(&policy))
        .build();
    let result = pipeline.run(run_code()).await;
    assert!(result.is_error());
    assert!(result.text().contains("/spill/run_code.txt") && result.text().len() <= 200);
    let saved = &stub.saved()[0].content;
    assert!(saved.contains("code run failed (output-limit)") && saved.contains("first log"));
    drop(mount);
}

/// conformance: SPILL-22, SPILL-24
#[tokio::test]
async fn the_log_keeps_both_ends_and_the_program_gets_all() {
    for name in ["huge_read", "read"] {
        let Spilling {
            stub,
            policy,
            mount,
        } = spilling(200, Does::Saves);
        let runtime = Scripted::new(move |run: Run| async move {
            let value = run.call(name, json!({})).await.unwrap();
            returned(value.as_str().unwrap().len().into())
        });
        let coded = coded(registry([long(name)]), Presentation::Code, runtime);
        let log = policy.register_log(coded.mode.log_copies()).unwrap();
        let (result, ends) = ran(&coded).await;
        assert_eq!(result.text(), "2000");
        let [ContentBlock::Text { text }] = &ends[0].content[..] else {
            panic!("one text")
        };
        assert!(text.len() <= 200, "{text}");
        assert!(text.contains(&format!("/spill/{name}.txt")), "{text}");
        if name == "huge_read" {
            assert_eq!((text.len(), text.matches('Q').count()), (200, 93));
            assert!(text.contains("(Omitted 1907 bytes. "), "{text}");
        }
        let source = SpillSource::new(name, "call-1:code:1", "dispatch");
        let whole = "Q".repeat(2_000);
        assert_eq!(
            stub.saved(),
            [Spill::new("sess-1", source, format!("{name}.txt"), whole)]
        );
        drop((log, mount));
    }
}

/// conformance: SPILL-23
#[tokio::test]
async fn what_is_short_or_no_text_is_logged_as_it_is() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling(200, Does::Saves);
    let picture = || {
        let image = ContentBlock::Image {
            data: "aGk=".into(),
            mime_type: "image/png".into(),
        };
        vec![ContentBlock::text("z".repeat(500)), image]
    };
    let tools = [
        returns("short", text("x".repeat(200)), &Counter::default()),
        long("look").render(move |_| Ok(picture())),
    ];
    let coded = coded(
        registry(tools),
        Presentation::Code,
        reads(&["short", "look"]),
    );
    let log = policy.register_log(coded.mode.log_copies()).unwrap();
    let (_, ends) = ran(&coded).await;
    assert_eq!(ends[0].content, [ContentBlock::text("x".repeat(200))]);
    assert_eq!(ends[1].content, picture());
    assert_eq!(stub.saved(), []);
    drop((log, mount));

    let nothing = SpillPolicy::new(SpillSlot::new(), &SpillConfig::default());
    assert!(nothing.register_log(coded.mode.log_copies()).is_none());
}

/// A store whose saves take until somebody lets them.
#[derive(Clone)]
struct Held {
    begun: Counter,
    may: Arc<Semaphore>,
}

impl SpillStore for Held {
    fn save(&self, spill: Spill) -> Saving {
        self.begun.add();
        let may = self.may.clone();
        Box::pin(async move {
            may.acquire().await?.forget();
            Ok(Spilled::new(format!("/spill/{}", spill.name), 0, ""))
        })
    }
}

fn held(coded: &Coded) -> Held {
    let store = Held {
        begun: Counter::default(),
        may: Arc::new(Semaphore::new(0)),
    };
    let slot = SpillSlot::new();
    slot.mount(store.clone()).unwrap().keep();
    SpillPolicy::new(slot, &SpillConfig::max_inline_bytes(200))
        .deadline(Duration::from_secs(3_600))
        .owner(|_| Some("sess-1".to_owned()))
        .register_log(coded.mode.log_copies())
        .unwrap()
        .keep();
    store
}

/// Three calls, one after the other; each end is noted.
fn three(log: &Log<usize>) -> Scripted {
    let log = log.clone();
    Scripted::new(move |run: Run| {
        let log = log.clone();
        async move {
            for place in 0..3_usize {
                run.call("huge", json!({})).await.unwrap();
                log.push(place);
            }
            ended()
        }
    })
}

/// conformance: SPILL-25, CODE-33
#[tokio::test(start_paused = true)]
async fn a_program_does_not_wait_for_its_log_and_the_run_does() {
    let coded = coded(
        registry([long("huge")]),
        Presentation::Code,
        reads(&["huge", "huge"]),
    );
    let store = held(&coded);
    let mut running = Box::pin(ran(&coded));
    let waited = tokio::time::timeout(Duration::from_secs(60), &mut running).await;
    assert!(waited.is_err(), "the copies are not written yet");
    assert_eq!(store.begun.get(), 2, "both calls came to their end");
    store.may.add_permits(2);
    let (result, ends) = running.await;
    assert_eq!(result.text(), "[\n  2000,\n  2000\n]");
    assert_eq!(ends.len(), 2);
    for end in &ends {
        assert!(
            end.content[0]
                .as_text()
                .unwrap()
                .contains("/spill/huge.txt")
        );
    }
}

/// conformance: SPILL-26, CODE-33
#[tokio::test(start_paused = true)]
async fn too_many_copies_that_wait_hold_the_lane() {
    let (done, runs) = (Log::<usize>::default(), Counter::default());
    let huge = returns("huge", text("Q".repeat(2_000)), &runs);
    let coded = coded_with_limit(registry([huge]), 1, three(&done));
    assert_eq!(
        coded.mode.config().max_parallel_sub_calls,
        NonZeroUsize::MIN
    );
    let store = held(&coded);
    let mut running = Box::pin(ran(&coded));
    let waited = tokio::time::timeout(Duration::from_secs(60), &mut running).await;
    assert!(waited.is_err());
    assert_eq!(
        (runs.get(), done.take()),
        (2, vec![0, 1]),
        "the third one is held"
    );
    store.may.add_permits(1);
    let waited = tokio::time::timeout(Duration::from_secs(60), &mut running).await;
    assert!(waited.is_err());
    assert_eq!((runs.get(), done.take()), (3, vec![2]));
    store.may.add_permits(2);
    let (result, ends) = running.await;
    assert!(!result.is_error());
    assert_eq!(ends.len(), 3);
}

/// conformance: SPILL-27
#[tokio::test]
async fn what_cannot_be_stored_is_logged_whole() {
    for does in [Does::Fails, Does::Panics, Does::PanicsLater] {
        let Spilling { policy, mount, .. } = spilling(200, does);
        let coded = coded(
            registry([long("huge")]),
            Presentation::Code,
            reads(&["huge"]),
        );
        let log = policy.register_log(coded.mode.log_copies()).unwrap();
        warnings();
        let (result, ends) = ran(&coded).await;
        assert_eq!(result.text(), "[\n  2000\n]");
        assert_eq!(ends[0].content, [ContentBlock::text("Q".repeat(2_000))]);
        let warnings = warnings();
        assert!(
            warnings[0].contains("a long result stays in the log"),
            "{warnings:?}"
        );
        drop((log, mount));
    }
}

/// A save that never ends ends with its deadline, and with the outer call.
#[tokio::test(start_paused = true)]
async fn a_save_that_hangs_holds_a_run_no_longer_than_its_deadline() {
    let Spilling { policy, mount, .. } = spilling(200, Does::Hangs);
    let coded = coded(
        registry([long("huge")]),
        Presentation::Code,
        reads(&["huge"]),
    );
    let log = policy.register_log(coded.mode.log_copies()).unwrap();
    let (result, ends) = ran(&coded).await;
    assert!(!result.is_error());
    assert_eq!(ends[0].content[0].as_text().map(str::len), Some(2_000));
    drop((log, mount));
}
