//! A process that says what the kernel gave it, launched in place of `run.sh` to read factors back.

use std::fs;
use std::hint::black_box;

use serde::{Deserialize, Serialize};

/// Start of the names of padding variables; one letter follows.
pub const PADDING_NAME: &str = "PAD";

const ADDR_NO_RANDOMIZE: i32 = 0x0040000;

/// What a witness sees of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// Where its stack is.
    pub stack: u64,
    /// Where the kernel maps memory for it.
    pub mapping: u64,
    /// Whether its personality turns address-space randomisation off.
    pub randomization_off: bool,
    /// Bytes of padding in the environment that the kernel delivered.
    pub padding_bytes: u64,
}

/// Observes the calling process.
pub fn observe_self() -> std::io::Result<Witness> {
    let on_stack = 0u8;
    // SAFETY: a fresh anonymous page, never touched; the query changes nothing.
    let (mapping, personality) = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, -1, 0);
        (page as u64, libc::personality(0xffff_ffff))
    };
    Ok(Witness {
        stack: std::ptr::from_ref(black_box(&on_stack)) as u64,
        mapping,
        randomization_off: personality >= 0 && personality & ADDR_NO_RANDOMIZE != 0,
        padding_bytes: padding_bytes(&fs::read("/proc/self/environ")?),
    })
}

/// Bytes of the padding variables among NUL-terminated strings, their NULs included.
fn padding_bytes(environment: &[u8]) -> u64 {
    environment
        .split_inclusive(|byte| *byte == 0)
        .filter(|string| is_padding(string))
        .map(|s| s.len() as u64)
        .sum()
}

fn is_padding(string: &[u8]) -> bool {
    matches!(string.strip_prefix(PADDING_NAME.as_bytes()), Some([letter, b'=', ..]) if letter.is_ascii_alphabetic())
}

/// Whether a variable of the package would be taken for padding.
pub fn is_padding_name(name: &str) -> bool {
    is_padding(format!("{name}=").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_padding_variables_count() {
        assert_eq!(
            padding_bytes(b"PATH=/bin\0PADa=xx\0PADDING=1\0PADb=\0PAD=1\0"),
            8 + 6
        );
    }

    #[test]
    fn two_variables_of_this_process_have_different_addresses() {
        let seen = observe_self().unwrap();
        assert!(seen.stack != 0 && seen.mapping != 0 && seen.stack != seen.mapping);
    }
}
