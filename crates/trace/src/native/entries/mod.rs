//! The functions that programs ask for memory with, exported in front of the allocator's own.
//!
//! Each goes on to where its [`Target`] says: to the allocator's own function while nothing is counted, which costs one
//! jump, else to a function that looks at the request. `free` is not among them: what it does is seen in the next request.

mod operators;
pub mod served;

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::native::request::{Request, Way, look_at};
use crate::native::{heap, place};
use crate::own::own;

type Block = *mut c_void;
pub type Malloc = unsafe extern "C" fn(usize) -> Block;
pub type Calloc = unsafe extern "C" fn(usize, usize) -> Block;
pub type Realloc = unsafe extern "C" fn(Block, usize) -> Block;
pub type Align = unsafe extern "C" fn(usize, usize) -> Block;
type PosixAlign = unsafe extern "C" fn(*mut Block, usize, usize) -> c_int;
type Map = unsafe extern "C" fn(Block, usize, c_int, c_int, c_int, i64) -> Block;
type Remap = unsafe extern "C" fn(Block, usize, usize, c_int, Block) -> Block;
type MoveEnd = unsafe extern "C" fn(isize) -> Block;
type SetEnd = unsafe extern "C" fn(Block) -> c_int;
type CloseLibrary = unsafe extern "C" fn(Block) -> c_int;

/// Where an exported function goes on.
pub struct Target(pub AtomicUsize);

macro_rules! targets {
    ($($name:ident: $next:ident;)*) => { $(
        pub static $name: Target = Target(AtomicUsize::new(0));
        pub static $next: AtomicUsize = AtomicUsize::new(0);
    )* };
}

targets! {
    MALLOC: NEXT_MALLOC;
    CALLOC: NEXT_CALLOC;
    REALLOC: NEXT_REALLOC;
    MEMALIGN: NEXT_MEMALIGN;
    ALIGNED: NEXT_ALIGNED;
    POSIX_ALIGNED: NEXT_POSIX_ALIGNED;
    MMAP: NEXT_MMAP;
    MREMAP: NEXT_MREMAP;
    SBRK: NEXT_SBRK;
    BRK: NEXT_BRK;
    DLCLOSE: NEXT_DLCLOSE;
}
static NEXT_FREE: AtomicUsize = AtomicUsize::new(0);
static NEXT_USABLE_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Exported functions: each puts its return address behind its arguments, for whom it goes on to.
macro_rules! exports {
    ($($name:ident => $target:path, $x86:literal, $arm:literal;)*) => { $(
        /// Goes on to where its target says.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $x86, ", qword ptr [rsp]"),
                "cmp qword ptr [rip + {target}], 0",
                "je 2f",
                "jmp qword ptr [rip + {target}]",
                "2:",
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "sub rsp, 8",
                "call {resolve}",
                "add rsp, 8", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp qword ptr [rip + {target}]",
                target = sym $target,
                resolve = sym $crate::native::entries::resolve,
            )
        }

        /// Goes on to where its target says.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $arm, ", x30"),
                "adrp x16, {target}",
                "ldr x16, [x16, :lo12:{target}]",
                "cbnz x16, 2f",
                "stp x29, x30, [sp, #-80]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]", "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]", "stp x6, x7, [sp, #64]",
                "bl {resolve}",
                "ldp x0, x1, [sp, #16]", "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]", "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "adrp x16, {target}",
                "ldr x16, [x16, :lo12:{target}]",
                "2:",
                "br x16",
                target = sym $target,
                resolve = sym $crate::native::entries::resolve,
            )
        }
    )* };
}
pub(super) use exports;

exports! {
    malloc => MALLOC, "rsi", "x1";
    calloc => CALLOC, "rdx", "x2";
    realloc => REALLOC, "rdx", "x2";
    memalign => MEMALIGN, "rdx", "x2";
    aligned_alloc => ALIGNED, "rdx", "x2";
    posix_memalign => POSIX_ALIGNED, "rcx", "x3";
    // Their arguments fill the registers before; what is put into these is not looked at.
    mmap => MMAP, "rax", "x9";
    mmap64 => MMAP, "rax", "x9";
    mremap => MREMAP, "rax", "x9";
    sbrk => SBRK, "rax", "x9";
    brk => BRK, "rax", "x9";
    dlclose => DLCLOSE, "rax", "x9";
}

