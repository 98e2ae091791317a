//! `run_code` as a tool.

use std::sync::Arc;

use serde_json::Value;

use super::mode::Inner;
use super::render::output;
use super::run::run;
use crate::card::{CallCard, GenericCall, Kind};
use crate::redaction::SecretPlaces;
use crate::registry::WeakRegistry;
use crate::schema::SchemaError;
use crate::sdk::{Language, ToolDeclaration, run_code};
use crate::tool::ToolEntry;
use crate::{Arguments, BoxError, ContentBlock, ToolContext, ToolDef, raw_tool};

/// The tool as it is told to authors of programs in `language`.
pub(in crate::code) fn entry(
    mode: &Arc<Inner>,
    registry: &WeakRegistry,
    language: Language,
) -> Result<Arc<ToolEntry>, SchemaError> {
    ToolEntry::compile(tool(mode, registry, language), SecretPlaces::default()).map(Arc::new)
}

fn tool(mode: &Arc<Inner>, registry: &WeakRegistry, language: Language) -> ToolDef {
    let ToolDeclaration {
        name,
        description,
        parameters,
        output: schema,
    } = run_code::declaration(language);
    let (mode, registry) = (mode.clone(), registry.clone());
    let body = move |arguments: Arguments, ctx: ToolContext| {
        run(mode.clone(), registry.clone(), arguments, ctx)
    };
    let tool = raw_tool(name, description, parameters, body)
        .render(|value| Ok::<_, BoxError>(vec![ContentBlock::text(output(value))]))
        .present_call(card);
    match schema {
        Some(schema) => tool.output_schema(schema),
        None => tool,
    }
}

/// The program under what it is for.
fn card(given: Value) -> Option<CallCard> {
    let (title, code) = (given.get("description")?.as_str()?, given.get("code")?);
    let card = GenericCall::new(title).kind(Kind::Execute);
    Some(CallCard::Generic(card.raw_input(code.clone())))
}
