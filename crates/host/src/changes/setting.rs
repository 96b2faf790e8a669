//! Texts in files of the kernel, below `/proc` or `/sys`.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::change::Change;
use super::fault::fault_point;

/// What a setting is at: where a file lists choices, as in `always [madvise] never`, the marked one.
pub fn read_setting(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(chosen(&text).to_owned())
}

/// The change that brings a setting to a text, or none when it is there already; the error says why
/// this process cannot change it.
pub fn plan_setting(path: &Path, text: &str) -> Result<Option<Change>, String> {
    let before = read_setting(path)?;
    if before == text {
        return Ok(None);
    }
    check_writable(path)?;
    Ok(Some(Change::Setting {
        path: path.to_owned(),
        before,
        after: text.to_owned(),
    }))
}

/// Whether this process may write a file of the kernel; the error says why not.
pub fn check_writable(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| format!("{shown}: a path holds a NUL byte"))?;
    // SAFETY: a NUL-terminated path.
    if unsafe { libc::access(name.as_ptr(), libc::W_OK) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    // SAFETY: no pointers involved.
    let is_root = unsafe { libc::geteuid() } == 0;
    Err(match error.raw_os_error() {
        Some(libc::EROFS) => format!("{shown} is on a file system that is read-only here"),
        Some(libc::EACCES | libc::EPERM) if is_root => {
            format!("{shown} may not be written, not even by root, as in a container")
        }
        Some(libc::EACCES | libc::EPERM) => format!("needs root to write {shown}"),
        _ => format!("{shown}: {error}"),
    })
}

/// Writes a setting in one call, as the kernel wants it.
pub(crate) fn write_setting(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    fault_point();
    file.write_all(text.as_bytes())?;
    fault_point();
    Ok(())
}

fn chosen(text: &str) -> &str {
    let text = text.trim();
    let mut marked = text
        .split_ascii_whitespace()
        .filter_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match (marked.next(), marked.next()) {
        (Some(only), None) => only,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_listed_choices_the_marked_one_is_read() {
        assert_eq!(chosen("always [madvise] never\n"), "madvise");
        assert_eq!(chosen("1\n"), "1");
        assert_eq!(chosen("[a] [b]"), "[a] [b]");
        assert_eq!(chosen("0-3"), "0-3");
    }
}
