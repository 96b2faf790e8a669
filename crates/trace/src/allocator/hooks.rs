//! What happens in every call: little. Events, and calls that may be one, go to [`super::slow`].

use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use super::{HOT, Hot, slow};
use crate::pending::WAITING;
use crate::python::AllocatorTable;
use crate::python::objects::SMALL_KEYS;

pub type Malloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
pub type Calloc = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
pub type Free = unsafe extern "C" fn(*mut c_void, *mut c_void);
pub type Realloc = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;

#[inline(always)]
pub fn hot() -> &'static Hot {
    let hot = &raw const HOT;
    unsafe { &*hot }
}

/// Whether a block is the first of its pool, which the allocator has just taken into use: a pool whose last block
/// is freed goes back to the free pools.
#[inline(always)]
pub unsafe fn is_first_of_pool(hot: &Hot, block: *mut c_void) -> bool {
    let header = block as u64 & !hot.pool_mask.load(Relaxed);
    !block.is_null() && unsafe { *(header as *const u32) == 1 }
}

#[inline(always)]
unsafe fn allocate(
    table: &AllocatorTable,
    ctx: *mut c_void,
    size: usize,
    at: u64,
    is_mem: bool,
) -> *mut c_void {
    let hot = hot();
    if WAITING.load(Relaxed) {
        slow::settle_now();
    }
    let malloc: Malloc = unsafe { std::mem::transmute(table.malloc) };
    let block = unsafe { malloc(ctx, size) };
    unsafe { look_at_made(hot, block, size, at, is_mem) };
    block
}

/// Look at a block that a request got.
#[inline(always)]
unsafe fn look_at_made(hot: &Hot, block: *mut c_void, size: usize, at: u64, is_mem: bool) {
    if size.wrapping_sub(1) < hot.small.load(Relaxed) {
        if unsafe { is_first_of_pool(hot, block) } {
            slow::pool_taken();
        }
        if size.is_multiple_of(8) && SMALL_KEYS >> (size / 8 - 1) & 1 == 1 {
            slow::keys_made(block as u64, at);
        } else if is_mem && (size == 256 || size == 512) {
            slow::set_table_made(block as u64, at);
        }
    } else {
        slow::large_made(block as u64, size as u64, at, is_mem);
    }
}

/// What [`super::entry`] leaves of `malloc` of the domain of objects, where a block may be part of an event.
#[cfg(target_arch = "x86_64")]
pub unsafe extern "C" fn obj_made(block: *mut c_void, size: usize, at: u64) -> *mut c_void {
    unsafe { look_at_made(hot(), block, size, at, false) };
    block
}

/// The same for the domain of memory.
#[cfg(target_arch = "x86_64")]
pub unsafe extern "C" fn mem_made(block: *mut c_void, size: usize, at: u64) -> *mut c_void {
    unsafe { look_at_made(hot(), block, size, at, true) };
    block
}

#[inline(always)]
unsafe fn allocate_zeroed(
    table: &AllocatorTable,
    ctx: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    let hot = hot();
    if WAITING.load(Relaxed) {
        slow::settle_now();
    }
    let calloc: Calloc = unsafe { std::mem::transmute(table.calloc) };
    let block = unsafe { calloc(ctx, count, size) };
    let total = count.wrapping_mul(size);
    if total.wrapping_sub(1) < hot.small.load(Relaxed) {
        if unsafe { is_first_of_pool(hot, block) } {
            slow::pool_taken();
        }
    } else {
        slow::mapped_maybe(0, block as u64, total as u64);
    }
    block
}

/// `malloc` of the domain of objects; `at` is where the return address is.
pub unsafe extern "C" fn obj_malloc(ctx: *mut c_void, size: usize, at: u64) -> *mut c_void {
    unsafe { allocate(&hot().obj, ctx, size, at, false) }
}

/// `malloc` of the domain of memory.
pub unsafe extern "C" fn mem_malloc(ctx: *mut c_void, size: usize, at: u64) -> *mut c_void {
    unsafe { allocate(&hot().mem, ctx, size, at, true) }
}

