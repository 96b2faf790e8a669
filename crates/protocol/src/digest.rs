//! SHA-256, by which the contract names files, packages and builds: in lower-case hexadecimal.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 1 << 17;

/// A SHA-256; shown in lower-case hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Its 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// Hashes what comes in pieces.
#[derive(Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Takes the next piece.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// The digest of all pieces.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// Whether a text is a SHA-256 in lower-case hexadecimal.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Digest of bytes.
pub fn hash_bytes(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Digest of parts that cannot run into each other.
pub fn hash_parts(parts: &[&str]) -> Digest {
    let mut hash = Hasher::default();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finish()
}

/// Size in bytes and digest of a file.
pub fn hash_file(path: &Path) -> io::Result<(u64, Digest)> {
    copy_and_hash(&mut File::open(path)?, &mut io::sink())
}

/// Copies what can be read to a writer and returns its size in bytes and its digest.
pub fn copy_and_hash(from: &mut impl Read, to: &mut impl Write) -> io::Result<(u64, Digest)> {
    let (mut hash, mut bytes, mut buffer) = (Hasher::default(), 0u64, vec![0u8; CHUNK_BYTES]);
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok((bytes, hash.finish()));
        }
        bytes += count as u64;
        hash.update(&buffer[..count]);
        to.write_all(&buffer[..count])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(hash_parts(&["ab", "c"]), hash_parts(&["a", "bc"]));
    }

    #[test]
    fn a_copy_has_the_digest_of_its_original() {
        // FIPS 180-2, appendix B.1.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let mut copy = Vec::new();
        let (bytes, digest) = copy_and_hash(&mut &b"abc"[..], &mut copy).unwrap();
        assert_eq!((bytes, copy.as_slice()), (3, &b"abc"[..]));
        assert_eq!(digest.to_string(), known);
        assert_eq!(hash_bytes(b"abc"), digest);
        assert!(is_digest(known) && !is_digest(&known.to_uppercase()));
    }
}
