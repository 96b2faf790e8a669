//! What each thread keeps for itself, at an offset from the thread pointer that is fixed when the program starts: the
//! compiler's own way for libraries calls a function for each access.

use std::arch::{asm, global_asm};
use std::cell::Cell;

/// A thread's own words; all zero at first.
#[repr(C)]
pub struct Own {
    /// Not zero in a request, or in work of ours.
    pub depth: Cell<u32>,
    /// Mappings in the request that is under way.
    pub maps: Cell<u32>,
    /// The page in which the kernel counts page faults: 0 before it is asked for, 1 when it was refused.
    pub ring: Cell<u64>,
    /// What a server's thread is at, where that is wanted ([`crate::native`]): when it began, the command's number in
    /// the ledger and one, bytes, page faults before, and what its allocator has done.
    pub served: Cell<u64>,
    pub length: Cell<u64>,
    pub faults: Cell<u64>,
    pub command: Cell<u32>,
    pub events: Cell<u32>,
    pub requests: Cell<u32>,
    pub refills: Cell<u32>,
    /// The interpreter's request that this thread is in: a bit for each event in it, its number in the ledger and one (0
    /// before it is written down), and whether a container may be moving to its block.
    pub call_events: Cell<u32>,
    pub call_number: Cell<u64>,
    pub is_growing: Cell<bool>,
}

global_asm!(
    ".pushsection .tbss,\"awT\",%nobits",
    ".balign 64",
    ".globl datamill_own",
    ".hidden datamill_own",
    ".type datamill_own, %object",
    ".size datamill_own, 128",
    "datamill_own:",
    ".zero 128",
    ".popsection",
);

const _: () = assert!(size_of::<Own>() <= 128);

/// This thread's own words.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn own() -> &'static Own {
    let place: *const Own;
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + datamill_own@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) place,
            options(nostack, readonly)
        );
        &*place
    }
}

/// This thread's own words.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn own() -> &'static Own {
    let place: *const Own;
    unsafe {
        asm!(
            "adrp {0}, :gottprel:datamill_own",
            "ldr {0}, [{0}, :gottprel_lo12:datamill_own]",
            "mrs {1}, tpidr_el0",
            "add {0}, {0}, {1}",
            out(reg) place,
            out(reg) _,
            options(nostack, readonly)
        );
        &*place
    }
}

impl Own {
    /// A child has one thread, and none of the mappings that are not inherited.
    pub fn start_over(&self) {
        self.ring.set(0);
        self.maps.set(0);
        self.served.set(0);
    }

    /// Do something that is not the program's: requests in it are not looked at.
    pub fn at_work<T>(&self, work: impl FnOnce() -> T) -> T {
        self.depth.set(self.depth.get() + 1);
        let done = work();
        self.depth.set(self.depth.get() - 1);
        done
    }
}
