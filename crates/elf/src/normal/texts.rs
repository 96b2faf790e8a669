//! What nameless constants hold.

use std::ffi::CStr;

/// The text at the beginning of `bytes` up to its zero, if it is one of at most 4096 bytes.
pub(super) fn text_in(bytes: &[u8]) -> Option<&[u8]> {
    let text = CStr::from_bytes_until_nul(&bytes[..bytes.len().min(4097)]).ok()?;
    let text = text.to_bytes();
    text.iter()
        .all(|byte| *byte >= 0x20 && *byte != 0x7f || b"\t\n\r\x1b\x07\x08\x0b\x0c".contains(byte))
        .then_some(text)
}

/// Whether a text names a source file, as `__FILE__` does.
pub(super) fn names_source(text: &[u8]) -> bool {
    const ENDS: [&[u8]; 16] = [
        b".c", b".h", b".cc", b".hh", b".cpp", b".hpp", b".cxx", b".hxx", b".C", b".inc", b".y",
        b".l", b".ipp", b".tcc", b".rs", b".S",
    ];
    text.len() > 2
        && !text.contains(&b' ')
        && !text.contains(&b'%')
        && ENDS.iter().any(|end| text.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::{names_source, text_in};

    #[test]
    fn texts_end_at_their_zero_and_hold_no_control_characters() {
        assert_eq!(text_in(b"usage: %s\n\0rest"), Some(&b"usage: %s\n"[..]));
        assert_eq!(text_in(b"\x01\x02\0"), None);
        assert_eq!(text_in(b"no end"), None);
    }

    #[test]
    fn source_files_are_told_from_other_texts() {
        assert!(names_source(b"src/walk.c"));
        assert!(!names_source(b"see walk.c"));
        assert!(!names_source(b".c"));
    }
}
