//! Where in the program an event happens, as numbers of the ledger.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::events::Event;
use crate::latency;
use crate::ledger::{self, Counts, Line, intern_frame, intern_stack, mix};
use crate::python::build;
use crate::python::frames::{self, Spot};
use crate::python::{Api, api, ask_for_line, keep_code, line_in_kept, name_of};
use crate::spin::{TABLES, allow_quick, forbid_quick};

mod remembered;

use remembered::Remembered;

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
        count_stack(event);
        return true;
    }
    let instruction = unsafe { frames::innermost_instruction_tried() };
    match COUNTERS.find(instruction, place_of_instruction(instruction)) {
        Some(counts) => {
            ledger::add_to(&counts[event as usize]);
            true
        }
        None => false,
    }
}

/// Count an event in the stack that the program is in.
#[inline(never)]
fn count_stack(event: Event) {
    let stack = frames::mix_instructions(DEEPEST);
    if !count_in_stack(stack, event) {
        TABLES.hold_once(|| count_in_new_stack(stack, event));
    }
}

/// Count an event in a stack, by the addresses of its instructions, if that is known.
#[inline(always)]
fn count_in_stack(stack: u64, event: Event) -> bool {
    let Some(KnownStack { of_line, of_stack }) = STACK_COUNTERS.find(stack, place_of_stack(stack))
    else {
        return false;
    };
    ledger::add_to(&of_line[event as usize]);
    match of_stack {
        Some(counts) => ledger::add_to(&counts[event as usize]),
        None => ledger::refuse_stack(),
    }
    true
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

const ROOM: usize = 1 << 13;
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
    note_place_in(is_compiled).find()
}

/// A place that is looked up when something turns out to have happened there, as long as its code object lives.
#[derive(Clone, Copy, Debug)]
pub enum Noted {
    Spot(Spot),
    Found(Place),
}

/// Note where the program is.
pub fn note_place() -> Noted {
    note_place_in(false)
}

fn note_place_in(is_compiled: bool) -> Noted {
    if build::is_free_threaded() {
        frames::compare_with_interpreter();
    }
    // A stack is another one soon.
    if STACKS.load(Ordering::Relaxed) {
        return Noted::Found(find_stack(is_compiled));
    }
    match frames::innermost() {
        Some(spot) => Noted::Spot(without_line(spot, is_compiled)),
        None => Noted::Found(nowhere()),
    }
}

impl Noted {
    /// Its numbers in the ledger.
    pub fn find(self) -> Place {
        match self {
            Self::Spot(spot) => Place {
                line: find_line(spot),
                stack: None,
            },
            Self::Found(place) => place,
        }
    }
}

/// A thread that forks or ends the program may have left the interpreter, which then must not be asked.
fn find_line(spot: Spot) -> Line {
    let (lines, _) = unsafe { &*KNOWN.0.get() };
    let is_remembered = lines[room_of(spot)].0 == spot;
    if is_remembered || api().is_some_and(Api::is_inside) {
        tell(number_line(spot).0)
    } else {
        Line::Untold
    }
}

fn room_of(spot: Spot) -> usize {
    (mix(spot.code >> 4, spot.offset as u64) >> 20) as usize % ROOM
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

/// The number of a line, and whether it is remembered: its code object is kept.
fn number_line(spot: Spot) -> (Option<u32>, bool) {
    let (lines, _) = unsafe { &mut *KNOWN.0.get() };
    let slot = &mut lines[room_of(spot)];
    if slot.0 == spot {
        return (Some(slot.1), true);
    }
    let is_kept = keep_code(spot.code);
    let line = match spot.offset {
        SOMEWHERE => 0,
        offset if is_kept => line_in_kept(spot.code, offset),
        offset => api().map_or(0, |api| ask_for_line(api, spot.code, offset)),
    };
    let (file, function) = name_of(spot.code);
    let number = intern_frame(file, function, line);
    if let (Some(number), true) = (number, is_kept) {
        *slot = (spot, number);
    }
    (number, is_kept)
}

/// A stack that was looked up.
struct FoundStack {
    place: Place,
    /// Whether all of its lines have numbers.
    is_whole: bool,
    /// Whether all of its code objects are kept.
    is_kept: bool,
}

/// The stack that the program is in.
fn find_stack(is_compiled: bool) -> Place {
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
        return nowhere();
    };
    hash |= 1;
    let (_, stacks) = unsafe { &mut *KNOWN.0.get() };
    let slot = &mut stacks[(hash >> 20) as usize % ROOM];
    if slot.0 == hash {
        return Place {
            line: tell(number_line(innermost).0),
            stack: Some(slot.1),
        };
    }
    let found = number_stack(is_compiled);
    if let (Some(stack), true) = (found.place.stack, found.is_kept) {
        *slot = (hash, stack);
    }
    found.place
}

/// Numbers of lines, by the address of the instruction.
static NUMBERS: Remembered<u32, { 1 << 15 }> = Remembered::new();

