//! Output within a budget, row by row.

use serde_json::{Value, json};
use toolfall::retain::{
    ItemRetainer, Limit, Notice, Omitted, Pushed, RetainedText, TextRetainer, Unit, budget,
};

const fn pushed(kept: bool, truncated: bool) -> Pushed {
    Pushed { kept, truncated }
}

fn fed<C: AsRef<[u8]>>(mut retainer: TextRetainer, chunks: &[C]) -> (Vec<Pushed>, RetainedText) {
    let pushed = chunks.iter().map(|chunk| retainer.push(chunk)).collect();
    (pushed, retainer.finish())
}

/// The text that is kept of the chunks and how much is omitted.
fn kept<C: AsRef<[u8]>>(retainer: TextRetainer, chunks: &[C]) -> (String, Option<u64>) {
    let (_, kept) = fed(retainer, chunks);
    assert_eq!(
        kept.kept_bytes + kept.omitted.count().unwrap(),
        kept.seen_bytes
    );
    assert_eq!(kept.truncated, !kept.omitted.is_none());
    assert!(!kept.incomplete, "the budget says nothing of the source");
    (kept.text, kept.omitted.count())
}

fn whole(text: &str) -> (String, Option<u64>) {
    cut(text, 0)
}

fn cut(text: &str, omitted: u64) -> (String, Option<u64>) {
    (text.to_owned(), Some(omitted))
}

/// conformance: RETAIN-01
#[test]
fn items_past_the_budget_are_counted_and_not_kept() {
    let mut retainer = ItemRetainer::new(2);
    let pushes: Vec<Pushed> = ["a", "b", "c"].map(|item| retainer.push(item)).to_vec();
    let kept = [
        pushed(true, false),
        pushed(true, false),
        pushed(false, true),
    ];
    assert_eq!(pushes, kept);
    let kept = retainer.finish();
    assert_eq!(kept.items, ["a", "b"]);
    assert_eq!((kept.kept(), kept.seen, kept.truncated), (2, 3, true));
    assert_eq!(kept.omitted, Omitted::of(1, Unit::Items));
}

/// conformance: RETAIN-02
#[test]
fn what_is_omitted_is_exact_and_never_exactly_nothing() {
    for (max, items, kept, omitted) in [
        (3, 2, 2, Omitted::None),
        (1, 3, 1, Omitted::of(2, Unit::Items)),
        (0, 1, 0, Omitted::of(1, Unit::Items)),
    ] {
        let mut retainer = ItemRetainer::new(max);
        retainer.extend(0..items);
        let found = retainer.finish();
        assert_eq!((found.kept(), found.seen), (kept, items));
        assert_eq!(found.truncated, !omitted.is_none());
        assert_eq!(found.omitted, omitted);
    }
    assert_eq!(Omitted::of(0, Unit::Items), Omitted::None);
}

/// conformance: RETAIN-03
#[test]
fn a_budget_is_a_non_negative_integer() {
    for name in ["maxItems", "maxBytes", "headBytes", "tailBytes"] {
        let bad = [
            "-1", "1.5", "2.5", "1.1", "1e300", "-0.5", "null", "\"3\"", "[]",
        ];
        for found in bad {
            let value: Value = serde_json::from_str(found).unwrap();
            let error = budget(name, &value).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{name} must be a non-negative integer")
            );
            assert_eq!(error.found, value.to_string());
        }
        for (good, wanted) in [(json!(0), 0), (json!(7), 7), (json!(2.0), 2)] {
            assert_eq!(budget(name, &good), Ok(wanted));
        }
    }
}

