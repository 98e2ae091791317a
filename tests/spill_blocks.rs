//! Pictures and other blocks over their budgets, through the assembled
//! pipeline.

#[path = "support/facade.rs"]
mod facade;
#[path = "support/spill.rs"]
mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use facade::{Counter, any_object, registry, request, returns};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Does, Spilling, base64, registered, spilling_as, warnings};
use tokio::time::Instant;
use toolfall::policy::{Next, Waterfall};
use toolfall::session::{Body, SessionLog, SessionRecorder};
use toolfall::spill::{
    LocalSpillStore, Saving, Spill, SpillBytes, SpillConfig, SpillContent, SpillPolicy, SpillSlot,
    SpillSource, SpillStore,
};
use toolfall::{
    Arguments, BoxError, CallView, ContentBlock, Pipeline, PostDecision, PostRequest, ToolContext,
    ToolDef, ToolResult, raw_tool,
};

type Post = Waterfall<PostRequest, PostDecision>;

/// A tool whose result is shown as `content`.
fn shows(name: &'static str, content: &[ContentBlock]) -> ToolDef {
    let content = content.to_vec();
    returns(name, json!({"kept": true}), &Counter::default()).render(move |_| Ok(content.clone()))
}

/// The result of a tool `shot` that shows `content`, under `listeners`.
async fn shown(listeners: &Post, content: &[ContentBlock]) -> ToolResult {
    let pipeline = Pipeline::builder(registry([shows("shot", content)]))
        .post_execute(listeners.clone())
        .build();
    pipeline.run(request("shot", "{}")).await
}

fn block(block: Value) -> ContentBlock {
    serde_json::from_value(block).unwrap()
}

fn image(bytes: usize) -> ContentBlock {
    let data = base64(&vec![7; bytes]);
    block(json!({"type": "image", "data": data, "mimeType": "image/png"}))
}

fn of_block(most: usize) -> SpillConfig {
    SpillConfig::default().with_max_block_bytes(most)
}

fn text(result: &ToolResult, place: usize) -> &str {
    result.content()[place].as_text().expect("a note")
}

#[tokio::test]
async fn a_big_picture_becomes_a_note_in_its_place() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling_as(&of_block(1_000), Does::Saves);
    let content = [
        ContentBlock::text("before"),
        image(1_001),
        image(1_000),
        ContentBlock::text("after"),
    ];
    let result = shown(&registered(&policy), &content).await;
    let note = "(Image omitted: image/png, 1001 bytes, over the 1000 bytes for one block. \
                Stored at: /spill/shot-2.png. Use the stub retrieval path.)";
    let wanted = [
        content[0].clone(),
        ContentBlock::text(note),
        content[2].clone(),
        content[3].clone(),
    ];
    assert_eq!(result.content(), wanted);
    assert!(!result.is_error());
    assert_eq!(result.value(), Some(&json!({"kept": true})));
    let [kept] = stub.kept().try_into().unwrap();
    assert_eq!(kept.owner, "sess-1");
    assert_eq!(kept.source, SpillSource::new("shot", "call_1", "block-2"));
    assert_eq!(kept.mime_type.as_deref(), Some("image/png"));
    assert_eq!(kept.content.to_vec(), vec![7; 1_001]);
    assert_eq!((stub.saved(), warnings().len()), (vec![], 0));
    drop(mount);
}

#[tokio::test]
async fn the_first_blocks_stay_and_the_later_ones_go() {
    let config = SpillConfig::default().with_max_result_bytes(250);
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling_as(&config, Does::Saves);
    let content: Vec<_> = (0..5).map(|_| image(100)).chain([image(10)]).collect();
    let result = shown(&registered(&policy), &content).await;
    assert_eq!(result.content().len(), 6);
    assert_eq!(result.content()[..2], content[..2]);
    for place in 2..6 {
        let bytes = if place == 5 { 10 } else { 100 };
        let starts = format!(
            "(Image omitted: image/png, {bytes} bytes, more than is left of the 250 bytes for the \
             blocks of one result. Stored at: /spill/shot-{}.png.",
            place + 1
        );
        let note = text(&result, place);
        assert!(note.starts_with(&starts), "{note}");
    }
    assert_eq!(stub.kept().len(), 4);

    // What is over the budget of a block takes nothing from the result's.
    let policy = spilling_as(&config.with_max_block_bytes(200), Does::Fails).policy;
    let result = shown(&registered(&policy), &[image(201), image(150), image(100)]).await;
    assert_eq!(result.content()[1..], [image(150), image(100)]);
    drop(mount);
}

