//! What nameless constants hold.

/// The text at the beginning of `bytes` up to its zero, if it is one of at most 4096 bytes.
pub(super) fn text_in(bytes: &[u8]) -> Option<&[u8]> {
    let bytes = &bytes[..bytes.len().min(4097)];
    let mut end = 0;
    while let Some(eight) = bytes[end..].first_chunk() {
        match first_control(eight) {
            None => end += 8,
            Some(place) if IS_TEXT[usize::from(eight[place])] => end += place + 1,
            Some(place) => {
                end += place;
                return (bytes[end] == 0).then_some(&bytes[..end]);
            }
        }
    }
    let mut rest = bytes[end..].iter();
    end += rest.position(|byte| !IS_TEXT[usize::from(*byte)])?;
    (bytes[end] == 0).then_some(&bytes[..end])
}

/// The first control character among eight bytes.
///
/// Source: S. E. Anderson, Bit Twiddling Hacks, "Determine if a word has a byte less than n". A borrow may mark bytes behind
/// the first such byte, but none before it.
fn first_control(eight: &[u8; 8]) -> Option<usize> {
    const EACH: u64 = u64::MAX / 255;
    let word = u64::from_le_bytes(*eight);
    let less = |word: u64, limit: u64| word.wrapping_sub(EACH * limit) & !word & (EACH << 7);
    let marks = less(word, 0x20) | less(word ^ (EACH * 0x7f), 1);
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
}

/// Which bytes texts may hold.
const IS_TEXT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0x07;
    while byte < 256 {
        table[byte] = byte >= 0x20 && byte != 0x7f || matches!(byte, 0x07..=0x0d | 0x1b);
        byte += 1;
    }
    table
};

/// Whether a text of so many bytes may be the first number of a table: small ones have zeros in their upper bytes.
pub(super) fn may_be_numbers(bytes: &[u8], length: usize) -> bool {
    match length {
        // Mostly another text follows the empty one.
        0 => bytes.get(1).is_none_or(|next| !IS_TEXT[usize::from(*next)]),
        1 | 2 => bytes[length..]
            .iter()
            .take(4 - length)
            .all(|byte| *byte == 0),
        _ => false,
    }
}

/// Whether a text names a source file, as `__FILE__` does.
pub(super) fn names_source(text: &[u8]) -> bool {
    const ENDS: [&[u8]; 16] = [
        b".c", b".h", b".cc", b".hh", b".cpp", b".hpp", b".cxx", b".hxx", b".C", b".inc", b".y",
        b".l", b".ipp", b".tcc", b".rs", b".S",
    ];
    // Most texts have no end of a name: the longest are four bytes.
    text.len() > 2
        && text[text.len().saturating_sub(4)..].contains(&b'.')
        && !text.contains(&b' ')
        && !text.contains(&b'%')
        && ENDS.iter().any(|end| text.ends_with(end))
}

/// The name of a source file without the folder of the machine that a whole path begins with.
pub(super) fn without_folder(text: &[u8]) -> &[u8] {
    let start = match text.first() {
        Some(b'/') => text
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |last| last + 1),
        _ => 0,
    };
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::{may_be_numbers, names_source, text_in, without_folder};

    #[test]
    fn texts_end_at_their_zero_and_hold_no_control_characters() {
        assert_eq!(text_in(b"usage: %s\n\0rest"), Some(&b"usage: %s\n"[..]));
        assert_eq!(text_in(b"\x01\x02\0"), None);
        assert_eq!(text_in(b"no end"), None);
        for byte in 1..=u8::MAX {
            let text = [&b"0123456789"[..], &[byte], b"0123456789\0rest"].concat();
            let is_text =
                byte >= 0x20 && byte != 0x7f || b"\t\n\r\x1b\x07\x08\x0b\x0c".contains(&byte);
            assert_eq!(text_in(&text), is_text.then_some(&text[..21]), "{byte:#x}");
        }
        for length in 0..40 {
            let text = [&b"a\tb\n\n\xc3\xa4\xff".repeat(5)[..length], b"\0\x01"].concat();
            assert_eq!(text_in(&text), Some(&text[..length]));
            assert_eq!(text_in(&text[..length]), None);
            assert_eq!(text_in(&[&text[..length], b"\x01\0"].concat()), None);
        }
    }

    #[test]
    fn source_files_are_told_from_other_texts() {
        assert!(names_source(b"src/walk.c"));
        assert!(!names_source(b"see walk.c"));
        assert!(!names_source(b".c"));
    }

    #[test]
    fn numbers_are_told_from_short_texts() {
        for numbers in [
            &[0, 0, 0, 0, 1, 0, 0, 0][..],
            &[65, 0, 0, 0, 9],
            &[0, 1, 2, 3],
        ] {
            let length = text_in(numbers).expect("seems a text").len();
            assert!(may_be_numbers(numbers, length), "{numbers:?}");
        }
        for text in [&b"\0next"[..], b"A\0next", b"%d\n\0next"] {
            let length = text_in(text).expect("a text").len();
            assert!(!may_be_numbers(text, length), "{text:?}");
        }
    }

    #[test]
    fn a_whole_path_is_the_same_file_in_another_folder() {
        assert_eq!(without_folder(b"/home/a/walk.c"), b"walk.c");
        assert_eq!(without_folder(b"src/walk.c"), b"src/walk.c");
    }
}
