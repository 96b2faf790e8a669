//! Calls that are an event, or may be one.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::timed::Timed;
use super::{COUNTING, HOT, Hot};
use crate::events::Event;
use crate::latency::{self, Way, clock};
use crate::ledger;
use crate::pending::{self, Pending, WAITING, event_of, is_learning};
use crate::python::api;
use crate::python::build::{is_free_threaded, widened};
use crate::python::objects::{Kind, LIST_HEAD};
use crate::readable::{can_read, read_word};
use crate::record::{
    Noted, count_here, count_quickly, find_place, find_place_of_request, note_place,
};
use crate::sites::scan::{Candidates, find_containers};
use crate::sites::{Answer, Site, Verdict, classify, learn, recall};
use crate::spin::{PARALLEL, TABLES, is_quick};

/// Arenas that were mapped in the call that is under way.
static ARENAS: AtomicU32 = AtomicU32::new(0);

fn hot() -> &'static Hot {
    let hot = &raw const HOT;
    unsafe { &*hot }
}

/// Work on an event, unless nothing is counted, or this thread is at work here: what it allocates then is ours.
#[inline]
fn at_work(work: impl FnOnce()) {
    if COUNTING.load(Relaxed) {
        TABLES.hold_once(work);
    }
}

#[inline(never)]
fn count(event: Event) {
    if !is_learning() {
        count_here(event);
    }
}

/// Count a call of which it is remembered what it serves, in a line that is known; false where more is to be done.
///
/// No table of ours is at work: what is looked up here belongs to the thread that has the interpreter's lock.
#[inline(always)]
fn count_remembered(kind: Kind, at: u64) -> bool {
    if !is_quick() || TABLES.is_held() {
        return false;
    }
    match recall(kind, at) {
        Some(false) => true,
        Some(true) => {
            if !count_quickly(event_of(kind)) {
                at_work(|| count(event_of(kind)));
            }
            true
        }
        None => false,
    }
}

/// Look at what became of the last block that was asked about.
#[cold]
pub fn settle_now() {
    at_work(|| {
        if WAITING.load(Relaxed) {
            pending::settle();
        }
    });
}

/// A pool was taken into use.
#[cold]
#[inline(never)]
pub fn pool_taken() {
    let is_all = ARENAS.load(Relaxed) == 0;
    if is_all && is_quick() && !TABLES.is_held() && count_quickly(Event::PoolInit) {
        return;
    }
    at_work(|| {
        for _ in 0..ARENAS.swap(0, Relaxed) {
            count(Event::NewArena);
            count(Event::MemoryMap);
        }
        count(Event::PoolInit);
    });
}

/// Memory was mapped for an arena or for the frame stack.
#[cold]
pub fn arena_mapped(succeeded: bool, size: usize) {
    if !succeeded {
        // Small requests now come from elsewhere, where there are no headers.
        hot().small.store(0, Relaxed);
        return;
    }
    let arena = hot().arena_size.load(Relaxed);
    // Of huge pages (3.15) an arena has two; no chunk of the frame stack is as large as either.
    if size == arena || size == 2 * arena {
        // The allocator is in the middle of a call: it is counted when that call returns.
        ARENAS.fetch_add(1, Relaxed);
    } else {
        at_work(|| count(Event::MemoryMap));
    }
}

/// An arena is about to be given back.
#[cold]
pub fn arena_leaves() {
    settle_now();
    for pool in &POOLS {
        pool.store(0, Relaxed);
    }
}

/// A block was returned that has the size of a table of keys.
#[inline(never)]
pub fn keys_made(block: u64, at: u64) {
    table_made(Kind::Dict, block, at);
}

/// A block was returned that has the size of a table of a set.
#[inline(never)]
pub fn set_table_made(block: u64, at: u64) {
    table_made(Kind::Set, block, at);
}

/// A block was returned that has the size of new items of a list.
#[inline(never)]
pub fn items_made(block: u64, at: u64) {
    if block != 0 {
        table_made(Kind::List, block + LIST_HEAD, at);
    }
}

#[inline(always)]
fn table_made(kind: Kind, block: u64, at: u64) {
    if block != 0 && !count_remembered(kind, at) {
        classify_table(kind, block, at);
    }
}

#[inline(never)]
fn classify_table(kind: Kind, block: u64, at: u64) {
    at_work(|| match classify(kind, at) {
        Verdict::Not => {}
        Verdict::Is => count(event_of(kind)),
        Verdict::Ask(site) => ask(kind, block, at, site),
    });
}

/// Keep a call until the next one shows whether its block became a container's.
#[cold]
#[inline(never)]
fn ask(kind: Kind, block: u64, at: u64, site: Option<Site>) {
    note_asked();
    let candidates = find_containers(at, kind, None);
    wait(kind, block, candidates, site);
}

/// A block that may be a table was returned in a request that began and ended then: the
/// container's move is timed as well.
pub fn table_made_in(kind: Kind, block: u64, at: u64, (begin, end): (u64, u64)) {
    if block == 0 {
        return;
    }
    let mut moving = Candidates::default();
    at_work(|| match classify(kind, at) {
        Verdict::Not => {}
        Verdict::Is => {
            count(event_of(kind));
            moving = find_containers(at, kind, None);
        }
        Verdict::Ask(site) => {
            note_asked();
            let candidates = find_containers(at, kind, None);
            moving = candidates;
            wait(kind, block, candidates, site);
        }
    });
    if moving.1 > 0 {
        at_work(|| {
            if let Some(call) = latency::current() {
                latency::grow(call, kind, block, moving, begin, clock::read() - end);
            }
        });
    }
}

