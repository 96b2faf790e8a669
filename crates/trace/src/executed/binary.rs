//! The binary that a path stands for once the kernel has looked at it: of a script, its interpreter.
//!
//! Only calls of the kernel: this runs where neither locks nor memory may be taken.

use std::ffi::{CStr, c_char, c_int};
use std::io::{Cursor, Write};

/// Scripts whose interpreters are scripts, one after another, as far as the kernel goes.
const MOST_SCRIPTS: usize = 5;
/// Bytes of a script that the kernel looks at for its interpreter.
const HEAD: usize = 256;
const LONGEST_PATH: usize = 4096;

/// An open file, without the right to read it.
struct Descriptor(c_int);

impl Descriptor {
    /// Open a file. The C library's own functions would end a thread here that is to be cancelled, with our frames
    /// on its stack: only calls of the kernel are made.
    fn open(folder: c_int, path: *const c_char, flags: c_int) -> Option<Self> {
        let flags = flags | libc::O_CLOEXEC;
        let file = unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, 0) } as c_int;
        (file >= 0).then_some(Self(file))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// A program's file.
pub struct Binary {
    pub device: u64,
    pub inode: u64,
    file: Descriptor,
}

impl Binary {
    fn open(folder: c_int, path: *const c_char) -> Option<Self> {
        let file = Descriptor::open(folder, path, libc::O_PATH)?;
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        let is_known = unsafe { libc::fstat(file.0, &raw mut about) } == 0;
        let is_program = is_known && about.st_mode & libc::S_IFMT == libc::S_IFREG;
        (is_program && about.st_mode & 0o111 != 0).then_some(Self {
            device: about.st_dev,
            inode: about.st_ino,
            file,
        })
    }

    /// Write its absolute path, with a zero byte behind it.
    pub fn write_path(&self, place: *mut u8, room: usize) {
        let own = name_descriptor(self.file.0);
        let length = unsafe { libc::readlink(own.as_ptr().cast(), place.cast(), room - 1) };
        unsafe { *place.add(usize::try_from(length).unwrap_or(0)) = 0 };
    }

    /// Its first bytes; none where it may only be executed.
    fn read_head(&self, head: &mut [u8; HEAD]) -> usize {
        let own = name_descriptor(self.file.0);
        let opened = Descriptor::open(libc::AT_FDCWD, own.as_ptr().cast(), libc::O_RDONLY);
        let Some(file) = opened else {
            return 0;
        };
        let length = unsafe { libc::syscall(libc::SYS_read, file.0, head.as_mut_ptr(), HEAD) };
        usize::try_from(length).unwrap_or(0)
    }
}

/// The path by which this process may open a file again that it has open.
fn name_descriptor(descriptor: c_int) -> [u8; 32] {
    let mut name = [0; 32];
    let mut rest = Cursor::new(&mut name[..31]);
    let _ = write!(rest, "/proc/self/fd/{descriptor}");
    name
}

/// Find the binary that runs when the file at a path is executed; `None` if the kernel would refuse the file.
///
/// A text without an interpreter is executed by a shell alone: see [`find_shell`].
pub fn find_binary(folder: c_int, path: *const c_char) -> Option<Binary> {
    let mut found = Binary::open(folder, path)?;
    for _ in 0..MOST_SCRIPTS {
        let mut head = [0; HEAD];
        let length = found.read_head(&mut head);
        if length == 0 || head.starts_with(b"\x7fELF") {
            return Some(found);
        }
        let name = find_interpreter(&mut head[..(length + 1).min(HEAD)])?;
        found = Binary::open(libc::AT_FDCWD, name.as_ptr())?;
    }
    None
}

/// Find the binary that runs when a file that is open is executed.
pub fn find_opened(descriptor: c_int) -> Option<Binary> {
    find_binary(libc::AT_FDCWD, name_descriptor(descriptor).as_ptr().cast())
}

/// Find the shell that the C library executes for a text without an interpreter.
fn find_shell(path: *const c_char) -> Option<Binary> {
    let mut head = [0; HEAD];
    let length = Binary::open(libc::AT_FDCWD, path)?.read_head(&mut head);
    if length == 0 || head.starts_with(b"#!") {
        return None;
    }
    find_binary(libc::AT_FDCWD, c"/bin/sh".as_ptr())
}

/// Find the binary that runs when a shell would execute a word.
///
/// Apart from its callers: its path takes more of the stack than a signal's may have.
#[inline(never)]
pub fn search_binary(file: *const c_char) -> Option<Binary> {
    let name = unsafe { file.as_ref().map(|file| CStr::from_ptr(file))? }.to_bytes();
    if name.contains(&b'/') {
        return find_binary(libc::AT_FDCWD, file).or_else(|| find_shell(file));
    }
    let folders = unsafe { libc::getenv(c"PATH".as_ptr()).as_ref() };
    let folders = match folders {
        Some(folders) => unsafe { CStr::from_ptr(folders) }.to_bytes(),
        None => b"/bin:/usr/bin",
    };
    folders.split(|byte| *byte == b':').find_map(|folder| {
        let mut path = [0_u8; LONGEST_PATH];
        let length = folder.len() + 1 + name.len();
        if name.is_empty() || length >= LONGEST_PATH {
            return None;
        }
        // An empty word stands for the folder that this process is in.
        let folder = if folder.is_empty() { b"." } else { folder };
        let mut rest = Cursor::new(&mut path[..LONGEST_PATH - 1]);
        let _ = rest.write_all(folder);
        let _ = rest.write_all(b"/");
        let _ = rest.write_all(name);
        let path = path.as_ptr().cast();
        find_binary(libc::AT_FDCWD, path).or_else(|| find_shell(path))
    })
}

/// The path of the interpreter that a script's first line names.
fn find_interpreter(head: &mut [u8]) -> Option<&CStr> {
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    if !head.starts_with(b"#!") {
        return None;
    }
    let begin = 2 + head[2..].iter().position(|byte| !is_blank(byte))?;
    let ends = |byte: &u8| is_blank(byte) || *byte == b'\n' || *byte == 0;
    let end = begin + head[begin..].iter().position(ends)?;
    head[end] = 0;
    CStr::from_bytes_until_nul(&head[begin..=end])
        .ok()
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_of_a_script_is_the_first_word_of_its_line() {
        let find = |text: &str| {
            let mut head = text.as_bytes().to_vec();
            find_interpreter(&mut head).map(|name| name.to_str().unwrap_or("").to_string())
        };
        assert_eq!(find("#!/bin/sh\nexit"), Some("/bin/sh".to_string()));
        assert_eq!(
            find("#! /usr/bin/env -S python3\n"),
            Some("/usr/bin/env".to_string())
        );
        assert_eq!(find("#!/cut/off/wit"), None);
        assert_eq!(find("#!\n"), None);
        assert_eq!(find("echo"), None);
    }

    #[test]
    fn a_word_is_searched_as_a_shell_does_and_a_folder_is_no_program() {
        let shell = search_binary(c"sh".as_ptr()).expect("no shell here");
        let direct = find_binary(libc::AT_FDCWD, c"/bin/sh".as_ptr()).expect("no shell here");
        assert_eq!((shell.device, shell.inode), (direct.device, direct.inode));
        assert!(find_binary(libc::AT_FDCWD, c"/bin".as_ptr()).is_none());
        assert!(search_binary(c"no-such-program-anywhere".as_ptr()).is_none());
        assert!(search_binary(c"".as_ptr()).is_none());
    }
}
