//! Where in the program an event happens, as numbers of the ledger.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::events::Event;
use crate::latency;
use crate::ledger::{self, Counts, Line, intern_frame, intern_stack, mix};
use crate::python::build;
use crate::python::frames::{self, Spot};
use crate::python::{keep_code, line_of, name_of};
use crate::spin::{allow_quick, forbid_quick};

/// Whether whole stacks are kept.
pub static STACKS: AtomicBool = AtomicBool::new(false);

/// Whether the latency of every request is kept.
pub static LATENCIES: AtomicBool = AtomicBool::new(false);

/// Whether latencies are not, so that counters of a line and of a stack are all that an event needs, which are found by the
/// addresses of instructions.
static PLAIN: AtomicBool = AtomicBool::new(false);

/// Whether the interpreter compiles what it executes often.
static COMPILES: AtomicBool = AtomicBool::new(false);

/// The interpreter compiles what it executes often: the instruction that a frame is at may be an earlier one.
pub fn distrust_compiled_code() {
    COMPILES.store(true, Ordering::Relaxed);
    PLAIN.store(false, Ordering::Relaxed);
    forbid_quick();
}

/// Count an event where the program is, if that is a place that is known; only while [`crate::spin::is_quick`].
#[inline(always)]
pub fn count_quickly(event: Event) -> bool {
    if STACKS.load(Ordering::Relaxed) {
        return count_known_stack(event);
    }
    let instruction = unsafe { frames::innermost_instruction_tried() };
    match find_counters(instruction) {
        (known, Some(counts)) if *known == instruction => {
            ledger::add_to(&counts[event as usize]);
            true
        }
        _ => false,
    }
}

/// Count an event in the stack that the program is in, if that is known.
#[inline(never)]
fn count_known_stack(event: Event) -> bool {
    let stack = frames::mix_instructions(DEEPEST);
    match find_stack_counters(stack) {
        (known, Some(counts)) if *known == stack => {
            for counts in counts {
                ledger::add_to(&counts[event as usize]);
            }
            true
        }
        _ => false,
    }
}

/// Say whether whole stacks are kept, and latencies.
pub fn keep(stacks: bool, latencies: bool) {
    STACKS.store(stacks, Ordering::Relaxed);
    LATENCIES.store(latencies, Ordering::Relaxed);
    // Threads that have copies of a function's instructions give them back while it lives.
    let addresses_stay = !build::is_free_threaded();
    PLAIN.store(!latencies && addresses_stay, Ordering::Relaxed);
}

/// A place in the program: its line and, where stacks are kept, its stack.
#[derive(Clone, Copy, Default, Debug)]
pub struct Place {
    pub line: Line,
    pub stack: Option<u32>,
}

const ROOM: usize = 1 << 12;
/// Frames of a stack that are kept; what lies further out is left off.
const DEEPEST: usize = 128;

/// Numbers of places that were looked up lately: of lines, and of stacks by a hash of their spots.
struct Known(UnsafeCell<(Lines, Stacks)>);

type Lines = [(Spot, u32); ROOM];
type Stacks = [(u64, u32); ROOM];

// Used under the lock of the slow path only.
unsafe impl Sync for Known {}

static KNOWN: Known = Known(UnsafeCell::new((
    [(Spot { code: 0, offset: 0 }, 0); ROOM],
    [(0, 0); ROOM],
)));

/// In place of an offset: the instruction is not known, only the function.
const SOMEWHERE: i32 = i32::MIN;

/// Where the program is.
///
/// Compiled code says so before it calls what may execute other code, as where a container grows.
pub fn find_place() -> Place {
    find_place_in(false)
}

/// Where a request of the program's is made, of whichever kind: in compiled code, in a function without a line.
pub fn find_place_of_request() -> Place {
    find_place_in(COMPILES.load(Ordering::Relaxed) && frames::is_in_compiled_code())
}

fn find_place_in(is_compiled: bool) -> Place {
    if build::is_free_threaded() {
        frames::compare_with_interpreter();
    }
    if STACKS.load(Ordering::Relaxed) {
        return find_stack(is_compiled).0;
    }
    match frames::innermost() {
        Some(spot) => Place {
            line: tell(number_line(without_line(spot, is_compiled))),
            stack: None,
        },
        None => nowhere(),
    }
}

fn without_line(spot: Spot, is_compiled: bool) -> Spot {
    match is_compiled {
        true => Spot {
            offset: SOMEWHERE,
            ..spot
        },
        false => spot,
    }
}

fn tell(number: Option<u32>) -> Line {
    number.map_or(Line::Untold, Line::Known)
}

fn nowhere() -> Place {
    Place {
        line: if frames::can_read_frames() {
            Line::Outside
        } else {
            Line::Untold
        },
        stack: None,
    }
}

fn number_line(spot: Spot) -> Option<u32> {
    let (lines, _) = unsafe { &mut *KNOWN.0.get() };
    let hash = mix(spot.code >> 4, spot.offset as u64);
    let slot = &mut lines[(hash >> 20) as usize % ROOM];
    if slot.0 == spot {
        return Some(slot.1);
    }
    let (file, function) = name_of(spot.code);
    let line = match spot.offset {
        SOMEWHERE => 0,
        offset => line_of(spot.code, offset),
    };
    let number = intern_frame(file, function, line)?;
    if keep_code(spot.code) {
        *slot = (spot, number);
    }
    Some(number)
}