/// `calloc` of the domain of objects.
pub unsafe extern "C" fn obj_calloc(
    ctx: *mut c_void,
    count: usize,
    size: usize,
    _at: u64,
) -> *mut c_void {
    unsafe { allocate_zeroed(&hot().obj, ctx, count, size) }
}

/// `calloc` of the domain of memory.
pub unsafe extern "C" fn mem_calloc(
    ctx: *mut c_void,
    count: usize,
    size: usize,
    _at: u64,
) -> *mut c_void {
    unsafe { allocate_zeroed(&hot().mem, ctx, count, size) }
}

/// `realloc` of the domain of objects: texts, bytes and tuples that are not finished.
pub unsafe extern "C" fn obj_realloc(
    ctx: *mut c_void,
    old: *mut c_void,
    size: usize,
    _at: u64,
) -> *mut c_void {
    let table = &hot().obj;
    if WAITING.load(Relaxed) {
        slow::settle_now();
    }
    let event = if old.is_null() {
        None
    } else {
        slow::object_of(old as u64)
    };
    let realloc: Realloc = unsafe { std::mem::transmute(table.realloc) };
    let block = unsafe { realloc(ctx, old, size) };
    if let (Some(event), false) = (event, block.is_null()) {
        slow::object_moved(event);
    }
    unsafe { look_at_moved(old, block, size) };
    block
}

/// `realloc` of the domain of memory: lists, among others.
pub unsafe extern "C" fn mem_realloc(
    ctx: *mut c_void,
    old: *mut c_void,
    size: usize,
    at: u64,
) -> *mut c_void {
    let table = &hot().mem;
    if WAITING.load(Relaxed) {
        slow::settle_now();
    }
    let call = slow::begin_realloc(old as u64, at);
    let realloc: Realloc = unsafe { std::mem::transmute(table.realloc) };
    let block = unsafe { realloc(ctx, old, size) };
    if !block.is_null() {
        slow::end_realloc(call, block as u64);
    }
    unsafe { look_at_moved(old, block, size) };
    block
}

#[inline(always)]
unsafe fn release(table: &AllocatorTable, ctx: *mut c_void, block: *mut c_void) {
    // Before a table that was asked about is gone, and its container is another.
    if WAITING.load(Relaxed) {
        slow::settle_now();
    }
    let free: Free = unsafe { std::mem::transmute(table.free) };
    unsafe { free(ctx, block) }
}

/// `free` of the domain of objects.
pub unsafe extern "C" fn obj_free(ctx: *mut c_void, block: *mut c_void) {
    unsafe { release(&hot().obj, ctx, block) }
}

/// `free` of the domain of memory.
pub unsafe extern "C" fn mem_free(ctx: *mut c_void, block: *mut c_void) {
    unsafe { release(&hot().mem, ctx, block) }
}

#[inline(always)]
pub unsafe fn look_at_moved(old: *mut c_void, block: *mut c_void, size: usize) {
    if block == old || block.is_null() {
        return;
    }
    let hot = hot();
    if size.wrapping_sub(1) < hot.small.load(Relaxed) {
        // What was a large block stays one, wherever it lies now: only a known pool has a header.
        let is_in_pool = old.is_null() || slow::is_pool(block as u64, size as u64);
        if is_in_pool && unsafe { is_first_of_pool(hot, block) } {
            slow::pool_taken();
        }
    } else {
        slow::mapped_maybe(old as u64, block as u64, size as u64);
    }
}

/// `alloc` of the arenas: their memory and that of the frame stack.
pub unsafe extern "C" fn arena_alloc(ctx: *mut c_void, size: usize) -> *mut c_void {
    super::look_for_parallel();
    let alloc: Malloc = unsafe { std::mem::transmute(hot().arena.alloc) };
    let block = unsafe { alloc(ctx, size) };
    slow::arena_mapped(!block.is_null(), size);
    block
}

/// `free` of the arenas.
pub unsafe extern "C" fn arena_free(ctx: *mut c_void, block: *mut c_void, size: usize) {
    slow::arena_leaves();
    let free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) =
        unsafe { std::mem::transmute(hot().arena.free) };
    unsafe { free(ctx, block, size) };
}
