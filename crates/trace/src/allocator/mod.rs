//! The tables of the interpreter's allocator, with ours around them.

pub mod entry;
mod hooks;
mod pools;
mod slow;
mod timed;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::python::{AllocatorTable, Api, ArenaTable, MEM, OBJ, build};
use crate::spin::{PARALLEL, forbid_quick};
use crate::{pending, record};

pub use slow::{settle_now, start_over};

/// What every call looks at, in one line of the cache or two.
#[repr(C, align(64))]
pub struct Hot {
    pub obj: AllocatorTable,
    pub mem: AllocatorTable,
    /// Requests of 1 to so many bytes are served from pools.
    pub small: AtomicUsize,
    /// From an address in a pool to its header: what is cut off, and what is kept.
    pub pool_mask: AtomicU64,
    pub pool_keep: AtomicU64,
    pub arena: ArenaTable,
    pub arena_size: AtomicUsize,
    /// From a block back to the word that says whether it has a mapping of its own; 0 where none does.
    pub map_word: AtomicU64,
    /// What is put before each block when it is watched for overruns.
    pub padding: AtomicUsize,
    /// Whether tables of dictionaries may be in the domain of objects, and in that of memory.
    pub keys: [AtomicBool; 2],
}

const NOTHING: AllocatorTable = AllocatorTable {
    ctx: std::ptr::null_mut(),
    malloc: 0,
    calloc: 0,
    realloc: 0,
    free: 0,
};

/// Written while no hook is in place, under the global lock.
pub static mut HOT: Hot = Hot {
    obj: NOTHING,
    mem: NOTHING,
    small: AtomicUsize::new(0),
    pool_mask: AtomicU64::new(0),
    pool_keep: AtomicU64::new(0),
    arena: ArenaTable {
        ctx: std::ptr::null_mut(),
        alloc: 0,
        free: 0,
    },
    arena_size: AtomicUsize::new(0),
    map_word: AtomicU64::new(0),
    padding: AtomicUsize::new(0),
    keys: [const { AtomicBool::new(true) }; 2],
};

/// The interpreter that was there first.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// Find out whether threads can be at work at the same time.
///
/// An interpreter with a lock of its own has pools of its own as well (`PyInterpreterConfig`): it maps an arena
/// before it has a single object, which [`look_for_parallel`] sees. Without pools that cannot be seen.
pub fn find_parallel(api: &Api, has_pools: bool) {
    FIRST.store(api.interpreter(), Ordering::Relaxed);
    PARALLEL.store(!has_pools || build::is_free_threaded(), Ordering::Relaxed);
}

/// Somebody maps an arena: see whether it is another interpreter than the first.
pub fn look_for_parallel() {
    let Some(api) = crate::python::api() else {
        return;
    };
    if !PARALLEL.load(Ordering::Relaxed) && api.interpreter() != FIRST.load(Ordering::Relaxed) {
        PARALLEL.store(true, Ordering::SeqCst);
        forbid_quick();
    }
}

/// Whether events are counted; hooks that cannot be taken away do nothing else then.
pub static COUNTING: AtomicBool = AtomicBool::new(false);

/// Whether pools are to be seen here.
///
/// Looks at the allocator as it is, before [`install`].
pub fn look_at_pools(api: &Api) -> bool {
    #[allow(static_mut_refs)]
    let hot = unsafe { &mut HOT };
    let map_word = pools::find_map_word(api).unwrap_or(0);
    hot.map_word.store(map_word, Ordering::Relaxed);
    let found = if build::is_free_threaded() {
        None
    } else {
        pools::find_pools(api)
    };
    let Some(found) = found else {
        hot.small.store(0, Ordering::Relaxed);
        return false;
    };
    hot.small.store(512 - found.padding, Ordering::Relaxed);
    hot.padding.store(found.padding, Ordering::Relaxed);
    hot.pool_mask.store(found.pool_size - 1, Ordering::Relaxed);
    hot.pool_keep
        .store(!(found.pool_size - 1), Ordering::Relaxed);
    // An arena has 64 pools, with pools of either size.
    hot.arena_size
        .store(found.pool_size as usize * 64, Ordering::Relaxed);
    true
}

/// Whether blocks of their own mapping can be told, after [`look_at_pools`].
pub fn sees_maps() -> bool {
    let hot = &raw const HOT;
    unsafe { (*hot).map_word.load(Ordering::Relaxed) != 0 }
}