fn find_next(name: &CStr) -> usize {
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize }
}

/// Find the functions behind ours. May be called before the dynamic linker has begun to start libraries.
pub extern "C" fn resolve() {
    // Those first that the search for others may call.
    let first: [(&Target, &AtomicUsize, &CStr); 3] = [
        (&MALLOC, &NEXT_MALLOC, c"malloc"),
        (&CALLOC, &NEXT_CALLOC, c"calloc"),
        (&REALLOC, &NEXT_REALLOC, c"realloc"),
    ];
    let others: [(&Target, &AtomicUsize, &CStr); 8] = [
        (&MEMALIGN, &NEXT_MEMALIGN, c"memalign"),
        (&ALIGNED, &NEXT_ALIGNED, c"aligned_alloc"),
        (&POSIX_ALIGNED, &NEXT_POSIX_ALIGNED, c"posix_memalign"),
        (&MMAP, &NEXT_MMAP, c"mmap"),
        (&MREMAP, &NEXT_MREMAP, c"mremap"),
        (&SBRK, &NEXT_SBRK, c"sbrk"),
        (&BRK, &NEXT_BRK, c"brk"),
        (&DLCLOSE, &NEXT_DLCLOSE, c"dlclose"),
    ];
    for (target, next, name) in first.into_iter().chain(others) {
        if target.0.load(Relaxed) == 0 {
            let found = find_next(name);
            next.store(found, Relaxed);
            target.0.store(found, Relaxed);
        }
    }
    NEXT_FREE.store(find_next(c"free"), Relaxed);
    NEXT_USABLE_SIZE.store(find_next(c"malloc_usable_size"), Relaxed);
    operators::resolve();
    served::resolve();
}

/// Have requests looked at, or no longer.
pub fn set(counts: bool) {
    let targets: [(&Target, &AtomicUsize, usize); 11] = [
        (&MALLOC, &NEXT_MALLOC, look_at_malloc as *const () as usize),
        (&CALLOC, &NEXT_CALLOC, look_at_calloc as *const () as usize),
        (
            &REALLOC,
            &NEXT_REALLOC,
            look_at_realloc as *const () as usize,
        ),
        (
            &MEMALIGN,
            &NEXT_MEMALIGN,
            look_at_memalign as *const () as usize,
        ),
        (
            &ALIGNED,
            &NEXT_ALIGNED,
            look_at_aligned as *const () as usize,
        ),
        (
            &POSIX_ALIGNED,
            &NEXT_POSIX_ALIGNED,
            look_at_posix as *const () as usize,
        ),
        (&MMAP, &NEXT_MMAP, look_at_mmap as *const () as usize),
        (&MREMAP, &NEXT_MREMAP, look_at_mremap as *const () as usize),
        (&SBRK, &NEXT_SBRK, look_at_sbrk as *const () as usize),
        (&BRK, &NEXT_BRK, look_at_brk as *const () as usize),
        (
            &DLCLOSE,
            &NEXT_DLCLOSE,
            look_at_dlclose as *const () as usize,
        ),
    ];
    for (target, next, hook) in targets {
        let next = next.load(Relaxed);
        if next != 0 {
            target.0.store(if counts { hook } else { next }, Relaxed);
        }
    }
    operators::set(counts);
}

macro_rules! next {
    ($next:ident as $kind:ty) => {
        std::mem::transmute::<usize, $kind>($next.load(Relaxed))
    };
}

/// The allocator's own functions.
pub unsafe fn next_malloc(size: usize) -> Block {
    unsafe { next!(NEXT_MALLOC as Malloc)(size) }
}

pub unsafe fn next_calloc(count: usize, size: usize) -> Block {
    unsafe { next!(NEXT_CALLOC as Calloc)(count, size) }
}

