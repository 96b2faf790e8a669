//! A call that was looked at, until the next one shows what became of its block.

use std::cell::UnsafeCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::events::Event;
use crate::python::objects::Kind;
use crate::readable::read_word;
use crate::record::Place;
use crate::sites::chain::Steps;
use crate::sites::scan::Candidates;
use crate::sites::{Answer, Site, learn};
use crate::{latency, ledger};

/// A block whose container will be known at the next call.
#[derive(Clone, Copy)]
pub struct Pending {
    pub kind: Kind,
    pub block: u64,
    pub candidates: Candidates,
    pub site: Option<Site>,
    pub steps: Steps,
    pub place: Place,
    /// The number of the request, where its latency is kept.
    pub call: Option<u64>,
}

struct Slot(UnsafeCell<Option<Pending>>);

// Used under the lock of the slow path only.
unsafe impl Sync for Slot {}

static SLOT: Slot = Slot(UnsafeCell::new(None));
/// Whether something is pending; looked at by every call.
pub static WAITING: AtomicBool = AtomicBool::new(false);
/// The table that dictionaries without items share.
pub static EMPTY_KEYS: AtomicU64 = AtomicU64::new(0);
/// Whether known operations are being carried out to learn from.
pub static LEARNING: AtomicBool = AtomicBool::new(false);

/// Keep a call until the next one.
pub fn wait_for(pending: Pending) {
    prepare(pending);
    begin_waiting();
}

/// Keep a call whose block is not there yet.
pub fn prepare(pending: Pending) {
    unsafe { *SLOT.0.get() = Some(pending) };
}

/// Has blocks that are given back looked at, or no longer; the allocator's tables say how.
pub static LOOK_AT_FREES: OnceLock<fn(bool)> = OnceLock::new();

fn look_at_frees(look: bool) {
    if let Some(have_looked_at) = LOOK_AT_FREES.get() {
        have_looked_at(look);
    }
}

fn begin_waiting() {
    WAITING.store(true, Ordering::Relaxed);
    look_at_frees(true);
}

/// The block is there: keep the call until the next one.
pub fn wait_with(block: u64, call: Option<u64>) {
    if let Some(pending) = unsafe { (*SLOT.0.get()).as_mut() } {
        pending.block = block;
        pending.call = call;
        begin_waiting();
    }
}

/// Look at what became of the block, and count it if a container grew.
#[cold]
pub fn settle() {
    WAITING.store(false, Ordering::Relaxed);
    look_at_frees(false);
    let taken = unsafe { (*SLOT.0.get()).take() };
    let Some(pending) = taken else { return };
    let (candidates, count) = &pending.candidates;
    let is_strict = LEARNING.load(Ordering::Relaxed);
    let mut answer = Answer::Other;
    for candidate in &candidates[..*count] {
        let table = read_word(candidate.object + pending.kind.table_offset());
        if table == Some(pending.block) {
            let had_none = candidate.table == EMPTY_KEYS.load(Ordering::Relaxed);
            // Growing from nothing is what a list's reallocation is for.
            let is_first = pending.kind == Kind::Dict && had_none;
            answer = if is_first {
                Answer::FromNothing
            } else {
                Answer::Grown
            };
            break;
        }
        if table != Some(candidate.table) {
            answer = Answer::Unclear;
        }
    }
    if learn(pending.site, answer, &pending.steps, is_strict) && !is_strict {
        ledger::credit(
            event_of(pending.kind),
            pending.place.line,
            pending.place.stack,
        );
        if let Some(call) = pending.call {
            latency::attach(call, event_of(pending.kind));
        }
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