/// A request was answered.
pub fn request_made(way: Way, is_mem: bool, size: u64, timed: &Timed) {
    at_work(|| {
        if !is_learning() {
            let ticks = clock::between(timed.begin, timed.end);
            let line = find_place_of_request().line;
            latency::record(way, is_mem, size, ticks, timed.faults, line);
        }
    });
}

/// A block was given back.
#[inline]
pub fn block_released(block: u64) {
    let now = clock::read();
    at_work(|| latency::released(block, now));
}

fn note_asked() {
    if let Some(header) = ledger::header() {
        header.asked.fetch_add(1, Relaxed);
    }
}

fn wait(kind: Kind, block: u64, candidates: Candidates, site: Option<Site>) {
    pending::wait_for(Pending {
        kind,
        block,
        candidates,
        site,
        place: note_here(),
        call: latency::current(),
    });
}

/// Note where the program is until the next call. What is given back is looked at until then, so that the place is there
/// still; where that is not so, it is looked up now.
fn note_here() -> Noted {
    let is_watched = !PARALLEL.load(Relaxed) && api().is_some_and(super::is_in_place);
    if is_watched {
        note_place()
    } else {
        Noted::Found(find_place())
    }
}

/// What is known of a reallocation before it happens.
pub enum Realloc {
    /// No list's, or one that has been counted.
    Done,
    /// One that begins with nothing: the next call shows whose it was.
    Unknown,
}

/// A block of the domain of memory is about to be reallocated.
#[inline(always)]
pub fn begin_realloc(old: u64, at: u64) -> Realloc {
    if count_remembered(Kind::List, at) {
        Realloc::Done
    } else {
        classify_realloc(old, at)
    }
}

#[inline(never)]
fn classify_realloc(old: u64, at: u64) -> Realloc {
    let mut found = Realloc::Done;
    at_work(|| match classify(Kind::List, at) {
        Verdict::Not => {}
        Verdict::Is => count(Event::ListResize),
        Verdict::Ask(site) => found = ask_about_list(old, at, site),
    });
    found
}

/// Look for the list whose items are reallocated.
#[cold]
#[inline(never)]
fn ask_about_list(old: u64, at: u64, site: Option<Site>) -> Realloc {
    note_asked();
    let candidates = find_containers(at, Kind::List, Some(old));
    if old == 0 {
        let place = note_here();
        pending::prepare(Pending {
            kind: Kind::List,
            block: 0,
            candidates,
            site,
            place,
            call: None,
        });
        return Realloc::Unknown;
    }
    let answer = if candidates.1 > 0 {
        Answer::Grown
    } else {
        Answer::Other
    };
    if is_learning() && answer == Answer::Grown {
        pending::confirm(Kind::List);
    }
    if learn(site, answer, is_learning()) {
        count(Event::ListResize);
    }
    Realloc::Done
}

/// It succeeded.
#[inline(always)]
pub fn end_realloc(call: Realloc, block: u64) {
    if matches!(call, Realloc::Unknown) {
        at_work(|| pending::wait_with(block, latency::current()));
    }
}

/// The event that it is when the object at the beginning of a block is reallocated.
pub fn object_of(old: u64) -> Option<Event> {
    let types = &api()?.types;
    let read = |offset: u64| {
        let is_within_page = old % 4096 <= 4096 - 8 - offset;
        if is_within_page || can_read(old + offset) {
            unsafe { *((old + offset) as *const u64) }
        } else {
            0
        }
    };
    let kind = 8 + widened();
    let first = read(kind);
    if first == types.text {
        return Some(Event::StrResize);
    }
    if first == types.bytes {
        return Some(Event::BytesResize);
    }
    // A tuple has two words of the collector's before it, which keeps none without the global lock.
    let collected = if is_free_threaded() {
        first
    } else {
        read(kind + 16)
    };
    (collected == types.tuple).then_some(Event::TupleResize)
}

/// An object was reallocated.
#[inline(never)]
pub fn object_moved(event: Event) {
    at_work(|| count(event));
}

/// Count a block that got a mapping of its own; `old` is the block that it replaces.
#[inline(always)]
pub fn mapped_maybe(old: u64, block: u64, size: u64) {
    /// glibc never maps smaller blocks by themselves (`DEFAULT_MMAP_THRESHOLD_MIN`).
    const LEAST: u64 = 128 << 10;
    if size >= LEAST && block != 0 && old != block {
        count_mapped(block);
    }
}

#[inline(never)]
fn count_mapped(block: u64) {
    let before = hot().map_word.load(Relaxed);
    if before != 0 && unsafe { *((block - before) as *const u64) } & 2 != 0 {
        at_work(|| count(Event::MemoryMap));
    }
}

/// Pools that a moved block was found in.
static POOLS: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Whether a block that was moved lies in a pool.
#[inline(always)]
pub fn is_pool(block: u64, size: u64) -> bool {
    let header = block & hot().pool_keep.load(Relaxed);
    // Of pools of either size.
    let slot = &POOLS[(header >> 12 ^ header >> 14) as usize % POOLS.len()];
    slot.load(Relaxed) == header || is_new_pool(slot, header, size)
}

#[cold]
#[inline(never)]
fn is_new_pool(slot: &AtomicU64, header: u64, size: u64) -> bool {
    let class = (size + hot().padding.load(Relaxed) as u64 - 1) >> 4;
    let is_one = read_word(header + 32).is_some_and(|word| word >> 32 == class)
        && read_word(header).is_some_and(|word| (1..=1024).contains(&(word & 0xffff_ffff)));
    if is_one {
        slot.store(header, Relaxed);
    }
    is_one
}

/// A child that was forked: no other thread holds anything here.
pub fn start_over() {
    TABLES.open();
    pending::start_over();
}
