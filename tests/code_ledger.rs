//! What a program puts out, counted as JSON.

#![cfg(feature = "code")]

use serde_json::{Value, json};
use toolfall::code::ledger::{
    CompletionFault, Ledger, LogBuffer, Pushed, check_completion, cut, string_bytes, value_bytes,
};
use toolfall::code::protocol::Done;
use toolfall::code::{RunFailureKind, RunOutcome};
use toolfall::layers::discard_value;

fn deep(levels: usize, inside: Value) -> Value {
    (0..levels).fold(inside, |value, _| Value::Array(vec![value]))
}

fn ledger(cap: usize, logs: &[&str]) -> Ledger {
    let mut ledger = Ledger::new(cap);
    for log in logs {
        ledger.push(*log);
    }
    ledger
}

/// The bytes that an outcome takes, counted on the JSON itself.
fn taken(outcome: &RunOutcome) -> usize {
    let logs = serde_json::to_string(&outcome.logs).unwrap().len();
    let value = outcome.value.as_ref().map_or(0, |v| v.to_string().len());
    let error = outcome.error.as_ref().map_or(0, |error| {
        serde_json::to_string(&error.message).unwrap().len()
    });
    logs + value + error
}

fn kind(outcome: &RunOutcome) -> Option<RunFailureKind> {
    outcome.error.as_ref().map(|error| error.kind)
}

/// conformance: RT-24
#[test]
fn everything_that_comes_out_is_counted_as_json() {
    let odd = ["a\"b", "", "\u{1}\n", "€😀"];
    let full = RunOutcome::completed(
        odd.map(str::to_owned).to_vec(),
        Some(json!({"k": [1, null, "x"]})),
    );
    let cap = taken(&full);
    assert_eq!(ledger(cap, &odd).completed(full.value.clone()), full);
    let over = ledger(cap - 1, &odd).completed(full.value.clone());
    assert_eq!(kind(&over), Some(RunFailureKind::OutputLimit));
    // No logs are `[]`, and nothing returned is nothing.
    assert_eq!(Ledger::new(64).room(), 62);
    assert_eq!(taken(&RunOutcome::completed(vec![], None)), 2);
}

/// conformance: RT-25
#[test]
fn a_budget_holds_to_the_byte() {
    let limit = Some(RunFailureKind::OutputLimit);
    let euro = || Some(json!("€"));
    assert_eq!(Ledger::new(7).completed(euro()).value, euro());
    let cases = [
        (6, Ledger::new(6).completed(euro())),
        (10, ledger(10, &["abc"]).completed(Some(json!("xy")))),
        (
            10,
            ledger(10, &["abc"]).failed(RunFailureKind::Exception, "xy"),
        ),
    ];
    for (cap, outcome) in cases {
        assert_eq!(kind(&outcome), limit, "{cap}");
        assert_eq!(outcome.value, None);
        assert!(taken(&outcome) <= cap, "{outcome:?}");
    }
    let outcome = ledger(11, &["abc"]).completed(Some(json!("xy")));
    assert_eq!(
        (outcome.logs, outcome.value),
        (vec!["abc".to_owned()], Some(json!("xy")))
    );
    let outcome = ledger(11, &["abc"]).failed(RunFailureKind::Exception, "xy");
    assert_eq!(kind(&outcome), Some(RunFailureKind::Exception));
}

/// conformance: RT-26
#[test]
fn too_much_outranks_what_else_went_wrong() {
    let long = Ledger::new(64).completed(Some("x".repeat(10_000).into()));
    let error = Ledger::new(64).failed(RunFailureKind::Exception, "x".repeat(1_000_000));
    for outcome in [long, error] {
        let failure = outcome.error.unwrap();
        assert_eq!(failure.kind, RunFailureKind::OutputLimit);
        assert_eq!(failure.message, "outer output exceeded 64 bytes");
        assert_eq!((outcome.value, outcome.logs), (None, vec![]));
    }
}

/// conformance: RT-27, RT-31
#[test]
fn the_beginning_of_the_logs_stays_beside_the_message() {
    let mut many = Ledger::new(300);
    let pushed = (0..1_000)
        .filter(|n| many.push(format!("line {n}")))
        .count();
    assert!(pushed < 40 && many.is_over());
    let outcome = many.completed(None);
    assert_eq!(kind(&outcome), Some(RunFailureKind::OutputLimit));
    assert!(!outcome.logs.is_empty() && taken(&outcome) <= 300);
    assert!(taken(&outcome) >= 299, "what fits is kept");
    let (last, whole) = outcome.logs.split_last().unwrap();
    for (n, log) in whole.iter().enumerate() {
        assert_eq!(log, &format!("line {n}"));
    }
    assert!(format!("line {}", whole.len()).starts_with(last.as_str()));

    let outcome = ledger(96, &[&format!("start-{}", "é".repeat(10_000))]).completed(None);
    assert_eq!(outcome.logs.len(), 1);
    assert!(outcome.logs[0].starts_with("start-é"));
    assert!((95..=96).contains(&taken(&outcome)), "{outcome:?}");
}

