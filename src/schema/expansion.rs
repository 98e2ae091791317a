//! How much a schema is once its references are followed.
//!
//! A definition that refers twice to the next one, which refers twice to the
//! next, is short to write and takes for ever to validate. What the compiler
//! and the validator would walk is counted here first, and bounded.

use std::collections::HashMap;

use serde_json::Value;

use super::SchemaError;

/// More schema nodes than this, each counted as often as it is referred to,
/// are refused.
const MAX_NODES: u64 = 100_000;
/// Longer ways through nesting and references are refused.
const MAX_WAY: usize = 512;
/// References by address, which are not followed here, are few: so many
/// cannot double often enough to matter.
const MAX_ADDRESSED: usize = 32;

/// What a schema can cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// How many references lead back to what they stand in.
    pub(super) recursive: u64,
    /// How many nodes of the schema may be held against one node of a value.
    pub(super) ways: u64,
}

/// Refuses what is too much, and tells what the rest can cost.
pub(super) fn refuse(schema: &Value) -> Result<Cost, SchemaError> {
    let mut expansion = Expansion {
        root: schema,
        anchors: HashMap::new(),
        counts: HashMap::new(),
        addressed: 0,
    };
    expansion.find_anchors();
    let count = expansion.count(schema, false, 0)?;
    if count.nodes > MAX_NODES {
        return Err(SchemaError::new(
            "",
            format!("expected at most {MAX_NODES} nodes with every reference followed, found more"),
        ));
    }
    Ok(Cost {
        recursive: count.recursive,
        ways: count.ways,
    })
}

struct Expansion<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// By place in memory, and by whether it maps names to schemas; `None`
    /// while the node is being counted.
    counts: HashMap<(*const Value, bool), Option<Count>>,
    addressed: usize,
}

/// What is below a node, each part as often as it is referred to.
#[derive(Clone, Copy)]
struct Count {
    nodes: u64,
    /// References back to a node that is being counted.
    recursive: u64,
    /// As `nodes`, but of properties, of which one value is only one, the
    /// largest counts.
    ways: u64,
}

impl Count {
    const LEAF: Self = Self {
        nodes: 1,
        recursive: 0,
        ways: 1,
    };

    fn add(&mut self, below: Self) {
        self.nodes = self.nodes.saturating_add(below.nodes);
        self.recursive = self.recursive.saturating_add(below.recursive);
        self.ways = self.ways.saturating_add(below.ways);
    }

    fn add_alternative(&mut self, below: Self) {
        let ways = self.ways.max(below.ways.saturating_add(1));
        self.add(below);
        self.ways = ways;
    }
}

impl<'a> Expansion<'a> {
    fn find_anchors(&mut self) {
        let mut open = vec![self.root];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(items) => open.extend(items),
                Value::Object(map) => {
                    for keyword in ["$anchor", "$dynamicAnchor"] {
                        if let Some(name) = map.get(keyword).and_then(Value::as_str) {
                            self.anchors.insert(name, value);
                        }
                    }
                    // Drafts before 2019-09 name a place by a fragment.
                    let id = map.get("$id").or_else(|| map.get("id"));
                    if let Some(name) = id.and_then(Value::as_str)
                        && let Some(name) = name.strip_prefix('#')
                    {
                        self.anchors.insert(name, value);
                    }
                    open.extend(map.values());
                }
                _ => {}
            }
        }
    }

    /// The nodes below `value`, which maps `names` to schemas or not. The
    /// depth is bounded, so recursion is.
    fn count(&mut self, value: &'a Value, names: bool, way: usize) -> Result<Count, SchemaError> {
        if !value.is_array() && !value.is_object() {
            return Ok(Count::LEAF);
        }
        if way > MAX_WAY {
            return Err(SchemaError::new(
                "",
                format!("expected at most {MAX_WAY} steps of nesting and references, found more"),
            ));
        }
        let place = (std::ptr::from_ref(value), names);
        // A reference back to what is being counted is a recursion: how far
        // that goes is up to the value that is validated.
        match self.counts.get(&place) {
            Some(Some(count)) => return Ok(*count),
            Some(None) => {
                return Ok(Count {
                    nodes: 1,
                    recursive: 1,
                    ways: 1,
                });
            }
            None => {}
        }
        self.counts.insert(place, None);
        let mut count = Count::LEAF;
        match value {
            Value::Array(items) => {
                for item in items {
                    count.add(self.count(item, false, way + 1)?);
                }
            }
            Value::Object(map) => {
                for (_, item) in map.iter().filter(|_| names) {
                    count.add_alternative(self.count(item, false, way + 1)?);
                }
                for (keyword, item) in map.iter().filter(|_| !names) {
                    let target = match (&**keyword, item) {
                        ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                            self.target(reference)?
                        }
                        _ => None,
                    };
                    let below = target.unwrap_or(item);
                    let names = keyword == "properties" && target.is_none();
                    count.add(self.count(below, names, way + 1)?);
                }
            }
            _ => {}
        }
        self.counts.insert(place, Some(count));
        Ok(count)
    }

    fn target(&mut self, reference: &str) -> Result<Option<&'a Value>, SchemaError> {
        let Some(fragment) = reference.strip_prefix('#') else {
            self.addressed += 1;
            if self.addressed > MAX_ADDRESSED {
                return Err(SchemaError::new(
                    "",
                    format!("expected at most {MAX_ADDRESSED} references by address, found more"),
                ));
            }
            return Ok(None);
        };
        if fragment.is_empty() {
            return Ok(Some(self.root));
        }
        if fragment.starts_with('/') {
            return Ok(self.root.pointer(&unescaped(fragment)));
        }
        Ok(self.anchors.get(fragment).copied())
    }
}

/// A pointer in a fragment, its percent escapes undone where they make text.
pub(crate) fn unescaped(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(code) if byte == b'%' => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}
