//! Schemas as providers take them: real ones and hostile ones.

#[path = "support/schemas.rs"]
mod support;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use toolfall::schema::Schema;
use toolfall::schema::provider::{Accepts, Provider, project, project_tools, restore};
use toolfall::{Arguments, BoxError, Registry, ToolContext, raw_tool};

const PROVIDERS: [Provider; 3] = [
    Provider::OpenAiStrict,
    Provider::Anthropic,
    Provider::Gemini,
];

/// The schemas below a projected schema, itself among them.
fn subschemas(schema: &Value) -> Vec<&Map<String, Value>> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let map = schema
            .as_object()
            .unwrap_or_else(|| panic!("a schema: {schema}"));
        found.push(map);
        for keyword in ["properties", "$defs"] {
            open.extend(
                map.get(keyword)
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(Map::values),
            );
        }
        open.extend(
            map.get("anyOf")
                .and_then(Value::as_array)
                .into_iter()
                .flatten(),
        );
        open.extend(map.get("items"));
    }
    found
}

/// What each provider demands of every schema.
fn check(provider: Provider, schema: &Value) {
    assert_eq!(schema["type"], "object", "{schema}");
    for keyword in ["anyOf", "oneOf", "allOf", "$ref"] {
        assert!(schema.get(keyword).is_none(), "{schema}");
    }
    if provider == Provider::Anthropic {
        return;
    }
    for map in subschemas(schema) {
        let said = ["type", "anyOf", "$ref"]
            .iter()
            .filter(|keyword| map.contains_key(**keyword));
        assert_eq!(said.count(), 1, "{map:?}");
        let is_object = map.get("type").is_some_and(|kind| {
            kind == "object"
                || kind
                    .as_array()
                    .is_some_and(|kinds| kinds.contains(&"object".into()))
        });
        match provider {
            Provider::OpenAiStrict => {
                assert!(
                    map.keys().all(|keyword| matches!(
                        &**keyword,
                        "type"
                            | "anyOf"
                            | "$ref"
                            | "$defs"
                            | "enum"
                            | "title"
                            | "description"
                            | "properties"
                            | "required"
                            | "additionalProperties"
                            | "items"
                            | "pattern"
                            | "format"
                            | "minimum"
                            | "maximum"
                            | "exclusiveMinimum"
                            | "exclusiveMaximum"
                            | "multipleOf"
                            | "minItems"
                            | "maxItems"
                    )),
                    "{map:?}"
                );
                assert!(!map.contains_key("$ref") || map.len() == 1, "{map:?}");
                if is_object {
                    assert_eq!(map["additionalProperties"], false);
                    let mut names: Vec<&String> =
                        map["properties"].as_object().unwrap().keys().collect();
                    names.sort();
                    assert_eq!(map["required"], json!(names));
                }
            }
            _ => {
                assert!(
                    map.keys().all(|keyword| matches!(
                        &**keyword,
                        "type"
                            | "anyOf"
                            | "nullable"
                            | "default"
                            | "enum"
                            | "title"
                            | "description"
                            | "properties"
                            | "required"
                            | "items"
                            | "pattern"
                            | "format"
                            | "minimum"
                            | "maximum"
                            | "minItems"
                            | "maxItems"
                            | "minLength"
                            | "maxLength"
                            | "minProperties"
                            | "maxProperties"
                    )),
                    "{map:?}"
                );
                assert!(map.get("type").is_none_or(Value::is_string), "{map:?}");
                for value in map
                    .get("enum")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    assert!(value.is_string() && map["type"] == "string", "{map:?}");
                }
            }
        }
    }
}

/// Projects all of them, twice, and counts what was changed by keyword.
fn count(provider: Provider, schemas: &[Value]) -> (usize, BTreeMap<String, usize>) {
    let (mut exact, mut counts) = (0, BTreeMap::new());
    for schema in schemas {
        let once = project(provider, schema).unwrap();
        check(provider, &once.schema);
        let again = project(provider, &once.schema).unwrap();
        assert_eq!(again.schema, once.schema, "{provider:?} of {schema}");
        assert_eq!(again.changes, [], "{provider:?} of {}", once.schema);
        assert_eq!(again.schema.to_string(), once.schema.to_string());
        exact += usize::from(!once.accepts_more());
        for change in once.changes {
            let label = format!("{} {:?}", change.keyword(), change.accepts());
            *counts.entry(label).or_default() += 1;
        }
    }
    (exact, counts)
}

#[test]
fn real_schemas_are_projected_and_what_was_changed_is_counted() {
    let schemas = support::copied();
    let figures = PROVIDERS.map(|provider| {
        let (exact, counts) = count(provider, &schemas);
        println!(
            "{provider:?}: {exact} of {} accept no more; {counts:#?}",
            schemas.len()
        );
        exact
    });
    assert_eq!((schemas.len(), figures), (600, [600, 600, 589]));
}

