//! Reading the command line of an archiver.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::argument::{Argument, Role, classify_linker_input};

/// An archiver call, read.
#[derive(Debug)]
pub(crate) struct ArchiverCall {
    pub arguments: Vec<Argument>,
    /// Whether it adds members.
    pub archives: bool,
    /// Whether its members may be put in another order. Not for a thin archive, which stands for a
    /// part of a later link, an MRI script, or members that are placed beside others.
    pub may_reorder: bool,
    /// The archive.
    pub archive: Option<OsString>,
}

const VALUE_OPTIONS: [&str; 7] = [
    "--plugin",
    "--target",
    "--output",
    "--record-libdeps",
    "--format",
    "--rsp-quoting",
    "-l",
];

/// Reads the command line of an archiver.
pub(crate) fn parse_archiver_call(words: Vec<OsString>) -> ArchiverCall {
    let mut letters: Vec<u8> = Vec::new();
    let mut thin = false;
    let mut query = false;
    let mut archive = None;
    let mut before_archive = None;
    let mut value_follows = false;
    let mut options_ended = false;
    let mut arguments = Vec::with_capacity(words.len());
    for text in words {
        let bytes = text.as_bytes();
        let mut role = Role::Plain;
        if value_follows {
            value_follows = false;
        } else if !options_ended && bytes == b"--" {
            options_ended = true;
        } else if !options_ended && bytes.starts_with(b"-") && bytes != b"-" {
            query |= matches!(bytes, b"--version" | b"--help" | b"-V" | b"-h");
            thin |= bytes == b"--thin";
            value_follows = VALUE_OPTIONS.iter().any(|known| text == OsStr::new(known));
            if !bytes.starts_with(b"--") {
                letters.extend(&bytes[1..]);
            }
        } else if !has_operation(&letters) {
            letters.extend(bytes);
        } else if archive.is_some() {
            role = classify_linker_input(&text);
        } else if *before_archive.get_or_insert_with(|| names_before_archive(&letters)) > 0 {
            before_archive = before_archive.map(|count| count - 1);
        } else {
            archive = Some(text.clone());
        }
        arguments.push(Argument { text, role });
    }
    let has = |letter| letters.contains(&letter);
    let adds = has(b'q') || has(b'r');
    let placed = names_before_archive(&letters) > 0;
    ArchiverCall {
        archives: adds && !query && archive.is_some(),
        may_reorder: !thin && !has(b'T') && !has(b'M') && !has(b'l') && !placed,
        arguments,
        archive,
    }
}

fn has_operation(letters: &[u8]) -> bool {
    letters.iter().any(|letter| b"dmpqrstxM".contains(letter))
}

/// `a`, `b` and `i` name a member, and `N` a count, before the archive.
fn names_before_archive(letters: &[u8]) -> usize {
    let position = letters.iter().any(|letter| b"abi".contains(letter));
    usize::from(position) + usize::from(letters.contains(&b'N'))
}
