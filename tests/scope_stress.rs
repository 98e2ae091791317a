//! Sixteen tasks that register, hide, guard, listen, dispose and call at
//! once. The long run is ignored:
//!
//! ```sh
//! cargo test --release --test scope_stress -- --ignored --nocapture
//! ```

#[path = "support/stress.rs"]
mod stress;
#[path = "support/stress_agent.rs"]
mod stress_agent;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stress::{GUARDED, MASKED, OPEN, PAIR, Random, World, add};
use stress_agent::Agent;
use tokio::time::{Instant, timeout};
use toolfall::{Filter, codes};

const TASKS: usize = 16;

/// conformance: REG-20
#[test]
fn everything_at_once_for_a_second() {
    run(Duration::from_secs(1));
}

/// conformance: REG-20
#[test]
#[ignore = "takes 20 seconds"]
fn everything_at_once_for_long() {
    run(Duration::from_secs(20));
}

fn run(duration: Duration) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(8)
        .enable_all()
        .build()
        .unwrap();
    let world = World::new();
    runtime.block_on(async {
        let end = Instant::now() + duration;
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| tokio::spawn(work(world.clone(), task, end)))
            .collect();
        for task in tasks {
            let ended = timeout(duration + Duration::from_secs(60), task).await;
            ended.expect("no deadlock").unwrap();
        }
    });
    drop(runtime);

    let counts = &world.counts;
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::SeqCst);
    println!(
        "{} calls ({} in bodies, {} unknown tools, {} batches), {} changes, {} scopes, {} coherent views, generation {}",
        count(&counts.calls),
        count(&counts.bodies),
        count(&counts.unknown),
        count(&counts.batches),
        count(&counts.changes),
        count(&counts.scopes),
        count(&counts.coherent),
        *world.host.registry().changes().borrow(),
    );
    assert_eq!(world.violations(), Vec::<String>::new());
    assert_eq!(count(&counts.calls), count(&counts.results));
    assert_eq!(count(&counts.calls), count(&counts.observed));
    for counter in [
        &counts.bodies,
        &counts.unknown,
        &counts.batches,
        &counts.coherent,
    ] {
        assert_ne!(count(counter), 0);
    }

    world.tear_down();
    let host = world.host.clone();
    assert_eq!(host.registry().scopes(), 0);
    assert_eq!((host.guards().len(), host.observers().len()), (0, 1));
    assert_eq!(
        (host.pre_decision().len(), host.post_execute().len()),
        (0, 0)
    );
    let kept = isize::try_from(OPEN.len() + 2).unwrap();
    assert_eq!(
        world.alive.load(Ordering::SeqCst),
        kept,
        "the tools for everybody"
    );
    let alive = world.alive.clone();
    drop((world, host));
    assert_eq!(alive.load(Ordering::SeqCst), 0, "nothing is left");
}

async fn work(world: Arc<World>, task: usize, end: Instant) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (task as u64 + 1));
    let mut round = 0;
    while Instant::now() < end {
        round += 1;
        match task {
            0..8 => Agent::open(&world, task, round).live(&mut random).await,
            8..11 => come_and_go(&world, task, round, &mut random).await,
            11 | 12 => {
                world.replace(random.below(3));
                tokio::task::yield_now().await;
            }
            13 | 14 => visit(&world, task, round, &mut random).await,
            _ => {
                look(&world, &mut random);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }
}

/// Tools for everybody that several tasks register under the same names.
async fn come_and_go(world: &World, task: usize, round: u64, random: &mut Random) {
    let name = format!("flap_{}", random.below(3));
    let tool = world.tool(&name, None);
    let registered = world.change(|| world.host.registry().register(tool));
    let scope = world.visitor(random.below(3));
    let request = world.request(format!("{task}-{round}"), name.clone(), &scope);
    world.received(&world.pipeline.run(request).await);
    if let Ok(registered) = registered {
        world.expect(world.host.registry().contains(&name, None), || {
            format!("{name} is registered and cannot be found")
        });
        world.change(|| drop(registered));
    }
}

/// Calls from a scope that may be disposed meanwhile.
async fn visit(world: &World, task: usize, round: u64, random: &mut Random) {
    let scope = world.visitor(random.below(3));
    for (place, name) in ["danger", "guarded", OPEN[0], PAIR[0]]
        .into_iter()
        .enumerate()
    {
        let id = format!("{task}-{round}-{place}");
        let result = world
            .pipeline
            .run(world.request(id, name.to_owned(), &scope))
            .await;
        world.received(&result);
        let unknown = result.code() == Some(codes::UNKNOWN_TOOL);
        let expected = match name {
            "danger" => unknown,
            "guarded" => unknown || result.text().contains("guarded"),
            _ => unknown || !result.is_error(),
        };
        world.expect(expected, || {
            format!("{name} from {MASKED} {GUARDED}: {}", result.text())
        });
    }
    // What came at once is there at once, and goes at once.
    let names = world.names(&scope);
    let both = PAIR.map(|name| names.contains(name));
    world.expect(both[0] == both[1], || format!("half a pair: {names:?}"));
    let open = OPEN.map(|name| names.contains(name));
    world.expect(open == [both[0]; 4], || format!("half disposed: {names:?}"));
    world.expect(!names.contains("danger"), || "danger to be seen".to_owned());
}

/// Compares views of one moment in which nobody changes anything.
fn look(world: &World, random: &mut Random) {
    let parent = world.visitor(random.below(3));
    let child = parent.nested("child");
    let own = world.tool("own", Some(&child));
    // Both may be refused: the scope may be disposed meanwhile.
    let own = world.change(|| world.host.registry().register_in(&child, own).ok());
    let mask = world.change(|| {
        let filter = Filter::deny([OPEN[1]]);
        world.host.registry().restrict(&child, &filter).ok()
    });
    {
        let _still = world.changing.write().unwrap();
        let (above, below) = (world.names(&parent), world.names(&child));
        let mut allowed = above.clone();
        allowed.insert("own".to_owned());
        world.expect(below.is_subset(&allowed), || {
            format!("{below:?} of {allowed:?}")
        });
        world.expect(!below.contains(OPEN[1]), || {
            "a mask is forgotten".to_owned()
        });
        world.expect(above.is_empty() || below.contains("own"), || {
            format!("{below:?} without its own")
        });
        add(&world.counts.coherent);
    }
    world.change(|| drop((own, mask)));
}