/// The interpreter asks for the tables of all dictionaries in one domain, since one function gives them back: once it is
/// known in which, no request in the other is taken for one.
pub fn tell_keys_by_domain() {
    let hot = &raw const HOT;
    let seen = pending::KEYS_SEEN
        .each_ref()
        .map(|seen| seen.load(Ordering::Relaxed));
    // Where threads run at the same time, another's request may have come between.
    if PARALLEL.load(Ordering::Relaxed) || seen[0] == seen[1] {
        return;
    }
    let is_mem = seen[0];
    unsafe { (*hot).keys[usize::from(is_mem)].store(false, Ordering::Relaxed) };
    entry::leave_keys_out(is_mem);
}

/// Our entries for the domains of objects and of memory.
fn our_entries() -> [&'static entry::Entries; 2] {
    if record::LATENCIES.load(Ordering::Relaxed) {
        [&entry::OBJ_TIMED, &entry::MEM_TIMED]
    } else {
        [&entry::OBJ_HOOKS, &entry::MEM_HOOKS]
    }
}

/// Put ours around the tables that are in use. Needs the global lock.
pub fn install(api: &Api) {
    pending::LOOK_AT_FREES.get_or_init(|| look_at_frees);
    let [obj, mem] = our_entries();
    unsafe {
        let hot = &raw mut HOT;
        let mut table = NOTHING;
        (api.get_allocator)(OBJ, &raw mut table);
        if table.malloc != obj.0 as usize {
            (*hot).obj = table;
            let mut ours = make_table(&table, obj);
            (api.set_allocator)(OBJ, &raw mut ours);
        }
        (api.get_allocator)(MEM, &raw mut table);
        if table.malloc != mem.0 as usize {
            (*hot).mem = table;
            let mut ours = make_table(&table, mem);
            (api.set_allocator)(MEM, &raw mut ours);
        }
        let mut arena = (*hot).arena;
        (api.get_arena_allocator)(&raw mut arena);
        if arena.alloc != hooks::arena_alloc as *const () as usize {
            (*hot).arena = arena;
            let mut ours = ArenaTable {
                ctx: arena.ctx,
                alloc: hooks::arena_alloc as *const () as usize,
                free: hooks::arena_free as *const () as usize,
            };
            (api.set_arena_allocator)(&raw mut ours);
        }
    }
}

/// Have blocks that are given back looked at, or no longer. Needs the global lock.
///
/// That is only needed while a call waits for what becomes of its block: at other times the interpreter frees as it
/// does without us, which it may do without a call.
fn look_at_frees(look: bool) {
    if looks_at_all_frees() {
        return;
    }
    let Some(api) = crate::python::api() else {
        return;
    };
    let [obj, mem] = our_entries();
    unsafe {
        let hot = &raw const HOT;
        for (domain, ours, theirs) in [(OBJ, obj, &(*hot).obj), (MEM, mem, &(*hot).mem)] {
            let mut table = NOTHING;
            (api.get_allocator)(domain, &raw mut table);
            // Not where somebody has put another around ours.
            if table.malloc == ours.0 as usize {
                table.free = if look { ours.3 as usize } else { theirs.free };
                (api.set_allocator)(domain, &raw mut table);
            }
        }
    }
}

/// Whether blocks that are given back are always looked at: where that takes time that is measured, and where tables
/// cannot be changed while other threads run.
fn looks_at_all_frees() -> bool {
    record::LATENCIES.load(Ordering::Relaxed) || build::is_free_threaded()
}

/// Our entries around a table, as they are put in place.
fn make_table(table: &AllocatorTable, ours: &entry::Entries) -> AllocatorTable {
    let around = entry::around(table, ours);
    AllocatorTable {
        free: if looks_at_all_frees() {
            around.free
        } else {
            table.free
        },
        ..around
    }
}

/// Put the tables back as they were, where ours are still in place. Needs the global lock.
pub fn remove(api: &Api) {
    let [obj, mem] = our_entries();
    unsafe {
        let hot = &raw mut HOT;
        let mut table = NOTHING;
        (api.get_allocator)(OBJ, &raw mut table);
        if table.malloc == obj.0 as usize {
            (api.set_allocator)(OBJ, &raw mut (*hot).obj);
        }
        (api.get_allocator)(MEM, &raw mut table);
        if table.malloc == mem.0 as usize {
            (api.set_allocator)(MEM, &raw mut (*hot).mem);
        }
        let mut arena = (*hot).arena;
        (api.get_arena_allocator)(&raw mut arena);
        if arena.alloc == hooks::arena_alloc as *const () as usize {
            (api.set_arena_allocator)(&raw mut (*hot).arena);
        }
    }
}

/// Whether ours are still in place.
pub fn is_in_place(api: &Api) -> bool {
    let [obj, _] = our_entries();
    let mut table = NOTHING;
    unsafe { (api.get_allocator)(OBJ, &raw mut table) };
    table.malloc == obj.0 as usize
}
