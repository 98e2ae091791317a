//! The life of one agent: everything it registers is its own, so that it
//! knows what each of its calls must come to, whatever others do.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use toolfall::host::OpenScope;
use toolfall::policy::{ListenerRegistration, Next};
use toolfall::{
    CallView, Decision, Denial, Filter, GuardRegistration, PostDecision, PostRequest, Scope,
    ToolResult, codes,
};

use crate::stress::{MASKED, OPEN, Random, World, add};

/// Ids of calls that somebody was asked about.
type Asked = Arc<Mutex<HashSet<String>>>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    Runs,
    Unknown,
    Denied,
}

pub(crate) struct Agent<'a> {
    world: &'a World,
    task: usize,
    round: u64,
    calls: u64,
    preset: Option<OpenScope>,
    scope: Option<OpenScope>,
    held: Option<Held>,
    /// By two guards of the agent, two for everybody, the listener before and
    /// the one after.
    asked: [Asked; 6],
}

type Held = (Vec<GuardRegistration>, [ListenerRegistration; 2]);

fn note(asked: &Asked, call: &CallView) {
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    asked.insert(call.id().as_str().to_owned());
}

fn knows(asked: &Asked, id: &str) -> bool {
    asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .contains(id)
}

impl<'a> Agent<'a> {
    pub(crate) fn open(world: &'a World, task: usize, round: u64) -> Self {
        let asked: [Asked; 6] = Default::default();
        world.change(|| {
            let preset = world.host.open(format!("{MASKED} {task}"));
            preset.restrict(&Filter::deny(["danger"])).unwrap().keep();
            let own = world.tool(&format!("preset_{task}"), Some(preset.scope()));
            preset.register(own).unwrap().keep();
            let agent = preset.open("agent");
            let own = world.tool(&format!("agent_{task}"), Some(agent.scope()));
            agent.register(own).unwrap().keep();
            add(&world.counts.scopes);
            add(&world.counts.scopes);
            let held = listen(world, &agent, &asked);
            Self {
                world,
                task,
                round,
                calls: 0,
                preset: Some(preset),
                scope: Some(agent),
                held: Some(held),
                asked,
            }
        })
    }

    fn request(&mut self, name: &str, scope: &Scope) -> (String, toolfall::CallRequest) {
        self.calls += 1;
        let id = format!("{}-{}-{}", self.task, self.round, self.calls);
        let request = self.world.request(id.clone(), name.to_owned(), scope);
        (id, request)
    }

    fn judge(&self, what: &str, expected: Expected, result: &ToolResult) {
        self.world.received(result);
        let found = if result.code() == Some(codes::UNKNOWN_TOOL) {
            Expected::Unknown
        } else if result.is_error() {
            Expected::Denied
        } else {
            Expected::Runs
        };
        self.world.expect(found == expected, || {
            format!("{what}: expected {expected:?}, found {}", result.text())
        });
    }

    async fn call(&mut self, name: &str, scope: &Scope, expected: Expected) -> String {
        let (id, request) = self.request(name, scope);
        let result = self.world.pipeline.run(request).await;
        self.judge(&format!("{name} from {scope:?}"), expected, &result);
        id
    }

    /// Everyone who was there before the call was asked.
    fn check_asked(&self, id: &str) {
        let asked = self.asked.each_ref().map(|list| knows(list, id));
        self.world.expect(asked == [true; 6], || {
            format!("{id}: not all were asked: {asked:?}")
        });
    }

    pub(crate) async fn live(mut self, random: &mut Random) {
        use Expected::{Denied, Runs, Unknown};

        let (Some(agent), Some(preset)) = (self.scope.take(), self.preset.take()) else {
            return;
        };
        let scope = agent.scope().clone();
        let above = preset.scope().clone();
        let mine = format!("agent_{}", self.task);
        let near = format!("preset_{}", self.task);
        let foreign = format!("agent_{}", (self.task + 1) % 8);
        let open = OPEN[random.below(OPEN.len())];

        for (name, expected) in [
            (mine.as_str(), Runs),
            (near.as_str(), Runs),
            (open, Runs),
            ("guarded", Denied),
        ] {
            let id = self.call(name, &scope, expected).await;
            self.check_asked(&id);
        }
        self.call("danger", &scope, Unknown).await;
        self.call(&foreign, &scope, Unknown).await;
        self.call(&mine, &above, Unknown).await;

        let mask = self
            .world
            .change(|| agent.restrict(&Filter::deny([open])).unwrap());
        self.call(open, &scope, Unknown).await;
        self.call(open, &above, Runs).await;
        self.batch(
            &scope,
            &[
                (&mine, Runs),
                (open, Unknown),
                ("danger", Unknown),
                ("guarded", Denied),
            ],
        )
        .await;
        self.world.change(|| drop(mask));
        self.batch(
            &scope,
            &[
                (open, Runs),
                (&near, Runs),
                (&foreign, Unknown),
                (open, Runs),
            ],
        )
        .await;
        self.end(random, agent, preset, open).await;
    }

