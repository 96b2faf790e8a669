//! A digest of 128 bits that is the same on every machine and in every release.

/// MurmurHash3 (x64, 128 bits, seed 0) of `bytes`, as 32 hexadecimal digits, first half first.
///
/// Not against forgers: it tells code that differs by accident apart.
/// Source: A. Appleby, SMHasher, `MurmurHash3_x64_128`.
pub fn digest(bytes: &[u8]) -> String {
    spell(mix(bytes)).map(char::from).iter().collect()
}

/// The two words of a digest as 32 hexadecimal digits.
pub(crate) fn spell((first, second): (u64, u64)) -> [u8; 32] {
    let mut digits = [0; 32];
    for (half, word) in digits.chunks_exact_mut(16).zip([first, second]) {
        for (pair, byte) in half.chunks_exact_mut(2).zip(word.to_be_bytes()) {
            pair.copy_from_slice(&PAIRS[usize::from(byte)]);
        }
    }
    digits
}

/// The digits of each byte.
static PAIRS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [digits[byte >> 4], digits[byte & 0xf]];
        byte += 1;
    }
    pairs
};

/// The same digest as two words.
pub(crate) fn mix(bytes: &[u8]) -> (u64, u64) {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let (mut h1, mut h2) = (0u64, 0u64);
    let mut blocks = bytes.chunks_exact(16);
    for block in &mut blocks {
        let (first, second) = block.split_at(8);
        let k1 = u64::from_le_bytes(first.try_into().unwrap_or_default());
        let k2 = u64::from_le_bytes(second.try_into().unwrap_or_default());
        h1 ^= k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
        h1 = h1
            .rotate_left(27)
            .wrapping_add(h2)
            .wrapping_mul(5)
            .wrapping_add(0x52dc_e729);
        h2 ^= k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
        h2 = h2
            .rotate_left(31)
            .wrapping_add(h1)
            .wrapping_mul(5)
            .wrapping_add(0x3849_5ab5);
    }
    let tail = blocks.remainder();
    if tail.len() > 8 {
        h2 ^= word(&tail[8..])
            .wrapping_mul(C2)
            .rotate_left(33)
            .wrapping_mul(C1);
    }
    if !tail.is_empty() {
        h1 ^= word(&tail[..tail.len().min(8)])
            .wrapping_mul(C1)
            .rotate_left(31)
            .wrapping_mul(C2);
    }
    let length = bytes.len() as u64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2)
}

/// Up to eight bytes as a little-endian word.
fn word(bytes: &[u8]) -> u64 {
    let mut whole = [0u8; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole)
}

fn finish(mut value: u64) -> u64 {
    value ^= value >> 33;
    value = value.wrapping_mul(0xff51_afd7_ed55_8ccd);
    value ^= value >> 33;
    value = value.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn digests_are_those_of_the_published_function() {
        assert_eq!(digest(b""), "00000000000000000000000000000000");
        assert_eq!(digest(b"hello"), "cbd8a7b341bd9b025b1e906a48ae1d19");
        assert_eq!(
            digest(b"The quick brown fox jumps over the lazy dog"),
            "e34bbc7bbc071b6c7a433ca9c49a9347"
        );
    }
}
