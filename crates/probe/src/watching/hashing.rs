//! Hashing what a process writes without being late for its end.

use datamill_protocol::digest::{Digest, Hasher};

/// Bytes that wait to be hashed, at most.
const MOST_WAITING_BYTES: usize = 256 * 1024;
/// Bytes that are hashed between two looks at the process: a few microseconds.
const SLICE_BYTES: usize = 8 * 1024;

/// The hash of a stream; what was read waits until there is time.
#[derive(Default)]
pub(crate) struct StreamHash {
    hasher: Hasher,
    waiting: Vec<u8>,
    /// Bytes at the start of those waiting that are hashed already.
    hashed: usize,
}

impl StreamHash {
    /// Takes what was read, to be hashed later.
    pub(crate) fn accept(&mut self, data: &[u8]) {
        if self.waiting.len() + data.len() > MOST_WAITING_BYTES {
            self.catch_up();
        }
        self.waiting.extend_from_slice(data);
    }

    /// Whether something waits.
    pub(crate) fn is_behind(&self) -> bool {
        self.hashed < self.waiting.len()
    }

    /// Whether so much waits that no more should be read.
    pub(crate) fn is_full(&self, next_bytes: usize) -> bool {
        self.is_behind() && self.waiting.len() + next_bytes > MOST_WAITING_BYTES
    }

    /// Hashes a slice of what waits.
    pub(crate) fn hash_slice(&mut self) {
        let rest = &self.waiting[self.hashed..];
        let slice = &rest[..rest.len().min(SLICE_BYTES)];
        self.hasher.update(slice);
        self.hashed += slice.len();
        if !self.is_behind() {
            self.waiting.clear();
            self.hashed = 0;
        }
    }

    /// The digest of all that was accepted.
    pub(crate) fn finish(mut self) -> Digest {
        self.catch_up();
        self.hasher.finish()
    }

    fn catch_up(&mut self) {
        while self.is_behind() {
            self.hash_slice();
        }
    }
}

#[cfg(test)]
mod tests {
    use datamill_protocol::digest::hash_bytes;

    use super::*;

    #[test]
    fn what_waits_is_hashed_once_and_in_order_however_it_comes() {
        for piece_bytes in [1000, SLICE_BYTES, 65_536, 3 * MOST_WAITING_BYTES] {
            let mut hash = StreamHash::default();
            let mut all = Vec::new();
            for number in 0..=(2 * MOST_WAITING_BYTES / piece_bytes) {
                let piece = vec![number as u8; piece_bytes];
                hash.accept(&piece);
                all.extend(piece);
                if number % 3 == 0 {
                    hash.hash_slice();
                }
            }
            assert_eq!(hash.finish(), hash_bytes(&all), "{piece_bytes}");
        }
    }

    #[test]
    fn reading_waits_only_while_there_is_something_to_hash() {
        let mut hash = StreamHash::default();
        assert!(!hash.is_full(2 * MOST_WAITING_BYTES));
        hash.accept(&[0; MOST_WAITING_BYTES]);
        assert!(hash.is_full(1));
        while hash.is_behind() {
            hash.hash_slice();
        }
        assert!(!hash.is_full(MOST_WAITING_BYTES));
    }
}
