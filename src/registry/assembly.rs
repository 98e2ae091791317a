//! What a model is told of its tools, all of it, in its order.

use std::fmt;
use std::sync::Arc;

use toolfall_layers::Scope;
use toolfall_layers::panic::{PanicError, catch};

use super::{OrderError, Presentation, Registry, ToolOrder, ToolSchema};

/// A piece of what a model reads before its first turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name; one of a nearer scope replaces one of the same name.
    pub id: String,
    /// Its place: lower ones come first, equal ones by name.
    pub order: i32,
    /// What it says. A section that says nothing is none.
    pub text: String,
}

impl Section {
    /// The section that declares the tools to who writes programs.
    pub const SDK: &str = "tools:sdk";
    /// The section that says that nothing but programs can be run.
    pub const CODE_ONLY: &str = "tools:code-only";

    /// A section `id` at the place `order`.
    pub fn new(id: impl Into<String>, order: i32, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            order,
            text: text.into(),
        }
    }
}

/// What a model is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assembled {
    /// The tools that it may call, in their order.
    pub tools: Vec<ToolSchema>,
    /// What it reads, in its order; none of them is empty.
    pub sections: Vec<Section>,
}

impl Assembled {
    /// What the section `id` says: nothing, if there is none.
    pub fn section(&self, id: &str) -> &str {
        let mut sections = self.sections.iter();
        let section = sections.find(|section| section.id == id);
        section.map_or("", |section| &section.text)
    }

    /// The sections, with a blank line between them.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.sections.iter().map(|section| &*section.text).collect();
        texts.join("\n\n")
    }
}

/// Why there is nothing to tell a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// Programs are to be written, and nothing runs them.
    #[error("mode \"{presentation}\" requires a code runtime")]
    NoRuntime {
        /// How the tools are presented in that scope.
        presentation: Presentation,
    },
    /// Programs are to be written in a language that no tools are declared in.
    #[error("no SDK renderer registered for runtime language {language:?}")]
    NoRenderer {
        /// What the runtime calls its language.
        language: String,
    },
    /// The order cannot be kept.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// A hook panicked.
    #[error("an assembly hook panicked")]
    Hook(#[source] PanicError),
}

type Hook = dyn Fn(&mut Assembled, Option<&Scope>) + Send + Sync;

/// Assembles what the models of a registry's scopes are told.
///
/// The tools, by [`ToolOrder`] or by name, and what goes with them in code
/// mode; the host's own sections; and whatever hooks make of all that. Two
/// assemblies of the same tools are equal to the byte.
///
/// ```
/// # use serde_json::{Value, json};
/// # use toolfall::{Arguments, BoxError, Registry, ToolContext, raw_tool};
/// use toolfall::registry::{Assembly, Section};
///
/// # let registry = Registry::new();
/// # registry.register(raw_tool("read", "", json!({"type": "object"}), |_: Arguments, _: ToolContext| async {
/// #     Ok::<_, BoxError>(Value::Null)
/// # }))?.keep();
/// let assembly = Assembly::new(registry).section(Section::new("house", 100, "Be brief."));
/// let told = assembly.assemble(None)?;
/// assert_eq!(told.tools[0].name, "read");
/// assert_eq!(told.text(), "Be brief.");
/// # Ok::<(), BoxError>(())
/// ```
#[derive(Clone)]
pub struct Assembly {
    registry: Registry,
    order: ToolOrder,
    sections: Vec<(Option<Scope>, Section)>,
    hooks: Vec<Arc<Hook>>,
}

impl Assembly {
    /// What the models of `registry` are told, and nothing beside.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            order: ToolOrder::default(),
            sections: Vec::new(),
            hooks: Vec::new(),
        }
    }

    /// Puts the tools in `order`; what it does not name is sorted by name,
    /// `run_code` after everything else.
    pub fn order(mut self, order: ToolOrder) -> Self {
        self.order = order;
        self
    }

    /// Tells every model `section`.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push((None, section));
        self
    }

    /// Tells the models of `scope`, and of the scopes nested in it, `section`,
    /// instead of what it is named after if there is such a section.
    pub fn section_in(mut self, scope: &Scope, section: Section) -> Self {
        self.sections.push((Some(scope.clone()), section));
        self
    }

    /// Has the last word, after the hooks added before. What it takes out is
    /// not told; whether it can be called is another matter.
    pub fn hook(
        mut self,
        hook: impl Fn(&mut Assembled, Option<&Scope>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// What a model in `scope` is told now.
    ///
    /// # Errors
    ///
    /// [`AssembleError`]: then nothing should be sent.
    pub fn assemble(&self, scope: Option<&Scope>) -> Result<Assembled, AssembleError> {
        let (tools, mut sections) = self.registry.told(scope)?;
        // The farthest first, so that nearer ones take their places.
        let mut of_scopes: Vec<(usize, &Section)> = self
            .sections
            .iter()
            .filter_map(|(owner, section)| Some((distance(owner.as_ref(), scope)?, section)))
            .collect();
        of_scopes.sort_by_key(|(distance, _)| std::cmp::Reverse(*distance));
        for (_, section) in of_scopes {
            sections.retain(|known| known.id != section.id);
            sections.push(section.clone());
        }
        sections.retain(|section| !section.text.is_empty());
        sections.sort_by(|a, b| (a.order, &a.id).cmp(&(b.order, &b.id)));
        let tools = self.order.sort(tools)?;
        let mut assembled = Assembled { tools, sections };
        for hook in &self.hooks {
            catch(|| hook(&mut assembled, scope)).map_err(AssembleError::Hook)?;
        }
        Ok(assembled)
    }
}

/// How far out of `scope` the owner of a section is; everybody is farthest.
fn distance(owner: Option<&Scope>, scope: Option<&Scope>) -> Option<usize> {
    let Some(owner) = owner else {
        return Some(usize::MAX);
    };
    scope?.chain().position(|scope| scope == owner)
}

impl fmt::Debug for Assembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly")
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}
