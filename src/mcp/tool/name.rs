//! Names that models can call, of names that servers chose.

use sha2::{Digest as _, Sha256};

/// The longest name that every provider takes, in characters.
const LONGEST: usize = 64;
/// Digits of the digest at the end of a name that could not stay as it is.
const DIGITS: usize = 12;

/// The name under which the tool `tool` of the server `server` is registered.
///
/// It is `mcp__<server>__<tool>` where that has only ASCII letters, digits,
/// `_` and `-`, and at most 64 characters. Else every other character becomes
/// `_`, the first 51 stay, and `_` and 12 digits of a digest over both names
/// follow. The same goes for names that could be taken for those of another
/// tool: a server's name with `__` inside or `_` at its end, and a tool's name
/// that ends like such a digest. So different tools have different names, as
/// far as 48 bits of SHA-256 go.
///
/// A public name is never taken apart again.
///
/// ```
/// use toolfall::mcp::tool::public_name;
///
/// assert_eq!(public_name("github", "create_issue"), "mcp__github__create_issue");
/// assert_eq!(public_name("srv", "admin.reset"), "mcp__srv__admin_reset_3b185f786768");
/// ```
pub fn public_name(server: &str, tool: &str) -> String {
    let plain = format!("mcp__{server}__{tool}");
    let is_unmistakable =
        !server.contains("__") && !server.ends_with('_') && !ends_like_a_digest(tool);
    if is_unmistakable && plain.len() <= LONGEST && plain.chars().all(is_clean) {
        return plain;
    }
    let cleaned = plain
        .chars()
        .map(|letter| if is_clean(letter) { letter } else { '_' });
    let mut name: String = cleaned.take(LONGEST - DIGITS - 1).collect();
    let digest = Sha256::new()
        .chain_update(server)
        .chain_update([0])
        .chain_update(tool)
        .finalize();
    name.push('_');
    name.extend(super::digest::hex(&digest).chars().take(DIGITS));
    name
}

const fn is_clean(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// Whether a name that stays as it is could be one that was made.
fn ends_like_a_digest(tool: &str) -> bool {
    let Some((_, digits)) = tool.rsplit_once('_') else {
        return false;
    };
    digits.len() == DIGITS
        && digits
            .bytes()
            .all(|digit| b"0123456789abcdef".contains(&digit))
}
