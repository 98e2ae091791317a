//! Keywords that no draft knows: a `minimun` constrains nothing.

use serde_json::Value;

/// More unknown keywords than this are not told.
const MAX_TOLD: usize = 50;

/// Where schemas stand below a keyword.
enum Holds {
    /// The value is a schema, or a list of schemas.
    Schemas,
    /// The value maps names to schemas.
    Named,
    /// The value holds no schemas.
    Nothing,
}

fn holds(keyword: &str) -> Option<Holds> {
    Some(match keyword {
        "allOf"
        | "anyOf"
        | "oneOf"
        | "not"
        | "if"
        | "then"
        | "else"
        | "items"
        | "prefixItems"
        | "additionalItems"
        | "additionalProperties"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => Holds::Schemas,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
        | "dependencies" => Holds::Named,
        "$schema" | "$id" | "id" | "$ref" | "$anchor" | "$dynamicRef" | "$dynamicAnchor"
        | "$recursiveRef" | "$recursiveAnchor" | "$vocabulary" | "$comment" | "type" | "enum"
        | "const" | "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum"
        | "exclusiveMinimum" | "maxLength" | "minLength" | "pattern" | "format" | "maxItems"
        | "minItems" | "uniqueItems" | "maxContains" | "minContains" | "maxProperties"
        | "minProperties" | "required" | "dependentRequired" | "title" | "description"
        | "default" | "deprecated" | "readOnly" | "writeOnly" | "examples" | "contentEncoding"
        | "contentMediaType" => Holds::Nothing,
        _ => return None,
    })
}

pub(super) fn is_known(keyword: &str) -> bool {
    holds(keyword).is_some()
}

/// A keyword that has no effect, since no draft knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownKeyword {
    /// The schema that has it, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
}

/// The keywords of `schema` that no draft from 4 to 2020-12 knows, in order,
/// at most 50. Names of properties, and values in `default`, `enum` and the
/// like, are no keywords; words that begin with `x-` are meant for others.
///
/// ```
/// use serde_json::json;
/// use toolfall::schema::unknown_keywords;
///
/// let found = unknown_keywords(&json!({
///     "type": "object",
///     "properties": {"size": {"type": "integer", "minimun": 1, "x-order": 2}},
/// }));
/// assert_eq!((&*found[0].pointer, &*found[0].keyword), ("/properties/size", "minimun"));
/// assert_eq!(found.len(), 1);
/// ```
pub fn unknown_keywords(schema: &Value) -> Vec<UnknownKeyword> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), schema)];
    while let Some((place, schema)) = open.pop() {
        let Value::Object(map) = schema else {
            continue;
        };
        for (keyword, value) in map {
            match (holds(keyword), value) {
                (Some(Holds::Schemas), Value::Array(items)) => {
                    for (index, item) in items.iter().enumerate() {
                        open.push((format!("{place}/{keyword}/{index}"), item));
                    }
                }
                (Some(Holds::Schemas), _) => open.push((format!("{place}/{keyword}"), value)),
                (Some(Holds::Named), Value::Object(named)) => {
                    for (name, item) in named {
                        let name = name.replace('~', "~0").replace('/', "~1");
                        open.push((format!("{place}/{keyword}/{name}"), item));
                    }
                }
                (Some(_), _) => {}
                (None, _) if keyword.starts_with("x-") => {}
                (None, _) => found.push(UnknownKeyword {
                    pointer: place.clone(),
                    keyword: keyword.clone(),
                }),
            }
        }
    }
    found.sort();
    found.truncate(MAX_TOLD);
    found
}
