//! One request: what is looked at before and after, and what is written down.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::entries::served;
use super::{cache, faults, heap, place};
use crate::events::Event;
use crate::latency::{self, NativeCall, clock};
use crate::ledger::{self, State};
use crate::own::{Own, own};
use crate::record::{LATENCIES, STACKS};

/// How memory is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    Malloc = 1,
    Calloc = 2,
    Realloc = 3,
    /// At a multiple of some number of bytes.
    Aligned = 4,
}

/// A request of the program.
pub struct Request {
    pub way: Way,
    pub size: usize,
    /// The block that is to be reallocated.
    pub old: *mut c_void,
    /// Where the program goes on.
    pub address: u64,
}

/// In the table of requests.
const NATIVE: u8 = 3;

/// Carry a request out and look at what happens in it.
#[inline(always)]
pub fn look_at(request: &Request, ask: impl FnOnce() -> *mut c_void) -> *mut c_void {
    let own = own();
    if own.depth.get() != 0 || !super::COUNTING.load(Relaxed) {
        return ask();
    }
    if !super::is_same_process() {
        super::note_new_process();
    }
    own.depth.set(1);
    own.maps.set(0);
    let is_cached = match request.way {
        Way::Malloc => true,
        Way::Realloc => request.old.is_null(),
        Way::Calloc => cache::SERVES_CALLOC.load(Relaxed),
        Way::Aligned => false,
    };
    let next = if is_cached {
        cache::find_next(request.size)
    } else {
        None
    };
    let heap = heap::look(request.old);
    let faults_before = faults::read(own);
    let is_timed = LATENCIES.load(Relaxed);
    let begin = if is_timed { clock::read() } else { 0 };
    let block = ask();
    let end = if is_timed { clock::read() } else { 0 };
    let faults = match (faults_before, faults::read(own)) {
        (Some(before), Some(after)) => Some(after - before),
        _ => None,
    };
    let mut events = 0;
    if !block.is_null() && next != Some(block as u64) {
        if next.is_some() {
            events |= 1 << Event::CacheRefill as u32;
        }
        events |= heap::find_events(&heap, request.old, block);
    }
    if own.maps.get() > 0 {
        events |= 1 << Event::MemoryMap as u32;
    }
    served::note_request(own, events);
    if events != 0 || faults.is_some_and(|faults| faults > 0) || is_timed {
        write_down(
            own,
            request,
            block,
            events,
            faults,
            clock::between(begin, end),
        );
    }
    own.depth.set(0);
    block
}

#[cold]
#[inline(never)]
fn write_down(
    own: &Own,
    request: &Request,
    block: *mut c_void,
    events: u32,
    faults: Option<u64>,
    ticks: u64,
) {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if !ASKED.load(Relaxed) {
        ASKED.store(true, Relaxed);
        super::say(State::Asked);
    }
    // The caller may look at it after a request that failed.
    let errno = unsafe { *libc::__errno_location() };
    let address = request.address;
    let found = place::find(address);
    let mut counts: [u64; 12] = [0; 12];
    for (event, count) in counts.iter_mut().enumerate() {
        *count = u64::from(events >> event & 1);
    }
    counts[Event::MemoryMap as usize] *= u64::from(own.maps.get()).max(1);
    counts[Event::PageFault as usize] = faults.unwrap_or(0);
    let is_event = counts.iter().any(|count| *count > 0);
    if is_event {
        match found {
            Some((_, own_counts)) => ledger::add_counts(own_counts, &counts),
            None => ledger::add_untold(&counts),
        }
        if STACKS.load(Relaxed)
            && let Some(stack) = place::find_stack(address)
        {
            ledger::add_to_stack(stack, &counts);
        }
    }
    if LATENCIES.load(Relaxed) && !block.is_null() {
        latency::write_native(&NativeCall {
            ticks,
            size: request.size as u64,
            room: super::entries::usable_size(block),
            frame: found.map(|(number, _)| number),
            events,
            faults,
            way: request.way as u8,
            domain: NATIVE,
        });
    }
    unsafe { *libc::__errno_location() = errno };
}
