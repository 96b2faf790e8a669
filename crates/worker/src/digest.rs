//! Hashes, as the records show them.

use std::fs::File;
use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

/// Bytes in lower-case hexadecimal.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 over parts that cannot run into each other.
pub fn hash_parts(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hexadecimal(&hash.finalize())
}

/// Copies a file to a writer and returns its size and SHA-256.
pub fn copy_and_hash(file: &mut File, target: &mut impl Write) -> io::Result<(u64, String)> {
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0u64, vec![0u8; 1 << 17]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((bytes, hexadecimal(&hash.finalize())));
        }
        bytes += count as u64;
        hash.update(&buffer[..count]);
        target.write_all(&buffer[..count])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(hash_parts(&["ab", "c"]), hash_parts(&["a", "bc"]));
    }
}
