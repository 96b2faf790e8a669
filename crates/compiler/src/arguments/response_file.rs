//! Response files: `@file` stands for the arguments in that file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{MemfdFlags, memfd_create};

/// As many as GNU programs read before they suspect a file that names itself.
const MAX_RESPONSE_FILES: usize = 2000;

/// Whether any argument may stand for a file of arguments.
pub(crate) fn names_response_file(words: &[OsString]) -> bool {
    words.iter().any(|word| word.as_bytes().starts_with(b"@"))
}

/// Replaces each `@file` by the arguments in the file, nested ones as well.
///
/// An argument whose file cannot be read stands for itself, as GNU programs have it. Fails when
/// files name each other without end.
pub(crate) fn expand_response_files(words: Vec<OsString>) -> io::Result<Vec<OsString>> {
    let mut pending = words;
    pending.reverse();
    let mut expanded = Vec::new();
    let mut files = 0;
    while let Some(word) = pending.pop() {
        let content = word
            .as_bytes()
            .strip_prefix(b"@")
            .and_then(|file| read_response_file(OsStr::from_bytes(file)));
        let Some(content) = content else {
            expanded.push(word);
            continue;
        };
        files += 1;
        if files > MAX_RESPONSE_FILES {
            return Err(io::Error::other(format!(
                "{}: response files name each other without end",
                word.display()
            )));
        }
        pending.extend(split_arguments(&content).into_iter().rev());
    }
    Ok(expanded)
}

/// Reads a regular file; a pipe could not be read again by the program that it is meant for.
fn read_response_file(path: &OsStr) -> Option<Vec<u8>> {
    fs::metadata(path)
        .ok()?
        .is_file()
        .then(|| fs::read(path).ok())?
}

/// Splits by the GNU rules: white space separates, quotes of both kinds group, a backslash escapes.
fn split_arguments(content: &[u8]) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = content.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => current.get_or_insert_default().extend(bytes.next()),
            (_, Some(open)) if byte == open => quote = None,
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                current.get_or_insert_default();
            }
            (b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c', None) => {
                arguments.extend(current.take().map(OsString::from_vec));
            }
            _ => current.get_or_insert_default().push(byte),
        }
    }
    arguments.extend(current.map(OsString::from_vec));
    arguments
}

/// Joins arguments so that [`split_arguments`] gives them back.
fn join_arguments(words: &[OsString]) -> Vec<u8> {
    let mut content = Vec::new();
    for word in words {
        if word.is_empty() {
            content.extend(b"\"\"");
        }
        for byte in word.as_bytes() {
            if byte.is_ascii_whitespace() || b"\x0b\\'\"".contains(byte) {
                content.push(b'\\');
            }
            content.push(*byte);
        }
        content.push(b'\n');
    }
    content
}

/// Writes the arguments to a response file and returns the `@file` that stands for them.
///
/// The file is in memory and is inherited by the program that this process becomes, so that nothing
/// is left behind.
pub(crate) fn write_response_file(words: &[OsString]) -> io::Result<OsString> {
    let mut file = File::from(memfd_create("datamill-arguments", MemfdFlags::empty())?);
    file.write_all(&join_arguments(words))?;
    Ok(OsString::from(format!(
        "@/proc/self/fd/{}",
        file.into_raw_fd()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(content: &str) -> Vec<OsString> {
        split_arguments(content.as_bytes())
    }

    fn words(list: &[&str]) -> Vec<OsString> {
        list.iter().map(OsString::from).collect()
    }

    #[test]
    fn white_space_separates_and_quotes_group() {
        assert_eq!(
            split(" -c  'a b.c'\n\"c d.c\"\t-O2\r\n"),
            words(&["-c", "a b.c", "c d.c", "-O2"])
        );
        assert_eq!(split("-DX=\"a b\"'c'd"), words(&["-DX=a bcd"]));
    }

    #[test]
    fn a_backslash_escapes_inside_and_outside_quotes() {
        assert_eq!(
            split(r#"a\ b "c\"d" '\'' \\"#),
            words(&["a b", "c\"d", "'", "\\"])
        );
    }

    #[test]
    fn empty_quotes_are_an_empty_argument() {
        assert_eq!(split("'' \"\""), words(&["", ""]));
        assert!(split(" \n").is_empty());
    }

    #[test]
    fn joined_arguments_split_into_themselves() {
        let original = words(&[
            "",
            "-DX=\"a b\"",
            "it's",
            "back\\slash",
            "line\nbreak",
            "-c",
            "a\tb",
        ]);
        assert_eq!(split_arguments(&join_arguments(&original)), original);
    }

    #[test]
    fn an_argument_whose_file_is_missing_stands_for_itself() {
        let original = words(&["@/nonexistent/file", "@", "a.c"]);
        assert_eq!(expand_response_files(original.clone()).unwrap(), original);
    }
}
