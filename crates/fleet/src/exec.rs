//! Becoming another program without leaving the process.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// What the kernel puts behind the name of a program that was replaced while it ran.
const DELETED: &[u8] = b" (deleted)";

/// The worker's binary by its name, also when another version has taken its place meanwhile.
pub fn own_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?.into_os_string().into_vec();
    let path = path.strip_suffix(DELETED).unwrap_or(&path).to_vec();
    Ok(OsString::from_vec(path).into())
}

/// Becomes the worker's binary with other arguments; returns only when that fails.
///
/// Unlike the standard library's it leaves blocked signals blocked: one that comes meanwhile stays pending.
pub fn become_worker(arguments: &[OsString]) -> io::Error {
    match try_become(arguments) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

fn try_become(arguments: &[OsString]) -> io::Result<std::convert::Infallible> {
    let program = own_program()?;
    let nul = |_| io::Error::other("an argument holds a NUL byte");
    let program = CString::new(program.as_os_str().as_bytes()).map_err(nul)?;
    let mut words = vec![program.clone()];
    for argument in arguments {
        words.push(CString::new(argument.as_bytes()).map_err(nul)?);
    }
    let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: both live until the call returns, and the list of words ends with a null.
    unsafe { libc::execv(program.as_ptr(), pointers.as_ptr()) };
    Err(io::Error::last_os_error())
}
