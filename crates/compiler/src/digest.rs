//! Digests of what a build linked.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256 of a file's content.
pub(crate) fn digest_file(path: &Path) -> io::Result<[u8; 32]> {
    let explain = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    let mut hash = Sha256::new();
    let mut file = File::open(path).map_err(explain)?;
    let mut buffer = vec![0; 1 << 17];
    loop {
        match file.read(&mut buffer).map_err(explain)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// One digest of several in lower-case hexadecimal, whatever their order: where a build has its place must
/// not tell it from another. `None` of none.
pub(crate) fn digest_all(mut digests: Vec<[u8; 32]>) -> Option<String> {
    if digests.is_empty() {
        return None;
    }
    digests.sort_unstable();
    let mut hash = Sha256::new();
    for digest in digests {
        hash.update(digest);
    }
    let text = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_executables_makes_no_difference_and_their_number_does() {
        let (one, other) = ([1; 32], [2; 32]);
        assert_eq!(digest_all(vec![one, other]), digest_all(vec![other, one]));
        assert_ne!(digest_all(vec![one]), digest_all(vec![one, one]));
        assert_eq!(digest_all(Vec::new()), None);
    }
}
