//! What bounded output costs over copying it.
//!
//! `cargo bench --bench retain` feeds 1 GiB in chunks of 8 KiB to retainers
//! and copies the same chunks into a buffer of the retainer's size, all
//! interleaved; the best of several rounds counts.

#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use std::hint::black_box;
use std::time::Instant;

use toolfall::retain::TextRetainer;

const CHUNK: usize = 8 << 10;
/// The source goes round in so many bytes, so that it is read as from a pipe
/// and not from main memory.
const SOURCE: usize = 256 << 10;

/// Copies each chunk behind the last one, round and round.
fn copied(chunks: &[&[u8]], rounds: usize, size: usize) {
    let mut buffer = vec![0; size];
    let mut at = 0;
    for _ in 0..rounds {
        for chunk in chunks {
            if at + CHUNK > size {
                at = 0;
            }
            buffer[at..at + CHUNK].copy_from_slice(black_box(chunk));
            at += CHUNK;
        }
    }
    black_box(&buffer);
}

fn retained(chunks: &[&[u8]], rounds: usize, mut retainer: TextRetainer) {
    for _ in 0..rounds {
        for chunk in chunks {
            black_box(retainer.push(black_box(chunk)));
        }
    }
    let kept = black_box(retainer.finish());
    assert_eq!(kept.seen_bytes, (rounds * SOURCE) as u64);
    assert_eq!(
        kept.kept_bytes + kept.omitted.count().unwrap_or(0),
        kept.seen_bytes
    );
}

fn both(size: usize) -> TextRetainer {
    TextRetainer::head_and_tail(size / 2, size / 2)
}

fn main() {
    let quick = std::env::args().any(|option| option == "--test");
    let (tries, total) = if quick { (1, 1 << 20) } else { (40, 1 << 30) };
    let source = vec![b'x'; SOURCE];
    let chunks: Vec<&[u8]> = source.chunks(CHUNK).collect();
    let rounds = total / SOURCE;
    println!("| budget | copying, ms/GiB | head | tail | head + tail | tail, x | both, x |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, size) in [
        ("64 KiB", 64 << 10),
        ("100,000 B", 100_000),
        ("1 MiB", 1 << 20),
    ] {
        let contenders: [&dyn Fn(); 4] = [
            &|| copied(&chunks, rounds, size),
            &|| retained(&chunks, rounds, TextRetainer::head(size)),
            &|| retained(&chunks, rounds, TextRetainer::tail(size)),
            &|| retained(&chunks, rounds, both(size)),
        ];
        let mut best = [f64::MAX; 4];
        for _ in 0..tries {
            for (contender, best) in contenders.iter().zip(&mut best) {
                let began = Instant::now();
                contender();
                *best = best.min(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        let [copy, head, tail, both] = best;
        println!(
            "| {name} | {copy:.1} | {head:.1} | {tail:.1} | {both:.1} | {:.2} | {:.2} |",
            tail / copy,
            both / copy,
        );
    }
}