#[tokio::test]
async fn every_kind_has_its_note_and_its_file() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling_as(&of_block(8), Does::Saves);
    let data = base64(b"nine byte");
    let long = format!("data:,{}", "u".repeat(2_000));
    let odd = json!({"type": "image", "data": data, "mimeType": "x\u{1b}[2J (Image"});
    let content = [
        block(json!({"type": "audio", "data": data, "mimeType": "audio/mpeg"})),
        block(json!({"type": "resource", "resource":
            {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": data}})),
        block(json!({"type": "resource", "resource": {"uri": "x:\n1", "text": "nine byte"}})),
        block(json!({"type": "resource_link", "uri": long, "name": "far"})),
        block(odd),
        block(json!({"type": "resource_link", "uri": "file:///near", "name": "near"})),
        block(json!({"type": "reasoning", "text": "r".repeat(100)})),
    ];
    let result = shown(&registered(&policy), &content).await;
    for (place, starts) in [
        (0, "(Audio omitted: audio/mpeg, 9 bytes, over"),
        (
            1,
            "(Resource \"file:///a.pdf\" omitted: application/pdf, 9 bytes, over",
        ),
        (2, "(Resource \"x:\\\\n1\" omitted: 9 bytes, over"),
        (3, "(Resource link \"far\" omitted: 2009 bytes, over"),
        (4, "(Image omitted: unreadable media type, 9 bytes, over"),
    ] {
        let note = text(&result, place);
        assert!(note.starts_with(starts), "{note}");
    }
    assert_eq!(result.content()[5..], content[5..]);
    let kept = stub.kept();
    let names: Vec<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "shot-1.mp3",
            "shot-2.pdf",
            "shot-3.txt",
            "shot-4.txt",
            "shot-5.bin"
        ]
    );
    assert!(
        kept[..3]
            .iter()
            .all(|kept| kept.content.to_vec() == b"nine byte")
    );
    assert_eq!(kept[3].content.to_vec(), long.as_bytes());
    assert_eq!(kept[4].mime_type, None);
    drop(mount);
}

#[tokio::test]
async fn what_is_no_base64_counts_as_text() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling_as(&of_block(8), Does::Saves);
    let listeners = registered(&policy);
    // Twelve letters are nine bytes; with the stray one they are none.
    for data in ["nine*bytes", "AAAAA====", "ééééé"] {
        let bad = block(json!({"type": "image", "data": data, "mimeType": "image/png"}));
        let result = shown(&listeners, &[bad]).await;
        let says = format!(
            "{} bytes, over the 8 bytes for one block. Its data is not valid base64, so its text \
             is what counts. Stored at: /spill/shot-1.txt.",
            data.len()
        );
        let note = text(&result, 0);
        assert!(note.contains(&says), "{note}");
        assert_eq!(
            stub.kept().last().unwrap().content.to_vec(),
            data.as_bytes()
        );
    }
    let bad = block(json!({"type": "image", "data": "*".repeat(8), "mimeType": "image/png"}));
    let result = shown(&listeners, std::slice::from_ref(&bad)).await;
    assert_eq!(
        result.content(),
        [bad],
        "within its budget nothing is judged"
    );
    drop(mount);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_stored_is_left_out_all_the_same() {
    let content = [image(9), image(8), image(10)];
    for (does, says, seconds) in [
        (Does::Fails, "the spill store failed: the disk is gone", 0),
        (Does::Panics, "the store panics", 0),
        (Does::PanicsLater, "the store panics later", 0),
        // All blocks of a result have one deadline.
        (Does::Hangs, "the spill store took longer than 30s", 30),
    ] {
        let Spilling { policy, mount, .. } = spilling_as(&of_block(8), does);
        let began = Instant::now();
        let result = shown(&registered(&policy), &content).await;
        assert_eq!(began.elapsed(), Duration::from_secs(seconds));
        assert_left_out(&result, &content);
        let warned = warnings();
        assert!(
            warned.len() == 1 && warned[0].contains(says) && warned[0].contains("blocks=2"),
            "{does:?}: {warned:?}"
        );
        drop(mount);
    }
    let Spilling { policy, mount, .. } = spilling_as(&of_block(8), Does::Saves);
    let nobody = policy.clone().owner(|_| None);
    let panics = policy.clone().owner(|_| panic!("who is it"));
    drop(mount);
    let slot = SpillSlot::new();
    slot.mount(Texts).unwrap().keep();
    let texts = SpillPolicy::new(slot, &of_block(8)).owner(|_| Some("sess-1".into()));
    for (policy, says) in [
        (policy, "no spill store is mounted"),
        (nobody, "the session of the call is not known"),
        (panics, "who is it"),
        (texts, "found one that keeps texts only"),
    ] {
        assert_left_out(&shown(&registered(&policy), &content).await, &content);
        let warned = warnings();
        assert!(warned.len() == 1 && warned[0].contains(says), "{warned:?}");
    }
}

fn assert_left_out(result: &ToolResult, content: &[ContentBlock]) {
    assert_eq!(result.content().len(), 3);
    assert!(!result.is_error());
    assert_eq!(result.content()[1], content[1]);
    for place in [0, 2] {
        let note = text(result, place);
        assert!(
            note.ends_with("for one block. It could not be stored.)"),
            "{note}"
        );
    }
}

/// Keeps texts, as every store did once.
struct Texts;

impl SpillStore for Texts {
    fn save(&self, _: Spill) -> Saving {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_flood_of_blocks_is_cut_off_and_stored_as_one() {
    let config = SpillConfig::default().with_max_blocks(10);
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling_as(&config, Does::Saves);
    let flood: Vec<_> = (0..100_000).map(|_| image(1)).collect();
    let result = shown(&registered(&policy), &flood).await;
    assert_eq!(result.content().len(), 11);
    assert_eq!(result.content()[..10], flood[..10]);
    assert_eq!(
        text(&result, 10),
        "(99990 further blocks omitted: over the 10 blocks for one result. One block of JSON a \
         line. Stored at: /spill/shot-blocks.jsonl. Use the stub retrieval path.)"
    );
    let [kept] = stub.kept().try_into().unwrap();
    let lines = String::from_utf8(kept.content.to_vec()).unwrap();
    assert_eq!(kept.content.len(), lines.len() as u64);
    let stored: Vec<ContentBlock> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(stored, flood[10..]);
    assert!(shown(&registered(&policy), &flood[..10]).await.content() == &flood[..10]);

    // Notes cost, too: a budget in bytes brings a bound on blocks with it.
    let policy = spilling_as(&of_block(0), Does::Fails).policy;
    let result = shown(&registered(&policy), &flood).await;
    assert_eq!(result.content().len(), 1_001);
    let last = text(&result, 1_000);
    assert!(
        last.starts_with("(99000 further blocks omitted: over the 1000 "),
        "{last}"
    );
    assert!(last.ends_with("result. It could not be stored.)"), "{last}");
    drop(mount);
}

#[tokio::test]
async fn texts_keep_their_own_budget() {
    let config = SpillConfig::max_inline_bytes(200)
        .with_max_block_bytes(8)
        .with_max_result_bytes(8)
        .with_max_blocks(3);
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling_as(&config, Does::Saves);
    let listeners = registered(&policy);
    let long = ContentBlock::text("x".repeat(1_000));
    // A text beside a picture stays, as it did, and counts nothing.
    let result = shown(&listeners, &[long.clone(), image(8)]).await;
    assert_eq!(result.content(), [long.clone(), image(8)]);
    let result = shown(&listeners, &[long.clone(), image(9)]).await;
    assert_eq!(result.content()[0], long);
    assert!(text(&result, 1).contains("Stored at: "));
    assert_eq!(stub.saved(), []);
    // Texts alone are one text, however many they are.
    let result = shown(&listeners, &vec![long.clone(); 5]).await;
    assert_eq!(result.content().len(), 1);
    assert_eq!(stub.saved()[0].content.len(), 5_000);
    drop(mount);
    // What cannot be stored stays whole, but for a flood.
    let result = shown(&listeners, &vec![long.clone(); 3]).await;
    assert_eq!(result.content(), vec![long.clone(); 3]);
    let result = shown(&listeners, &vec![long.clone(); 5]).await;
    assert_eq!(result.content()[..3], vec![long; 3]);
    assert_eq!(
        text(&result, 3),
        "(2 further blocks omitted: over the 3 blocks for one result. It could not be stored.)"
    );
}

#[tokio::test]
async fn whoever_is_shown_texts_whole_is_shown_blocks_whole() {
    let Spilling {
        stub,
        policy,
        mount,
    } = spilling_as(&of_block(8), Does::Saves);
    let listeners = registered(&policy);
    let big = [image(9)];
    let outer = raw_tool(
        "outer",
        "",
        any_object(),
        |_: Arguments, ctx: ToolContext| async move {
            let inner = ctx.call_tool("shot", "{}").await?;
            Ok::<_, BoxError>(Value::from(inner.content()[0].kind()))
        },
    );
    let tools = registry([shows("read", &big), shows("shot", &big), outer]);
    let pipeline = |post: &Post| {
        Pipeline::builder(tools.clone())
            .post_execute(post.clone())
            .build()
    };
    let all = pipeline(&listeners);
    assert_eq!(all.run(request("read", "{}")).await.content(), big);
    assert_eq!(all.run(request("outer", "{}")).await.text(), "image");
    listeners
        .register(|_: PostRequest, _: Next<_, _>| async { PostDecision::block_with("withheld") })
        .keep();
    let blocked = pipeline(&listeners).run(request("shot", "{}")).await;
    assert!(blocked.is_error() && !blocked.text().contains("omitted"));
    assert_eq!(stub.kept().len(), 0);

    // What a listener shows instead is what is measured and stored.
    let listeners = registered(&policy);
    listeners
        .register(|_: PostRequest, _: Next<_, _>| async {
            PostDecision::replace_content(vec![image(1), image(20)])
        })
        .keep();
    let result = pipeline(&listeners).run(request("shot", "{}")).await;
    assert_eq!(result.content()[0], image(1));
    assert!(text(&result, 1).contains("20 bytes"));
    assert_eq!(stub.kept()[0].content.to_vec(), vec![7; 20]);
    drop(mount);
}

#[tokio::test]
async fn the_log_keeps_what_the_model_reads_and_the_file_has_the_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let slot = SpillSlot::new();
    slot.mount(LocalSpillStore::at(folder.path()).unwrap())
        .unwrap()
        .keep();
    let policy =
        SpillPolicy::new(slot, &of_block(1_000)).owner(|_: &CallView| Some("sess-1".to_owned()));
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let picture = json!({"type": "image", "data": base64(&bytes), "mimeType": "image/webp"});
    let log = SessionLog::in_memory();
    let pipeline = Pipeline::builder(registry([shows("shot", &[block(picture)])]))
        .post_execute(policy)
        .recorder(Arc::new(SessionRecorder::new(log.clone())))
        .build();
    let result = pipeline.run(request("shot", "{}")).await;
    let note = text(&result, 0);
    let (_, path) = note.split_once("Stored at: ").unwrap();
    let path = path
        .strip_suffix(". Programs can open this path.)")
        .unwrap();
    assert!(path.ends_with("-shot-1.webp"), "{path}");
    assert_eq!(std::fs::read(path).unwrap(), bytes);

    let logged = log.records().unwrap().into_iter().find_map(|record| {
        let Body::Result(result) = record.body else {
            return None;
        };
        Some(result.content)
    });
    assert_eq!(logged.unwrap(), result.content());
}

#[tokio::test]
async fn the_local_store_bounds_bytes_and_keeps_the_ending_of_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalSpillStore::at(folder.path())
        .unwrap()
        .max_total_bytes(11)
        .bytes_hint("Ask for it.");
    let six = |name: &str| {
        let source = SpillSource::new("shot", "call_1", "block-1");
        let content = SpillContent::from_bytes(*b"sixsix");
        store.save_bytes(SpillBytes::new("sess-2", source, name, content))
    };
    let saved = six(&format!("{}.webp", "../é".repeat(99))).await.unwrap();
    assert_eq!((saved.bytes, &*saved.retrieval_hint), (6, "Ask for it."));
    let ending = Path::new(&saved.locator).extension();
    assert_eq!(ending.unwrap(), "webp", "{}", saved.locator);
    assert_eq!(std::fs::read(&saved.locator).unwrap(), b"sixsix");
    let error = six("shot-1.bin").await.unwrap_err().to_string();
    assert!(error.starts_with("expected room for 6 bytes"), "{error}");
}

#[test]
fn settings_are_read_and_named_in_errors() {
    let config = SpillConfig::from_json(&json!({
        "maxInlineBytes": 1, "maxBlockBytes": 2, "maxResultBytes": 3, "maxBlocks": 4
    }));
    let wanted = SpillConfig::max_inline_bytes(1)
        .with_max_block_bytes(2)
        .with_max_result_bytes(3)
        .with_max_blocks(4);
    assert_eq!(config.unwrap(), wanted);
    assert_eq!(SpillConfig::max_inline_bytes(1).blocks(), None);
    let error = SpillConfig::from_json(&json!({"maxBlockBytes": "1"})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "spill-policy: maxBlockBytes must be a non-negative integer (got \"1\")"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_the_sizes_the_first_stay_and_the_rest_is_stored(
        sizes in proptest::collection::vec(0_usize..60, 0..12),
        most in 0_usize..60,
        together in 0_usize..200,
        count in 0_usize..12,
    ) {
        let config = of_block(most).with_max_result_bytes(together).with_max_blocks(count);
        let Spilling { stub, policy, mount } = spilling_as(&config, Does::Saves);
        let content: Vec<_> = sizes.iter().map(|size| image(*size)).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let result = runtime.block_on(shown(&registered(&policy), &content));
        drop(mount);
        prop_assert_eq!(
            result.content().len(),
            sizes.len().min(count) + usize::from(sizes.len() > count)
        );
        let (mut left, mut full) = (together, false);
        let mut files = stub.kept().into_iter();
        for (place, size) in sizes.iter().take(count).enumerate() {
            let fits = *size <= most && (*size == 0 || (!full && *size <= left));
            if fits {
                left -= size;
                prop_assert_eq!(&result.content()[place], &content[place]);
            } else {
                full |= *size <= most;
                let says = format!(", {size} bytes, ");
                prop_assert!(text(&result, place).contains(&says));
                prop_assert_eq!(files.next().unwrap().content.to_vec(), vec![7; *size]);
            }
        }
        prop_assert_eq!(files.count(), usize::from(sizes.len() > count));
    }

    #[test]
    fn base64_is_what_it_stands_for_and_anything_else_is_none(
        bytes in proptest::collection::vec(any::<u8>(), 0..40_000),
        text in ".{0,40}",
    ) {
        let content = SpillContent::from_base64(base64(&bytes)).unwrap();
        prop_assert_eq!(content.len(), bytes.len() as u64);
        prop_assert_eq!(content.to_vec(), bytes);
        if let Some(content) = SpillContent::from_base64(text) {
            prop_assert_eq!(content.to_vec().len() as u64, content.len());
        }
    }
}
