//! Both ends of a stream in one buffer: a fixed start, then a ring.

/// The first `head` and the last `tail` bytes of what was pushed.
///
/// One buffer, so that nothing is copied to put the ends together: the first
/// `head` bytes stay, the rest is a ring that is overwritten once the buffer
/// is full. At most two slices are copied for a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    bytes: Vec<u8>,
    head: usize,
    tail: usize,
    /// Where the oldest byte of a full ring lies, within the ring.
    oldest: usize,
    seen: u64,
}

impl Ends {
    pub(super) const fn new(head: usize, tail: usize) -> Self {
        Self {
            bytes: Vec::new(),
            head,
            tail,
            oldest: 0,
            seen: 0,
        }
    }

    pub(super) const fn budgets(&self) -> (usize, usize) {
        (self.head, self.tail)
    }

    pub(super) const fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) const fn is_truncated(&self) -> bool {
        self.seen > self.bytes.len() as u64
    }

    /// Takes the next bytes; whether all of them are held now.
    #[inline]
    pub(super) fn push(&mut self, chunk: &[u8]) -> bool {
        self.seen = self.seen.saturating_add(chunk.len() as u64);
        let to_head = self.head.saturating_sub(self.bytes.len());
        let room = self.head.saturating_add(self.tail) - self.bytes.len();
        let rest = if room == 0 {
            chunk
        } else {
            let (fits, rest) = chunk.split_at(chunk.len().min(room));
            self.grow(fits.len(), room);
            self.bytes.extend_from_slice(fits);
            rest
        };
        self.overwrite(rest);
        chunk.len().saturating_sub(to_head) <= self.tail
    }

    /// Makes place for `more` bytes, where `room` are left of the budget. The
    /// buffer doubles, so that a small stream costs little under a large
    /// budget, but never past the budget.
    fn grow(&mut self, more: usize, room: usize) {
        let free = self.bytes.capacity() - self.bytes.len();
        if free < more {
            self.bytes
                .reserve_exact(more.max(self.bytes.len()).min(room));
        }
    }

    /// Puts `rest` into a ring that is full, over its oldest bytes.
    fn overwrite(&mut self, rest: &[u8]) {
        if rest.is_empty() || self.tail == 0 {
            return;
        }
        let ring = &mut self.bytes[self.head..];
        let Some(before) = self.tail.checked_sub(rest.len()) else {
            ring.copy_from_slice(&rest[rest.len() - self.tail..]);
            self.oldest = 0;
            return;
        };
        let (first, second) = rest.split_at(rest.len().min(self.tail - self.oldest));
        ring[self.oldest..self.oldest + first.len()].copy_from_slice(first);
        ring[..second.len()].copy_from_slice(second);
        // Not a remainder: the sum may not fit where the budget is huge.
        self.oldest = if self.oldest >= before {
            self.oldest - before
        } else {
            self.oldest + rest.len()
        };
    }

    /// The text of what is held, how many bytes of the source it is, and where
    /// in the text something was left out.
    pub(super) fn finish(mut self) -> (String, u64, Option<usize>) {
        if !self.is_truncated() {
            let kept = self.bytes.len() as u64;
            return (decoded(self.bytes), kept, None);
        }
        self.bytes[self.head..].rotate_left(self.oldest);
        let (head, tail) = self.bytes.split_at(self.head);
        let (head, tail) = (&head[..whole_end(head)], &tail[whole_start(tail)..]);
        let kept = (head.len() + tail.len()) as u64;
        // Malformed ends are decoded each for itself: together they could
        // make a character that the source does not have.
        if std::str::from_utf8(head).is_err() || std::str::from_utf8(tail).is_err() {
            let mut text = String::from_utf8_lossy(head).into_owned();
            let gap = text.len();
            text.push_str(&String::from_utf8_lossy(tail));
            return (text, kept, Some(gap));
        }
        let (head, tail) = (head.len(), tail.len());
        let start = self.bytes.len() - tail;
        self.bytes.copy_within(start.., head);
        self.bytes.truncate(head + tail);
        (decoded(self.bytes), kept, Some(head))
    }
}

fn decoded(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Where the last whole character before a cut ends. What is no start of a
/// character stays: it was malformed before the cut.
fn whole_end(head: &[u8]) -> usize {
    let near = head.len().saturating_sub(3);
    let lead = (near..head.len()).rev().find(|at| !continues(head[*at]));
    match lead.map(|lead| (lead, std::str::from_utf8(&head[lead..]))) {
        // No error length: more bytes could have made it a character.
        Some((lead, Err(error))) if error.error_len().is_none() => lead,
        _ => head.len(),
    }
}

/// Where the first whole character after a cut starts. A run that is too long
/// to end a character stays: it was malformed before the cut.
fn whole_start(tail: &[u8]) -> usize {
    match tail
        .iter()
        .take(4)
        .take_while(|byte| continues(**byte))
        .count()
    {
        run @ 0..=3 => run,
        _ => 0,
    }
}

/// Whether `byte` can only stand within a character.
const fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}
