//! What happens in every call: little. Events, and calls that may be one, go to [`super::slow`].

use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use super::{HOT, Hot, slow};
use crate::latency::Way;
use crate::pending::{KEYS_ASKED_IN_MEM, WAITING};
use crate::python::AllocatorTable;
use crate::python::objects::{Kind, SMALL_KEYS, is_keys_size, is_new_list_size, is_set_size};

type Malloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Calloc = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void, *mut c_void);
type Realloc = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;

#[inline(always)]
fn hot() -> &'static Hot {
    let hot = &raw const HOT;
    unsafe { &*hot }
}

/// Whether a block is the first of its pool, which the allocator has just taken into use: a pool whose last block
/// is freed goes back to the free pools.
#[inline(always)]
unsafe fn is_first_of_pool(hot: &Hot, block: *mut c_void) -> bool {
    let header = block as u64 & !hot.pool_mask.load(Relaxed);
    !block.is_null() && unsafe { *(header as *const u32) == 1 }
}

/// What is done around a request, beside what its block says: nothing, or its latency is kept ([`super::timed`]).
pub trait Watch: Sized {
    /// A request begins.
    fn enter() -> Self;
    /// Have the allocator answer it.
    fn call(&mut self, request: impl FnOnce() -> *mut c_void) -> *mut c_void;
    /// It was answered, and events in it are counted.
    fn made(&self, way: Way, is_mem: bool, size: usize);
    /// Its block has the size of a container's table.
    fn table_made(&self, kind: Kind, block: *mut c_void, at: u64);
    /// All is done.
    fn leave(self);
    /// A block was given back.
    fn released(block: *mut c_void);
}

/// Events alone.
pub struct Events;

impl Watch for Events {
    #[inline(always)]
    fn enter() -> Self {
        if WAITING.load(Relaxed) {
            slow::settle_now();
        }
        Self
    }

    #[inline(always)]
    fn call(&mut self, request: impl FnOnce() -> *mut c_void) -> *mut c_void {
        request()
    }

    #[inline(always)]
    fn made(&self, _way: Way, _is_mem: bool, _size: usize) {}

    #[inline(always)]
    fn table_made(&self, kind: Kind, block: *mut c_void, at: u64) {
        match kind {
            Kind::Set => slow::set_table_made(block as u64, at),
            Kind::Dict => slow::keys_made(block as u64, at),
            Kind::List => slow::items_made(block as u64, at),
        }
    }

    #[inline(always)]
    fn leave(self) {}

    #[inline(always)]
    fn released(_block: *mut c_void) {}
}

#[inline(always)]
unsafe fn allocate<W: Watch>(
    table: &AllocatorTable,
    ctx: *mut c_void,
    size: usize,
    at: u64,
    is_mem: bool,
) -> *mut c_void {
    let mut watch = W::enter();
    let malloc: Malloc = unsafe { std::mem::transmute(table.malloc) };
    let block = watch.call(|| unsafe { malloc(ctx, size) });
    unsafe { look_at_made(&watch, hot(), block, size, at, is_mem) };
    watch.leave();
    block
}

/// Look at a block that a request got.
#[inline(always)]
unsafe fn look_at_made<W: Watch>(
    watch: &W,
    hot: &Hot,
    block: *mut c_void,
    size: usize,
    at: u64,
    is_mem: bool,
) {
    let is_small = size.wrapping_sub(1) < hot.small.load(Relaxed);
    if !is_small {
        slow::mapped_maybe(0, block as u64, size as u64);
    } else if unsafe { is_first_of_pool(hot, block) } {
        slow::pool_taken();
    }
    watch.made(Way::Malloc, is_mem, size);
    let (is_keys, is_set) = if is_small {
        (
            size.is_multiple_of(8) && SMALL_KEYS >> (size / 8 - 1) & 1 == 1,
            size == 256 || size == 512,
        )
    } else {
        (is_keys_size(size as u64), is_set_size(size as u64))
    };
    if is_keys && hot.keys[usize::from(is_mem)].load(Relaxed) {
        KEYS_ASKED_IN_MEM.store(is_mem, Relaxed);
        watch.table_made(Kind::Dict, block, at);
    } else if is_mem && is_set {
        watch.table_made(Kind::Set, block, at);
    } else if is_mem && !is_small && is_new_list_size(size as u64) {
        watch.table_made(Kind::List, block, at);
    }
}

/// What [`super::entry`] leaves of `malloc` of the domain of objects, where a block may be part of an event.
#[cfg(target_arch = "x86_64")]
pub unsafe extern "C" fn obj_made(block: *mut c_void, size: usize, at: u64) -> *mut c_void {
    unsafe { look_at_made(&Events, hot(), block, size, at, false) };
    block
}

