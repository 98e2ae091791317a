//! Ids where the provider sent none.

use std::{borrow::Cow, collections::HashSet};

/// One id for each place of a batch: the one sent, or a stand-in made from
/// the place, `call_0`, that no other call of the batch has.
///
/// It depends on nothing but the ids in their order, so that the assistant's
/// turn and the results, written apart, agree.
pub(super) fn ids<'a>(sent: impl Iterator<Item = Option<&'a str>>) -> Vec<Cow<'a, str>> {
    let sent: Vec<_> = sent.map(Option::unwrap_or_default).collect();
    let taken: HashSet<&str> = sent.iter().copied().collect();
    let mut ids = Vec::with_capacity(sent.len());
    for (place, id) in sent.iter().enumerate() {
        if !id.is_empty() {
            ids.push(Cow::Borrowed(*id));
            continue;
        }
        // Underscores tell a stand-in of one place from that of any other.
        let mut stand_in = format!("call_{place}");
        while taken.contains(stand_in.as_str()) {
            stand_in.push('_');
        }
        ids.push(Cow::Owned(stand_in));
    }
    ids
}

/// Whether providers take `id`: 1 to 64 letters, digits, `_` and `-`.
pub(super) fn is_plain(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
