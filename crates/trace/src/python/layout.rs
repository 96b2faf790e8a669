//! Where the interpreter keeps what no function of it tells without allocating.
//!
//! Read from the headers of each version: `Include/cpython/pystate.h` and `Include/internal/pycore_frame.h`
//! (3.11 to 3.13), `pycore_interpframe_structs.h` (3.14 and 3.15). A minor version keeps its layout for life, since
//! extension modules are compiled against it. [`super::frames`] checks what it finds there.

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// From the thread state to the current frame: one step or, up to 3.12, two.
    pub to_frame: [Option<u64>; 2],
    /// In a frame: its code, the frame that called it, the instruction, and who owns it.
    pub code: u64,
    pub previous: u64,
    pub instruction: u64,
    pub owner: u64,
    /// Owners from this one on are no frames of the program.
    pub first_foreign_owner: u8,
    /// In a frame: which copy of the code's instructions it executes, where threads have copies of their own.
    pub copy: Option<u64>,
    /// From the thread state to the compiled code that the innermost frame executes, if any.
    pub compiled: Option<u64>,
}

const V3_11: Layout = Layout {
    to_frame: [Some(56), Some(8)],
    code: 32,
    previous: 48,
    instruction: 56,
    owner: 69,
    first_foreign_owner: 3,
    copy: None,
    compiled: None,
};
const V3_12: Layout = Layout {
    to_frame: [Some(56), Some(0)],
    code: 0,
    previous: 8,
    instruction: 56,
    owner: 70,
    first_foreign_owner: 3,
    copy: None,
    compiled: None,
};
const V3_13: Layout = Layout {
    to_frame: [Some(72), None],
    ..V3_12
};
const V3_14: Layout = Layout {
    owner: 74,
    compiled: Some(272),
    ..V3_13
};
const V3_15: Layout = Layout {
    compiled: Some(304),
    ..V3_14
};

/// The layout of a version such as `3.11.2 (main, ...)`; nothing for versions that we do not know.
pub fn find_layout(version: &[u8]) -> Option<Layout> {
    let mut parts = version.split(|byte| !byte.is_ascii_digit());
    let found = match (parts.next()?, parts.next()?) {
        (b"3", b"11") => V3_11,
        (b"3", b"12") => V3_12,
        (b"3", b"13") => V3_13,
        (b"3", b"14") => V3_14,
        (b"3", b"15") => V3_15,
        _ => return None,
    };
    let has_copies = is_free_threaded(version) && found.compiled.is_some();
    Some(if has_copies {
        with_copies(found)
    } else {
        found
    })
}

/// Without the global lock, from 3.14 on, each frame says which copy of the instructions it executes.
const fn with_copies(layout: Layout) -> Layout {
    Layout {
        owner: layout.owner + 4,
        copy: Some(72),
        ..layout
    }
}

/// Whether the interpreter runs without the global lock.
pub fn is_free_threaded(version: &[u8]) -> bool {
    version.windows(14).any(|part| part == b"free-threading")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_by_their_first_two_numbers() {
        assert_eq!(find_layout(b"3.11.2 (main, Apr 28 2025)"), Some(V3_11));
        assert_eq!(find_layout(b"3.14.0rc1+ (heads/x)"), Some(V3_14));
        assert_eq!(find_layout(b"3.1.1"), None);
        assert_eq!(find_layout(b"3.15.2 (main, Oct 26 2026)"), Some(V3_15));
        assert_eq!(find_layout(b"3.99.1"), None);
        assert_eq!(find_layout(b""), None);
    }

    #[test]
    fn a_free_threaded_build_is_recognised() {
        assert!(is_free_threaded(
            b"3.13.0 experimental free-threading build (main)"
        ));
        assert!(!is_free_threaded(b"3.13.0 (main)"));
        assert_eq!(
            find_layout(b"3.14.0 free-threading build (main)"),
            Some(with_copies(V3_14))
        );
        let free = b"3.13.0 experimental free-threading build (main)";
        assert_eq!(find_layout(free), Some(V3_13));
    }
}
