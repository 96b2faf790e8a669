//! The file in which all processes of a trace count, mapped by each of them and by the observer.
//!
//! The observer makes the file, with its tables' places in the header; here it is only mapped, checked and filled.
//! Little-endian. All counters are atomic: processes add to the same places.

mod call;
mod executed;
mod header;
mod interning;

pub use call::Call;
pub use executed::Executed;
pub use header::{Header, Place, Process, State};

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::events::Event;

static BASE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// Map the ledger of this trace.
///
/// Returns false when that path has no ledger, or one of another version.
pub fn open(path: &CStr) -> bool {
    let base = unsafe { map(path) };
    if base.is_null() || !unsafe { &*base.cast::<Header>() }.is_ours() {
        return false;
    }
    BASE.store(base, Ordering::Release);
    true
}

unsafe fn map(path: &CStr) -> *mut u8 {
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if file < 0 {
            return std::ptr::null_mut();
        }
        let mut about: libc::stat = std::mem::zeroed();
        let length = if libc::fstat(file, &raw mut about) == 0 {
            about.st_size as usize
        } else {
            0
        };
        let base = if length < size_of::<Header>() {
            libc::MAP_FAILED
        } else {
            let both = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(
                std::ptr::null_mut(),
                length,
                both,
                libc::MAP_SHARED,
                file,
                0,
            )
        };
        libc::close(file);
        if base == libc::MAP_FAILED {
            std::ptr::null_mut()
        } else {
            base.cast()
        }
    }
}

/// The header, where a ledger is mapped.
pub fn header() -> Option<&'static Header> {
    let base = BASE.load(Ordering::Acquire);
    (!base.is_null()).then(|| unsafe { &*base.cast::<Header>() })
}

fn at(place: &Place, index: u64, size: u64) -> *mut u8 {
    unsafe {
        BASE.load(Ordering::Relaxed)
            .add((place.offset + index * size) as usize)
    }
}

/// A request's place.
pub fn call(header: &'static Header, number: u64) -> &'static Call {
    unsafe { &*at(&header.calls, number, size_of::<Call>() as u64).cast() }
}

/// A program's place among those that were executed.
pub fn executed(header: &'static Header, number: u64) -> &'static Executed {
    unsafe { &*at(&header.executed, number, size_of::<Executed>() as u64).cast() }
}

/// Where an event happened, as far as that can be told.
#[derive(Clone, Copy, Debug, Default)]
pub enum Line {
    /// In this line of the program.
    Known(u32),
    /// In a line that cannot be told: the table is full, or frames cannot be read.
    #[default]
    Untold,
    /// In none: the interpreter was at work for itself.
    Outside,
}

/// Count an event at a place of the program; `stack` is `None` where stacks are not kept.
pub fn credit(event: Event, line: Line, stack: Option<u32>) {
    let Some(header) = header() else { return };
    let number = event as usize;
    // Totals are what all lines have together: one counter an event.
    let counter = match line {
        Line::Known(frame) => &interning::frame(header, frame).counts[number],
        Line::Untold => &header.untold[number],
        Line::Outside => &header.outside[number],
    };
    add_one(header, counter);
    if let Some(stack) = stack {
        add_one(header, &interning::stack(header, stack).counts[number]);
    }
}

/// The counters of a line.
pub type Counts = [AtomicU64; 12];

/// The counters of a line, by its number.
pub fn counts_of(line: u32) -> Option<&'static Counts> {
    header().map(|header| &interning::frame(header, line).counts)
}

/// The counters of a stack, by its number.
pub fn counts_of_stack(stack: u32) -> Option<&'static Counts> {
    header().map(|header| &interning::stack(header, stack).counts)
}

/// Count an event at a line or in a stack.
#[inline(always)]
pub fn add_to(counter: &AtomicU64) {
    if let Some(header) = header() {
        add_one(header, counter);
    }
}

/// An event in a stack for which there is no room.
pub fn refuse_stack() {
    if let Some(header) = header() {
        header.stacks_refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// Add one to a counter that other processes may add to as well.
///
/// Where no other is there, and none was forked, an instruction that is not locked does: it is one, so that
/// nothing comes between its reading and its writing in this process, and it costs a tenth.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn add_one(header: &Header, counter: &AtomicU64) {
    if header.shared.load(Ordering::Relaxed) == 0 {
        unsafe {
            std::arch::asm!("add qword ptr [{}], 1", in(reg) counter.as_ptr(), options(nostack))
        };
    } else {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Add one to a counter that other processes may add to as well.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn add_one(_header: &Header, counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub use interning::{NO_TEXT, intern_frame, intern_stack, mix};

/// Write down an interpreter that is traced.
pub fn add_process() -> Option<&'static Process> {
    let header = header()?;
    let index = header.interpreters.fetch_add(1, Ordering::SeqCst);
    if index > 0 {
        // Long before it counts anything: it has yet to start its interpreter.
        header.shared.store(1, Ordering::SeqCst);
    }
    (index < header.processes.capacity).then(|| unsafe {
        &*at(&header.processes, index, size_of::<Process>() as u64).cast::<Process>()
    })
}

/// Write down a native program.
pub fn add_program() -> Option<&'static Process> {
    let header = header()?;
    let index = header.native.fetch_add(1, Ordering::SeqCst);
    (index < header.programs.capacity).then(|| unsafe {
        &*at(&header.programs, index, size_of::<Process>() as u64).cast::<Process>()
    })
}

/// Add numbers of events to the counters of a line; threads of native programs do so at the same time.
pub fn add_counts(counters: &[AtomicU64], counts: &[u64]) {
    for (counter, count) in counters.iter().zip(counts) {
        if *count > 0 {
            counter.fetch_add(*count, Ordering::Relaxed);
        }
    }
}

/// Add numbers of events that are in no line.
pub fn add_untold(counts: &[u64]) {
    if let Some(header) = header() {
        add_counts(&header.untold, counts);
    }
}

/// Add numbers of events to those of a stack.
pub fn add_to_stack(stack: u32, counts: &[u64]) {
    if let Some(header) = header() {
        add_counts(&interning::stack(header, stack).counts, counts);
    }
}

fn bump(counter: &AtomicU64, amount: u64, capacity: u64) -> Option<u64> {
    let begin = counter.fetch_add(amount, Ordering::Relaxed);
    (begin + amount <= capacity).then_some(begin)
}
