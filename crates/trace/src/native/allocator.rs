//! Which allocator serves the program: the one that its `malloc` is bound to after ours.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::entries::NEXT_MALLOC;
use std::sync::atomic::Ordering::Relaxed;

/// An allocator whose thread caches are understood, or another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Glibc,
    Jemalloc,
    Mimalloc,
    Tcmalloc,
    Other,
}

/// The size of the block that serves a request of so many bytes; not all take flags.
pub type SizeOfBlock = unsafe extern "C" fn(usize, c_int) -> usize;

/// The program's allocator.
pub struct Allocator {
    pub kind: Kind,
    /// Its name, and its version where it tells.
    pub name: ([u8; 64], usize),
    /// Where its library was loaded, to find its thread-local words.
    pub base: u64,
    pub size_of_block: Option<SizeOfBlock>,
}

impl Allocator {
    /// The name in words.
    pub fn name(&self) -> &[u8] {
        &self.name.0[..self.name.1]
    }
}

fn find_symbol(name: &CStr) -> Option<usize> {
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found as usize)
}

/// Where the library of a function was loaded.
fn base_of(function: usize) -> u64 {
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let found = unsafe { libc::dladdr(function as *const c_void, &raw mut info) } != 0;
    if found { info.dli_fbase as u64 } else { 0 }
}

/// Find out which allocator serves the program.
pub fn find() -> Allocator {
    let base = base_of(NEXT_MALLOC.load(Relaxed));
    // A function that is in the same library as the one that serves.
    let own_symbol = |name: &CStr| find_symbol(name).filter(|found| base_of(*found) == base);
    let size_of = |name: &CStr| {
        own_symbol(name).map(|found| unsafe { std::mem::transmute::<usize, SizeOfBlock>(found) })
    };
    let mut name = ([0; 64], 0);
    let (kind, size_of_block) = if own_symbol(c"mi_version").is_some() {
        push(&mut name, b"mimalloc");
        if let Some(version) = own_symbol(c"mi_version") {
            let version: unsafe extern "C" fn() -> c_int = unsafe { std::mem::transmute(version) };
            let version = unsafe { version() } as u32;
            push_version(&mut name, &[version / 100, version / 10 % 10, version % 10]);
        }
        (Kind::Mimalloc, size_of(c"mi_good_size"))
    } else if let Some(control) = own_symbol(c"mallctl") {
        push(&mut name, b"jemalloc");
        let version = unsafe { ask_jemalloc(control) };
        if !version.is_empty() {
            push(&mut name, b" ");
            push(
                &mut name,
                version
                    .split(|byte| *byte == b'-')
                    .next()
                    .unwrap_or(version),
            );
        }
        (Kind::Jemalloc, size_of(c"nallocx"))
    } else if own_symbol(c"tc_version").is_some() {
        push(&mut name, b"tcmalloc");
        if let Some(version) = own_symbol(c"tc_version") {
            type Version =
                unsafe extern "C" fn(*mut c_int, *mut c_int, *mut *const c_char) -> *const c_char;
            let version: Version = unsafe { std::mem::transmute(version) };
            let (mut major, mut minor, mut patch) = (0, 0, std::ptr::null());
            unsafe { version(&raw mut major, &raw mut minor, &raw mut patch) };
            push_version(&mut name, &[major as u32, minor as u32]);
        }
        (Kind::Tcmalloc, size_of(c"tc_nallocx"))
    } else if own_symbol(c"gnu_get_libc_version").is_some() {
        push(&mut name, b"glibc ");
        if let Some(version) = own_symbol(c"gnu_get_libc_version") {
            let version: unsafe extern "C" fn() -> *const c_char =
                unsafe { std::mem::transmute(version) };
            push(&mut name, unsafe { CStr::from_ptr(version()) }.to_bytes());
        }
        (Kind::Glibc, Some(size_of_glibc_block as SizeOfBlock))
    } else {
        (Kind::Other, None)
    };
    Allocator {
        kind,
        name,
        base,
        size_of_block,
    }
}

/// A block has a word before it, and ends at a multiple of sixteen bytes less that word; at least 24 are usable.
extern "C" fn size_of_glibc_block(size: usize, _flags: c_int) -> usize {
    ((size + 8 + 15) & !15).max(32) - 8
}

unsafe fn ask_jemalloc(control: usize) -> &'static [u8] {
    type Control =
        unsafe extern "C" fn(*const c_char, *mut c_void, *mut usize, *const c_void, usize) -> c_int;
    let control: Control = unsafe { std::mem::transmute(control) };
    let mut version: *const c_char = std::ptr::null();
    let mut length = size_of::<*const c_char>();
    let failed = unsafe {
        control(
            c"version".as_ptr(),
            (&raw mut version).cast(),
            &raw mut length,
            std::ptr::null(),
            0,
        )
    };
    if failed != 0 || version.is_null() {
        return b"";
    }
    unsafe { CStr::from_ptr(version) }.to_bytes()
}

fn push(name: &mut ([u8; 64], usize), text: &[u8]) {
    for byte in text.iter().take(64 - name.1) {
        name.0[name.1] = *byte;
        name.1 += 1;
    }
}

fn push_version(name: &mut ([u8; 64], usize), numbers: &[u32]) {
    for (index, number) in numbers.iter().enumerate() {
        push(name, if index == 0 { b" " } else { b"." });
        if *number >= 10 {
            push(name, &[b'0' + (number / 10 % 10) as u8]);
        }
        push(name, &[b'0' + (number % 10) as u8]);
    }
}
