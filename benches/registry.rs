//! What a tool among many costs to find, to register and to list.
//!
//! `cargo bench --bench registry` prints two tables. In the first, 10,000
//! tools are looked up in turn, also through a chain of five scopes with
//! masks, beside a plain `HashMap` of as many entries; the best of many
//! interleaved rounds counts. In the second, what changes and lists them.
//!
//! `cargo bench --bench registry -- --only NAME --calls N` runs one contender
//! of the first table and nothing else, for counting instructions: see the
//! bench `overhead`.

#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolfall::{
    Arguments, BoxError, CallRequest, Filter, Pipeline, Registration, Registry, Scope, ToolContext,
    ToolDef, raw_tool,
};

fn tool(name: &str) -> ToolDef {
    raw_tool(
        name.to_owned(),
        "Reads a file",
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        }),
        |arguments: Arguments, _: ToolContext| async move {
            Ok::<Value, BoxError>(arguments.value().clone())
        },
    )
}

/// The names in another order than they were registered in, so that no
/// contender finds its neighbours in the cache.
fn names(prefix: &str, count: usize) -> Vec<String> {
    let step = 7_919;
    (0..count)
        .map(|place| format!("{prefix}_{}", place * step % count))
        .collect()
}

fn tools(names: &[String]) -> Vec<ToolDef> {
    names.iter().map(|name| tool(name)).collect()
}

fn keep(registrations: Vec<Registration>) {
    registrations.into_iter().for_each(Registration::keep);
}

struct Contender {
    name: &'static str,
    base: &'static str,
    call: Box<dyn FnMut()>,
}

impl Contender {
    /// Looks each name up in turn.
    fn new(
        name: &'static str,
        base: &'static str,
        names: &[String],
        found: bool,
        look_up: impl Fn(&str) -> bool + 'static,
    ) -> Self {
        let names = names.to_owned();
        let mut place = 0;
        let call = Box::new(move || {
            place = (place + 1) % names.len();
            assert_eq!(look_up(black_box(&names[place])), found);
        });
        Self { name, base, call }
    }
}

fn flat<S: BuildHasher + Default + 'static>(names: &[String]) -> impl Fn(&str) -> bool + 'static {
    let map: HashMap<Arc<str>, Arc<ToolDef>, S> = names
        .iter()
        .map(|name| (Arc::from(name.as_str()), Arc::new(tool(name))))
        .collect();
    move |name| black_box(map.get(name).cloned()).is_some()
}

/// Scopes nested in each other, the farthest first.
fn chain(depth: usize) -> Vec<Scope> {
    let mut scopes = vec![Scope::new("host")];
    while scopes.len() < depth {
        let nested = scopes[scopes.len() - 1].nested("agent");
        scopes.push(nested);
    }
    scopes
}

/// A chain of five: each scope has tools of its own, and three have masks.
/// An allow-list is the dearest for what it lets through; a name that nobody
/// knows it stops at once, and only deny-lists let it go all the way.
fn scoped(registry: &Registry, hidden: &[String], own: &[String], allow: bool) -> Scope {
    let scopes = chain(5);
    for (place, scope) in scopes.iter().enumerate() {
        let mut mine = names(&format!("near_{place}"), 20);
        if place == 4 {
            mine.extend_from_slice(own);
        }
        keep(registry.register_all_in(scope, tools(&mine)).unwrap());
    }
    let deny = Filter::deny(hidden.iter().cloned());
    for place in [0, 2] {
        registry.restrict(&scopes[place], &deny).unwrap().keep();
    }
    let third = if allow {
        Filter::allow(registry.names(Some(&scopes[2])))
    } else {
        deny
    };
    registry.restrict(&scopes[3], &third).unwrap().keep();
    scopes[4].clone()
}

