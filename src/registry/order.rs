//! In which order a model is told of its tools.

use std::collections::HashSet;

use super::ToolSchema;
use super::reserved::is_reserved;

/// An order of tools: some names first, some last, and everything else
/// between them, sorted by name.
///
/// What a model reads first it may prefer, and a prompt that stays the same
/// is cached: an order does not depend on when tools were registered.
///
/// ```
/// # use serde_json::{Value, json};
/// # use toolfall::{Arguments, BoxError, Registry, ToolContext, raw_tool};
/// use toolfall::registry::ToolOrder;
///
/// # let registry = Registry::new();
/// # for name in ["mike", "zulu", "alpha"] {
/// #     registry.register(raw_tool(name, "", json!({"type": "object"}), |_: Arguments, _: ToolContext| async {
/// #         Ok::<_, BoxError>(Value::Null)
/// #     }))?.keep();
/// # }
/// let order = ToolOrder::new(["zulu", ToolOrder::REST])?;
/// let told = order.sort(registry.schemas(None))?;
/// let names: Vec<&str> = told.iter().map(|schema| schema.name.as_str()).collect();
/// assert_eq!(names, ["zulu", "alpha", "mike"]);
/// # Ok::<(), BoxError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOrder {
    first: Vec<String>,
    last: Vec<String>,
}

/// Why tools cannot be put in an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// A name that is in the order and is no tool's.
    #[error("toolOrder lists unregistered tool \"{name}\"")]
    Unregistered {
        /// The name.
        name: String,
    },
    /// A name, or the place of the rest, that is in the order twice.
    #[error("toolOrder lists \"{name}\" twice")]
    Twice {
        /// The name.
        name: String,
    },
}

impl ToolOrder {
    /// The place of all tools that the order does not name; at the end if it
    /// is not named either.
    pub const REST: &str = "<rest>";

    /// The order `names`, in which [`REST`](Self::REST) may stand once.
    ///
    /// # Errors
    ///
    /// [`OrderError::Twice`] for what is there twice.
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Result<Self, OrderError> {
        let mut order = Self::default();
        let mut seen = HashSet::new();
        let mut side = &mut order.first;
        for name in names {
            let name = name.into();
            if !seen.insert(name.clone()) {
                return Err(OrderError::Twice { name });
            }
            if name == Self::REST {
                side = &mut order.last;
            } else {
                side.push(name);
            }
        }
        Ok(order)
    }

    /// Puts `tools` in the order.
    ///
    /// # Errors
    ///
    /// [`OrderError::Unregistered`] for the first name that is not among
    /// them.
    pub fn sort(&self, tools: Vec<ToolSchema>) -> Result<Vec<ToolSchema>, OrderError> {
        let mut rest = tools;
        // What runs programs follows what they call.
        rest.sort_by(|a, b| {
            let key = |tool: &ToolSchema| is_reserved(&tool.name);
            (key(a), &a.name).cmp(&(key(b), &b.name))
        });
        let mut take = |name: &String| {
            let place = rest.iter().position(|tool| tool.name == *name);
            place
                .map(|place| rest.remove(place))
                .ok_or_else(|| OrderError::Unregistered { name: name.clone() })
        };
        let first = self.first.iter().map(&mut take).collect::<Result<_, _>>();
        let last: Result<Vec<_>, _> = self.last.iter().map(&mut take).collect();
        let mut sorted: Vec<ToolSchema> = first?;
        sorted.append(&mut rest);
        sorted.append(&mut last?);
        Ok(sorted)
    }
}