/// The same for the domain of memory.
#[cfg(target_arch = "x86_64")]
pub unsafe extern "C" fn mem_made(block: *mut c_void, size: usize, at: u64) -> *mut c_void {
    unsafe { look_at_made(&Events, hot(), block, size, at, true) };
    block
}

#[inline(always)]
unsafe fn allocate_zeroed<W: Watch>(
    table: &AllocatorTable,
    ctx: *mut c_void,
    count: usize,
    size: usize,
    is_mem: bool,
) -> *mut c_void {
    let mut watch = W::enter();
    let calloc: Calloc = unsafe { std::mem::transmute(table.calloc) };
    let block = watch.call(|| unsafe { calloc(ctx, count, size) });
    let total = count.wrapping_mul(size);
    if total.wrapping_sub(1) < hot().small.load(Relaxed) {
        if unsafe { is_first_of_pool(hot(), block) } {
            slow::pool_taken();
        }
    } else {
        slow::mapped_maybe(0, block as u64, total as u64);
    }
    watch.made(Way::Calloc, is_mem, total);
    watch.leave();
    block
}

/// `malloc` of the domain of objects; `at` is where the return address is.
pub unsafe extern "C" fn obj_malloc<W: Watch>(
    ctx: *mut c_void,
    size: usize,
    at: u64,
) -> *mut c_void {
    unsafe { allocate::<W>(&hot().obj, ctx, size, at, false) }
}

/// `malloc` of the domain of memory.
pub unsafe extern "C" fn mem_malloc<W: Watch>(
    ctx: *mut c_void,
    size: usize,
    at: u64,
) -> *mut c_void {
    unsafe { allocate::<W>(&hot().mem, ctx, size, at, true) }
}

/// `calloc` of the domain of objects.
pub unsafe extern "C" fn obj_calloc<W: Watch>(
    ctx: *mut c_void,
    count: usize,
    size: usize,
    _at: u64,
) -> *mut c_void {
    unsafe { allocate_zeroed::<W>(&hot().obj, ctx, count, size, false) }
}

/// `calloc` of the domain of memory.
pub unsafe extern "C" fn mem_calloc<W: Watch>(
    ctx: *mut c_void,
    count: usize,
    size: usize,
    _at: u64,
) -> *mut c_void {
    unsafe { allocate_zeroed::<W>(&hot().mem, ctx, count, size, true) }
}

/// `realloc` of the domain of objects: texts, bytes and tuples that are not finished.
pub unsafe extern "C" fn obj_realloc<W: Watch>(
    ctx: *mut c_void,
    old: *mut c_void,
    size: usize,
    _at: u64,
) -> *mut c_void {
    let mut watch = W::enter();
    let event = if old.is_null() {
        None
    } else {
        slow::object_of(old as u64)
    };
    let realloc: Realloc = unsafe { std::mem::transmute(hot().obj.realloc) };
    let block = watch.call(|| unsafe { realloc(ctx, old, size) });
    if let (Some(event), false) = (event, block.is_null()) {
        slow::object_moved(event);
    }
    unsafe { look_at_moved(old, block, size) };
    watch.made(Way::Realloc, false, size);
    watch.leave();
    block
}

/// `realloc` of the domain of memory: lists, among others.
pub unsafe extern "C" fn mem_realloc<W: Watch>(
    ctx: *mut c_void,
    old: *mut c_void,
    size: usize,
    at: u64,
) -> *mut c_void {
    let mut watch = W::enter();
    let call = slow::begin_realloc(old as u64, at);
    let realloc: Realloc = unsafe { std::mem::transmute(hot().mem.realloc) };
    let block = watch.call(|| unsafe { realloc(ctx, old, size) });
    unsafe { look_at_moved(old, block, size) };
    watch.made(Way::Realloc, true, size);
    if !block.is_null() {
        slow::end_realloc(call, block as u64);
    }
    watch.leave();
    block
}

#[inline(always)]
unsafe fn release<W: Watch>(table: &AllocatorTable, ctx: *mut c_void, block: *mut c_void) {
    // Before a table that was asked about is gone, and its container is another.
    if WAITING.load(Relaxed) {
        slow::settle_now();
    }
    let free: Free = unsafe { std::mem::transmute(table.free) };
    unsafe { free(ctx, block) }
    W::released(block);
}

/// `free` of the domain of objects.
pub unsafe extern "C" fn obj_free<W: Watch>(ctx: *mut c_void, block: *mut c_void) {
    unsafe { release::<W>(&hot().obj, ctx, block) }
}

/// `free` of the domain of memory.
pub unsafe extern "C" fn mem_free<W: Watch>(ctx: *mut c_void, block: *mut c_void) {
    unsafe { release::<W>(&hot().mem, ctx, block) }
}

#[inline(always)]
unsafe fn look_at_moved(old: *mut c_void, block: *mut c_void, size: usize) {
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
