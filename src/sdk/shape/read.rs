//! Reads a schema into shapes, node by node.

use serde_json::{Map, Value};

use super::keywords::{Type, branches, description, literals, properties, tells, types};
use super::{Field, Object, Rest, Shape, Shapes, Unreadable};
use crate::schema::unescaped;

/// What references may add: a definition is written out wherever it is
/// referred to, and definitions that refer to each other can double at every
/// step. Counted in bytes of names and descriptions, plus a fixed part for
/// each node.
const MAX_REFERRED: usize = 256 * 1024;
/// The fixed part.
const NODE: usize = 64;
/// References inside of references go so far.
const MAX_CHAIN: usize = 32;

/// The shapes of `schema`. What its references lead back to, or add beyond a
/// bound, is [`Shape::Any`].
pub(in crate::sdk) fn read(schema: &Value) -> Result<Shapes<'_>, Unreadable> {
    let mut reader = Reader {
        root: schema,
        shapes: vec![Shape::Any],
        open: vec![Open {
            at: Shapes::ROOT,
            schema,
            chain: 0,
            only: None,
        }],
        chain: vec![Referred {
            to: schema,
            from: 0,
            length: 0,
        }],
        referred: 0,
    };
    while let Some(open) = reader.open.pop() {
        let before = reader.open.len();
        reader.node(open)?;
        // So that nodes are read in their order, and the first references
        // are the ones that the bound leaves room for.
        reader.open[before..].reverse();
    }
    Ok(Shapes(reader.shapes))
}

struct Reader<'a> {
    root: &'a Value,
    shapes: Vec<Shape<'a>>,
    open: Vec<Open<'a>>,
    chain: Vec<Referred<'a>>,
    referred: usize,
}

/// A node that is still to be read.
struct Open<'a> {
    at: usize,
    schema: &'a Value,
    /// The reference that it was reached by.
    chain: usize,
    /// The one of its types that it is read for, if it has several.
    only: Option<Type>,
}

/// A schema that was referred to, or the whole one, and the reference that
/// the referring one was reached by.
struct Referred<'a> {
    to: &'a Value,
    from: usize,
    length: usize,
}

impl<'a> Reader<'a> {
    fn node(&mut self, mut open: Open<'a>) -> Result<(), Unreadable> {
        // A node that is the same as another one is read as that.
        let (schema, types) = loop {
            self.spend(open.chain, NODE);
            let map = match open.schema {
                Value::Bool(true) => return Ok(()),
                Value::Bool(false) => {
                    self.shapes[open.at] = Shape::Never;
                    return Ok(());
                }
                Value::Object(map) => map,
                _ => return Err(Unreadable),
            };
            let types = match open.only {
                Some(only) => vec![only],
                None => types(map)?,
            };
            if open.only.is_none() {
                if let Some(values) = literals(map)? {
                    let texts = values.iter().filter_map(|value| value.as_str());
                    let bytes = texts.map(str::len).sum::<usize>() + values.len() * NODE;
                    self.spend(open.chain, bytes);
                    self.shapes[open.at] = Shape::Literals(values);
                    return Ok(());
                }
                if let Some(reference) = map.get("$ref") {
                    let reference = reference.as_str().ok_or(Unreadable)?;
                    match self.follow(reference, open.chain)? {
                        Some(chain) => {
                            open.schema = self.chain[chain].to;
                            open.chain = chain;
                            continue;
                        }
                        None => return Ok(()),
                    }
                }
                match Self::alternatives(map, &types)? {
                    [] => {}
                    [same] => {
                        open.schema = same;
                        continue;
                    }
                    several => {
                        let mut add = |schema| self.add(schema, open.chain, None);
                        let ids = several.iter().map(&mut add).collect();
                        self.shapes[open.at] = Shape::Union(ids);
                        return Ok(());
                    }
                }
            }
            break (map, types);
        };
        let chain = open.chain;
        self.shapes[open.at] = match types.as_slice() {
            [] if Self::is_object(schema) => self.object(schema, chain)?,
            [] if schema.contains_key("items") => self.list(schema, chain),
            [] => Shape::Any,
            [Type::Object] => self.object(schema, chain)?,
            [Type::Array] => self.list(schema, chain),
            [Type::Null] => Shape::Null,
            [Type::Boolean] => Shape::Boolean,
            [Type::Integer] => Shape::Integer,
            [Type::Number] => Shape::Number,
            [Type::String] => Shape::String,
            several => {
                let mut add = |only: &Type| self.add(open.schema, chain, Some(*only));
                Shape::Union(several.iter().map(&mut add).collect())
            }
        };
        Ok(())
    }

