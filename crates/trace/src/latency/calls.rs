//! Where requests are written down, one after the other, until there is no room for more.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::clock;
use crate::events::Event;
use crate::ledger::{self, Call, Line};
use crate::own::own;

/// How memory was asked for.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Way {
    Malloc = 1,
    Calloc = 2,
    Realloc = 3,
}

/// Whether page faults are counted: two calls of the kernel for each request.
static FAULTS: AtomicBool = AtomicBool::new(false);

/// Page faults of this thread so far, where they are asked for.
#[inline(always)]
pub fn read_faults() -> Option<u64> {
    FAULTS.load(Relaxed).then(|| {
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        (usage.ru_minflt + usage.ru_majflt) as u64
    })
}

/// Find out about the counter, unless another process of this trace has. Takes milliseconds.
pub fn prepare() {
    let Some(header) = ledger::header() else {
        return;
    };
    FAULTS.store(header.wants_faults(), Relaxed);
    let cost = clock::find_cost();
    if header.ticks_per_s.load(Relaxed) == 0 {
        header.clock_cost.store(cost, Relaxed);
        header.counter.store(clock::find_counter() as u64, Relaxed);
        header.ticks_per_s.store(clock::find_rate(), Relaxed);
    }
}

/// A request begins.
#[inline(always)]
pub fn begin() {
    let own = own();
    own.call_events.set(0);
    own.call_number.set(0);
    own.is_growing.set(false);
}

/// An event happens in the request that this thread is in.
#[inline(always)]
pub fn mark(event: Event) {
    match current() {
        Some(number) => attach(number, event),
        None => {
            let events = &own().call_events;
            events.set(events.get() | 1 << event as u32);
        }
    }
}

/// The number of the request that this thread is in, where it was written down.
pub fn current() -> Option<u64> {
    own().call_number.get().checked_sub(1)
}

/// An event turns out to have happened in a request.
pub fn attach(number: u64, event: Event) {
    if let Some(call) = find(number) {
        call.events.fetch_or(1 << event as u32, Relaxed);
    }
}

/// Say how long a container took to move to its new table.
pub fn set_growth(number: u64, ticks: u64) {
    if let Some(call) = find(number) {
        call.growth.store(ticks.max(1), Relaxed);
    }
}

fn find(number: u64) -> Option<&'static Call> {
    let header = ledger::header()?;
    (number < header.calls.capacity).then(|| ledger::call(header, number))
}

/// Write down a request of the program; those that the interpreter makes for itself are left out.
pub fn record(way: Way, is_mem: bool, size: u64, ticks: u64, faults: Option<u64>, line: Line) {
    let Some(header) = ledger::header() else {
        return;
    };
    let frame = match line {
        Line::Known(frame) => frame + 1,
        Line::Untold => 0,
        Line::Outside => return,
    };
    let number = header.calls_seen.fetch_add(1, Relaxed);
    let Some(call) = find(number) else { return };
    let own = own();
    call.ticks.store(ticks, Relaxed);
    call.size.store(size, Relaxed);
    call.frame.store(frame, Relaxed);
    call.pid.store(std::process::id(), Relaxed);
    call.events.store(own.call_events.get(), Relaxed);
    call.faults.store(pack_faults(faults), Relaxed);
    call.way.store(way as u8, Relaxed);
    call.domain.store(1 + u8::from(is_mem), Relaxed);
    own.call_number.set(number + 1);
}

/// A request of a native program, or one that a server answered.
pub struct NativeCall {
    pub ticks: u64,
    pub size: u64,
    /// Bytes that the block has room for; of what a server does, the allocator's requests and its refills.
    pub room: u64,
    /// The number of its line.
    pub frame: Option<u32>,
    /// A bit for each event.
    pub events: u32,
    pub faults: Option<u64>,
    pub way: u8,
    pub domain: u8,
}

/// Write down a request of a native program.
pub fn write_native(native: &NativeCall) {
    let Some(header) = ledger::header() else {
        return;
    };
    let number = header.calls_seen.fetch_add(1, Relaxed);
    let Some(call) = find(number) else { return };
    call.ticks.store(native.ticks, Relaxed);
    call.size.store(native.size, Relaxed);
    call.growth.store(native.room, Relaxed);
    call.frame
        .store(native.frame.map_or(0, |frame| frame + 1), Relaxed);
    call.pid.store(std::process::id(), Relaxed);
    call.events.store(native.events, Relaxed);
    call.faults.store(pack_faults(native.faults), Relaxed);
    call.way.store(native.way, Relaxed);
    call.domain.store(native.domain, Relaxed);
}

fn pack_faults(faults: Option<u64>) -> u16 {
    faults.map_or(0, |faults| faults.min(65_000) as u16 + 1)
}

/// Time that the tracer itself took in a request, in ticks.
#[inline(always)]
pub fn note_own_time(ticks: u64) {
    if let Some(header) = ledger::header() {
        let bucket = bucket_of(ticks).min(header.own_times.len() - 1);
        header.own_times[bucket].fetch_add(1, Relaxed);
    }
}

/// Four buckets for each doubling.
fn bucket_of(ticks: u64) -> usize {
    let ticks = ticks.max(4);
    let log = ticks.ilog2();
    (log * 4 + (ticks >> (log - 2) & 3) as u32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Barrier};

    #[test]
    fn threads_that_are_in_requests_at_once_mark_each_its_own() {
        const THREADS: usize = 200;
        let all_are_in = Arc::new(Barrier::new(THREADS));
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let all_are_in = Arc::clone(&all_are_in);
                let work = move || {
                    begin();
                    all_are_in.wait();
                    let event = [Event::PoolInit, Event::ListResize][number % 2];
                    mark(event);
                    all_are_in.wait();
                    own().call_events.get() == 1 << event as u32
                };
                let small = std::thread::Builder::new().stack_size(64 << 10);
                small.spawn(work).expect("a thread")
            })
            .collect();
        let right = threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .filter(|is_right| *is_right)
            .count();
        assert_eq!(right, THREADS);
    }

    #[test]
    fn buckets_divide_each_doubling_in_four() {
        assert_eq!(
            [4, 5, 7, 8, 9, 10, 16].map(bucket_of),
            [8, 9, 11, 12, 12, 13, 16]
        );
        assert_eq!(bucket_of(0), 8);
        assert!(bucket_of(u64::MAX) == 255);
    }
}
