//! How long a dictionary or a set takes to move to another table: from the request of the new one until the old one
//! is given back. What lies between, putting each item in its new place, is most of it.
//!
//! A move asks for no more memory, so that it is over at the thread's next request: what is given back later, as where
//! other threads may still read the old table, is not timed.

use std::cell::Cell;

use super::calls::set_growth;
use super::clock;
use crate::own;
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

thread_local! {
    /// The container that may be moving in this thread, until its next request.
    static MOVING: Cell<Option<Growth>> = const { Cell::new(None) };
}

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
    let is_kept = MOVING.try_with(|moving| moving.set(Some(growth))).is_ok();
    own::own().is_growing.set(is_kept);
}

/// A block was given back at a moment: where it was the container's old table, it has moved.
#[inline]
pub fn released(block: u64, now: u64) {
    if !own::own().is_growing.get() {
        return;
    }
    let Ok(Some(growth)) = MOVING.try_with(Cell::get) else {
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
        own::own().is_growing.set(false);
    }
}
