//! Alternatives: `anyOf`, `oneOf`, and lists of types.

use serde_json::{Map, Value, json};

use super::Provider;
use super::change::{Accepts, below};
use super::keywords::is_annotation;
use super::walk::Walk;

impl Walk<'_> {
    /// The alternatives of `map` as `anyOf`, its annotations beside them.
    pub(super) fn alternatives(
        &mut self,
        place: &str,
        keyword: &str,
        mut map: Map<String, Value>,
        level: usize,
    ) -> Value {
        let branches = match map.remove(keyword) {
            Some(Value::Array(branches)) if !branches.is_empty() => branches,
            _ => return self.anything(place, keyword, Accepts::More),
        };
        if keyword == "oneOf" {
            let why = "`anyOf` instead: more than one of them may match";
            let accepts = if are_apart(&branches) {
                Accepts::Same
            } else {
                Accepts::More
            };
            self.changes.add(place, keyword, accepts, why);
        }
        let kind = map.remove("type");
        let mut said = false;
        let mut projected = Vec::with_capacity(branches.len());
        for (index, mut branch) in branches.into_iter().enumerate() {
            // A branch that is anything is what stands beside the branches.
            if kind.is_some() && branch == Value::Bool(true) {
                branch = Value::Object(Map::new());
            }
            if let (Some(kind), Value::Object(branch)) = (&kind, &mut branch) {
                let has_own = ["type", "$ref", "anyOf", "oneOf", "allOf"]
                    .iter()
                    .any(|keyword| branch.contains_key(*keyword));
                said |= has_own;
                if !has_own {
                    branch.insert("type".to_owned(), kind.clone());
                }
            }
            let place = below(&below(place, keyword), &index.to_string());
            let branch = self.schema(&place, &branch, level);
            projected.push(branch);
        }
        if said {
            let why = "stands beside alternatives that have types of their own";
            self.changes.add(place, "type", Accepts::More, why);
        }
        let kinds: Vec<String> = Vec::new();
        let mut out = self.kept_annotations(place, &mut map);
        for (keyword, value) in &map {
            if !is_annotation(keyword) {
                self.dropped(place, keyword, value, &kinds, &mut out);
            }
        }
        self.any_of(place, projected, &mut out);
        Value::Object(out)
    }

    /// Puts alternatives into `out`; of the one that is `null` Gemini has a
    /// word of its own.
    pub(super) fn any_of(
        &mut self,
        place: &str,
        branches: Vec<Value>,
        out: &mut Map<String, Value>,
    ) {
        let mut distinct: Vec<Value> = Vec::with_capacity(branches.len());
        for branch in branches {
            if !distinct.contains(&branch) {
                distinct.push(branch);
            }
        }
        let mut branches = distinct;
        if self.provider == Provider::Gemini {
            let before = branches.len();
            branches.retain(|branch| branch != &json!({"type": "null"}));
            if branches.len() < before && !branches.is_empty() {
                out.insert("nullable".to_owned(), true.into());
                self.changes
                    .add(place, "type", Accepts::Same, "`null` is `nullable`");
            }
            if branches.is_empty() {
                branches.push(json!({"type": "null"}));
            }
        }
        // A reference stays alone: nothing stands beside it.
        if branches.len() == 1
            && let Value::Object(only) = &branches[0]
            && (out.is_empty() || !only.contains_key("$ref"))
        {
            for (keyword, value) in only {
                out.entry(keyword.clone()).or_insert_with(|| value.clone());
            }
            return;
        }
        out.insert("anyOf".to_owned(), Value::Array(branches));
    }
}

/// Whether no value can match two of the branches.
fn are_apart(branches: &[Value]) -> bool {
    let mut kinds: Vec<&str> = Vec::new();
    for branch in branches {
        let Some(kind) = branch.get("type").and_then(Value::as_str) else {
            return false;
        };
        let kind = if kind == "integer" { "number" } else { kind };
        if kinds.contains(&kind) {
            return false;
        }
        kinds.push(kind);
    }
    true
}
