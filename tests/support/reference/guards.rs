//! Guards: the global ones first, then from the farthest ancestor inward.

use std::sync::Arc;

use serde_json::json;
use toolfall::{CallView, Denial};

use super::scenario::GuardSpec;
use super::world::{Kept, World, error, matches};

pub(crate) fn register(world: &Arc<World>, spec: &GuardSpec) {
    let scope = spec.scope.as_deref().map(|name| world.scope(name));
    let (id, spec, shared) = (spec.id.clone(), spec.clone(), world.clone());
    let guard = move |call: &CallView| {
        if !matches(spec.tools.as_ref(), call.name()) {
            return Ok(None);
        }
        shared.event(Some(call.id().as_str()), "guard", json!({"by": spec.id}));
        shared.carry_out(&spec.effects);
        match (&spec.outcome.deny, &spec.outcome.fail) {
            (Some(reason), _) => Ok(Some(Denial::new(reason.clone()))),
            (None, Some(failure)) => Err(error(failure)),
            (None, None) => Ok(None),
        }
    };
    let registration = match &scope {
        None => world.guards.register(guard),
        Some(scope) => world.guards.register_in(scope, guard),
    };
    world.keep(&id, Kept::Guard(registration));
}
