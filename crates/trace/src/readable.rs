//! Whether memory can be read, asked of the kernel: a word on a stack that looks like a pointer may be none.

use std::cell::Cell;

const PAGE: u64 = 4096;

/// Pages that are readable now, for a scan that asks often: soon they may be none.
pub struct Pages([Cell<u64>; 64]);

impl Pages {
    /// None is known.
    pub fn new() -> Self {
        Self([const { Cell::new(u64::MAX) }; 64])
    }

    /// The word at an address, or nothing where it cannot be read.
    pub fn read_word(&self, address: u64) -> Option<u64> {
        let page = address / PAGE;
        let slot = &self.0[(page % 64) as usize];
        if slot.get() != page || !address.is_multiple_of(8) {
            if !can_read(address) {
                return None;
            }
            slot.set(page);
        }
        Some(unsafe { std::ptr::read_volatile(address as *const u64) })
    }
}

/// Whether the word at an address can be read.
///
/// `rt_sigprocmask` copies the mask before it looks at what to do with it, so that a call that cannot succeed
/// fails with EFAULT exactly where memory is unreadable. It needs no rights and is never filtered.
pub fn can_read(address: u64) -> bool {
    if !(PAGE..1 << 47).contains(&address) || !address.is_multiple_of(8) {
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

/// The word at an address, or nothing where it cannot be read.
pub fn read_word(address: u64) -> Option<u64> {
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
    fn errno_is_as_before() {
        unsafe { *libc::__errno_location() = 42 };
        assert!(!can_read(4096));
        assert_eq!(unsafe { *libc::__errno_location() }, 42);
    }
}