    /// What a value of `schema` is one of, where this says more than the
    /// schema's own type does; of all that it must be at once, one.
    fn alternatives<'m>(
        schema: &'m Map<String, Value>,
        types: &[Type],
    ) -> Result<&'m [Value], Unreadable> {
        let one_of = branches(schema, "oneOf")?;
        let any_of = branches(schema, "anyOf")?;
        let all_of = branches(schema, "allOf")?;
        let own = Self::is_object(schema) || schema.contains_key("items");
        let alternatives = one_of.or(any_of).unwrap_or_default();
        let take = match types {
            [] => !own,
            [Type::Object] => !schema.contains_key("properties") && alternatives.iter().all(tells),
            _ => false,
        };
        if take && !alternatives.is_empty() {
            return Ok(alternatives);
        }
        let all_of = all_of
            .filter(|_| types.is_empty() && !own)
            .unwrap_or_default();
        let telling = all_of.iter().position(tells).unwrap_or(0);
        Ok(all_of.get(telling..=telling).unwrap_or_default())
    }

    fn is_object(schema: &Map<String, Value>) -> bool {
        ["properties", "additionalProperties", "required"]
            .iter()
            .any(|keyword| schema.contains_key(*keyword))
    }

    fn object(
        &mut self,
        schema: &'a Map<String, Value>,
        chain: usize,
    ) -> Result<Shape<'a>, Unreadable> {
        let mut fields = Vec::new();
        for (name, schema, required) in properties(schema)? {
            let description = description(schema)?;
            self.spend(chain, name.len() + description.map_or(0, str::len));
            let shape = self.add(schema, chain, None);
            fields.push(Field {
                name,
                description,
                required,
                shape,
            });
        }
        let rest = match schema.get("additionalProperties") {
            // What patterns allow is allowed beside what is closed.
            Some(Value::Bool(false)) if !schema.contains_key("patternProperties") => Rest::Nothing,
            None | Some(Value::Bool(_)) => Rest::Anything,
            Some(schema @ Value::Object(_)) => Rest::Of(self.add(schema, chain, None)),
            Some(_) => return Err(Unreadable),
        };
        Ok(Shape::Object(Object { fields, rest }))
    }

    fn list(&mut self, schema: &'a Map<String, Value>, chain: usize) -> Shape<'a> {
        // The first places may be of other types than those after them.
        let items = schema
            .get("items")
            .filter(|items| !items.is_array() && !schema.contains_key("prefixItems"));
        Shape::List(items.map(|items| self.add(items, chain, None)))
    }

    fn add(&mut self, schema: &'a Value, chain: usize, only: Option<Type>) -> usize {
        let at = self.shapes.len();
        self.shapes.push(Shape::Any);
        self.open.push(Open {
            at,
            schema,
            chain,
            only,
        });
        at
    }

    /// What was not referred to is as long as it is.
    fn spend(&mut self, chain: usize, bytes: usize) {
        if chain != 0 {
            self.referred = self.referred.saturating_add(bytes);
        }
    }

    /// The place in the chain of what `reference` refers to; `None` if it
    /// leads back, or too far.
    fn follow(&mut self, reference: &str, from: usize) -> Result<Option<usize>, Unreadable> {
        let fragment = reference.strip_prefix('#').ok_or(Unreadable)?;
        let to = self.root.pointer(&unescaped(fragment)).ok_or(Unreadable)?;
        let length = self.chain[from].length + 1;
        if length > MAX_CHAIN || self.referred > MAX_REFERRED {
            return Ok(None);
        }
        let mut at = from;
        loop {
            if std::ptr::eq(self.chain[at].to, to) {
                return Ok(None);
            }
            if at == 0 {
                break;
            }
            at = self.chain[at].from;
        }
        self.chain.push(Referred { to, from, length });
        Ok(Some(self.chain.len() - 1))
    }
}
