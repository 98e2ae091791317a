//! Restrictions that a nearer scope may lift.

use std::collections::BTreeSet;

/// An alternative to masks in which the nearest scope that mentions a tool
/// decides, and may give back what a farther one took away.
///
/// What nobody mentions is allowed. `allow` is no list of all that is
/// allowed: it exempts names from what was denied farther out, or in the same
/// layer.
///
/// It calculates with names and keeps nothing from anybody: what it lets
/// through becomes a mask.
///
/// ```
/// # use serde_json::{Value, json};
/// # use toolfall::{Arguments, BoxError, Registry, Scope, ToolContext, raw_tool};
/// use toolfall::{Filter, RestrictionSet};
///
/// let set = RestrictionSet::new()
///     .layer([], ["bash", "deploy"]) // the host, first
///     .layer(["deploy"], []) // the preset of the release agents
///     .layer([], ["read"]); // one agent
/// assert!(!set.allows("bash"));
/// assert!(set.allows("deploy"));
///
/// # let registry = Registry::new();
/// # for name in ["read", "bash", "deploy", "grep"] {
/// #     registry.register(raw_tool(name, "", json!({"type": "object"}), |_: Arguments, _: ToolContext| async {
/// #         Ok::<_, BoxError>(Value::Null)
/// #     }))?.keep();
/// # }
/// let agent = Scope::new("release agent");
/// let left = set.filter(registry.names(Some(&agent)));
/// registry.restrict(&agent, &Filter::allow(left))?.keep();
/// assert_eq!(registry.names(Some(&agent)), ["deploy", "grep"]);
/// # Ok::<(), BoxError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestrictionSet {
    /// The farthest first.
    layers: Vec<Mentions>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mentions {
    allow: BTreeSet<String>,
    deny: BTreeSet<String>,
}

impl RestrictionSet {
    /// A set in which everything is allowed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what a scope says, nearer than those added before: the host's
    /// words come first. A name in both lists is allowed.
    pub fn layer<'a>(
        mut self,
        allow: impl IntoIterator<Item = &'a str>,
        deny: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let set = |names: &mut dyn Iterator<Item = &'a str>| names.map(str::to_owned).collect();
        self.layers.push(Mentions {
            allow: set(&mut allow.into_iter()),
            deny: set(&mut deny.into_iter()),
        });
        self
    }

    /// Whether the nearest scope that mentions `name` allows it; true if none
    /// does.
    pub fn allows(&self, name: &str) -> bool {
        for layer in self.layers.iter().rev() {
            if layer.allow.contains(name) {
                return true;
            }
            if layer.deny.contains(name) {
                return false;
            }
        }
        true
    }

    /// Those of `names` that are allowed, in their order.
    pub fn filter<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Vec<N> {
        let names = names.into_iter();
        names.filter(|name| self.allows(name.as_ref())).collect()
    }
}
