//! A call that was looked at, until the next one shows what became of its block.

use std::cell::UnsafeCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::events::Event;
use crate::python::build;
use crate::python::objects::{Kind, is_full_list, may_be_keys};
use crate::readable::read_word;
use crate::record::Noted;
use crate::sites::scan::{Candidate, Candidates};
use crate::sites::{Answer, Site, learn};
use crate::spin::{PARALLEL, TABLES, forbid_quick_while, this_thread};
use crate::{latency, ledger};

/// A block whose container will be known at the next call.
#[derive(Clone, Copy)]
pub struct Pending {
    pub kind: Kind,
    pub block: u64,
    pub candidates: Candidates,
    pub site: Option<Site>,
    pub place: Noted,
    /// The number of the request, where its latency is kept.
    pub call: Option<u64>,
}

/// A call that was looked at.
#[derive(Clone, Copy)]
struct Kept {
    call: Option<Pending>,
    /// Whether its block is there, so that it waits.
    waits: bool,
    /// The region that it belongs to.
    region: u32,
}

const NO_CALL: Kept = Kept {
    call: None,
    waits: false,
    region: 0,
};

struct Slot(UnsafeCell<Kept>);

// Used under the lock of the slow path only.
unsafe impl Sync for Slot {}

/// Where threads take turns: whichever calls next, what the last one did is done.
static SLOT: Slot = Slot(UnsafeCell::new(NO_CALL));

/// What is kept for a thread, until it ends.
struct OwnSlot(UnsafeCell<Kept>);

impl Drop for OwnSlot {
    /// The thread makes no other call: this is when it is done.
    fn drop(&mut self) {
        if self.0.get_mut().waits {
            TABLES.hold_once(|| settle_in(self.0.get_mut()));
        }
    }
}

thread_local! {
    /// Where threads run at the same time: each knows when it is done itself.
    static OWN_SLOT: OwnSlot = const { OwnSlot(UnsafeCell::new(NO_CALL)) };
}

/// Calls that wait, in all threads.
static WAITERS: AtomicU32 = AtomicU32::new(0);
/// Whether something is pending; looked at by every call.
pub static WAITING: AtomicBool = AtomicBool::new(false);

/// The slot of this thread; the common one once its own is gone.
fn find_slot() -> *mut Kept {
    let common = SLOT.0.get();
    if PARALLEL.load(Ordering::Relaxed) {
        OWN_SLOT.try_with(|slot| slot.0.get()).unwrap_or(common)
    } else {
        common
    }
}

/// Work on what is kept for this thread.
fn with_slot<R>(work: impl FnOnce(&mut Kept) -> R) -> R {
    work(unsafe { &mut *find_slot() })
}

/// The region that is counted now: what waits since another is nobody's.
static REGION: AtomicU32 = AtomicU32::new(0);

/// Counting begins, perhaps again.
pub fn begin_region() {
    REGION.fetch_add(1, Ordering::Relaxed);
}

/// Forget all that waits: in a child, whose other threads do not exist, and at the end.
pub fn start_over() {
    unsafe {
        *SLOT.0.get() = NO_CALL;
        *find_slot() = NO_CALL;
    }
    WAITERS.store(0, Ordering::Relaxed);
    WAITING.store(false, Ordering::Relaxed);
}
/// The table that dictionaries without items share.
pub static EMPTY_KEYS: AtomicU64 = AtomicU64::new(0);
/// The thread that carries out known operations to learn from; 0 for none.
static LEARNER: AtomicU64 = AtomicU64::new(0);
/// Whether a container of each kind was seen to get another table.
pub static CONFIRMED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Whether the lists that get items are being made, so that none grows.
pub static MAKES_LISTS: AtomicBool = AtomicBool::new(false);

/// Begin to learn from what this thread does, or end it.
pub fn learn_here(learn: bool) {
    LEARNER.store(if learn { this_thread() } else { 0 }, Ordering::Relaxed);
    forbid_quick_while(learn);
}

/// Whether this thread carries out known operations to learn from.
#[inline(always)]
pub fn is_learning() -> bool {
    let learner = LEARNER.load(Ordering::Relaxed);
    learner != 0 && learner == this_thread()
}

/// Note that a container of a kind was seen to get another table.
pub fn confirm(kind: Kind) {
    CONFIRMED[kind as usize].store(true, Ordering::Relaxed);
}

/// Keep a call until the next one.
pub fn wait_for(pending: Pending) {
    with_slot(|slot| {
        keep(slot, pending);
        begin_waiting(slot);
    });
}

/// Keep a call whose block is not there yet.
pub fn prepare(pending: Pending) {
    with_slot(|slot| keep(slot, pending));
}

fn keep(slot: &mut Kept, pending: Pending) {
    slot.call = Some(pending);
    slot.region = REGION.load(Ordering::Relaxed);
}

/// Has blocks that are given back looked at, or no longer; the allocator's tables say how.
pub static LOOK_AT_FREES: OnceLock<fn(bool)> = OnceLock::new();

fn look_at_frees(look: bool) {
    if let Some(have_looked_at) = LOOK_AT_FREES.get() {
        have_looked_at(look);
    }
}

fn begin_waiting(slot: &mut Kept) {
    if !slot.waits {
        slot.waits = true;
        WAITERS.fetch_add(1, Ordering::Relaxed);
    }
    WAITING.store(true, Ordering::Relaxed);
    look_at_frees(true);
}

