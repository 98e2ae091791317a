//! Cards of tools that search the web or fetch a page.
//!
//! The card is made of the metadata alone: the content is there already and is
//! not copied.

use serde_json::Value;

use super::{Presented, ResultCard, WebFetch, WebResult, WebSearch, narrow};

/// The result of a search: metadata `{sources, answer?, truncated}`, titled by
/// what was asked. None of a failure.
pub fn search_result<Q: AsRef<str>>(queries: &[Q], result: &Presented<'_>) -> Option<ResultCard> {
    let mut card: WebSearch = narrow(meta(result)?)?;
    let queries: Vec<&str> = queries.iter().map(AsRef::as_ref).collect();
    card.title = Some(queries.join(", "));
    Some(ResultCard::Web(WebResult::Search(card)))
}

/// The result of fetching a page: metadata `{url, statusCode, truncated}`,
/// titled by the address. None of a failure.
pub fn fetch_result(result: &Presented<'_>) -> Option<ResultCard> {
    let mut card: WebFetch = narrow(meta(result)?)?;
    card.title = Some(card.url.clone());
    Some(ResultCard::Web(WebResult::Fetch(card)))
}

fn meta<'a>(result: &Presented<'a>) -> Option<&'a Value> {
    result.meta.filter(|_| !result.is_error)
}
