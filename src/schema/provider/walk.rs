//! The walk through a schema for providers that take a small part of it.

use serde_json::{Map, Value, json};

use super::Provider;
use super::change::{Accepts, Change, Changes, below};
use super::fold;
use super::keywords::{applies, is_enum_kept, is_kept};
use super::kinds::every_kind;
use super::reference::{Definitions, reference_of, resolve, without_reference};

/// Containers in containers, in strict mode.
const MAX_LEVELS: usize = 10;
/// Containers in containers, where references are inlined.
const MAX_INLINED_LEVELS: usize = 16;
/// The schema with all that is inlined, in bytes.
const MAX_INLINED: usize = 192 * 1024;

pub(super) struct Walk<'a> {
    pub(super) provider: Provider,
    root: &'a Value,
    pub(super) changes: Changes,
    definitions: Definitions,
    /// The places that are being inlined.
    inlining: Vec<String>,
    /// Bytes of the schema and of what was inlined.
    inlined: usize,
}

pub(super) fn project(provider: Provider, root: &Value) -> (Value, Vec<Change>) {
    let mut walk = Walk {
        provider,
        root,
        changes: Changes::default(),
        definitions: Definitions::default(),
        inlining: Vec::new(),
        inlined: root.to_string().len(),
    };
    let mut top = fold::top(root, &mut walk.changes);
    let kinds = walk.kinds("", &top);
    if kinds != ["object"] {
        let accepts = if kinds.iter().any(|kind| kind == "object") || !top.contains_key("type") {
            Accepts::Less
        } else {
            Accepts::More
        };
        walk.changes
            .add("", "type", accepts, "the top is an object");
        top.insert("type".to_owned(), json!("object"));
    }
    let mut schema = walk.plain("", top, 0);
    let mut definitions = Map::new();
    let mut next = 0;
    while let Some((name, place)) = walk.definitions.get(next) {
        let target = root.pointer(&place).unwrap_or(&Value::Null);
        let target = walk.schema(&place, target, 0);
        definitions.insert(name, target);
        next += 1;
    }
    if let (false, Value::Object(schema)) = (definitions.is_empty(), &mut schema) {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    (schema, walk.changes.list)
}

impl Walk<'_> {
    /// The projection of a schema below the top. Depth and inlining are
    /// bounded, so recursion is.
    pub(super) fn schema(&mut self, place: &str, schema: &Value, level: usize) -> Value {
        let most = match self.provider {
            Provider::OpenAiStrict => MAX_LEVELS,
            _ => MAX_INLINED_LEVELS,
        };
        let is_any = matches!(schema, Value::Object(map) if is_any(self.provider, map));
        if level > most && !is_any {
            return self.anything(place, "", Accepts::Less);
        }
        let map = match schema {
            _ if is_any => return schema.clone(),
            Value::Object(map) => map,
            Value::Bool(true) => return self.anything(place, "", Accepts::Less),
            _ => return self.anything(place, "", Accepts::More),
        };
        let mut map = map.clone();
        fold::modernise(place, &mut map, &mut self.changes);
        fold::only_reference(place, &mut map, &mut self.changes);
        fold::all_of(self.root, place, &mut map, &mut self.changes);
        if let Some(reference) = reference_of(&map).map(str::to_owned) {
            return self.referred(place, &reference, map, level);
        }
        let keyword = ["anyOf", "oneOf"]
            .into_iter()
            .find(|keyword| map.contains_key(*keyword));
        match keyword {
            Some(keyword) if !map.contains_key("properties") => {
                self.alternatives(place, keyword, map, level)
            }
            _ => self.plain(place, map, level),
        }
    }

    /// Any value, as far as the provider can say that.
    pub(super) fn anything(&mut self, place: &str, keyword: &str, accepts: Accepts) -> Value {
        let why = "the provider wants a type: text, numbers, booleans and null";
        self.changes.add(place, keyword, accepts, why);
        any(self.provider)
    }

    fn referred(
        &mut self,
        place: &str,
        reference: &str,
        mut map: Map<String, Value>,
        level: usize,
    ) -> Value {
        without_reference(&mut map);
        let mut out = self.kept_annotations(place, &mut map);
        for (keyword, value) in &map {
            self.dropped(place, keyword, value, &every_kind(), &mut out);
        }
        let target = match resolve(self.root, reference) {
            None => self.anything(place, "$ref", Accepts::More),
            Some((target, _)) if self.provider == Provider::OpenAiStrict => {
                let address = if target.is_empty() {
                    "#".to_owned()
                } else {
                    format!("#/$defs/{}", self.definitions.name(&target))
                };
                if address != reference {
                    let why = "definitions stand in `$defs`";
                    self.changes.add(place, "$ref", Accepts::Same, why);
                }
                if !out.is_empty() {
                    out.insert("anyOf".to_owned(), json!([{ "$ref": address }]));
                    let why = "a reference has nothing beside it: it is the only alternative";
                    self.changes.add(place, "$ref", Accepts::Same, why);
                    return Value::Object(out);
                }
                json!({ "$ref": address })
            }
            Some((target, _)) if self.inlining.contains(&target) => {
                let why = "leads back to what it stands in, and the provider takes no reference";
                self.changes.add(place, "$ref", Accepts::Less, why);
                any(self.provider)
            }
            Some(_) if self.inlined > MAX_INLINED => {
                let why = "the provider takes no reference, and inlining it is too much";
                self.changes.add(place, "$ref", Accepts::Less, why);
                any(self.provider)
            }
            Some((target, schema)) => {
                self.inlined += schema.to_string().len();
                let why = "the provider takes no reference: inlined";
                self.changes.add(place, "$ref", Accepts::Same, why);
                self.inlining.push(target.clone());
                let inlined = self.schema(&target, schema, level);
                self.inlining.pop();
                inlined
            }
        };
        if let Value::Object(target) = target {
            for (keyword, value) in target {
                out.entry(keyword).or_insert(value);
            }
        }
        Value::Object(out)
    }

    /// A schema with types, without alternatives.
    fn plain(&mut self, place: &str, mut map: Map<String, Value>, level: usize) -> Value {
        let kinds = self.kinds(place, &map);
        let values = match map.remove("enum") {
            Some(Value::Array(values)) => Some(values),
            _ => map.get("const").map(|value| vec![value.clone()]),
        };
        let was_const = map.remove("const").is_some();
        let mut out = self.kept_annotations(place, &mut map);
        map.remove("type");
        if let Some(mut values) = values {
            let gemini = self.provider == Provider::Gemini;
            if gemini && kinds.iter().any(|kind| kind == "null") {
                values.retain(|value| !value.is_null());
            }
            let is_of_kind = !gemini || kinds.iter().any(|kind| kind == "string");
            let keyword = if was_const { "const" } else { "enum" };
            if is_of_kind && is_enum_kept(self.provider, &values) {
                if was_const {
                    let why = "a list of one allowed value instead";
                    self.changes.add(place, "const", Accepts::Same, why);
                }
                out.insert("enum".to_owned(), Value::Array(values));
            } else {
                self.dropped(
                    place,
                    keyword,
                    &Value::Array(values),
                    &every_kind(),
                    &mut out,
                );
            }
        }
        let solid: Vec<String> = kinds
            .iter()
            .filter(|kind| *kind != "null")
            .cloned()
            .collect();
        if self.provider == Provider::Gemini && (solid.len() > 1 || solid.len() < kinds.len()) {
            return self.apart(place, &kinds, &solid, map, out, level);
        }
        for (keyword, value) in &map {
            match &**keyword {
                "properties" | "required" | "additionalProperties" | "items"
                    if applies(keyword, &kinds) => {}
                _ if applies(keyword, &kinds) && is_kept(self.provider, keyword, value) => {
                    out.insert(keyword.clone(), value.clone());
                }
                _ => self.dropped(place, keyword, value, &kinds, &mut out),
            }
        }
        if kinds.iter().any(|kind| kind == "object") {
            self.object(place, &map, level, &mut out);
        }
        if kinds.iter().any(|kind| kind == "array") {
            let inner = below(place, "items");
            let items = match map.get("items") {
                Some(items) => self.schema(&inner, items, level + 1),
                None => self.anything(&inner, "items", Accepts::Less),
            };
            out.insert("items".to_owned(), items);
        }
        let kind = match <[String; 1]>::try_from(kinds) {
            Ok([kind]) => Value::String(kind),
            Err(kinds) => json!(kinds),
        };
        out.insert("type".to_owned(), kind);
        Value::Object(out)
    }

    /// One alternative a type, for Gemini, which takes no lists of types.
    fn apart(
        &mut self,
        place: &str,
        kinds: &[String],
        solid: &[String],
        map: Map<String, Value>,
        mut out: Map<String, Value>,
        level: usize,
    ) -> Value {
        let values = out.remove("enum");
        if solid.is_empty() {
            out.insert("type".to_owned(), json!("null"));
            return Value::Object(out);
        }
        let mut branches = Vec::new();
        for kind in solid {
            let mut branch = map.clone();
            branch.insert("type".to_owned(), kind.clone().into());
            if let (Some(values), "string") = (&values, &**kind) {
                branch.insert("enum".to_owned(), values.clone());
            }
            branches.push(self.plain(place, branch, level));
        }
        let why = "one alternative for each type";
        self.changes.add(place, "type", Accepts::Same, why);
        if solid.len() < kinds.len() {
            branches.push(json!({"type": "null"}));
        }
        self.any_of(place, branches, &mut out);
        Value::Object(out)
    }
}

fn any(provider: Provider) -> Value {
    match provider {
        Provider::Gemini => json!({
            "anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}],
            "nullable": true,
        }),
        _ => json!({"type": ["string", "number", "boolean", "null"]}),
    }
}

fn is_any(provider: Provider, map: &Map<String, Value>) -> bool {
    map.len() <= 2 && any(provider).as_object() == Some(map)
}
