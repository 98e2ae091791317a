//! Schemas as providers take them: every kind of change, and hostile ones.

#[path = "support/projected.rs"]
mod projected;

use projected::{PROVIDERS, check};
use serde_json::{Map, Value, json};
use toolfall::schema::Schema;
use toolfall::schema::provider::{Accepts, Provider, project, project_tools};
use toolfall::{Arguments, BoxError, Registry, ToolContext, raw_tool};

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
    // A lone reference in an `allOf` stays one, so that it may lead back.
    let wrapped = json!({"type": "object",
        "properties": {"a": {"allOf": [{"$ref": "#"}], "description": "Again"}}, "required": ["a"]});
    let wrapped = project(Provider::OpenAiStrict, &wrapped).unwrap().schema;
    assert_eq!(
        wrapped["properties"]["a"],
        json!({"description": "Again", "anyOf": [{"$ref": "#"}]})
    );
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

/// A reference that leads into what is folded away would lead nowhere.
#[test]
fn references_into_what_is_folded_lead_to_definitions() {
    let schema = json!({
        "allOf": [{"type": "object", "properties": {
            "a": {"type": "string"}, "list": {"$ref": "#/allOf/0/properties/l"}, "l": {
                "type": "array", "items": {"$ref": "#/allOf/0/properties/a"}}}}],
        "properties": {"x y": {"type": "integer"}, "b": {"$ref": "#/properties/x%20y"},
            "default": {"$ref": "#/allOf/0"}},
    });
    Schema::compile(&schema).unwrap();
    let projected = project(Provider::Anthropic, &schema).unwrap().schema;
    let judge = Schema::compile(&projected).unwrap();
    assert!(judge.is_valid(&json!({"list": ["a"], "b": 1, "default": {"a": "b"}})));
    for wrong in [
        json!({"list": [1]}),
        json!({"b": "b"}),
        json!({"default": {"a": 1}}),
    ] {
        assert!(!judge.is_valid(&wrong), "{wrong} by {projected}");
    }
    let again = project(Provider::Anthropic, &projected).unwrap().schema;
    assert_eq!(again, projected);
}

/// What stands beside alternatives holds for those that are anything, too.
#[test]
fn an_alternative_that_is_anything_has_the_type_beside_it() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "object", "anyOf": [true]}}, "required": ["a"]});
    for provider in [Provider::OpenAiStrict, Provider::Gemini] {
        let projected = project(provider, &schema).unwrap();
        assert_eq!(projected.schema["properties"]["a"]["type"], "object");
    }
}

/// A property that is only required is what all undeclared ones are.
#[test]
fn a_required_property_that_is_not_declared_is_one_of_the_others() {
    let others = |others: Value| json!({"type": "object", "required": ["a"], "additionalProperties": others});
    for provider in [Provider::OpenAiStrict, Provider::Gemini] {
        let text = project(provider, &others(json!({"type": "string"}))).unwrap();
        assert_eq!(
            text.schema["properties"]["a"],
            json!({"type": "string"}),
            "{provider:?}"
        );
        // No value is right, and the report says that more are taken.
        let none = project(provider, &others(json!(false))).unwrap();
        assert!(none.accepts_more(), "{provider:?}");
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
    // Many references to a long definition do not make it many times as long.
    let mut many = Map::new();
    for n in 0..1_500 {
        many.insert(
            format!("p{n}"),
            json!({"allOf": [{"$ref": "#/$defs/long"}]}),
        );
    }
    let long = json!({"type": "string", "description": "d".repeat(150_000)});
    let many = json!({"type": "object", "properties": many, "$defs": {"long": long}});
    for provider in PROVIDERS {
        let projected = project(provider, &many).unwrap();
        assert!(
            projected.schema.to_string().len() < 2_000_000,
            "{provider:?}"
        );
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