    /// Many calls at once; each has its result, in its place.
    async fn batch(&mut self, scope: &Scope, calls: &[(&str, Expected)]) {
        add(&self.world.counts.batches);
        let (ids, requests): (Vec<_>, Vec<_>) = calls
            .iter()
            .map(|(name, _)| self.request(name, scope))
            .unzip();
        let limit = NonZeroUsize::new(3).unwrap();
        let scheduler = self.world.pipeline.scheduler().limit(limit);
        let report = scheduler
            .batch(requests, CancellationToken::new())
            .run()
            .await;
        self.world.expect(report.committed.len() == ids.len(), || {
            format!("{} results of {}", report.committed.len(), ids.len())
        });
        for ((id, (name, expected)), committed) in ids.iter().zip(calls).zip(&report.committed) {
            self.judge(&format!("{name} in a batch"), *expected, &committed.result);
            self.check_asked(id);
        }
    }

    /// Nobody is asked any more who was lifted, and nothing is found any more
    /// from a scope that was disposed.
    async fn end(mut self, random: &mut Random, agent: OpenScope, preset: OpenScope, open: &str) {
        use Expected::{Runs, Unknown};

        let world = self.world;
        let scope = &agent.scope().clone();
        let above = &preset.scope().clone();
        let held = self.held.take();
        world.change(|| drop(held));
        for name in [open, "guarded"] {
            let id = self.call(name, scope, Runs).await;
            let asked = self.asked.each_ref().map(|list| knows(list, &id));
            world.expect(asked == [false; 6], || {
                format!("{id}: asked when lifted: {asked:?}")
            });
        }
        let near = format!("preset_{}", self.task);
        let mine = format!("agent_{}", self.task);
        if random.below(2) == 0 {
            world.change(|| drop(agent));
            self.call(&near, above, Runs).await;
            self.call(open, scope, Unknown).await;
            world.change(|| drop(preset));
        } else {
            world.change(|| drop(preset));
            let late = world.tool("late", Some(scope));
            let refused = world.change(|| agent.register(late)).is_err();
            world.expect(refused, || "a disposed scope registers".to_owned());
            self.call(open, scope, Unknown).await;
            world.change(|| drop(agent));
        }
        self.call(&mine, scope, Unknown).await;
        self.call(open, &scope.nested("later"), Unknown).await;
        self.call(open, above, Unknown).await;
    }
}

fn listen(world: &World, agent: &OpenScope, asked: &[Asked; 6]) -> Held {
    let asked = asked.each_ref();
    let [near, also_near, global, also_global, before, after] =
        asked.map(|asked| (asked.clone(), world.probe()));
    let mut guards = Vec::new();
    // The first notes and the second denies, so that both are asked.
    for (denies, near) in [(false, near), (true, also_near)] {
        guards.push(agent.guard(move |call: &CallView| {
            let (asked, _) = &near;
            note(asked, call);
            (denies && call.name() == "guarded").then(|| Denial::new("no"))
        }));
    }
    for global in [global, also_global] {
        let mine = agent.scope().downgrade();
        guards.push(world.host.guards().register(move |call: &CallView| {
            let (asked, _) = &global;
            if call.scope().map(Scope::downgrade).as_ref() == Some(&mine) {
                note(asked, call);
            }
            None::<Denial>
        }));
    }
    let before = agent.pre_decision(move |call: CallView, next: Next<_, Decision>| {
        note(&before.0, &call);
        let _ = &before.1;
        next.run()
    });
    let after = agent.post_execute(move |post: PostRequest, next: Next<_, PostDecision>| {
        note(&after.0, post.call());
        let _ = &after.1;
        next.run()
    });
    (guards, [before, after])
}
