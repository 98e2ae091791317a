//! Every odd argument text through the whole pipeline, to a tool of the
//! row's schema.

#[path = "support/facade.rs"]
mod support;

use serde_json::Value;
use support::{Log, rows, same};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, CallRequest, Effect, Pipeline, RegisterError, Registry, ToolContext,
    ToolResult, codes, raw_tool,
};

/// What became of a row.
enum Answer {
    Unregistered(RegisterError),
    Ran(Value, ToolResult),
    Refused(ToolResult),
}

fn text_of(row: &Value) -> Option<String> {
    if let Some(text) = row.get("raw_arguments") {
        return text.as_str().map(str::to_owned);
    }
    let plan = row.get("raw_made_of")?;
    let part = |name: &str| plan[name].as_str().unwrap();
    let times = usize::try_from(plan["times"].as_u64().unwrap()).unwrap();
    let mut text = part("prefix").to_owned();
    for number in 1..=times {
        text.push_str(&part("open").replace('#', &number.to_string()));
    }
    text.push_str(part("core"));
    text.push_str(&part("close").repeat(times));
    text.push_str(part("suffix"));
    Some(text)
}

/// The row's bytes where they are no text.
fn bytes_of(row: &Value) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = row["raw_base64"].as_str().unwrap();
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        let digit = DIGITS.iter().position(|&known| known == byte).unwrap();
        held = held << 6 | u32::try_from(digit).unwrap();
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).unwrap());
        }
    }
    bytes
}

async fn answer(row: &Value) -> Answer {
    let seen = Log::<Value>::default();
    let registry = Registry::new();
    let tool = {
        let seen = seen.clone();
        raw_tool(
            "odd",
            "Takes what comes",
            row["schema"].clone(),
            move |arguments: Arguments, _: ToolContext| {
                seen.push(arguments.value().clone());
                async { Ok::<Value, BoxError>("ran".into()) }
            },
        )
    };
    match registry.register(tool) {
        Ok(registration) => registration.keep(),
        Err(error) => return Answer::Unregistered(error),
    }
    let cancel = CancellationToken::new();
    let call = match text_of(row) {
        Some(text) => CallRequest::new("1", "odd", text, cancel.clone()),
        None => CallRequest::new(
            "1",
            "odd",
            Arguments::from_bytes(bytes_of(row)),
            cancel.clone(),
        ),
    };
    let pipeline = Pipeline::builder(registry).build();
    let result = if row.get("finish_reason").is_some() {
        let batch = pipeline.scheduler().batch([call], cancel);
        let report = batch.incomplete("the reply was cut off").run().await;
        report.committed[0].result.clone()
    } else {
        pipeline.run(call).await
    };
    match seen.take().pop() {
        Some(value) => Answer::Ran(value, result),
        None => Answer::Refused(result),
    }
}

fn agrees(right: &Value, row: &Value, answer: &Answer) -> bool {
    if let Some(any_of) = right.get("any_of").and_then(Value::as_array) {
        return any_of.iter().any(|right| agrees(right, row, answer));
    }
    if let Some(expected) = right.get("ok").and_then(Value::as_str) {
        let expected: Value = serde_json::from_str(expected).unwrap();
        return matches!(answer, Answer::Ran(value, result)
            if same(value, &expected) && !result.is_error());
    }
    if right.get("ok_made_the_same").is_some() {
        // Too deep for a reader with a limit of its own, so the text is
        // compared as it would be written.
        return matches!(answer, Answer::Ran(value, result)
            if !result.is_error() && text_of(row).is_some_and(|text| *value.to_string() == *text
                || serde_json::from_str::<Value>(&text).is_ok_and(|sent| sent == *value)));
    }
    if right["error"] == "registration" {
        return matches!(answer, Answer::Unregistered(RegisterError::Schema { .. }));
    }
    let Answer::Refused(result) = answer else {
        return false;
    };
    let wanted = match right["cause"].as_str() {
        Some("truncated") => codes::TRUNCATED,
        _ => right["error"].as_str().unwrap(),
    };
    let says = |words: &str| {
        result
            .content()
            .iter()
            .filter_map(|block| block.as_text())
            .any(|text| text.contains(words))
    };
    let place = right.get("at").is_none_or(|at| {
        let (at, keyword) = (at.as_str().unwrap(), right["keyword"].as_str().unwrap());
        says(&format!("at \"{at}\" ({keyword}): found "))
    });
    let cause = match right["cause"].as_str() {
        Some("not_json") => says("The arguments are no JSON: "),
        Some("not_object") => says("\"arguments\" must be an object"),
        Some("truncated") => says("the reply was cut off"),
        _ => true,
    };
    result.code() == Some(wanted) && result.effect() == Effect::NotStarted && place && cause
}

/// conformance: EXEC-22, EXEC-23, EXEC-25, EXEC-29, JSON-27, JSON-30, JSON-31
#[tokio::test]
async fn every_odd_text_gets_the_answer_that_is_right() {
    let rows = rows("odd/arguments.jsonl");
    assert!(rows.len() > 130, "only {} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let answer = answer(row).await;
        if !agrees(&row["right"], row, &answer) || !is_readable(&answer) {
            let told = match &answer {
                Answer::Unregistered(error) => format!("not registered: {error:?}"),
                Answer::Ran(value, _) => format!("ran with {value}"),
                Answer::Refused(result) => format!("{:?}", result.content()),
            };
            wrong.push(format!(
                "{} expected {}, found {told}",
                row["id"], row["right"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Refusals reach a model, a terminal and a log.
fn is_readable(answer: &Answer) -> bool {
    let Answer::Refused(result) = answer else {
        return true;
    };
    let text = result.text();
    text.lines().count() <= 25
        && text.chars().count() < 4_000
        && text.lines().all(|line| !line.contains(char::is_control))
}
