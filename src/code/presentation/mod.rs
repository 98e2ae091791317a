//! What models are told where tools are called from programs.

use std::sync::Arc;

use super::run_code::{Inner, entry};
use crate::ToolDef;
use crate::registry::{AssembleError, Presentation, Section, Transport, WeakRegistry};
use crate::schema::SchemaError;
use crate::sdk::{Language, Sdk, ToolDeclaration};
use crate::tool::ToolEntry;

/// The places of the two sections; what a host says of its tools stands at
/// 100 by custom.
const CODE_ONLY_ORDER: i32 = 99;
const SDK_ORDER: i32 = 150;

const CODE_ONLY: &str = "\
`run_code` is the only tool you can call directly. Every other tool that these instructions speak \
of is called from a program that you pass to `run_code`; a direct call of one is refused.";

/// Programs as the way to call tools.
pub(super) struct CodeTransport {
    mode: Arc<Inner>,
    /// One for each language, the default one first.
    entries: Vec<(Language, Arc<ToolEntry>)>,
}

impl CodeTransport {
    pub(super) fn new(mode: &Arc<Inner>, registry: &WeakRegistry) -> Result<Self, SchemaError> {
        let entry = |language| Ok((language, entry(mode, registry, language)?));
        let entries = Language::ALL.into_iter().map(entry);
        Ok(Self {
            mode: mode.clone(),
            entries: entries.collect::<Result<_, SchemaError>>()?,
        })
    }
}

impl Transport for CodeTransport {
    /// The one of the runtime's language; the default one where there is no
    /// runtime, which a call then says.
    fn entry(&self) -> Arc<ToolEntry> {
        let language = self.mode.slot.language();
        let language = language.and_then(|name| Language::named(&name));
        let language = language.unwrap_or_default();
        let mut entries = self.entries.iter();
        let found = entries.find(|(known, _)| *known == language);
        found.map_or_else(|| self.entries[0].1.clone(), |(_, entry)| entry.clone())
    }

    fn is_ready(&self) -> bool {
        self.mode.slot.is_mounted()
    }

    fn sections(
        &self,
        presentation: Presentation,
        tools: &[&ToolDef],
    ) -> Result<Vec<Section>, AssembleError> {
        let language = self.mode.slot.language();
        let language = language.ok_or(AssembleError::NoRuntime { presentation })?;
        let Ok(sdk) = Sdk::for_runtime(&language) else {
            return Err(AssembleError::NoRenderer { language });
        };
        let tools = tools.iter().map(|tool| ToolDeclaration::from(*tool));
        let text = sdk.render(&tools.collect::<Vec<_>>());
        let mut sections = vec![Section::new(Section::SDK, SDK_ORDER, text)];
        if presentation == Presentation::Code {
            let only = Section::new(Section::CODE_ONLY, CODE_ONLY_ORDER, CODE_ONLY);
            sections.push(only);
        }
        Ok(sections)
    }
}
