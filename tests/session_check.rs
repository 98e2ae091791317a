//! What a check of a session log accepts and what it finds.

use toolfall::ApprovalOutcome;
use toolfall::session::check::{Audit, Problem, check};
use toolfall::session::{
    AskedRecord, Body, CallRecord, ContextRecord, DecidedRecord, PolicyRecord, Record,
    ResultRecord, StartedRecord, TurnRecord,
};

fn log(bodies: impl IntoIterator<Item = Body>) -> Vec<Record> {
    let bodies = bodies.into_iter().zip(1..);
    let record = |(body, seq)| Record {
        seq,
        at: None,
        body,
    };
    bodies.map(record).collect()
}

fn call(call: u64) -> Body {
    let call = CallRecord {
        call,
        ..CallRecord::default()
    };
    call.into()
}

fn nested(number: u64, parent: u64) -> Body {
    let call = CallRecord {
        call: number,
        parent: Some(parent),
        root: Some(parent),
        ..CallRecord::default()
    };
    call.into()
}

fn started(call: u64) -> Body {
    StartedRecord { call }.into()
}

fn result(call: u64) -> Body {
    let result = ResultRecord {
        call,
        ..ResultRecord::default()
    };
    result.into()
}

fn context(call: u64) -> Body {
    let context = ContextRecord {
        call: Some(call),
        ..ContextRecord::text("note")
    };
    context.into()
}

fn asked(id: &str, tool: &str) -> Body {
    let asked = AskedRecord {
        id: id.to_owned(),
        tool: tool.to_owned(),
        ..AskedRecord::default()
    };
    asked.into()
}

fn decided(id: &str) -> Body {
    DecidedRecord::new(id, ApprovalOutcome::Rejected).into()
}

fn turn(start: bool) -> Body {
    let turn = TurnRecord {
        turn: "t1".to_owned(),
    };
    if start {
        Body::TurnStart(turn)
    } else {
        Body::TurnEnd(turn)
    }
}

fn found(bodies: impl IntoIterator<Item = Body>) -> Vec<(u64, Problem)> {
    let findings = check(&log(bodies));
    findings.into_iter().map(|f| (f.line, f.problem)).collect()
}

#[test]
fn a_batch_in_order_with_nested_calls_and_late_messages_is_fine() {
    let whole = [
        call(1),
        started(1),
        call(2),
        started(2),
        nested(3, 1),
        nested(4, 1),
        started(3),
        result(3),
        result(4),
        result(1),
        result(2),
        context(1),
        context(2),
        call(5),
        result(5),
    ];
    assert_eq!(found(whole), []);
}

#[test]
fn each_broken_promise_of_a_call_is_found_at_its_line() {
    use Problem::{
        CallEnded, CallWithoutResult, NestedInNoCall, NoSuchCall, OtherId, OutOfOrder,
        RepeatedCall, StartedAfterAll, UnexpectedStart,
    };
    let lone = |problem| vec![(1, problem)];
    assert_eq!(found([result(1)]), lone(NoSuchCall { call: 1 }));
    assert_eq!(found([started(1)]), lone(NoSuchCall { call: 1 }));
    assert_eq!(found([context(1)]), lone(NoSuchCall { call: 1 }));
    assert_eq!(found([call(1)]), lone(CallWithoutResult { call: 1 }));
    assert_eq!(
        found([call(1), result(1), result(1)]),
        [(3, CallEnded { call: 1 })]
    );
    assert_eq!(
        found([call(1), call(1), result(1)]),
        [(2, RepeatedCall { call: 1 })]
    );
    assert_eq!(
        found([call(1), result(1), call(1)]),
        [(3, RepeatedCall { call: 1 })]
    );
    assert_eq!(
        found([call(1), result(1), started(1)]),
        [(3, CallEnded { call: 1 })]
    );
    assert_eq!(
        found([call(1), started(1), started(1), result(1)]),
        [(3, UnexpectedStart { call: 1 })]
    );
    assert_eq!(
        found([call(1), call(2), call(3), result(3), result(1), result(2)]),
        [(
            4,
            OutOfOrder {
                call: 3,
                earlier: 1
            }
        )]
    );
    assert_eq!(
        found([call(1), result(1), nested(2, 1), result(2)]),
        [(
            3,
            NestedInNoCall {
                call: 2,
                enclosing: 1
            }
        )]
    );
    let other = ResultRecord {
        call: 1,
        id: "x".into(),
        effect: Some("not_started".into()),
        ..ResultRecord::default()
    };
    assert_eq!(
        found([call(1), started(1), other.into()]),
        [(3, OtherId { call: 1 }), (3, StartedAfterAll { call: 1 })]
    );
    let failed = |kind: &str| ResultRecord {
        call: 1,
        is_error: true,
        kind: Some(kind.into()),
        effect: Some("not_started".into()),
        ..ResultRecord::default()
    };
    let found_in = |kind| found([call(1), started(1), failed(kind).into()]);
    assert_eq!(found_in("body"), [(3, StartedAfterAll { call: 1 })]);
    assert_eq!(found_in("cancelled"), [], "between the record and the body");
}

