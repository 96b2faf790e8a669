//! One digest of what a build linked.

use datamill_protocol::digest::{Digest, Hasher};

/// One digest of several in lower-case hexadecimal, whatever their order: where a build has its place must
/// not tell it from another. `None` of none.
pub(crate) fn digest_all(mut digests: Vec<Digest>) -> Option<String> {
    if digests.is_empty() {
        return None;
    }
    digests.sort_unstable();
    let mut hash = Hasher::default();
    for digest in digests {
        hash.update(digest.bytes());
    }
    Some(hash.finish().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use datamill_protocol::digest::hash_bytes;

    #[test]
    fn the_order_of_executables_makes_no_difference_and_their_number_does() {
        let (one, other) = (hash_bytes(b"1"), hash_bytes(b"2"));
        assert_eq!(digest_all(vec![one, other]), digest_all(vec![other, one]));
        assert_ne!(digest_all(vec![one]), digest_all(vec![one, one]));
        assert_eq!(digest_all(Vec::new()), None);
    }
}