/// The stack that the program is in, and whether it is remembered: all its code objects are kept.
fn find_stack(is_compiled: bool) -> (Place, bool) {
    let mut innermost = None;
    let (mut depth, mut hash) = (0, 0);
    frames::walk(|spot| {
        let spot = without_line(spot, is_compiled && depth == 0);
        innermost = innermost.or(Some(spot));
        hash = mix(hash ^ spot.code, spot.offset as u64);
        depth += 1;
        depth < DEEPEST
    });
    let Some(innermost) = innermost else {
        return (nowhere(), false);
    };
    hash |= 1;
    let line = tell(number_line(innermost));
    let (_, stacks) = unsafe { &mut *KNOWN.0.get() };
    let slot = &mut stacks[(hash >> 20) as usize % ROOM];
    if slot.0 == hash {
        let stack = Some(slot.1);
        return (Place { line, stack }, true);
    }
    let (stack, is_kept) = number_stack(is_compiled);
    if let (Some(stack), true) = (stack, is_kept) {
        *slot = (hash, stack);
    }
    (Place { line, stack }, is_kept)
}

/// Return the number of the stack, and whether it may be remembered by its code objects.
#[cold]
fn number_stack(is_compiled: bool) -> (Option<u32>, bool) {
    let mut numbers = [0_u32; DEEPEST];
    let (mut depth, mut is_kept, mut is_whole) = (0, true, true);
    frames::walk(|spot| {
        match number_line(without_line(spot, is_compiled && depth == 0)) {
            Some(number) => numbers[depth] = number,
            None => is_whole = false,
        }
        is_kept &= keep_code(spot.code);
        depth += 1;
        is_whole && depth < DEEPEST
    });
    (
        is_whole.then(|| intern_stack(&numbers[..depth])).flatten(),
        is_kept,
    )
}

/// Counters of lines that events happened in lately, by the address of the instruction.
struct Counters(UnsafeCell<[(u64, Option<&'static Counts>); ROOM]>);

// Used under the lock of the slow path only.
unsafe impl Sync for Counters {}

static COUNTERS: Counters = Counters(UnsafeCell::new([(0, None); ROOM]));

fn find_counters(instruction: u64) -> &'static mut (u64, Option<&'static Counts>) {
    let counters = unsafe { &mut *COUNTERS.0.get() };
    &mut counters[((instruction >> 1) ^ (instruction >> 13)) as usize % ROOM]
}

/// Counters of the line and the stack, of stacks that events happened in lately, by the addresses of their instructions.
struct StackCounters(UnsafeCell<[KnownStack; ROOM]>);

type KnownStack = (u64, Option<[&'static Counts; 2]>);

// Used under the lock of the slow path only.
unsafe impl Sync for StackCounters {}

static STACK_COUNTERS: StackCounters = StackCounters(UnsafeCell::new([(0, None); ROOM]));

fn find_stack_counters(stack: u64) -> &'static mut KnownStack {
    let counters = unsafe { &mut *STACK_COUNTERS.0.get() };
    &mut counters[(stack >> 20) as usize % ROOM]
}

/// Count an event where the program is.
#[inline(always)]
pub fn count_here(event: Event) {
    if PLAIN.load(Ordering::Relaxed) && STACKS.load(Ordering::Relaxed) {
        if count_known_stack(event) {
            allow_quick();
            return;
        }
    } else if PLAIN.load(Ordering::Relaxed) {
        let instruction = frames::innermost_instruction();
        if let (known, Some(counts)) = find_counters(instruction)
            && *known == instruction
        {
            ledger::add_to(&counts[event as usize]);
            allow_quick();
            return;
        }
    }
    count_and_remember(event);
}

#[cold]
#[inline(never)]
fn count_and_remember(event: Event) {
    let place = count_slowly(event);
    // What found no room is not looked up again: each time that is told.
    let is_known = matches!(place.line, Line::Known(_));
    if !PLAIN.load(Ordering::Relaxed) || !is_known {
        return;
    }
    if STACKS.load(Ordering::Relaxed) {
        if place.stack.is_some() {
            remember_stack();
        }
        return;
    }
    // Known by now, unless its code object could not be kept: another may get that address.
    if let Some((Spot { code, .. }, instruction)) = frames::innermost_with_instruction()
        && let Line::Known(line) = find_place().line
        && keep_code(code)
    {
        *find_counters(instruction) = (instruction, ledger::counts_of(line));
    }
}

fn remember_stack() {
    let stack = frames::mix_instructions(DEEPEST);
    let (place, is_kept) = find_stack(false);
    if let (Line::Known(line), Some(number)) = (place.line, place.stack)
        && let (Some(of_line), Some(of_stack)) =
            (ledger::counts_of(line), ledger::counts_of_stack(number))
        && is_kept
        && stack != 0
    {
        *find_stack_counters(stack) = (stack, Some([of_line, of_stack]));
    }
}

#[inline(never)]
fn count_slowly(event: Event) -> Place {
    let place = match event {
        Event::PoolInit | Event::NewArena | Event::MemoryMap => find_place_of_request(),
        _ => find_place(),
    };
    ledger::credit(event, place.line, place.stack);
    if LATENCIES.load(Ordering::Relaxed) && !matches!(place.line, Line::Outside) {
        latency::mark(event);
    }
    place
}
