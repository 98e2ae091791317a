//! What it costs to hold a value against a schema, by counts.

use serde_json::Value;

use super::expansion::Cost;

/// Ways through a recursive schema that are tried to tell what is wrong.
const MAX_RECURSIVE_WAYS: u64 = 10_000;
/// Pairs of a schema's node and a value's node that are looked at to say
/// whether the value is right.
const MAX_ASKED: u64 = 200_000_000;
/// The same, to tell what is wrong: each pair may make a message.
const MAX_TOLD: u64 = 4_000_000;
/// Schemas with fewer ways are never too much for arguments, whose size is
/// bounded: nothing is counted for them.
const FEW_WAYS: u64 = 32;

/// Whether it can be said in reasonable time whether `value` is right.
pub(super) fn is_askable(cost: Cost, value: &Value) -> bool {
    cost.ways <= FEW_WAYS || has_at_most(MAX_ASKED / cost.ways, value)
}

/// Whether it can be told in reasonable time what is wrong. Where references
/// lead back, each of them may be tried anew at each level of the value.
pub(super) fn is_tellable(cost: Cost, value: &Value) -> bool {
    if !has_at_most(MAX_TOLD / cost.ways.max(1), value) {
        return false;
    }
    let mut ways = 1_u64;
    let mut level = vec![value];
    while cost.recursive > 1 && !level.is_empty() {
        ways = ways.saturating_mul(cost.recursive);
        if ways > MAX_RECURSIVE_WAYS {
            return false;
        }
        let mut below = Vec::new();
        for value in level {
            match value {
                Value::Array(items) => below.extend(items.iter().filter(|item| is_nested(item))),
                Value::Object(map) => below.extend(map.values().filter(|item| is_nested(item))),
                _ => {}
            }
        }
        level = below;
    }
    true
}

/// Whether `value` has no more nodes than `most`.
fn has_at_most(most: u64, value: &Value) -> bool {
    let mut left = most;
    let mut open = Vec::new();
    let mut next = Some(value);
    while let Some(value) = next {
        let inside = match value {
            Value::Array(items) => items.len(),
            Value::Object(map) => map.len(),
            _ => 0,
        };
        let Some(rest) = left.checked_sub(1 + inside as u64) else {
            return false;
        };
        left = rest;
        match value {
            Value::Array(items) => open.extend(items.iter().filter(|item| is_nested(item))),
            Value::Object(map) => open.extend(map.values().filter(|item| is_nested(item))),
            _ => {}
        }
        next = open.pop();
    }
    true
}

fn is_nested(value: &Value) -> bool {
    value.is_array() || value.is_object()
}