/// The block is there: keep the call until the next one.
pub fn wait_with(block: u64, call: Option<u64>) {
    with_slot(|slot| {
        if let Some(pending) = slot.call.as_mut() {
            pending.block = block;
            pending.call = call;
            begin_waiting(slot);
        }
    });
}

/// Look at what became of the block, and count it if a container grew.
#[cold]
pub fn settle() {
    // A call may have waited since before there was a second interpreter.
    let common = unsafe { &mut *SLOT.0.get() };
    if common.waits {
        settle_in(common);
    }
    with_slot(|slot| {
        if slot.waits {
            settle_in(slot);
        }
    });
}

fn settle_in(slot: &mut Kept) {
    slot.waits = false;
    if WAITERS.fetch_sub(1, Ordering::Relaxed) == 1 {
        WAITING.store(false, Ordering::Relaxed);
        look_at_frees(false);
    }
    let Some(pending) = slot.call.take() else {
        return;
    };
    if slot.region != REGION.load(Ordering::Relaxed) {
        return;
    }
    let is_strict = is_learning();
    // What still lies on the stack may be the remains of a dictionary, with any word in place of its table.
    let answer = if pending.kind == Kind::Dict && is_stranger(pending.block) {
        Answer::Stranger
    } else {
        find_container(&pending, is_strict)
    };
    if learn(pending.site, answer, is_strict) && !is_strict {
        let place = pending.place.find();
        ledger::credit(event_of(pending.kind), place.line, place.stack);
        if let Some(call) = pending.call {
            latency::attach(call, event_of(pending.kind));
        }
    }
}

/// How the tables of dictionaries are written: 0 where none was seen, 1 as we know it, 2 otherwise.
static KEYS: AtomicU8 = AtomicU8::new(0);

fn looks_like_keys(block: u64) -> bool {
    read_word(block + 8).is_some_and(may_be_keys)
}

/// Whether the last request for a block that may be a dictionary's table was in the domain of memory.
pub static KEYS_ASKED_IN_MEM: AtomicBool = AtomicBool::new(false);
/// Whether a dictionary was seen to get a table of the domain of objects, and of that of memory.
pub static KEYS_SEEN: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

/// A dictionary has a new table: that of the last request that may be for one.
fn note_keys(table: u64) {
    let is_mem = KEYS_ASKED_IN_MEM.load(Ordering::Relaxed);
    KEYS_SEEN[usize::from(is_mem)].store(true, Ordering::Relaxed);
    let is_known = looks_like_keys(table);
    KEYS.fetch_max(if is_known { 1 } else { 2 }, Ordering::Relaxed);
}

/// Whether a block that was asked for in the last call can be no dictionary's table: that is written at once.
fn is_stranger(block: u64) -> bool {
    KEYS.load(Ordering::Relaxed) == 1 && !looks_like_keys(block)
}

/// What became of the block of a call: whether one of the containers that were live then has it.
fn find_container(pending: &Pending, is_strict: bool) -> Answer {
    let (candidates, count) = &pending.candidates;
    let mut answer = Answer::Other;
    for candidate in &candidates[..*count] {
        let table = read_word(candidate.object + pending.kind.table_offset());
        if table == Some(pending.block) {
            answer = match pending.kind {
                Kind::Dict if candidate.table == EMPTY_KEYS.load(Ordering::Relaxed) => {
                    Answer::FromNothing
                }
                Kind::List if build::is_free_threaded() => {
                    tell_new_items(candidate, pending.block, is_strict)
                }
                // Growing from nothing is what a list's reallocation is for.
                _ => Answer::Grown,
            };
            if is_strict && answer == Answer::Grown {
                confirm(pending.kind);
            }
            if pending.kind == Kind::Dict {
                note_keys(pending.block);
            }
            break;
        }
        if table != Some(candidate.table) {
            answer = Answer::Unclear;
        }
    }
    answer
}

/// What the new items of a list say, where a list that grows asks for them as one that is made does.
///
/// One that is made has room for just what it has, or had no items. The few growing lists of which that is true are
/// counted where others have shown what the call serves.
fn tell_new_items(list: &Candidate, items: u64, is_strict: bool) -> Answer {
    if list.table == items || (is_strict && MAKES_LISTS.load(Ordering::Relaxed)) {
        // Remains of another list, whose items these were, or a list that is being made.
        Answer::Other
    } else if list.table != 0 && !is_full_list(list.object) {
        Answer::Grown
    } else if is_strict {
        Answer::Unclear
    } else {
        Answer::FromNothing
    }
}

/// The event that it is when the table of a container is replaced.
pub fn event_of(kind: Kind) -> Event {
    match kind {
        Kind::List => Event::ListResize,
        Kind::Dict => Event::DictResize,
        Kind::Set => Event::SetResize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Place;

    #[test]
    fn a_thread_that_ends_leaves_nothing_waiting() {
        let wait = || {
            wait_for(Pending {
                kind: Kind::List,
                block: 0,
                candidates: Candidates::default(),
                site: None,
                place: Noted::Found(Place::default()),
                call: None,
            });
            assert!(WAITING.load(Ordering::Relaxed));
        };
        std::thread::spawn(wait).join().expect("a thread failed");
        assert_eq!(WAITERS.load(Ordering::Relaxed), 0);
        assert!(!WAITING.load(Ordering::Relaxed));
    }
}