/// conformance: RETAIN-04
#[test]
fn the_head_keeps_the_start() {
    let (pushes, found) = fed(TextRetainer::head(5), &["abc", "de", "fgh"]);
    assert_eq!(
        pushes,
        [
            pushed(true, false),
            pushed(true, false),
            pushed(false, true)
        ]
    );
    assert_eq!(
        (found.text.as_str(), found.omitted.count()),
        ("abcde", Some(3))
    );

    let (pushes, found) = fed(TextRetainer::head(4), &["ab", "cde"]);
    assert_eq!(pushes[1], pushed(false, true), "one byte was dropped");
    assert_eq!(found.text, "abcd");
    assert_eq!(kept(TextRetainer::head(3), &["abc", "defg"]), cut("abc", 4));
}

/// conformance: RETAIN-05
#[test]
fn the_tail_keeps_the_end() {
    let (pushes, found) = fed(TextRetainer::tail(4), &["hello", "world"]);
    assert_eq!(pushes[0], pushed(false, true));
    assert_eq!(
        (found.text.as_str(), found.omitted.count()),
        ("orld", Some(6))
    );
    assert_eq!(kept(TextRetainer::tail(100), &["short"]), whole("short"));
    let chunks = ["11", "22", "33", "44"];
    assert_eq!(kept(TextRetainer::tail(3), &chunks), cut("344", 5));
}

/// conformance: RETAIN-06, RETAIN-07, RETAIN-08, RETAIN-09
#[test]
fn both_ends_meet_only_where_nothing_is_omitted() {
    let both = TextRetainer::head_and_tail;
    assert_eq!(kept(both(3, 3), &["abcdefghij"]), cut("abchij", 4));
    assert_eq!(kept(both(3, 3), &["abcdef"]), whole("abcdef"));
    assert_eq!(kept(both(1, 3), &["éab"]), whole("éab"));
    assert_eq!(kept(both(2, 2), &["a€€b"]), cut("ab", 6));
    assert_eq!(kept(both(2, 2), &["€€€"]), cut("", 9));

    let (pushes, found) = fed(TextRetainer::head(0), &["x"]);
    assert_eq!(pushes, [pushed(false, true)]);
    assert_eq!(found.omitted.count(), Some(1));
    for empty in [both(3, 3), TextRetainer::head(0), TextRetainer::tail(4)] {
        assert_eq!(kept::<&str>(empty.clone(), &[]), whole(""));
        assert_eq!(kept(empty, &["", ""]), whole(""));
    }
}

/// conformance: RETAIN-10, RETAIN-11
#[test]
fn a_character_at_a_cut_is_whole_or_omitted() {
    assert_eq!(kept(TextRetainer::head(2), &["a€b"]), cut("a", 4));
    assert_eq!(kept(TextRetainer::tail(2), &["a€b"]), cut("b", 4));
    assert_eq!(kept(TextRetainer::head(2), &["aé"]), cut("a", 2));
    assert_eq!(kept(TextRetainer::head(3), &["a😀"]), cut("a", 4));
    assert_eq!(kept(TextRetainer::head(3), &["€x"]), cut("€", 1));
    assert_eq!(kept(TextRetainer::head(4), &["😀x"]), cut("😀", 1));
    // The same where the chunks cut characters too.
    let bytes: Vec<&[u8]> = "a€b".as_bytes().chunks(1).collect();
    assert_eq!(kept(TextRetainer::tail(4), &bytes), cut("€b", 1));
}

