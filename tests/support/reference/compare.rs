//! What counts as the same.

use serde_json::{Value, json};
use toolfall::{ContentBlock, ContextMessage, ToolResult};

use super::scenario::Line;

/// What a scenario led to here.
#[derive(Default)]
pub(crate) struct Played {
    pub(crate) calls: Vec<Value>,
    pub(crate) batch: Option<Value>,
    pub(crate) events: Vec<Value>,
}

pub(crate) fn text(content: &[ContentBlock]) -> Vec<&str> {
    content.iter().filter_map(ContentBlock::as_text).collect()
}

pub(crate) fn context_texts(contexts: &[ContextMessage]) -> Vec<String> {
    let contexts = contexts.iter();
    contexts
        .map(|context| text(&context.content).concat())
        .collect()
}

/// A result in the words of the traces; what is absent there is absent here.
pub(crate) fn told(id: &str, result: &ToolResult) -> Value {
    let mut told = json!({
        "call": id,
        "is_error": result.is_error(),
        "content": text(result.content()),
    });
    let mut add = |name: &str, value: Value| told[name] = value;
    if let Some(message) = result.message() {
        let mut error = json!({"message": message});
        if let Some(info) = result.info() {
            error["name"] = json!(info.name());
            error["code"] = json!(info.code());
        }
        add("error", error);
    }
    if let Some(value) = result.value() {
        add("value", value.clone());
    }
    if !result.contexts().is_empty() {
        add("contexts", json!(context_texts(result.contexts())));
    }
    if let Some(meta) = result.meta() {
        add("meta", meta.clone());
    }
    if result.concludes_turn() {
        add("concludes_turn", json!(true));
    }
    if result.is_synthetic() {
        add("synthetic", json!(true));
    }
    told
}

/// Something that is not as it was in the reference.
pub(crate) struct Difference {
    /// `results`, `batch`, `events of` a call, or `lane`.
    pub(crate) place: String,
    pub(crate) detail: String,
}

/// What differs. Where a `finer` lane is allowed, times do not count,
/// nor does the order between calls does not count.
pub(crate) fn differences(line: &Line, played: &Played, finer: bool) -> Vec<Difference> {
    let mut found = Vec::new();
    let expected = &line.expected;
    let results = |calls: &[Value]| calls.iter().map(without_violations).collect::<Vec<_>>();
    differ(
        &mut found,
        "results",
        &results(&expected.calls),
        &results(&played.calls),
    );
    if expected.batch != played.batch {
        let (want, have) = (&expected.batch, &played.batch);
        found.push(Difference {
            place: "batch".to_owned(),
            detail: format!("\n    expected {want:?}\n    found    {have:?}"),
        });
    }
    let of = |events: &[Value], call: &Value| -> Vec<Value> {
        let events = events.iter().filter(|event| event["call"] == *call);
        events.map(|event| timed(event, !finer)).collect()
    };
    for call in expected.calls.iter().map(|call| &call["call"]) {
        let what = format!("events of {}", call.as_str().unwrap_or_default());
        differ(
            &mut found,
            &what,
            &of(&expected.events, call),
            &of(&played.events, call),
        );
    }
    let ordered = |events: &[Value]| -> Vec<Value> {
        let events = events.iter().filter(|event| in_lane(event));
        events.map(|event| timed(event, true)).collect()
    };
    if !finer {
        differ(
            &mut found,
            "lane",
            &ordered(&expected.events),
            &ordered(&played.events),
        );
    }
    found
}

fn timed(event: &Value, timed: bool) -> Value {
    let mut event = event.clone();
    if !timed && let Value::Object(fields) = &mut event {
        fields.remove("t");
    }
    event
}

fn in_lane(event: &Value) -> bool {
    matches!(
        event["ev"].as_str().unwrap_or_default(),
        "call_record"
            | "pre_enter"
            | "pre_leave"
            | "ask"
            | "answer"
            | "guard"
            | "post_enter"
            | "post_leave"
            | "finalizer"
            | "notify"
            | "result_record"
            | "context_record"
            | "cancel"
    )
}

/// What follows in the texts of an invalid output names the violation in the
/// validator's own words.
fn without_violations(result: &Value) -> Value {
    const PREFIX: &str = "returned invalid output: ";
    let cut = |text: &Value| match text.as_str() {
        Some(text) => match text.find(PREFIX) {
            Some(place) => json!(text[..place + PREFIX.len()]),
            None => json!(text),
        },
        None => text.clone(),
    };
    let mut result = result.clone();
    if result["error"]["code"] == "INVALID_TOOL_OUTPUT" {
        let message = cut(&result["error"]["message"]);
        result["error"]["message"] = message;
        let content: Vec<Value> = result["content"]
            .as_array()
            .into_iter()
            .flatten()
            .map(cut)
            .collect();
        result["content"] = json!(content);
    }
    result
}

fn differ(found: &mut Vec<Difference>, what: &str, expected: &[Value], played: &[Value]) {
    if expected == played {
        return;
    }
    let place = expected
        .iter()
        .zip(played)
        .take_while(|(want, have)| want == have)
        .count();
    let show = |list: &[Value]| {
        let from = list.get(place.saturating_sub(1)..).unwrap_or_default();
        let from: Vec<String> = from.iter().take(5).map(Value::to_string).collect();
        format!("\n      {}", from.join("\n      "))
    };
    found.push(Difference {
        place: what.to_owned(),
        detail: format!(
            ", from {place}\n    expected{}\n    found{}",
            show(expected),
            show(played)
        ),
    });
}