#[test]
fn calls_outside_a_batch_and_of_other_agents_keep_no_order() {
    let unordered = |call| -> Body {
        let call = CallRecord {
            call,
            unordered: true,
            ..CallRecord::default()
        };
        call.into()
    };
    let of_agent = |call, agent: &str| -> Body {
        let call = CallRecord {
            call,
            agent: Some(agent.to_owned()),
            ..CallRecord::default()
        };
        call.into()
    };
    assert_eq!(
        found([unordered(1), unordered(2), result(2), result(1)]),
        []
    );
    assert_eq!(found([unordered(1), call(2), result(2), result(1)]), []);
    assert_eq!(
        found([of_agent(1, "a"), of_agent(2, "b"), result(2), result(1)]),
        []
    );
}

/// Messages follow all results of their batch.
#[test]
fn a_message_between_a_call_and_its_result_is_found() {
    let early = [call(1), call(2), result(1), context(1), result(2)];
    assert_eq!(
        found(early),
        [(4, Problem::MessageInsideCall { call: 1, open: 2 })]
    );
    assert_eq!(
        found([call(1), context(1), result(1)]),
        [(2, Problem::MessageInsideCall { call: 1, open: 1 })]
    );
}

/// A pair in a turn is accepted, and the state comes from the log that exists.
///
/// conformance: ASK-45
#[test]
fn questions_are_paired_across_the_log_that_exists() {
    let whole = log([turn(true), asked("q", "echo"), decided("q"), turn(false)]);
    assert_eq!(check(&whole), []);
    let mut audit = Audit::after(&whole[..2]);
    for record in &whole[2..] {
        assert_eq!(audit.observe(record), []);
    }
    assert_eq!(audit.finish(), []);
    // Seen from the middle: nothing tells that there was no turn.
    let mut middle = Audit::new();
    for record in &log([asked("q", "echo"), decided("q"), turn(false)]) {
        assert_eq!(middle.observe(record), []);
    }
}

/// conformance: ASK-46
#[test]
fn every_broken_rule_of_questions_is_found() {
    use Problem::{
        NotAsked, OutsideTurn, QuestionWithoutTool, RepeatedQuestion, Undecided, UnknownOutcome,
        UnknownPolicy,
    };
    let id = || "q".to_owned();
    assert_eq!(
        found([turn(true), turn(false), asked("q", "echo"), decided("q")]),
        [(3, OutsideTurn { id: id() }), (4, OutsideTurn { id: id() })]
    );
    let before = log([turn(true), turn(false)]);
    let mut live = Audit::after(&before);
    let late = Record {
        seq: 3,
        at: None,
        body: asked("q", "echo"),
    };
    assert_eq!(live.observe(&late)[0].problem, OutsideTurn { id: id() });
    assert_eq!(
        found([asked("q", ""), decided("q")]),
        [(1, QuestionWithoutTool { id: id() })]
    );
    assert_eq!(
        found([asked("q", "echo"), asked("q", "echo"), decided("q")]),
        [(2, RepeatedQuestion { id: id() })]
    );
    assert_eq!(found([decided("q")]), [(1, NotAsked { id: id() })]);
    assert_eq!(found([asked("q", "echo")]), [(1, Undecided { id: id() })]);
    let unknown = r#"{"seq":2,"type":"approval/decided","id":"q","outcome":"sure"}"#;
    let unknown: Record = serde_json::from_str(unknown).unwrap();
    let found_word = "sure".to_owned();
    assert_eq!(
        found([asked("q", "echo"), unknown.body]),
        [(
            2,
            UnknownOutcome {
                id: id(),
                found: found_word
            }
        )]
    );
    let policy = |policy: &str| -> Body {
        let policy = policy.to_owned();
        PolicyRecord { policy }.into()
    };
    assert_eq!(
        found([policy("ask"), policy("never"), policy("yolo")]),
        [(
            3,
            UnknownPolicy {
                found: "yolo".to_owned()
            }
        )]
    );
}

#[test]
fn missing_records_are_found_but_a_log_may_begin_anywhere() {
    let mut records = log([call(1), started(1), result(1)]);
    for record in &mut records {
        record.seq += 41;
    }
    assert_eq!(check(&records), []);
    records.remove(1);
    let findings = check(&records);
    assert_eq!(findings.len(), 1);
    assert_eq!(
        findings[0].to_string(),
        "line 2: expected record 43, found record 44"
    );
}