#[test]
fn what_servers_announce_is_projected_where_it_is_there() {
    let Some(tools) = support::announced() else {
        return;
    };
    let schemas: Vec<Value> = tools
        .iter()
        .map(|tool| tool["inputSchema"].clone())
        .filter(|schema| Schema::compile(schema).is_ok())
        .collect();
    let figures = PROVIDERS.map(|provider| {
        let (exact, counts) = count(provider, &schemas);
        println!(
            "{provider:?}: {exact} of {} accept no more; {counts:#?}",
            schemas.len()
        );
        exact
    });
    assert_eq!((schemas.len(), figures), (2376, [2274, 2376, 881]));
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

/// A value that a schema in strict mode probably accepts.
fn instance(root: &Value, schema: &Value, numbers: &mut Numbers, depth: usize) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        return if depth > 12 {
            Value::Null
        } else {
            instance(root, target, numbers, depth + 1)
        };
    }
    if let Some(branches) = schema["anyOf"].as_array() {
        let branch = if depth > 8 {
            branches.len() - 1
        } else {
            numbers.below(branches.len())
        };
        return instance(root, &branches[branch], numbers, depth + 1);
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[numbers.below(values.len())].clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) if depth > 8 => &kinds[kinds.len() - 1],
        Value::Array(kinds) => &kinds[numbers.below(kinds.len())],
        kind => kind,
    };
    match kind.as_str().unwrap() {
        "string" => json!(["", "a", "2024-01-01", "x y"][numbers.below(4)]),
        "integer" => json!(numbers.below(30)),
        "number" => json!([0.5, 1.0, 7.25, 100.0][numbers.below(4)]),
        "boolean" => json!(numbers.below(2) == 0),
        "array" => {
            let length = schema["minItems"].as_u64().unwrap_or(0) as usize + numbers.below(2);
            (0..length)
                .map(|_| instance(root, &schema["items"], numbers, depth + 1))
                .collect()
        }
        "object" => schema["properties"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, schema)| (name.clone(), instance(root, schema, numbers, depth + 1)))
            .collect::<Map<_, _>>()
            .into(),
        _ => Value::Null,
    }
}

/// Whatever a strict projection accepts the schema accepts, once the nulls
/// are gone, unless the report says that it may accept more.
#[test]
fn a_projection_that_says_so_accepts_no_more_than_the_schema() {
    let mut schemas = support::copied();
    for tool in support::announced().into_iter().flatten() {
        schemas.push(tool["inputSchema"].clone());
    }
    let (mut asked, mut numbers) = (0, Numbers(7));
    for schema in schemas {
        let Ok(original) = Schema::compile(&schema) else {
            continue;
        };
        let projected = project(Provider::OpenAiStrict, &schema).unwrap();
        if projected.accepts_more() {
            continue;
        }
        let strict = Schema::compile(&projected.schema).unwrap();
        for _ in 0..4 {
            let mut value = instance(&projected.schema, &projected.schema, &mut numbers, 0);
            if !strict.is_valid(&value) {
                continue;
            }
            asked += 1;
            restore(&schema, &mut value);
            let told = original.argument_violations(&value);
            assert_eq!(told, [], "{schema}\n{}\n{value}", projected.schema);
            let before = value.clone();
            restore(&schema, &mut value);
            assert_eq!(value, before);
        }
    }
    println!("{asked} instances asked");
    assert!(asked > 1_000, "{asked}");
}

fn changes(provider: Provider, schema: &Value) -> Vec<String> {
    let changes = project(provider, schema).unwrap().changes;
    changes
        .iter()
        .map(|change| {
            format!(
                "{}:{}:{:?}",
                change.pointer(),
                change.keyword(),
                change.accepts()
            )
        })
        .collect()
}