/// conformance: RT-28
#[test]
fn the_usual_budget_is_64_mebibytes() {
    let cap = 67_108_864;
    let text = "x".repeat(67_108_860);
    let outcome = Ledger::new(cap).completed(Some(text.clone().into()));
    assert_eq!(kind(&outcome), None);
    let outcome = Ledger::new(cap).completed(Some((text + "x").into()));
    let message = outcome.error.unwrap().message;
    assert_eq!(message, "outer output exceeded 67108864 bytes");
}

/// conformance: RT-29
#[test]
fn failures_before_the_start_are_counted_too() {
    let outcome = Ledger::new(64).failed(RunFailureKind::Abort, "because ".repeat(20));
    assert_eq!(kind(&outcome), Some(RunFailureKind::OutputLimit));
    assert!(taken(&outcome) <= 64);
    let outcome = Ledger::new(4).failed(RunFailureKind::Exception, "SyntaxError");
    assert_eq!(kind(&outcome), Some(RunFailureKind::OutputLimit));
    assert_eq!(outcome.error.as_ref().unwrap().message, "");
    assert_eq!(taken(&outcome), 4);
}

/// conformance: RT-32
#[test]
fn a_guest_counts_its_logs_itself() {
    let mut logs = LogBuffer::new(15);
    assert_eq!(logs.push("12345"), Pushed::Whole);
    assert_eq!(logs.push("123456"), Pushed::Cut("123"));
    assert_eq!(logs.push("dropped"), Pushed::Dropped);
    assert_eq!(logs.remaining(), 0);

    let mut logs = LogBuffer::new(6);
    assert_eq!(logs.push("12"), Pushed::Whole);
    assert_eq!(logs.push("a long one"), Pushed::Cut(""));
    assert_eq!(logs.push(""), Pushed::Dropped);
}

/// conformance: RT-33
#[test]
fn a_guest_does_not_send_what_would_be_dropped() {
    // So many bytes of 64 are left.
    let with = |left: usize| {
        let mut logs = LogBuffer::new(64);
        let text = "x".repeat(60 - left);
        assert_eq!(logs.push(&text), Pushed::Whole);
        assert_eq!(logs.remaining(), left);
        logs
    };
    let failure = |done: Done| match done {
        Done::Failed(failure) => failure,
        other => panic!("{other:?}"),
    };
    let fits = failure(with(6).failure(RunFailureKind::Exception, "boom"));
    assert_eq!(
        (fits.kind, fits.message.as_str()),
        (RunFailureKind::Exception, "boom")
    );
    let over = failure(with(5).failure(RunFailureKind::Exception, "boom"));
    assert_eq!(over.kind, RunFailureKind::OutputLimit);
    assert_eq!(over.message, "outer output exceeded 64 bytes");
    let euro = || Some(json!("€"));
    assert_eq!(with(5).completion(euro()), Done::Completed(euro()));
    let over = failure(with(4).completion(euro()));
    assert_eq!(over.kind, RunFailureKind::OutputLimit);
    let lossy = failure(with(50).completion(Some(json!([-0.0]))));
    assert_eq!(lossy.message, "program completion must be lossless JSON");
    assert_eq!(with(0).completion(None), Done::Completed(None));
}

/// conformance: RT-34
#[test]
fn a_text_is_measured_up_to_a_ceiling() {
    assert_eq!(string_bytes("fits", 6), Some(6));
    assert_eq!(string_bytes("fits", 5), None);
    assert_eq!(string_bytes("fits", 1), None);
    assert_eq!(string_bytes("", 1), None);
    assert_eq!(cut("fits", 1), "");
    let quotes = "\"".repeat(10_000);
    assert_eq!(string_bytes(&quotes, 32), None);
    assert_eq!(cut(&quotes, 32), "\"".repeat(15));
}

