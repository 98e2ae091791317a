//! What providers take of a schema, whatever the schema.

use serde_json::Value;
use toolfall::schema::provider::{Projected, Provider, project, restore};
use toolfall::schema::{MAX_VIOLATIONS, Schema, unknown_keywords};

use super::input::Input;
use super::schemas::schema;

#[path = "../../../tests/support/projected.rs"]
mod projected;

/// Takes `data` as the text of a schema, or, if it does not begin as one, as
/// the choices that one is made by.
pub fn check(data: &[u8]) {
    let text = matches!(data.first(), Some(b'{' | b'[' | b' ' | b'\n' | b't' | b'f'));
    let schema = if text {
        let Ok(schema) = serde_json::from_slice::<Value>(data) else {
            return;
        };
        schema
    } else {
        schema(&mut Input::new(data), 0)
    };
    check_schema(&schema, data.iter().map(|byte| u64::from(*byte)).sum());
}

fn check_schema(schema: &Value, seed: u64) {
    let _ = unknown_keywords(schema);
    let compiled = Schema::compile(schema);
    for provider in projected::PROVIDERS {
        let once = match project(provider, schema) {
            Ok(once) => once,
            Err(error) => {
                assert!(compiled.is_err(), "{error}");
                assert!(schema.pointer(error.pointer()).is_some(), "{error}");
                continue;
            }
        };
        let again = project(provider, schema).expect("it was projected before");
        assert_eq!(again, once);
        assert_eq!(again.schema.to_string(), once.schema.to_string());
        // What is no schema passes Anthropic's projection as it is.
        if provider != Provider::Anthropic || compiled.is_ok() {
            projected::check(provider, &once.schema);
        }
        if let Ok(compiled) = &compiled {
            let judge = right(provider, schema, &once);
            if provider == Provider::OpenAiStrict && !once.accepts_more() {
                accepts_no_more(schema, compiled, &once.schema, &judge, seed);
            }
        }
    }
    let mut restored = schema.clone();
    restore(schema, &mut restored);
    let mut twice = restored.clone();
    restore(schema, &mut twice);
    assert_eq!(restored, twice);
    match compiled {
        Err(error) => assert!(error.to_string().chars().count() < 4_000),
        Ok(compiled) => {
            let violations = compiled.violations("value", schema);
            assert!(violations.len() <= MAX_VIOLATIONS);
            assert_eq!(violations.is_empty(), compiled.is_valid(schema));
            for violation in violations {
                let pointer = violation.pointer();
                assert!(schema.pointer(pointer).is_some(), "{pointer}");
            }
        }
    }
}

/// Of a right schema the projection is right, and the last word.
fn right(provider: Provider, schema: &Value, once: &Projected) -> Schema {
    let judge = match Schema::compile(&once.schema) {
        Ok(judge) => judge,
        Err(error) => panic!("{provider:?} of {schema} is {}: {error}", once.schema),
    };
    let again = project(provider, &once.schema).expect("a projection is small");
    assert_eq!(again.schema, once.schema, "{provider:?} of {schema}");
    for change in &once.changes {
        let pointer = change.pointer();
        assert!(pointer.is_empty() || pointer.starts_with('/'), "{change}");
        if !is_folded(schema) {
            assert!(leads_somewhere(schema, pointer), "{change} in {schema}");
        }
    }
    judge
}

/// Whether places may be told that stand elsewhere in the schema: folded
/// branches are told where they are folded, lists of items by their new name.
fn is_folded(schema: &Value) -> bool {
    let text = schema.to_string();
    let words = ["allOf", "anyOf", "oneOf", "$ref", "Ref\"", "\"items\":["];
    words.iter().any(|word| text.contains(word))
}

/// Whether there is something at `pointer`, or would be: `items` and the
/// properties that are only required are told where they would stand.
fn leads_somewhere(schema: &Value, pointer: &str) -> bool {
    if schema.pointer(pointer).is_some() {
        return true;
    }
    let Some((outer, last)) = pointer.rsplit_once('/') else {
        return false;
    };
    match outer.strip_suffix("/properties") {
        Some(object) if last != "items" => schema.pointer(object).is_some(),
        _ => last == "items" && schema.pointer(outer).is_some(),
    }
}

/// What strict mode accepts, its nulls taken out, the schema accepts, unless
/// the report says that it may not.
fn accepts_no_more(schema: &Value, compiled: &Schema, strict: &Value, judge: &Schema, seed: u64) {
    let mut numbers = projected::Numbers(seed);
    for _ in 0..4 {
        let mut value = projected::instance(strict, strict, &mut numbers, 0);
        if judge.is_valid(&value) {
            restore(schema, &mut value);
            let accepted = compiled.is_valid(&value);
            assert!(accepted, "{value} by {strict} of {schema}");
        }
    }
}