/// conformance: RETAIN-12, RETAIN-14
#[test]
fn malformed_bytes_are_decoded_lossily_and_never_fail() {
    assert_eq!(kept(TextRetainer::head(2), &["xy", "z"]), cut("xy", 1));
    let stray: &[u8] = b"\x80\x80\x7a";
    let (text, omitted) = kept(TextRetainer::head(2), &[stray]);
    assert_eq!((text.as_str(), omitted), ("\u{fffd}\u{fffd}", Some(1)));
    let (text, omitted) = kept(TextRetainer::head(1), &[b"\xf8\x61"]);
    assert_eq!((text.as_str(), omitted), ("\u{fffd}", Some(1)));

    // Without a gap the whole is decoded at once: the two halves of the
    // character meet, and a source that ends within one was not cut by us.
    let split: [&[u8]; 2] = [b"a\xe2", b"\x82\xac"];
    assert_eq!(kept(TextRetainer::head_and_tail(2, 2), &split), whole("a€"));
    let ends_early: [&[u8]; 1] = [b"a\xe2\x82"];
    assert_eq!(kept(TextRetainer::head(3), &ends_early), whole("a\u{fffd}"));
    // With a gap neither end completes the other.
    let apart: [&[u8]; 1] = [b"\xe2\x82..\xac\xff"];
    let (text, omitted) = kept(TextRetainer::head_and_tail(2, 2), &apart);
    assert_eq!((text.as_str(), omitted), ("\u{fffd}", Some(5)));
    let apart: [&[u8]; 1] = [b"\xe2\x82\xf0....\x80\x80\x80\x80"];
    let (text, omitted) = kept(TextRetainer::head_and_tail(3, 4), &apart);
    assert_eq!((text, omitted), ("\u{fffd}".repeat(5), Some(5)));
}

#[test]
fn an_incomplete_source_is_no_matter_of_the_budget() {
    for (budget, truncated) in [(100, false), (2, true)] {
        let mut text = TextRetainer::head(budget);
        text.push("abc");
        text.mark_incomplete();
        let text = text.finish();
        assert_eq!((text.truncated, text.incomplete), (truncated, true));
        assert_eq!(text.omitted.is_none(), !truncated);

        let mut items = ItemRetainer::new(budget).of(Unit::Lines);
        items.extend(["a", "b", "c"]);
        items.mark_incomplete();
        let items = items.finish();
        assert_eq!((items.truncated, items.incomplete), (truncated, true));
        assert_eq!(items.omitted.is_none(), !truncated);
    }
}

#[test]
fn budgets_without_bound_keep_everything() {
    let huge = TextRetainer::head_and_tail(usize::MAX, usize::MAX);
    assert_eq!(kept(huge, &["a", "b"]), whole("ab"));
    assert_eq!(kept(TextRetainer::tail(usize::MAX), &["a"]), whole("a"));
}

/// conformance: RETAIN-15
#[test]
fn what_is_omitted_is_one_sentence() {
    for (omitted, wanted) in [
        (Omitted::of(3, Unit::Items), "Omitted 3 items."),
        (Omitted::of(12, Unit::Bytes), "Omitted 12 bytes."),
        (Omitted::Unknown(Unit::Lines), "More lines were omitted."),
        (
            Omitted::of(2, Unit::Named("files".into())),
            "Omitted 2 files.",
        ),
        (Omitted::None, ""),
    ] {
        assert_eq!(omitted.to_string(), wanted);
    }
}

/// conformance: RETAIN-16
#[test]
fn a_notice_says_what_is_omitted_and_what_to_do() {
    let notice = Notice::new(Omitted::of(25, Unit::Items), Limit::Items(100));
    let text = notice.text(|notice| {
        format!(
            "Results capped at {}. Narrow the pattern, path, or include to see more.",
            notice.limit
        )
    });
    assert_eq!(
        text,
        "Omitted 25 items. Results capped at 100. \
         Narrow the pattern, path, or include to see more."
    );
    let nothing = Notice::new(Omitted::None, Limit::Items(100));
    assert_eq!(
        nothing.text(|_| "Recovery text.".to_owned()),
        "Recovery text."
    );
    let two = Notice::new(Omitted::of(2, Unit::Items), Limit::Items(100));
    assert_eq!(two.text(|_| String::new()), "Omitted 2 items.");

    let (_, kept) = fed(TextRetainer::head_and_tail(2000, 2000), &["x".repeat(4500)]);
    let text = kept.notice().text(|notice| {
        assert_eq!(notice.omitted.count(), Some(500));
        format!("Kept {}.", notice.limit)
    });
    assert_eq!(text, "Omitted 500 bytes. Kept 2000B head + 2000B tail.");
}
