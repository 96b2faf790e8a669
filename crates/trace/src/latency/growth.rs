//! How long a dictionary or a set takes to move to another table: from the request of the new one until the old one
//! is given back. What lies between, putting each item in its new place, is most of it.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::calls::set_growth;
use super::clock;
use crate::python::objects::Kind;
use crate::readable::read_word;
use crate::sites::scan::Candidates;

/// A container that may be moving.
#[derive(Clone, Copy)]
struct Growth {
    call: u64,
    kind: Kind,
    block: u64,
    candidates: Candidates,
    /// When the new table was asked for.
    begin: u64,
    /// Our own work since, in ticks.
    own: u64,
}

struct Slot(UnsafeCell<Option<Growth>>);

// Used under the lock of the slow path only.
unsafe impl Sync for Slot {}

static SLOT: Slot = Slot(UnsafeCell::new(None));
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// A table was asked for, which one of these containers may move to.
pub fn grow(call: u64, kind: Kind, block: u64, candidates: Candidates, begin: u64, own: u64) {
    let growth = Growth {
        call,
        kind,
        block,
        candidates,
        begin,
        own,
    };
    unsafe { *SLOT.0.get() = Some(growth) };
    IS_OPEN.store(true, Relaxed);
}

/// A block was given back at a moment: where it was the container's old table, it has moved.
#[inline]
pub fn released(block: u64, now: u64) {
    if !IS_OPEN.load(Relaxed) {
        return;
    }
    let Some(growth) = (unsafe { *SLOT.0.get() }) else {
        return;
    };
    let (candidates, count) = &growth.candidates;
    let has_moved = candidates[..*count].iter().any(|candidate| {
        candidate.table == block
            && read_word(candidate.object + growth.kind.table_offset()) == Some(growth.block)
    });
    if has_moved {
        let ticks = clock::between(growth.begin, now).saturating_sub(growth.own);
        set_growth(growth.call, ticks);
        IS_OPEN.store(false, Relaxed);
    }
}
