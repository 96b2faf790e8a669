//! Entries of the hooks: each passes on where its return address is, which the compiler would not tell.

use std::arch::naked_asm;
use std::ffi::c_void;
use std::mem::offset_of;
#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_arch = "x86_64")]
use super::HOT;
use super::Hot;
use super::hooks::{self, Events};
use super::timed::Timed;
#[cfg(target_arch = "x86_64")]
use crate::pending::WAITING;
use crate::python::AllocatorTable;
#[cfg(target_arch = "x86_64")]
use crate::python::objects::SMALL_KEYS;

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
    hooks::obj_free::<Timed>,
);
pub static MEM_TIMED: Entries = (
    timed_mem_malloc,
    timed_mem_calloc,
    timed_mem_realloc,
    hooks::mem_free::<Timed>,
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
    obj_calloc => hooks::obj_calloc::<Events>, "rcx", "x3", (_ctx: *mut c_void, _count: usize, _size: usize);
    mem_calloc => hooks::mem_calloc::<Events>, "rcx", "x3", (_ctx: *mut c_void, _count: usize, _size: usize);
    obj_realloc => hooks::obj_realloc::<Events>, "rcx", "x3", (_ctx: *mut c_void, _block: *mut c_void, _size: usize);
    mem_realloc => hooks::mem_realloc::<Events>, "rcx", "x3", (_ctx: *mut c_void, _block: *mut c_void, _size: usize);
    timed_obj_malloc => hooks::obj_malloc::<Timed>, "rdx", "x2", (_ctx: *mut c_void, _size: usize);
    timed_mem_malloc => hooks::mem_malloc::<Timed>, "rdx", "x2", (_ctx: *mut c_void, _size: usize);
    timed_obj_calloc => hooks::obj_calloc::<Timed>, "rcx", "x3", (_ctx: *mut c_void, _count: usize, _size: usize);
    timed_mem_calloc => hooks::mem_calloc::<Timed>, "rcx", "x3", (_ctx: *mut c_void, _count: usize, _size: usize);
    timed_obj_realloc => hooks::obj_realloc::<Timed>, "rcx", "x3", (_ctx: *mut c_void, _block: *mut c_void, _size: usize);
    timed_mem_realloc => hooks::mem_realloc::<Timed>, "rcx", "x3", (_ctx: *mut c_void, _block: *mut c_void, _size: usize);
}

#[cfg(not(target_arch = "x86_64"))]
entries! {
    obj_malloc => hooks::obj_malloc::<Events>, "rdx", "x2", (_ctx: *mut c_void, _size: usize);
    mem_malloc => hooks::mem_malloc::<Events>, "rdx", "x2", (_ctx: *mut c_void, _size: usize);
}

/// Sizes in bytes of small blocks that may be the table of a container: of a dictionary, in the domain of memory also
/// of a set.
#[cfg(target_arch = "x86_64")]
const fn list_tables(is_mem: bool) -> [AtomicBool; 513] {
    let mut tables = [const { AtomicBool::new(false) }; 513];
    let mut size = 8;
    while size <= 512 {
        tables[size] = AtomicBool::new(is_small_keys(size) || (is_mem && is_small_set(size)));
        size += 8;
    }
    tables
}

#[cfg(target_arch = "x86_64")]
const fn is_small_keys(size: usize) -> bool {
    SMALL_KEYS >> (size / 8 - 1) & 1 == 1
}

#[cfg(target_arch = "x86_64")]
const fn is_small_set(size: usize) -> bool {
    size == 256 || size == 512
}

#[cfg(target_arch = "x86_64")]
static OBJ_TABLES: [AtomicBool; 513] = list_tables(false);
#[cfg(target_arch = "x86_64")]
static MEM_TABLES: [AtomicBool; 513] = list_tables(true);

/// Tables of dictionaries are never in this domain.
#[cfg(target_arch = "x86_64")]
pub fn leave_keys_out(is_mem: bool) {
    let tables = if is_mem { &MEM_TABLES } else { &OBJ_TABLES };
    for size in (8..=512).step_by(8).filter(|size| is_small_keys(*size)) {
        tables[size].store(is_mem && is_small_set(size), Ordering::Relaxed);
    }
}

/// Tables of dictionaries are never in this domain.
#[cfg(not(target_arch = "x86_64"))]
pub fn leave_keys_out(_is_mem: bool) {}

/// `malloc`, by hand: of most requests nothing is left to do but to see that they are no event, and a compiler saves and
/// restores for the few that are.
#[cfg(target_arch = "x86_64")]
macro_rules! mallocs {
    ($($entry:ident => $hook:path, $made:path, $tables:path, $malloc:path;)*) => { $(
        #[unsafe(naked)]
        unsafe extern "C" fn $entry(_ctx: *mut c_void, _size: usize) -> *mut c_void {
            naked_asm!(
                ".cfi_startproc",
                "cmp byte ptr [rip + {waiting}], 0",
                "jne 4f",
                "push rbx",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbx, -16",
                "mov rbx, rsi",
                "call qword ptr [rip + {hot} + {malloc}]",
                "lea rcx, [rbx - 1]",
                "cmp rcx, qword ptr [rip + {hot} + {small}]",
                "jae 3f",
                "test rax, rax",
                "je 2f",
                "mov rdx, qword ptr [rip + {hot} + {keep}]",
                "and rdx, rax",
                // The first block of a pool.
                "cmp dword ptr [rdx], 1",
                "je 3f",
                "lea rcx, [rip + {tables}]",
                "cmp byte ptr [rcx + rbx], 0",
                "jne 3f",
                "2:",
                "pop rbx",
                ".cfi_remember_state",
                ".cfi_def_cfa_offset 8",
                ".cfi_restore rbx",
                "ret",
                "3:",
                ".cfi_restore_state",
                "mov rdi, rax",
                "mov rsi, rbx",
                "pop rbx",
                ".cfi_def_cfa_offset 8",
                ".cfi_restore rbx",
                "mov rdx, rsp",
                "jmp {made}",
                "4:",
                "mov rdx, rsp",
                "jmp {hook}",
                ".cfi_endproc",
                waiting = sym WAITING,
                hot = sym HOT,
                malloc = const $malloc,
                small = const offset_of!(Hot, small),
                keep = const offset_of!(Hot, pool_keep),
                tables = sym $tables,
                made = sym $made,
                hook = sym $hook,
            )
        }
    )* };
}

#[cfg(target_arch = "x86_64")]
const OBJ_MALLOC: usize = offset_of!(Hot, obj) + offset_of!(AllocatorTable, malloc);
#[cfg(target_arch = "x86_64")]
const MEM_MALLOC: usize = offset_of!(Hot, mem) + offset_of!(AllocatorTable, malloc);

#[cfg(target_arch = "x86_64")]
mallocs! {
    obj_malloc => hooks::obj_malloc::<Events>, hooks::obj_made, OBJ_TABLES, OBJ_MALLOC;
    mem_malloc => hooks::mem_malloc::<Events>, hooks::mem_made, MEM_TABLES, MEM_MALLOC;
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
    obj_free => hooks::obj_free::<Events>, OBJ_FREE;
    mem_free => hooks::mem_free::<Events>, MEM_FREE;
}
