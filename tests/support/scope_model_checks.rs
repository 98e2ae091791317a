//! Compares a registry with the model of it.

use std::collections::BTreeSet;

use tokio_util::sync::CancellationToken;
use toolfall::{CallRequest, Pipeline, Scope, ToolDef, codes};

use super::{NAMES, World};

impl World {
    /// Everybody, and every scope on which there is a handle.
    fn callers(&self) -> Vec<(Option<usize>, Option<Scope>)> {
        let scopes = self.scopes.iter().enumerate();
        let held = scopes
            .map(|(place, scope)| (Some(place), scope.handle.clone()))
            .filter(|(_, handle)| handle.is_some());
        std::iter::once((None, None)).chain(held).collect()
    }

    /// Compares everything that can be read.
    pub(crate) fn check(&self) {
        for (scope, handle) in self.callers() {
            let handle = handle.as_ref();
            let expected = self.visible(scope);
            let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
            assert_eq!(self.registry.names(handle), names);

            let mut sorted = expected.clone();
            sorted.sort_unstable();
            let told = self.registry.schemas(handle);
            let told: Vec<(&str, &str)> = told
                .iter()
                .map(|schema| (schema.name.as_str(), schema.description.as_str()))
                .collect();
            assert_eq!(told, sorted);

            for name in NAMES {
                let seen = expected.iter().find(|(known, _)| *known == name);
                let found = self.registry.get(name, handle);
                assert_eq!(
                    found.as_ref().map(ToolDef::description),
                    seen.map(|it| it.1)
                );
                assert_eq!(self.registry.contains(name, handle), seen.is_some());
            }
            self.check_child(scope, handle);
        }
        let holding: BTreeSet<usize> = self
            .entries
            .iter()
            .filter(|entry| entry.live)
            .filter_map(|entry| entry.scope)
            .collect();
        assert_eq!(self.registry.scopes(), holding.len());
        assert_eq!(*self.changes.borrow(), self.expected_changes);
    }

    /// What a scope sees, its parent sees as well, or it is its own.
    fn check_child(&self, scope: Option<usize>, handle: Option<&Scope>) {
        let Some(handle) = handle else { return };
        let marks = |scope: Option<&Scope>| -> BTreeSet<String> {
            let told = self.registry.schemas(scope).into_iter();
            told.map(|schema| schema.description).collect()
        };
        let mut allowed = marks(handle.parent());
        allowed.extend(self.own(scope).iter().map(|(_, mark)| (*mark).to_owned()));
        let seen = marks(Some(handle));
        assert!(seen.is_subset(&allowed), "{seen:?} of {allowed:?}");
        if self.is_disposed(scope) {
            assert!(seen.is_empty());
        }
    }

    /// Calls everything from everywhere.
    pub(crate) async fn check_calls(&self) {
        let pipeline = Pipeline::builder(self.registry.clone()).build();
        for (scope, handle) in self.callers() {
            let expected = self.visible(scope);
            for name in NAMES {
                let mut call = CallRequest::new("1", name, "{}", CancellationToken::new());
                if let Some(handle) = &handle {
                    call = call.with_scope(handle.clone());
                }
                let result = pipeline.run(call).await;
                match expected.iter().find(|(known, _)| *known == name) {
                    Some((_, mark)) => assert_eq!(result.text(), *mark),
                    None => assert_eq!(result.code(), Some(codes::UNKNOWN_TOOL)),
                }
            }
        }
    }

    /// After every registration was dropped.
    pub(crate) fn check_nothing_is_left(&mut self) {
        self.entries.clear();
        assert_eq!(self.registry.scopes(), 0);
        assert!(self.registry.names(None).is_empty());
        let bodies = self.bodies.iter();
        assert_eq!(bodies.filter(|body| body.strong_count() > 0).count(), 0);
    }
}
