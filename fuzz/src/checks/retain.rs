//! The retainers: any chunks, any budgets, held against both ends of the
//! whole source.

use toolfall::retain::{ItemRetainer, Limit, Malformed, Omitted, RetainedText, TextRetainer, Unit};

use super::input::Input;

/// The first bytes of `data` are budgets and where to cut; the rest is the
/// source.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let mode = input.below(4);
    let (head, tail) = (budget(&mut input), budget(&mut input));
    let (head, tail) = match mode {
        0 => (head, 0),
        1 => (0, tail),
        _ => (head, tail),
    };
    let incomplete = mode == 3;
    let sizes: Vec<usize> = (0..4).map(|_| usize::from(input.byte())).collect();
    let source = input.rest();
    let chunks = chunks(source, &sizes);
    text(source, &chunks, head, tail, incomplete);
    items(source, head, incomplete);
    let mut malformed = Malformed::new();
    let mut before = 0;
    for chunk in &chunks {
        malformed.push(chunk);
        before += chunk.len();
        let replaced = source[..before].utf8_chunks();
        let replaced = replaced.filter(|chunk| !chunk.invalid().is_empty());
        assert_eq!(malformed.count(), replaced.count() as u64);
    }
}

/// Mostly small budgets, sometimes ones that no memory holds.
fn budget(input: &mut Input<'_>) -> usize {
    match input.byte() {
        255 => usize::MAX,
        254 => usize::MAX / 2,
        253 => usize::MAX / 2 + 1,
        small => usize::from(small),
    }
}

/// The source in pieces of these sizes, in turn; empty pieces among them.
fn chunks<'a>(mut source: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    let most = sizes.iter().copied().max().unwrap_or(0);
    for size in sizes.iter().cycle() {
        if source.is_empty() || most == 0 {
            chunks.push(source);
            return chunks;
        }
        let (chunk, rest) = source.split_at((*size).min(source.len()));
        chunks.push(chunk);
        source = rest;
    }
    chunks
}

fn text(source: &[u8], chunks: &[&[u8]], head: usize, tail: usize, incomplete: bool) {
    let all = head.saturating_add(tail);
    let mut retainer = TextRetainer::head_and_tail(head, tail);
    assert_eq!(retainer.limit(), Limit::Bytes { head, tail });
    let mut seen = 0;
    for chunk in chunks {
        let to_head = head.saturating_sub(seen);
        let pushed = retainer.push(chunk);
        seen += chunk.len();
        assert_eq!(pushed.truncated, seen > all);
        let whole = seen <= all || chunk.len().saturating_sub(to_head) <= tail;
        assert_eq!(pushed.kept, whole, "{seen} of {head} and {tail}");
        assert_eq!(retainer.seen_bytes(), seen as u64);
        assert_eq!(retainer.is_truncated(), pushed.truncated);
    }
    if incomplete {
        retainer.mark_incomplete();
    }
    let kept = retainer.finish();
    assert_eq!(kept.seen_bytes, source.len() as u64);
    let omitted = kept.omitted.count().expect("it was counted");
    assert_eq!(kept.kept_bytes + omitted, kept.seen_bytes);
    assert!(kept.kept_bytes <= all as u64);
    assert_eq!(kept.truncated, source.len() > all);
    assert_eq!(kept.incomplete, incomplete);
    if std::str::from_utf8(source).is_ok() {
        assert_eq!(
            kept.text.len() as u64,
            kept.kept_bytes,
            "nothing is made up"
        );
        assert!(kept.text.capacity() <= all, "more memory than the budget");
    }
    ends(source, &kept, head, tail);
}

/// The text is a start and an end of the source, no character cut in two.
fn ends(source: &[u8], kept: &RetainedText, head: usize, tail: usize) {
    if !kept.truncated {
        assert_eq!((kept.gap, &kept.omitted), (None, &Omitted::None));
        assert_eq!(kept.text, String::from_utf8_lossy(source));
        return;
    }
    let start = whole_start(&source[..head]);
    let end = whole_end(&source[source.len() - tail..]);
    let (first, last) = (String::from_utf8_lossy(start), String::from_utf8_lossy(end));
    assert_eq!(kept.gap, Some(first.len()));
    assert_eq!(kept.text, first.into_owned() + &last);
    assert_eq!(kept.kept_bytes, (start.len() + end.len()) as u64);
    assert!(start.len() + 3 >= head && end.len() + 3 >= tail);
    let notice = kept.notice().text(|notice| notice.limit.to_string());
    let omitted = kept.seen_bytes - kept.kept_bytes;
    assert!(notice.starts_with(&format!("Omitted {omitted} bytes.")));
}

/// Without the beginning of a character that the cut left open.
fn whole_start(head: &[u8]) -> &[u8] {
    let open =
        head.utf8_chunks()
            .last()
            .map_or(0, |last| match std::str::from_utf8(last.invalid()) {
                Err(error) if error.error_len().is_none() => last.invalid().len(),
                _ => 0,
            });
    &head[..head.len() - open]
}

/// Without the end of a character that the cut went through.
fn whole_end(tail: &[u8]) -> &[u8] {
    let run = tail.iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
    if run <= 3 { &tail[run..] } else { tail }
}

fn items(source: &[u8], max: usize, incomplete: bool) {
    let mut retainer = ItemRetainer::new(max).of(Unit::Lines);
    for (before, item) in source.iter().enumerate() {
        assert_eq!(retainer.is_full(), before >= max);
        let pushed = retainer.push(*item);
        assert_eq!(pushed.kept, before < max);
        assert_eq!(pushed.truncated, before >= max);
        assert_eq!(retainer.is_truncated(), pushed.truncated);
    }
    if incomplete {
        retainer.mark_incomplete();
    }
    let kept = retainer.finish();
    assert_eq!(kept.items, source[..source.len().min(max)]);
    let omitted = kept.omitted.count().expect("it was counted");
    assert_eq!(kept.kept() as u64 + omitted, kept.seen);
    assert_eq!(kept.seen, source.len() as u64);
    assert_eq!(kept.truncated, omitted > 0);
    assert_eq!(kept.incomplete, incomplete);
    assert_eq!(kept.limit, Limit::Items(max));
}
