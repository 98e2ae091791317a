//! Whatever comes in whatever chunks: the numbers add up, and the text is
//! what a plain reading of both ends gives.

use proptest::prelude::*;
use toolfall::retain::{ItemRetainer, Limit, Malformed, TextRetainer};

/// Text with characters of every length, cut into chunks anywhere.
fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![Just('a'), Just('é'), Just('€'), Just('😀'), any::<char>()],
        0..40,
    )
    .prop_map(String::from_iter)
}

/// Bytes that are often almost characters.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        text().prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..8),
        Just(b"\xe2\x82".to_vec()),
        Just(b"\x80\x80\x80\x80".to_vec()),
    ];
    proptest::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

fn chunks<'a>(source: &'a [u8], sizes: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = source;
    let mut sizes = sizes.iter().cycle();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (chunk, after) = rest.split_at((*sizes.next()?).min(rest.len()));
        rest = after;
        Some(chunk)
    })
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1_usize..20, 1..6)
}

proptest! {
    /// However a stream is cut, it counts what a decoding of the whole
    /// replaces.
    #[test]
    fn malformed_sequences_are_counted_whatever_the_cuts(source in bytes(), size in 1_usize..6) {
        let mut malformed = Malformed::new();
        source.chunks(size).for_each(|chunk| malformed.push(chunk));
        let replaced = source.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty());
        prop_assert_eq!(malformed.count(), replaced.count() as u64);
    }

    #[test]
    fn kept_and_omitted_are_what_was_seen(
        source in bytes(), sizes in sizes(), head in 0_usize..40, tail in 0_usize..40,
    ) {
        let mut retainer = TextRetainer::head_and_tail(head, tail);
        let mut seen = 0;
        for chunk in chunks(&source, &sizes) {
            let pushed = retainer.push(chunk);
            seen += chunk.len();
            prop_assert_eq!(pushed.truncated, seen > head + tail);
            prop_assert!(pushed.kept || pushed.truncated);
            prop_assert_eq!(retainer.seen_bytes(), seen as u64);
        }
        let kept = retainer.finish();
        prop_assert_eq!(kept.limit, Limit::Bytes { head, tail });
        prop_assert_eq!(kept.seen_bytes, source.len() as u64);
        prop_assert_eq!(kept.kept_bytes + kept.omitted.count().unwrap(), kept.seen_bytes);
        prop_assert!(kept.kept_bytes <= (head + tail) as u64);
        prop_assert_eq!(kept.truncated, source.len() > head + tail);
        // At most three bytes of a character go at each cut.
        if kept.truncated {
            prop_assert!(kept.kept_bytes + 6 >= (head + tail) as u64);
        } else {
            prop_assert_eq!(kept.text, String::from_utf8_lossy(&source));
        }
    }

    #[test]
    fn the_text_is_a_start_and_an_end_of_the_source(
        source in text(), sizes in sizes(), head in 0_usize..40, tail in 0_usize..40,
    ) {
        let mut retainer = TextRetainer::head_and_tail(head, tail);
        for chunk in chunks(source.as_bytes(), &sizes) {
            retainer.push(chunk);
        }
        let kept = retainer.finish();
        let wanted = if source.len() <= head + tail {
            source.clone()
        } else {
            let end = (0..=head).rfind(|at| source.is_char_boundary(*at)).unwrap();
            let start = (source.len() - tail..=source.len()).find(|at| source.is_char_boundary(*at)).unwrap();
            format!("{}{}", &source[..end], &source[start..])
        };
        prop_assert_eq!(kept.text.len() as u64, kept.kept_bytes);
        prop_assert_eq!(kept.text, wanted);
    }

    #[test]
    fn the_ends_of_malformed_sources_are_decoded_apart(
        source in bytes(), sizes in sizes(), head in 0_usize..20, tail in 0_usize..20,
    ) {
        if source.len() <= head + tail {
            return Ok(());
        }
        let push = |mut retainer: TextRetainer| {
            for chunk in chunks(&source, &sizes) {
                retainer.push(chunk);
            }
            retainer.finish()
        };
        let both = push(TextRetainer::head_and_tail(head, tail));
        let (start, end) = (push(TextRetainer::head(head)), push(TextRetainer::tail(tail)));
        prop_assert_eq!(both.text, start.text + &end.text);
        prop_assert_eq!(both.kept_bytes, start.kept_bytes + end.kept_bytes);
    }

    #[test]
    fn items_add_up(max in 0_usize..20, count in 0_usize..40) {
        let mut retainer = ItemRetainer::new(max);
        retainer.extend(0..count);
        let kept = retainer.finish();
        prop_assert_eq!(kept.kept() as u64 + kept.omitted.count().unwrap(), kept.seen);
        prop_assert_eq!(kept.seen, count as u64);
        prop_assert!(kept.items.iter().copied().eq(0..count.min(max)));
    }
}
