//! Schemas made in code, for tools whose parameters are known at run time
//! only: what a server lists, or what a configuration says.
//!
//! What is built is a JSON Schema value for
//! [`raw_tool`](crate::raw_tool); nothing else of the crate knows of the
//! builder. An object's properties are required unless they are
//! [`optional`](SchemaBuilder::optional), and it takes no others unless it is
//! [`open`](SchemaBuilder::open).
//!
//! ```
//! use serde_json::json;
//! use toolfall::schema::Schema;
//! use toolfall::schema::builder::{array, integer, object, one_of, string};
//!
//! let columns = ["id", "name"]; // known at run time only
//! let parameters = object()
//!     .property("table", string().description("The table to read").min(1))
//!     .property("columns", array(one_of(columns)).optional())
//!     .property("limit", integer().min(1).max(100).optional())
//!     .build();
//!
//! assert_eq!(
//!     parameters,
//!     json!({
//!         "type": "object",
//!         "properties": {
//!             "table": {"type": "string", "description": "The table to read", "minLength": 1},
//!             "columns": {"type": "array", "items": {"type": "string", "enum": ["id", "name"]}},
//!             "limit": {"type": "integer", "minimum": 1, "maximum": 100},
//!         },
//!         "required": ["table"],
//!         "additionalProperties": false,
//!     }),
//! );
//! let schema = Schema::compile(&parameters)?;
//! assert!(schema.is_valid(&json!({"table": "users", "columns": ["name"]})));
//! assert!(!schema.is_valid(&json!({"table": "users", "columns": ["password"]})));
//! # Ok::<(), toolfall::schema::SchemaError>(())
//! ```

use serde_json::{Map, Value, json};

/// A schema that is being made. See the [module docs](self).
#[derive(Clone, Debug, PartialEq)]
#[must_use = "nothing is built before `build`"]
pub struct SchemaBuilder {
    kind: Kind,
    keywords: Map<String, Value>,
    is_optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Object,
    String,
    Number,
    Array,
    Other,
}

impl SchemaBuilder {
    fn of(kind: Kind, name: &str) -> Self {
        let mut keywords = Map::new();
        keywords.insert("type".to_owned(), name.into());
        Self {
            kind,
            keywords,
            is_optional: false,
        }
    }

    fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.keywords.insert(keyword.to_owned(), value.into());
        self
    }

    /// What it is, for the model.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.with("description", text.into())
    }

    /// What is meant where it is left out. For the model only: arguments are
    /// never filled in.
    pub fn default_value(self, value: impl Into<Value>) -> Self {
        self.with("default", value)
    }

    /// Lets the property that it becomes be left out.
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// Accepts `null` as well.
    pub fn nullable(mut self) -> Self {
        if let Some(Value::Array(values)) = self.keywords.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
        if let Some(kind @ Value::String(_)) = self.keywords.get_mut("type") {
            *kind = json!([kind.take(), "null"]);
        }
        self
    }

    /// The least number, or length of a text or a list. No effect on other
    /// kinds.
    pub fn min(self, least: u32) -> Self {
        match self.kind {
            Kind::Number => self.with("minimum", least),
            Kind::String => self.with("minLength", least),
            Kind::Array => self.with("minItems", least),
            Kind::Object | Kind::Other => self,
        }
    }

    /// The greatest number, or length of a text or a list. No effect on other
    /// kinds.
    pub fn max(self, greatest: u32) -> Self {
        match self.kind {
            Kind::Number => self.with("maximum", greatest),
            Kind::String => self.with("maxLength", greatest),
            Kind::Array => self.with("maxItems", greatest),
            Kind::Object | Kind::Other => self,
        }
    }

    /// Adds a property, or replaces the one of that name. No effect on what
    /// is no object.
    pub fn property(mut self, name: impl Into<String>, schema: Self) -> Self {
        if self.kind != Kind::Object {
            return self;
        }
        let name = name.into();
        if let Some(Value::Array(required)) = self.keywords.get_mut("required") {
            required.retain(|known| *known != *name);
            if !schema.is_optional {
                required.push(name.clone().into());
            }
        }
        if let Some(Value::Object(properties)) = self.keywords.get_mut("properties") {
            properties.insert(name, schema.build());
        }
        self
    }

    /// Lets an object hold properties that are not declared.
    pub fn open(mut self) -> Self {
        self.keywords.remove("additionalProperties");
        self
    }

    /// The schema.
    pub fn build(mut self) -> Value {
        let required = self.keywords.get("required").and_then(Value::as_array);
        if required.is_some_and(Vec::is_empty) {
            self.keywords.remove("required");
        }
        Value::Object(self.keywords)
    }
}

impl From<SchemaBuilder> for Value {
    fn from(builder: SchemaBuilder) -> Self {
        builder.build()
    }
}

/// An object without properties that takes no others.
pub fn object() -> SchemaBuilder {
    SchemaBuilder::of(Kind::Object, "object")
        .with("properties", json!({}))
        .with("required", json!([]))
        .with("additionalProperties", false)
}

/// Any text.
pub fn string() -> SchemaBuilder {
    SchemaBuilder::of(Kind::String, "string")
}

/// One of these texts. An empty list accepts nothing.
pub fn one_of<T: Into<String>>(values: impl IntoIterator<Item = T>) -> SchemaBuilder {
    let values: Vec<Value> = values.into_iter().map(|text| text.into().into()).collect();
    SchemaBuilder::of(Kind::Other, "string").with("enum", values)
}

/// Any whole number.
pub fn integer() -> SchemaBuilder {
    SchemaBuilder::of(Kind::Number, "integer")
}

/// Any number.
pub fn number() -> SchemaBuilder {
    SchemaBuilder::of(Kind::Number, "number")
}

/// `true` or `false`.
pub fn boolean() -> SchemaBuilder {
    SchemaBuilder::of(Kind::Other, "boolean")
}

/// A list whose items `items` describes.
pub fn array(items: SchemaBuilder) -> SchemaBuilder {
    SchemaBuilder::of(Kind::Array, "array").with("items", items.build())
}
