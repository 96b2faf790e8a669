//! Whether memory can be read, asked of the kernel: a word on a stack that looks like a pointer may be none.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::spin::PARALLEL;

const PAGE: u64 = 4096;

/// Pages that are readable now, for a scan that asks often: soon they may be none.
pub struct Pages {
    seen: [Cell<u64>; 64],
    /// Addresses from here to there can be read in any case.
    known: (u64, u64),
}

impl Pages {
    /// None is known.
    pub fn new() -> Self {
        Self::beside(0, 0)
    }

    /// None but those from an address to another.
    pub fn beside(first: u64, last: u64) -> Self {
        Self {
            seen: [const { Cell::new(u64::MAX) }; 64],
            known: (first, last),
        }
    }

    /// The word at an address, or nothing where it cannot be read.
    #[inline(always)]
    pub fn read_word(&self, address: u64) -> Option<u64> {
        let page = address / PAGE;
        let is_known = self.seen[(page % 64) as usize].get() == page
            || (self.known.0 <= address && address < self.known.1);
        if is_known && address.is_multiple_of(8) {
            return Some(unsafe { std::ptr::read_volatile(address as *const u64) });
        }
        self.read_in_new_page(address)
    }

    #[inline(never)]
    fn read_in_new_page(&self, address: u64) -> Option<u64> {
        if PARALLEL.load(Ordering::Relaxed) {
            // No page is kept: another thread may give it back in this moment.
            return read_word(address);
        }
        if !can_read(address) {
            return None;
        }
        let page = address / PAGE;
        self.seen[(page % 64) as usize].set(page);
        Some(unsafe { std::ptr::read_volatile(address as *const u64) })
    }
}

/// Whether the word at an address can be read.
///
/// `rt_sigprocmask` copies the mask before it looks at what to do with it, so that a call that cannot succeed
/// fails with EFAULT exactly where memory is unreadable. It needs no rights and is never filtered.
pub fn can_read(address: u64) -> bool {
    if !is_address(address) {
        return false;
    }
    let no_such_action = -1_i64;
    // Keeps errno, which the allocator's caller may be about to read.
    let errno = unsafe { *libc::__errno_location() };
    let failed = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            no_such_action,
            address,
            std::ptr::null::<u64>(),
            8_usize,
        ) == -1
            && *libc::__errno_location() == libc::EFAULT
    };
    unsafe { *libc::__errno_location() = errno };
    !failed
}

fn is_address(address: u64) -> bool {
    (PAGE..1 << 47).contains(&address) && address.is_multiple_of(8)
}

/// Whether the kernel refuses to copy from our own memory: it was built without that, or a filter forbids it.
static CANNOT_COPY: AtomicBool = AtomicBool::new(false);

/// The word at an address as the kernel copies it: nothing where there is no such memory, even where another thread gives
/// it back in this moment. An error where the kernel does not copy.
fn copy_word(address: u64) -> Result<Option<u64>, ()> {
    if CANNOT_COPY.load(Ordering::Relaxed) {
        return Err(());
    }
    let mut word = 0_u64;
    let vector = |base: u64| libc::iovec {
        iov_base: base as *mut libc::c_void,
        iov_len: size_of::<u64>(),
    };
    let (here, there) = (vector(&raw mut word as u64), vector(address));
    let errno = unsafe { *libc::__errno_location() };
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    let failed = unsafe { std::mem::replace(&mut *libc::__errno_location(), errno) };
    match copied {
        8 => Ok(Some(word)),
        -1 if failed != libc::EFAULT => {
            CANNOT_COPY.store(true, Ordering::Relaxed);
            Err(())
        }
        _ => Ok(None),
    }
}

/// The word at an address, or nothing where it cannot be read.
pub fn read_word(address: u64) -> Option<u64> {
    if !is_address(address) {
        return None;
    }
    if PARALLEL.load(Ordering::Relaxed)
        && let Ok(found) = copy_word(address)
    {
        return found;
    }
    can_read(address).then(|| unsafe { std::ptr::read_volatile(address as *const u64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_can_be_read_and_what_is_not_cannot() {
        let word = 17_u64;
        assert_eq!(read_word(&raw const word as u64), Some(17));
        assert_eq!(read_word(8), None);
        assert_eq!(read_word(0x7fff_0000_0008_u64 | 1), None);
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        } as u64;
        assert_eq!(read_word(page), None);
        unsafe { libc::mprotect(page as *mut _, 4096, libc::PROT_READ) };
        assert_eq!(Pages::new().read_word(page), Some(0));
        unsafe { libc::munmap(page as *mut _, 4096) };
        assert_eq!(Pages::new().read_word(page), None);
    }

    #[test]
    fn memory_that_another_thread_hides_and_shows_is_read_or_not_there() {
        let page = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, -1, 0)
        } as u64;
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    // Given back, the address could become another test's memory.
                    for rights in [libc::PROT_NONE, libc::PROT_READ] {
                        unsafe { libc::mprotect(page as *mut _, 4096, rights) };
                    }
                }
            });
            let (mut there, mut gone) = (0, 0);
            // Threads that share a processor change over a few hundred times meanwhile.
            while there + gone < 200_000 || there.min(gone) == 0 {
                match Pages::new().read_word(page) {
                    Some(word) => {
                        assert_eq!(word, 0);
                        there += 1;
                    }
                    None => gone += 1,
                }
            }
            is_done.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn errno_is_as_before() {
        unsafe { *libc::__errno_location() = 42 };
        assert!(!can_read(4096));
        assert_eq!(read_word(4096), None);
        assert_eq!(unsafe { *libc::__errno_location() }, 42);
    }
}
