//! Entries of the hooks: each passes on where its return address is, which the compiler would not tell.

use std::arch::naked_asm;
use std::ffi::c_void;
use std::mem::offset_of;

#[cfg(target_arch = "x86_64")]
use super::HOT;
use super::{Hot, hooks, timed};
#[cfg(target_arch = "x86_64")]
use crate::pending::WAITING;
use crate::python::AllocatorTable;

type Malloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Calloc = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
type Realloc = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void, *mut c_void);
/// Entries of a domain.
pub type Entries = (Malloc, Calloc, Realloc, Free);

/// Entries for the domain of objects.
pub static OBJ_HOOKS: Entries = (obj_malloc, obj_calloc, obj_realloc, obj_free);
/// Entries for the domain of memory.
pub static MEM_HOOKS: Entries = (mem_malloc, mem_calloc, mem_realloc, mem_free);

/// Entries where latencies are kept: for objects, and for memory.
pub static OBJ_TIMED: Entries = (
    timed_obj_malloc,
    timed_obj_calloc,
    timed_obj_realloc,
    timed::obj_free,
);
pub static MEM_TIMED: Entries = (
    timed_mem_malloc,
    timed_mem_calloc,
    timed_mem_realloc,
    timed::mem_free,
);

/// A table with our entries around another.
pub fn around(table: &AllocatorTable, hooks: &Entries) -> AllocatorTable {
    AllocatorTable {
        malloc: hooks.0 as usize,
        calloc: hooks.1 as usize,
        realloc: hooks.2 as usize,
        free: hooks.3 as usize,
        ctx: table.ctx,
    }
}

macro_rules! entries {
    ($($entry:ident => $hook:path, $x86:literal, $arm:literal, ($($argument:ident: $type:ty),*);)*) => { $(
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        unsafe extern "C" fn $entry($($argument: $type),*) -> *mut c_void {
            naked_asm!(concat!("mov ", $x86, ", rsp"), "jmp {hook}", hook = sym $hook)
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        unsafe extern "C" fn $entry($($argument: $type),*) -> *mut c_void {
            naked_asm!(
                ".cfi_startproc",
                "stp x29, x30, [sp, #-16]!",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset x29, -16",
                ".cfi_offset x30, -8",
                "mov x29, sp",
                concat!("add ", $arm, ", sp, #8"),
                "bl {hook}",
                "ldp x29, x30, [sp], #16",
                ".cfi_def_cfa_offset 0",
                "ret",
                ".cfi_endproc",
                hook = sym $hook,
            )
        }
    )* };
}

entries! {
    obj_malloc => hooks::obj_malloc, "rdx", "x2", (_ctx: *mut c_void, _size: usize);
    mem_malloc => hooks::mem_malloc, "rdx", "x2", (_ctx: *mut c_void, _size: usize);
    obj_calloc => hooks::obj_calloc, "rcx", "x3", (_ctx: *mut c_void, _count: usize, _size: usize);
    mem_calloc => hooks::mem_calloc, "rcx", "x3", (_ctx: *mut c_void, _count: usize, _size: usize);
    obj_realloc => hooks::obj_realloc, "rcx", "x3", (_ctx: *mut c_void, _block: *mut c_void, _size: usize);
    mem_realloc => hooks::mem_realloc, "rcx", "x3", (_ctx: *mut c_void, _block: *mut c_void, _size: usize);
    timed_obj_malloc => timed::obj_malloc, "rdx", "x2", (_ctx: *mut c_void, _size: usize);
    timed_mem_malloc => timed::mem_malloc, "rdx", "x2", (_ctx: *mut c_void, _size: usize);
    timed_obj_calloc => timed::obj_calloc, "rcx", "x3", (_ctx: *mut c_void, _count: usize, _size: usize);
    timed_mem_calloc => timed::mem_calloc, "rcx", "x3", (_ctx: *mut c_void, _count: usize, _size: usize);
    timed_obj_realloc => timed::obj_realloc, "rcx", "x3", (_ctx: *mut c_void, _block: *mut c_void, _size: usize);
    timed_mem_realloc => timed::mem_realloc, "rcx", "x3", (_ctx: *mut c_void, _block: *mut c_void, _size: usize);
}

/// From the beginning of [`super::Hot`] to the functions that free.
const OBJ_FREE: usize = offset_of!(Hot, obj) + offset_of!(AllocatorTable, free);
const MEM_FREE: usize = offset_of!(Hot, mem) + offset_of!(AllocatorTable, free);

macro_rules! frees {
    ($($entry:ident => $hook:path, $free:ident;)*) => { $(
        /// Goes straight on to the allocator's own function, unless something waits to be looked at.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        unsafe extern "C" fn $entry(_ctx: *mut c_void, _block: *mut c_void) {
            naked_asm!(
                "cmp byte ptr [rip + {waiting}], 0",
                "jne {hook}",
                "jmp qword ptr [rip + {hot} + {free}]",
                waiting = sym WAITING,
                hook = sym $hook,
                hot = sym HOT,
                free = const $free,
            )
        }

        #[cfg(not(target_arch = "x86_64"))]
        unsafe extern "C" fn $entry(ctx: *mut c_void, block: *mut c_void) {
            const _: usize = $free;
            unsafe { $hook(ctx, block) }
        }
    )* };
}

frees! {
    obj_free => hooks::obj_free, OBJ_FREE;
    mem_free => hooks::mem_free, MEM_FREE;
}