pub unsafe fn next_aligned(alignment: usize, size: usize) -> Block {
    unsafe { next!(NEXT_ALIGNED as Align)(alignment, size) }
}

pub unsafe fn next_free(block: Block) {
    unsafe { next!(NEXT_FREE as unsafe extern "C" fn(Block))(block) }
}

/// Bytes that a block has room for; 0 where the allocator does not say.
pub fn usable_size(block: Block) -> u64 {
    if NEXT_USABLE_SIZE.load(Relaxed) == 0 {
        return 0;
    }
    unsafe { next!(NEXT_USABLE_SIZE as unsafe extern "C" fn(Block) -> usize)(block) as u64 }
}

unsafe extern "C" fn look_at_malloc(size: usize, address: u64) -> Block {
    let old = std::ptr::null_mut();
    let way = Way::Malloc;
    look_at(
        &Request {
            way,
            size,
            old,
            address,
        },
        || unsafe { next_malloc(size) },
    )
}

unsafe extern "C" fn look_at_calloc(count: usize, size: usize, address: u64) -> Block {
    let request = Request {
        way: Way::Calloc,
        size: count.wrapping_mul(size),
        old: std::ptr::null_mut(),
        address,
    };
    look_at(&request, || unsafe { next_calloc(count, size) })
}

unsafe extern "C" fn look_at_realloc(old: Block, size: usize, address: u64) -> Block {
    let way = Way::Realloc;
    look_at(
        &Request {
            way,
            size,
            old,
            address,
        },
        || unsafe { next!(NEXT_REALLOC as Realloc)(old, size) },
    )
}

fn aligned(size: usize, address: u64) -> Request {
    Request {
        way: Way::Aligned,
        size,
        old: std::ptr::null_mut(),
        address,
    }
}

unsafe extern "C" fn look_at_memalign(alignment: usize, size: usize, address: u64) -> Block {
    look_at(&aligned(size, address), || unsafe {
        next!(NEXT_MEMALIGN as Align)(alignment, size)
    })
}

unsafe extern "C" fn look_at_aligned(alignment: usize, size: usize, address: u64) -> Block {
    look_at(&aligned(size, address), || unsafe {
        next_aligned(alignment, size)
    })
}

unsafe extern "C" fn look_at_posix(
    place: *mut Block,
    alignment: usize,
    size: usize,
    address: u64,
) -> c_int {
    let mut status = 0;
    look_at(&aligned(size, address), || unsafe {
        status = next!(NEXT_POSIX_ALIGNED as PosixAlign)(place, alignment, size);
        if status == 0 {
            *place
        } else {
            std::ptr::null_mut()
        }
    });
    status
}

/// Memory is mapped: by the allocator where that is in a request.
unsafe extern "C" fn look_at_mmap(
    place: Block,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> Block {
    note_mapping();
    unsafe { next!(NEXT_MMAP as Map)(place, length, protection, flags, file, offset) }
}

unsafe extern "C" fn look_at_mremap(
    old: Block,
    old_length: usize,
    length: usize,
    flags: c_int,
    place: Block,
) -> Block {
    note_mapping();
    unsafe { next!(NEXT_MREMAP as Remap)(old, old_length, length, flags, place) }
}

fn note_mapping() {
    let own = own();
    if own.depth.get() == 1 {
        own.maps.set(own.maps.get() + 1);
    }
}

unsafe extern "C" fn look_at_sbrk(increment: isize) -> Block {
    let place = unsafe { next!(NEXT_SBRK as MoveEnd)(increment) };
    if own().depth.get() == 0 {
        heap::end_moved();
    }
    place
}

unsafe extern "C" fn look_at_brk(end: Block) -> c_int {
    let status = unsafe { next!(NEXT_BRK as SetEnd)(end) };
    if own().depth.get() == 0 {
        heap::end_moved();
    }
    status
}

unsafe extern "C" fn look_at_dlclose(library: Block) -> c_int {
    let status = unsafe { next!(NEXT_DLCLOSE as CloseLibrary)(library) };
    place::forget();
    status
}