/// The number of the line that a frame is at, if that can be remembered.
#[cold]
fn number_new_line(frame: u64, instruction: u64) -> Option<u32> {
    let (number, is_kept) = number_line(frames::spot_in(frame)?);
    let number = number.filter(|_| is_kept);
    if number.is_some() {
        NUMBERS.keep(instruction, place_of_instruction(instruction), number);
    }
    number
}

/// The stack that the program is in, where each of its instructions can be remembered: where functions call themselves in two places
/// of one line, there are many more stacks of instructions than of lines.
fn number_known_stack() -> Option<FoundStack> {
    let mut numbers = [0_u32; DEEPEST];
    let (mut depth, mut is_known) = (0, true);
    frames::walk_instructions(DEEPEST, |frame, instruction| {
        match NUMBERS
            .find(instruction, place_of_instruction(instruction))
            .or_else(|| number_new_line(frame, instruction))
        {
            Some(number) => numbers[depth] = number,
            None => is_known = false,
        }
        depth += 1;
        is_known
    });
    (is_known && depth > 0).then(|| FoundStack {
        place: Place {
            line: Line::Known(numbers[0]),
            stack: intern_stack(&numbers[..depth]),
        },
        is_whole: true,
        is_kept: true,
    })
}

/// Look up the stack that the program is in, line by line.
#[cold]
fn number_stack(is_compiled: bool) -> FoundStack {
    let mut numbers = [0_u32; DEEPEST];
    let (mut depth, mut is_kept, mut is_whole) = (0, true, true);
    frames::walk(|spot| {
        let spot = without_line(spot, is_compiled && depth == 0);
        let (number, keeps) = number_line(spot);
        match number {
            Some(number) => numbers[depth] = number,
            None => is_whole = false,
        }
        is_kept &= keeps;
        depth += 1;
        is_whole && depth < DEEPEST
    });
    let place = match depth {
        0 => nowhere(),
        _ => Place {
            line: tell((is_whole || depth > 1).then(|| numbers[0])),
            stack: is_whole.then(|| intern_stack(&numbers[..depth])).flatten(),
        },
    };
    FoundStack {
        place,
        is_whole: is_whole && depth > 0,
        is_kept,
    }
}

/// Counters of lines, by the address of the instruction.
static COUNTERS: Remembered<&'static Counts, { 1 << 14 }> = Remembered::new();

#[inline(always)]
fn place_of_instruction(instruction: u64) -> u64 {
    (instruction >> 1) ^ (instruction >> 15)
}

/// Counters of a stack and of its innermost line; for some stacks there was no room.
#[derive(Clone, Copy)]
struct KnownStack {
    of_line: &'static Counts,
    of_stack: Option<&'static Counts>,
}

/// Counters of stacks, by the addresses of their instructions.
static STACK_COUNTERS: Remembered<KnownStack, { 1 << 16 }> = Remembered::new();

#[inline(always)]
fn place_of_stack(stack: u64) -> u64 {
    stack >> 20
}

/// Count an event where the program is.
#[inline(always)]
pub fn count_here(event: Event) {
    if !PLAIN.load(Ordering::Relaxed) {
        count_slowly(event);
    } else if STACKS.load(Ordering::Relaxed) {
        let stack = frames::mix_instructions(DEEPEST);
        if count_in_stack(stack, event) {
            allow_quick();
        } else {
            count_in_new_stack(stack, event);
        }
    } else {
        let instruction = frames::innermost_instruction();
        match COUNTERS.find(instruction, place_of_instruction(instruction)) {
            Some(counts) => {
                ledger::add_to(&counts[event as usize]);
                allow_quick();
            }
            None => count_in_new_line(event),
        }
    }
}

#[cold]
#[inline(never)]
fn count_in_new_line(event: Event) {
    let place = count_slowly(event);
    // What found no room is not looked up again: each time that is told. Known by now, unless its code object could not
    // be kept: another may get that address.
    if let Line::Known(line) = place.line
        && let Some((Spot { code, .. }, instruction)) = frames::innermost_with_instruction()
        && keep_code(code)
    {
        let place = place_of_instruction(instruction);
        COUNTERS.keep(instruction, place, ledger::counts_of(line));
    }
}

/// Count an event in the stack that the program is in; `stack` mixes the addresses of its instructions, or is 0.
#[cold]
#[inline(never)]
fn count_in_new_stack(stack: u64, event: Event) {
    let found = number_known_stack().unwrap_or_else(|| number_stack(false));
    let Place {
        line,
        stack: number,
    } = found.place;
    ledger::credit(event, line, number);
    if let Line::Known(line) = line
        && let Some(of_line) = ledger::counts_of(line)
        && found.is_whole
        && found.is_kept
        && stack != 0
    {
        let of_stack = number.and_then(ledger::counts_of_stack);
        let known = KnownStack { of_line, of_stack };
        STACK_COUNTERS.keep(stack, place_of_stack(stack), Some(known));
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