#[test]
fn strict_mode_says_what_it_can_and_reports_the_rest() {
    let schema = json!({
        "type": "object",
        "properties": {
            "who": {"$ref": "#/definitions/person", "description": "Whom"},
            "kind": {"oneOf": [{"const": "a"}, {"const": "b"}]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
            "both": {"allOf": [{"type": "object", "properties": {"x": {"type": "integer"}}},
                {"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]}]},
        },
        "required": ["who", "both"],
        "definitions": {"person": {"type": "object", "additionalProperties": false,
            "properties": {"boss": {"$ref": "#/definitions/person"}}}},
    });
    let projected = project(Provider::OpenAiStrict, &schema).unwrap();
    check(Provider::OpenAiStrict, &projected.schema);
    let properties = &projected.schema["properties"];
    assert_eq!(
        properties["who"],
        json!({"description": "Whom", "anyOf": [{"$ref": "#/$defs/person"}]})
    );
    assert_eq!(
        properties["both"]["properties"],
        json!({
        "x": {"type": ["integer", "null"]}, "y": {"type": "string"}})
    );
    assert_eq!(
        properties["kind"]["anyOf"],
        json!([
        {"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}, {"type": "null"}])
    );
    assert_eq!(
        projected.schema["$defs"]["person"]["properties"]["boss"],
        json!({"anyOf": [{"$ref": "#/$defs/person"}, {"type": "null"}]})
    );
    let told = changes(Provider::OpenAiStrict, &schema);
    for change in [
        "/properties/kind:oneOf:More",
        "/properties/labels:additionalProperties:Less",
        "/properties/pair:prefixItems:More",
        "/properties/both:allOf:Same",
        "/properties/labels:required:Same",
    ] {
        assert!(
            told.iter().any(|told| told == change),
            "{change}: {told:#?}"
        );
    }
}

#[test]
fn gemini_gets_no_references_and_says_null_in_its_own_way() {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "tree": {"$ref": "#/$defs/tree"},
            "size": {"type": ["integer", "null"], "enum": [1, 2, null]},
            "name": {"type": ["string", "null"], "format": "uri"},
            "mixed": {"type": ["string", "integer"]},
            "mode": {"const": "fast"},
        },
        "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}}},
    });
    let projected = project(Provider::Gemini, &schema).unwrap();
    check(Provider::Gemini, &projected.schema);
    let properties = &projected.schema["properties"];
    assert_eq!(
        properties["mixed"],
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})
    );
    assert_eq!(
        properties["mode"],
        json!({"type": "string", "enum": ["fast"]})
    );
    assert_eq!(
        properties["name"],
        json!({"type": "string", "nullable": true, "description": "(format: \"uri\")"})
    );
    let told = changes(Provider::Gemini, &schema);
    for change in [
        "/$defs/tree/properties/left:$ref:Less",
        ":additionalProperties:More",
        "/properties/size:enum:More",
    ] {
        assert!(
            told.iter().any(|told| told == change),
            "{change}: {told:#?}"
        );
    }
}

#[test]
fn anthropic_gets_nearly_everything_but_an_object_at_the_top() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "oneOf": [
            {"properties": {"url": {"type": "string", "format": "uri"}}, "required": ["url"]},
            {"properties": {"path": {"type": "string", "minLength": 1}}, "required": ["path"]},
        ],
        "properties": {"a b": {"type": "string"}, "when": {"not": {"type": "null"}}},
    });
    let projected = project(Provider::Anthropic, &schema).unwrap();
    assert_eq!(
        projected.schema,
        json!({
            "type": "object", "required": [],
            "properties": {
                "url": {"type": "string", "format": "uri"},
                "path": {"type": "string", "minLength": 1},
                "when": {"not": {"type": "null"}},
            },
        })
    );
    assert_eq!(
        changes(Provider::Anthropic, &schema),
        [
            ":$schema:Same",
            ":oneOf:More",
            "/properties/a b:properties:More"
        ]
    );
}

#[test]
fn hostile_schemas_are_projected_in_bounded_work_or_refused() {
    let mut deep = json!({"type": "string"});
    for _ in 0..28 {
        deep = json!({"type": "object", "properties": {"a": deep}, "required": ["a"]});
    }
    let mut doubled = Map::new();
    for step in 0..8 {
        let next = json!({"$ref": format!("#/$defs/d{}", step + 1)});
        doubled.insert(
            format!("d{step}"),
            json!({"type": "object", "properties": {"l": next, "r": next}}),
        );
    }
    doubled.insert("d8".into(), json!({"type": "string"}));
    let odd = [
        deep,
        json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": doubled}),
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}),
        json!({"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}}),
        json!({"type": "dict", "properties": {"a": 1, "b": false, "c": {"type": 7}, "d": []}}),
        json!({"anyOf": [], "required": ["a", 1], "properties": []}),
        json!({"type": "object", "properties": {"": {"enum": []}, "~/": {"$ref": "http://x"}}}),
        json!(null),
        json!(true),
        json!([1]),
        json!({}),
    ];
    for schema in odd {
        for provider in PROVIDERS {
            let projected = project(provider, &schema).unwrap();
            assert!(projected.schema.to_string().len() < 1_000_000);
            if provider != Provider::Anthropic {
                check(provider, &projected.schema);
                let again = project(provider, &projected.schema).unwrap();
                assert_eq!(again.schema, projected.schema, "{provider:?} of {schema}");
            }
        }
    }
    let mut deepest = json!({});
    for _ in 0..70 {
        deepest = json!({"items": deepest});
    }
    for provider in PROVIDERS {
        let error = project(provider, &deepest).unwrap_err();
        assert!(
            error.to_string().contains("expected at most 64 levels"),
            "{error}"
        );
    }
}

#[test]
fn the_tools_of_a_registry_are_announced_by_name_with_the_same_bytes() {
    let registry = Registry::new();
    for name in ["write", "append", "read"] {
        let schema = json!({"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}});
        let tool = raw_tool(
            name,
            "",
            schema,
            |arguments: Arguments, _: ToolContext| async move {
                Ok::<Value, BoxError>(arguments.value().clone())
            },
        );
        registry.register(tool).unwrap().keep();
    }
    for provider in PROVIDERS {
        let mut tools = registry.schemas(None);
        let announced = project_tools(provider, &tools).unwrap();
        let names: Vec<&str> = announced.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["append", "read", "write"]);
        tools.reverse();
        assert_eq!(project_tools(provider, &tools).unwrap(), announced);
        let text = announced[0].parameters.schema.to_string();
        assert!(text.find("\"a\"") < text.find("\"z\""), "{text}");
        assert!(announced.iter().all(|tool| {
            tool.parameters
                .changes
                .iter()
                .all(|change| change.accepts() != Accepts::More)
        }));
    }
}
