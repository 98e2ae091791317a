//! Recorded chains of calls, whose arguments point into earlier results: as
//! programs, and call by call.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One chain: calls, and what the whole of it is to give.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Chain {
    pub(crate) id: String,
    pub(crate) calls: Vec<ChainCall>,
    program_result: Option<Value>,
}

/// One call, its arguments as a template.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ChainCall {
    pub(crate) label: String,
    pub(crate) name: String,
    arguments_json: String,
    #[serde(default)]
    refs: Vec<(String, String, String, String)>,
    resolved_json: Option<String>,
    result_outline: Option<Value>,
    level: usize,
}

/// Where a template points: into the result of `label`, along `path`.
struct Reference<'a> {
    label: &'a str,
    path: Vec<Step<'a>>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Place(usize),
}

/// A string of a template: a reference that is all of it, or text with
/// references between.
enum Piece<'a> {
    Text(&'a str),
    Reference(Reference<'a>),
}

pub(crate) fn read(path: &Path) -> Vec<Chain> {
    let text = std::fs::read_to_string(path).expect("the chains are readable");
    let line = |line: &str| serde_json::from_str(line).expect("a chain on every line");
    text.lines().map(line).collect()
}

impl ChainCall {
    fn template(&self) -> Value {
        serde_json::from_str(&self.arguments_json).expect("arguments are JSON")
    }

    /// The arguments as they were recorded, if they were.
    pub(crate) fn recorded(&self) -> Option<Value> {
        match &self.resolved_json {
            Some(text) => Some(serde_json::from_str(text).expect("arguments are JSON")),
            None if self.refs.is_empty() => Some(self.template()),
            None => None,
        }
    }

    /// The arguments, with what `results` say in place of the references.
    pub(crate) fn arguments(&self, results: &BTreeMap<String, Value>) -> Value {
        filled(&self.template(), results)
    }
}

impl Chain {
    /// Whether every argument that points into a result was recorded.
    pub(crate) fn resolves(&self) -> bool {
        self.calls.iter().all(|call| call.recorded().is_some())
    }

    /// A result for each call, in which each reference finds what was
    /// recorded, or something of its own where nothing was. `None` where one
    /// place would have to hold two things.
    pub(crate) fn results(&self) -> Option<BTreeMap<String, Value>> {
        let mut results = BTreeMap::new();
        for call in &self.calls {
            let first = json!({ "of": call.name, "label": call.label });
            results.insert(call.label.clone(), first);
        }
        let mut made = 0;
        for call in &self.calls {
            let recorded = call.recorded();
            for (pointer, label, path, mode) in &call.refs {
                let known = recorded.as_ref().and_then(|value| value.pointer(pointer));
                let value = match known {
                    Some(value) if mode == "whole" => value.clone(),
                    _ => {
                        made += 1;
                        json!(format!("made {made}"))
                    }
                };
                let is_new = known.is_none() || mode != "whole";
                if !place(results.get_mut(label)?, &steps(path), value, is_new) {
                    return None;
                }
            }
        }
        let wanted = self.wanted();
        let mut wanted_of = Vec::new();
        references(&wanted, &mut wanted_of);
        for Reference { label, path } in wanted_of {
            made += 1;
            let value = json!(format!("made {made}"));
            let result = results.get_mut(label)?;
            if !path.is_empty() && !place(result, &path, value, true) {
                return None;
            }
        }
        for call in &self.calls {
            let is_list = (call.result_outline.as_ref()).is_some_and(|o| o.get("array").is_some());
            let result = results.get_mut(&call.label)?;
            if is_list && !result.is_array() {
                *result = Value::Array(vec![result.take()]);
            }
        }
        Some(results)
    }

    /// What the whole chain gives.
    pub(crate) fn value(&self, results: &BTreeMap<String, Value>) -> Value {
        filled(&self.wanted(), results)
    }

    /// The template of what the whole chain gives: the last result, if
    /// nothing else is said.
    fn wanted(&self) -> Value {
        let last = || {
            let label = self.calls.last().map_or("", |call| &call.label);
            json!(format!("${label}$"))
        };
        self.program_result.clone().unwrap_or_else(last)
    }

    /// Calls that need nothing of each other, together, in order.
    pub(crate) fn levels(&self) -> Vec<Vec<&ChainCall>> {
        let mut levels: BTreeMap<usize, Vec<&ChainCall>> = BTreeMap::new();
        for call in &self.calls {
            levels.entry(call.level).or_default().push(call);
        }
        levels.into_values().collect()
    }

    /// The chain as a TypeScript program.
    pub(crate) fn typescript(&self) -> String {
        let mut program = String::from(
            "const at = (value: any, ...path: (string | number)[]): any => path.reduce(\n  \
             (found, step) => Array.isArray(found) && typeof step === \"string\"\n    \
             ? found[0][step] : found[step], value);\n",
        );
        for level in self.levels() {
            let names: Vec<&str> = level.iter().map(|call| call.label.as_str()).collect();
            let _ = writeln!(
                program,
                "const [{}] = await Promise.all([",
                names.join(", ")
            );
            for call in level {
                let arguments = source(&call.template(), Language::TypeScript);
                let _ = writeln!(program, "  tools[{}]({arguments}),", json!(call.name));
            }
            program.push_str("]);\n");
        }
        let wanted = source(&self.wanted(), Language::TypeScript);
        let _ = writeln!(program, "return {wanted};");
        program
    }

    /// The chain as a Python program.
    pub(crate) fn python(&self) -> String {
        let mut program = String::from(
            "import asyncio\n\ndef at(value, *path):\n    for step in path:\n        \
             if isinstance(value, list) and isinstance(step, str):\n            \
             value = value[0]\n        value = value[step]\n    return value\n\n",
        );
        for level in self.levels() {
            let names: Vec<&str> = level.iter().map(|call| call.label.as_str()).collect();
            let _ = writeln!(program, "[{}] = await asyncio.gather(", names.join(", "));
            for call in level {
                let arguments = source(&call.template(), Language::Python);
                let _ = writeln!(program, "    tools[{}]({arguments}),", json!(call.name));
            }
            program.push_str(")\n");
        }
        let wanted = source(&self.wanted(), Language::Python);
        let _ = writeln!(program, "return {wanted}");
        program
    }
}

/// Puts `value` where `path` leads, making what is missing on the way. A
/// value that was made up leaves what is there.
fn place(at: &mut Value, path: &[Step<'_>], value: Value, made_up: bool) -> bool {
    let Some((step, rest)) = path.split_first() else {
        let is_free = at.is_null();
        if is_free {
            *at = value;
            return true;
        }
        return made_up || *at == value;
    };
    match step {
        Step::Name(name) => {
            let at = match at {
                Value::Array(items) if !items.is_empty() => &mut items[0],
                other => other,
            };
            if at.is_null() {
                *at = json!({});
            }
            let Some(object) = at.as_object_mut() else {
                return false;
            };
            place(
                object.entry(*name).or_insert(Value::Null),
                rest,
                value,
                made_up,
            )
        }
        Step::Place(place_) => {
            if at.is_null() {
                *at = json!([]);
            }
            let Some(items) = at.as_array_mut() else {
                return false;
            };
            while items.len() <= *place_ {
                items.push(Value::Null);
            }
            place(&mut items[*place_], rest, value, made_up)
        }
    }
}

fn steps(path: &str) -> Vec<Step<'_>> {
    let names = path.split('.').flat_map(|part| {
        let (name, places) = part.split_once('[').unwrap_or((part, ""));
        let places = places
            .split('[')
            .filter_map(|place| place.strip_suffix(']')?.parse().ok());
        let name = (!name.is_empty()).then_some(Step::Name(name));
        name.into_iter().chain(places.map(Step::Place))
    });
    names.collect()
}

/// The pieces of a template's string: `a $var1.b$ c`.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("$var") {
        let Some((inside, after)) = inside.split_once('$') else {
            break;
        };
        let begin = before.len() + 1;
        let end = begin + "var".len() + inside.len();
        let reference = &rest[begin..end];
        let (label, path) = reference.split_once(['.', '[']).unwrap_or((reference, ""));
        let path = if path.is_empty() {
            ""
        } else {
            &reference[label.len()..]
        };
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        let path = steps(path.strip_prefix('.').unwrap_or(path));
        pieces.push(Piece::Reference(Reference { label, path }));
        rest = after;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

fn references<'a>(template: &'a Value, found: &mut Vec<Reference<'a>>) {
    match template {
        Value::String(text) => {
            found.extend(pieces(text).into_iter().filter_map(|piece| match piece {
                Piece::Text(_) => None,
                Piece::Reference(reference) => Some(reference),
            }));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(members) => members.values().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn find(reference: &Reference<'_>, results: &BTreeMap<String, Value>) -> Value {
    let mut found = &results[reference.label];
    for step in &reference.path {
        found = match (step, found) {
            (Step::Name(name), Value::Array(items)) => &items[0][*name],
            (Step::Name(name), _) => &found[*name],
            (Step::Place(place), _) => &found[*place],
        };
    }
    found.clone()
}

fn filled(template: &Value, results: &BTreeMap<String, Value>) -> Value {
    match template {
        Value::String(text) => match pieces(text).as_slice() {
            [Piece::Reference(reference)] => find(reference, results),
            pieces => {
                let text = pieces.iter().map(|piece| match piece {
                    Piece::Text(text) => (*text).to_owned(),
                    Piece::Reference(reference) => match find(reference, results) {
                        Value::String(text) => text,
                        other => other.to_string(),
                    },
                });
                Value::String(text.collect())
            }
        },
        Value::Array(items) => items.iter().map(|item| filled(item, results)).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, item)| (name.clone(), filled(item, results)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    TypeScript,
    Python,
}

/// A template as an expression.
fn source(template: &Value, language: Language) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match (template, language) {
        (Value::String(text), _) => match pieces(text).as_slice() {
            [piece] => piece_source(piece, language, false),
            pieces => {
                let pieces = pieces
                    .iter()
                    .map(|piece| piece_source(piece, language, true));
                format!("({})", pieces.collect::<Vec<_>>().join(" + "))
            }
        },
        (Value::Array(items), _) => {
            format!(
                "[{}]",
                list(items.iter().map(|item| source(item, language)).collect())
            )
        }
        (Value::Object(members), _) => {
            let members = members
                .iter()
                .map(|(name, item)| format!("{}: {}", json!(name), source(item, language)));
            format!("{{{}}}", list(members.collect()))
        }
        (Value::Null, Language::Python) => "None".to_owned(),
        (Value::Bool(true), Language::Python) => "True".to_owned(),
        (Value::Bool(false), Language::Python) => "False".to_owned(),
        (other, _) => other.to_string(),
    }
}

fn piece_source(piece: &Piece<'_>, language: Language, as_text: bool) -> String {
    match piece {
        Piece::Text(text) => json!(text).to_string(),
        Piece::Reference(Reference { label, path }) => {
            let path = path.iter().map(|step| match step {
                Step::Name(name) => json!(name).to_string(),
                Step::Place(place) => place.to_string(),
            });
            let path: Vec<String> = std::iter::once((*label).to_owned()).chain(path).collect();
            let value = format!("at({})", path.join(", "));
            match (as_text, language) {
                (false, _) => value,
                (true, Language::TypeScript) => format!("String({value})"),
                (true, Language::Python) => format!("str({value})"),
            }
        }
    }
}
