//! What happens in every call where latencies are kept: the same as in [`super::hooks`], around the same functions,
//! with the counter read before and after the allocator's own.

use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use super::hooks::{Calloc, Free, Malloc, Realloc, hot, is_first_of_pool, look_at_moved};
use super::slow;
use crate::latency::{self, Way, clock};
use crate::pending::WAITING;
use crate::python::AllocatorTable;
use crate::python::objects::{Kind, SMALL_KEYS, is_keys_size, is_set_size};

/// A request, from its beginning to what we have done about it.
pub struct Timed {
    entered: u64,
    pub begin: u64,
    pub end: u64,
    /// Page faults in it, where they are asked for.
    pub faults: Option<u64>,
}

#[inline(always)]
fn enter() -> u64 {
    let entered = clock::read();
    if WAITING.load(Relaxed) {
        slow::settle_now();
    }
    latency::begin();
    entered
}

impl Timed {
    #[inline(always)]
    fn new(entered: u64, begin: u64, end: u64, before: Option<u64>) -> Self {
        let faults = before.and_then(|before| Some(latency::read_faults()? - before));
        Self {
            entered,
            begin,
            end,
            faults,
        }
    }

    #[inline(always)]
    fn leave(&self) {
        let own = clock::read().wrapping_sub(self.entered) - (self.end - self.begin);
        latency::note_own_time(own);
    }
}

unsafe fn allocate(
    table: &AllocatorTable,
    ctx: *mut c_void,
    size: usize,
    at: u64,
    is_mem: bool,
) -> *mut c_void {
    let entered = enter();
    let malloc: Malloc = unsafe { std::mem::transmute(table.malloc) };
    let before = latency::read_faults();
    let begin = clock::read();
    let block = unsafe { malloc(ctx, size) };
    let end = clock::read();
    let timed = Timed::new(entered, begin, end, before);
    let is_small = size.wrapping_sub(1) < hot().small.load(Relaxed);
    if is_small && unsafe { is_first_of_pool(hot(), block) } {
        slow::pool_taken();
    } else if !is_small {
        slow::mapped_maybe(0, block as u64, size as u64);
    }
    slow::request_made(Way::Malloc, is_mem, size as u64, &timed);
    let is_keys = if size <= 512 {
        size.is_multiple_of(8) && size > 0 && SMALL_KEYS >> (size / 8 - 1) & 1 == 1
    } else {
        is_keys_size(size as u64)
    };
    if is_keys {
        slow::table_made_in(Kind::Dict, block as u64, at, (begin, end));
    } else if is_mem && is_set_size(size as u64) {
        slow::table_made_in(Kind::Set, block as u64, at, (begin, end));
    }
    timed.leave();
    block
}

unsafe fn allocate_zeroed(
    table: &AllocatorTable,
    ctx: *mut c_void,
    count: usize,
    size: usize,
    is_mem: bool,
) -> *mut c_void {
    let entered = enter();
    let calloc: Calloc = unsafe { std::mem::transmute(table.calloc) };
    let before = latency::read_faults();
    let begin = clock::read();
    let block = unsafe { calloc(ctx, count, size) };
    let end = clock::read();
    let timed = Timed::new(entered, begin, end, before);
    let total = count.wrapping_mul(size);
    if total.wrapping_sub(1) < hot().small.load(Relaxed) {
        if unsafe { is_first_of_pool(hot(), block) } {
            slow::pool_taken();
        }
    } else {
        slow::mapped_maybe(0, block as u64, total as u64);
    }
    slow::request_made(Way::Calloc, is_mem, total as u64, &timed);
    timed.leave();
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
    unsafe { allocate_zeroed(&hot().obj, ctx, count, size, false) }
}

/// `calloc` of the domain of memory.
pub unsafe extern "C" fn mem_calloc(
    ctx: *mut c_void,
    count: usize,
    size: usize,
    _at: u64,
) -> *mut c_void {
    unsafe { allocate_zeroed(&hot().mem, ctx, count, size, true) }
}

/// `realloc` of the domain of objects: texts, bytes and tuples that are not finished.
pub unsafe extern "C" fn obj_realloc(
    ctx: *mut c_void,
    old: *mut c_void,
    size: usize,
    _at: u64,
) -> *mut c_void {
    let entered = enter();
    let event = if old.is_null() {
        None
    } else {
        slow::object_of(old as u64)
    };
    let realloc: Realloc = unsafe { std::mem::transmute(hot().obj.realloc) };
    let before = latency::read_faults();
    let begin = clock::read();
    let block = unsafe { realloc(ctx, old, size) };
    let end = clock::read();
    let timed = Timed::new(entered, begin, end, before);
    if let (Some(event), false) = (event, block.is_null()) {
        slow::object_moved(event);
    }
    unsafe { look_at_moved(old, block, size) };
    slow::request_made(Way::Realloc, false, size as u64, &timed);
    timed.leave();
    block
}

/// `realloc` of the domain of memory: lists, among others.
pub unsafe extern "C" fn mem_realloc(
    ctx: *mut c_void,
    old: *mut c_void,
    size: usize,
    at: u64,
) -> *mut c_void {
    let entered = enter();
    let call = slow::begin_realloc(old as u64, at);
    let realloc: Realloc = unsafe { std::mem::transmute(hot().mem.realloc) };
    let before = latency::read_faults();
    let begin = clock::read();
    let block = unsafe { realloc(ctx, old, size) };
    let end = clock::read();
    let timed = Timed::new(entered, begin, end, before);
    unsafe { look_at_moved(old, block, size) };
    slow::request_made(Way::Realloc, true, size as u64, &timed);
    if !block.is_null() {
        slow::end_realloc(call, block as u64);
    }
    timed.leave();
    block
}

unsafe fn release(table: &AllocatorTable, ctx: *mut c_void, block: *mut c_void) {
    if WAITING.load(Relaxed) {
        slow::settle_now();
    }
    let free: Free = unsafe { std::mem::transmute(table.free) };
    unsafe { free(ctx, block) }
    slow::block_released(block as u64);
}

/// `free` of the domain of objects.
pub unsafe extern "C" fn obj_free(ctx: *mut c_void, block: *mut c_void) {
    unsafe { release(&hot().obj, ctx, block) }
}

/// `free` of the domain of memory.
pub unsafe extern "C" fn mem_free(ctx: *mut c_void, block: *mut c_void) {
    unsafe { release(&hot().mem, ctx, block) }
}