fn contenders(count: usize) -> Vec<Contender> {
    let known = names("tool", count);
    let own = names("own", 100);
    let unknown = names("unknown", count);
    let hidden = names("hidden", 100);
    let mut all = known.clone();
    all.extend_from_slice(&hidden);

    let registry = Registry::new();
    keep(registry.register_all(tools(&all)).unwrap());
    let plain = registry.clone();
    let through = |scope: &Scope| {
        let (registry, scope) = (registry.clone(), scope.clone());
        move |name: &str| registry.contains(name, Some(&scope))
    };
    let lone = Scope::new("lone");
    let free = through(&lone);
    let (in_plain, not_in_plain) = (plain.clone(), plain);
    let mut contenders = vec![
        Contender::new(
            "HashMap, std's hasher",
            "HashMap, foldhash",
            &known,
            true,
            flat::<std::hash::RandomState>(&known),
        ),
        Contender::new(
            "HashMap, foldhash",
            "HashMap, foldhash",
            &known,
            true,
            flat::<foldhash::fast::RandomState>(&known),
        ),
        Contender::new(
            "HashMap, foldhash, unknown",
            "HashMap, foldhash, unknown",
            &unknown,
            false,
            flat::<foldhash::fast::RandomState>(&known),
        ),
        Contender::new("no scope", "HashMap, foldhash", &known, true, move |name| {
            in_plain.contains(name, None)
        }),
        Contender::new(
            "no scope, unknown",
            "HashMap, foldhash, unknown",
            &unknown,
            false,
            move |name| not_in_plain.contains(name, None),
        ),
        Contender::new(
            "a scope with nothing of its own",
            "HashMap, foldhash",
            &known,
            true,
            free,
        ),
    ];
    let allowed = scoped(&registry, &hidden, &own, true);
    let denied = scoped(&registry, &hidden, &own, false);
    let (base, no_base) = ("HashMap, foldhash", "HashMap, foldhash, unknown");
    for (name, base, scope, names, found) in [
        ("five scopes, allowed", base, &allowed, &known, true),
        ("five scopes, not denied", base, &denied, &known, true),
        ("five scopes, its own", base, &allowed, &own, true),
        ("five scopes, unknown", no_base, &denied, &unknown, false),
        ("five scopes, hidden", no_base, &allowed, &hidden, false),
    ] {
        let look_up = through(scope);
        contenders.push(Contender::new(name, base, names, found, look_up));
    }
    contenders
}

fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let answer = black_box(what());
    (answer, began.elapsed())
}

/// What is done once in a while.
fn costs(count: usize) -> String {
    let mut table = String::from("| | ms |\n|---|---:|\n");
    let mut row = |what: &str, took: Duration| {
        let _ = writeln!(table, "| {what} | {:.2} |", took.as_secs_f64() * 1e3);
    };
    let known = names("tool", count);
    let registry = Registry::new();
    let prepared = tools(&known);
    let (all, took) = timed(|| registry.register_all(prepared).unwrap());
    row("register all at once", took);
    row("drop them one by one", timed(|| drop(all)).1);
    let prepared = tools(&known);
    let one = |tool| registry.register(tool).unwrap();
    let (all, took) = timed(|| prepared.into_iter().map(one).collect::<Vec<_>>());
    row("register one by one", took);
    keep(all);
    let scope = Scope::new("agent");
    let (own, took) = timed(|| registry.register_in(&scope, tool("mine")).unwrap());
    row("register one more in a scope", took);
    row("and drop it", timed(|| drop(own)).1);
    let deep = scoped(&registry, &known[..100], &[], true);
    row("names(), no scope", timed(|| registry.names(None)).1);
    row(
        "names(), five scopes",
        timed(|| registry.names(Some(&deep))).1,
    );
    row(
        "schemas(), five scopes",
        timed(|| registry.schemas(Some(&deep))).1,
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let pipeline = Pipeline::builder(registry.clone()).build();
    let call = CallRequest::new("1", "tol_17", "{}", CancellationToken::new()).with_scope(deep);
    let (result, took) = timed(|| runtime.block_on(pipeline.run(call)));
    assert!(result.text().contains("unknown tool"));
    row("answer a call of an unknown tool, near misses", took);
    table
}

fn main() {
    let options: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let place = options.iter().position(|option| option == name)?;
        options.get(place + 1).cloned()
    };
    let quick = options.iter().any(|option| option == "--test");
    let (count, rounds, calls) = if quick {
        (200, 1, 50)
    } else {
        (10_000, 60, 20_000)
    };
    let mut contenders = contenders(count);
    if let Some(only) = option("--only") {
        let calls: u64 = option("--calls")
            .and_then(|n| n.parse().ok())
            .unwrap_or(1_000);
        let found = contenders.iter_mut().find(|it| it.name == only);
        let contender = found.expect("expected the name of a contender");
        (0..calls).for_each(|_| (contender.call)());
        return;
    }
    let mut best = vec![f64::MAX; contenders.len()];
    for _ in 0..rounds {
        for (contender, best) in contenders.iter_mut().zip(&mut best) {
            let began = Instant::now();
            (0..calls).for_each(|_| (contender.call)());
            let each = began.elapsed().as_secs_f64() * 1e9 / f64::from(calls);
            *best = best.min(each);
        }
    }
    let mut table = String::from("| | ns | ns over |\n|---|---:|---:|\n");
    for (contender, took) in contenders.iter().zip(&best) {
        let base = contenders
            .iter()
            .position(|it| it.name == contender.base)
            .expect("a base is a contender");
        let over = took - best[base];
        let _ = writeln!(table, "| {} | {took:.0} | {over:+.0} |", contender.name);
    }
    println!("{count} tools, looked up:\n\n{table}");
    println!("{count} tools:\n\n{}", costs(count));
}