/// conformance: RT-35
#[test]
fn each_character_takes_what_it_takes_in_json() {
    let cost = |char: char| string_bytes(&char.to_string(), 100).unwrap() - 2;
    for char in ['"', '\\', '\u{8}', '\t', '\n', '\u{c}', '\r'] {
        assert_eq!(cost(char), 2, "{char:?}");
    }
    for char in ['\0', '\u{1}', '\u{b}', '\u{1f}'] {
        assert_eq!(cost(char), 6, "{char:?}");
    }
    for (char, bytes) in [
        ('a', 1),
        ('/', 1),
        ('\u{7f}', 1),
        ('é', 2),
        ('€', 3),
        ('\u{2028}', 3),
        ('😀', 4),
    ] {
        assert_eq!(cost(char), bytes, "{char:?}");
    }
    // As the encoder writes them.
    for code in 0..0x300 {
        let text = char::from_u32(code).unwrap().to_string();
        let json = serde_json::to_string(&text).unwrap();
        assert_eq!(string_bytes(&text, 100), Some(json.len()), "{code:#x}");
    }
}

/// conformance: RT-36
#[test]
fn a_value_takes_its_compact_json() {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!([]),
        json!({}),
        json!([1, -2.5, 1e300, u64::MAX, i64::MIN]),
        json!({"a": {"b\n": [[], {}, "€"]}, "": null}),
    ];
    for value in values {
        let bytes = value.to_string().len();
        assert_eq!(value_bytes(&value, usize::MAX), Some(bytes), "{value}");
        assert_eq!(value_bytes(&value, bytes), Some(bytes), "{value}");
        assert_eq!(value_bytes(&value, bytes - 1), None, "{value}");
    }
    assert_eq!(value_bytes(&json!([]), 9), Some(2));
    assert_eq!(value_bytes(&json!(null), 9), Some(4));
    assert_eq!(value_bytes(&json!(false), 9), Some(5));
    let value = deep(5_000, Value::Null);
    assert_eq!(value_bytes(&value, usize::MAX), Some(10_004));
    discard_value(value);
}

/// conformance: RT-57
#[test]
fn a_negative_zero_is_found_anywhere() {
    for value in [json!(-0.0), json!([[-0.0]]), json!({"a": [1, {"b": -0.0}]})] {
        let judged = check_completion(&value, 1_000);
        assert_eq!(judged, Err(CompletionFault::Lossy), "{value}");
    }
    assert!(check_completion(&json!([0, 0.0, -1]), 1_000).is_ok());
    let deepest = deep(100_000, json!(-0.0));
    assert_eq!(
        check_completion(&deepest, usize::MAX),
        Err(CompletionFault::Lossy)
    );
    discard_value(deepest);
    let mut wide = vec![Value::Null; 2_000_000];
    wide[1_999_999] = json!(-0.0);
    let judged = check_completion(&Value::Array(wide), usize::MAX);
    assert_eq!(judged, Err(CompletionFault::Lossy));
}

/// conformance: RT-58
#[test]
fn a_completion_fits_or_does_not() {
    let fits = |value: Value, bytes: usize| {
        assert_eq!(check_completion(&value, bytes), Ok(bytes), "{value}");
        let judged = check_completion(&value, bytes - 1);
        assert_eq!(judged, Err(CompletionFault::OverBudget), "{value}");
    };
    fits(json!({"key": [1, "two"]}), 17);
    fits(json!("\0"), 8);
    fits(json!("é"), 4);
    fits(json!("😀"), 6);
    fits(json!("中"), 5);
    // Names cost what texts cost.
    fits(json!({"\0": 1}), 12);
    fits(json!({"中": 1}), 9);
    let nulls = json!("\0".repeat(200));
    assert_eq!(
        check_completion(&nulls, 1_024),
        Err(CompletionFault::OverBudget)
    );
    let lists = deep(100_000, json!(0));
    assert_eq!(check_completion(&lists, usize::MAX), Ok(200_001));
    discard_value(lists);
}

/// conformance: RT-59
#[test]
fn too_much_outranks_a_lossy_number() {
    let long = "x".repeat(100);
    for both in [json!([-0.0, long]), json!([long, -0.0])] {
        let judged = check_completion(&both, 50);
        assert_eq!(judged, Err(CompletionFault::OverBudget), "{both}");
        let judged = check_completion(&both, 500);
        assert_eq!(judged, Err(CompletionFault::Lossy), "{both}");
    }
    assert_eq!(
        check_completion(&json!(["xx", -0.0]), 10),
        Err(CompletionFault::OverBudget)
    );
}

#[test]
fn what_is_lossy_or_too_deep_is_no_completion() {
    for value in [json!([-0.0]), deep(200, json!(1)), deep(100_000, json!(1))] {
        let outcome = Ledger::new(1 << 20).completed(Some(value));
        let failure = outcome.error.unwrap();
        assert_eq!(failure.kind, RunFailureKind::InvalidOutput);
        assert_eq!(failure.message, "program completion must be lossless JSON");
    }
}
