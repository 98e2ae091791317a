//! Guards: the global ones first, then from the farthest ancestor inward.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use toolfall::{BoxError, CallView, Denial, Guard, GuardList, Scope};

use super::scenario::GuardSpec;
use super::world::{Kept, World, error, matches};

#[derive(Clone, Default)]
pub(crate) struct Guards {
    global: GuardList,
    scoped: Arc<Mutex<Vec<(Scope, GuardList)>>>,
}

impl Guards {
    fn list(&self, scope: Option<&Scope>) -> GuardList {
        let Some(scope) = scope else {
            return self.global.clone();
        };
        let mut scoped = self.scoped.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, list)) = scoped.iter().find(|(known, _)| known == scope) {
            return list.clone();
        }
        let list = GuardList::new();
        scoped.push((scope.clone(), list.clone()));
        list
    }
}

impl Guard for Guards {
    fn check(&self, call: &CallView) -> Result<Option<Denial>, BoxError> {
        let mut lists: Vec<GuardList> = call
            .scope()
            .into_iter()
            .flat_map(Scope::chain)
            .map(|scope| self.list(Some(scope)))
            .collect();
        lists.push(self.global.clone());
        for list in lists.iter().rev() {
            if let Some(denial) = list.check(call)? {
                return Ok(Some(denial));
            }
        }
        Ok(None)
    }
}

pub(crate) fn register(world: &Arc<World>, spec: &GuardSpec) {
    let scope = spec.scope.as_deref().map(|name| world.scope(name));
    let list = world.guards.list(scope.as_ref());
    let (id, spec, shared) = (spec.id.clone(), spec.clone(), world.clone());
    let registration = list.register(move |call: &CallView| {
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
    });
    world.keep(&id, Kept::Guard(registration));
}
