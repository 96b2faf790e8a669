//! The frames that the program is in, read where the interpreter keeps them: nothing is allocated.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use super::{api, ask_for_line, build::widened, code, layout::Layout};
use crate::ledger::mix;
use crate::readable::can_read;
use crate::spin::forbid_quick;

static LAYOUT: OnceLock<Layout> = OnceLock::new();
/// Walks that found something else than frames where the layout says that they are.
pub static MISREAD: AtomicU64 = AtomicU64::new(0);

static WALKS: AtomicU64 = AtomicU64::new(0);
const CAREFUL_WALKS: u64 = 64;

/// A place in the program: a code object and an offset into its instructions, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spot {
    pub code: u64,
    pub offset: i32,
}

/// Frames in a row that are not the program's; where more follow, the search ends without a frame.
const MOST_FOREIGN: usize = 64;
/// Bits of a reference that say how it is counted (3.14).
const TAGS: u64 = 7;

/// Whether the innermost frame executes compiled code, which does not keep note of each of its instructions, or may do so:
/// 3.13 does not tell.
pub fn is_in_compiled_code() -> bool {
    let (Some(api), Some(compiled)) = (api(), LAYOUT.get().and_then(|layout| layout.compiled))
    else {
        return true;
    };
    let thread = unsafe { (api.thread_state)() };
    thread != 0 && unsafe { *((thread + compiled) as *const u64) } != 0
}

/// Whether frames are where we look for them.
pub fn can_read_frames() -> bool {
    LAYOUT.get().is_some() && MISREAD.load(Ordering::Relaxed) == 0
}

/// Take a layout into use; false when code objects cannot be read.
pub fn set_layout(layout: Layout) -> bool {
    LAYOUT.set(layout).is_ok() && code::find_offsets()
}

/// Visit the frames of this thread, innermost first, until `visit` says false.
pub fn walk(mut visit: impl FnMut(Spot) -> bool) {
    let (Some(api), Some(layout)) = (api(), LAYOUT.get()) else {
        return;
    };
    let mut place = unsafe { (api.thread_state)() };
    if place == 0 {
        return;
    }
    for step in layout.to_frame.into_iter().flatten() {
        place = unsafe { *((place + step) as *const u64) };
        if place == 0 {
            return;
        }
    }
    let mut frame = place;
    let mut foreign = 0;
    // The first walks are careful: where the layout is not this interpreter's, nothing is read.
    let is_careful = WALKS.load(Ordering::Relaxed) < CAREFUL_WALKS;
    if is_careful {
        WALKS.fetch_add(1, Ordering::Relaxed);
    } else if !IS_TRIED.load(Ordering::Relaxed) {
        try_quick();
    }
    if MISREAD.load(Ordering::Relaxed) > 0 {
        return;
    }
    while frame != 0 {
        if is_careful && !(can_read(frame) && can_read(frame + layout.instruction)) {
            MISREAD.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let code = unsafe { *((frame + layout.code) as *const u64) } & !TAGS;
        let owner = unsafe { *((frame + layout.owner) as *const u8) };
        if owner < layout.first_foreign_owner && is_code(code, api.types.code, is_careful) {
            let instruction = unsafe { *((frame + layout.instruction) as *const u64) };
            if !visit(Spot {
                code,
                offset: offset_in(layout, frame, code, instruction),
            }) {
                return;
            }
            foreign = 0;
        } else {
            foreign += 1;
            if foreign > MOST_FOREIGN {
                MISREAD.fetch_add(1, Ordering::Relaxed);
                distrust();
                return;
            }
        }
        frame = unsafe { *((frame + layout.previous) as *const u64) };
    }
}

fn is_code(code: u64, code_type: u64, is_careful: bool) -> bool {
    let class = code + 8 + widened();
    code != 0 && (!is_careful || can_read(class)) && unsafe { *(class as *const u64) } == code_type
}

/// From the beginning of the instructions that a frame executes.
#[inline(always)]
fn offset_in(layout: &Layout, frame: u64, code: u64, instruction: u64) -> i32 {
    match layout.copy {
        Some(copy) => match unsafe { *((frame + copy) as *const i32) } {
            ..=0 => code::offset_in(code, instruction),
            copy => code::offset_in_copy(code, copy, instruction),
        },
        None => code::offset_in(code, instruction),
    }
}

/// What [`innermost_instruction`] reads, in one place; written before [`IS_TRIED`] says so.
#[repr(align(64))]
struct Quick {
    thread_state: AtomicUsize,
    /// From the thread state to the frame; the second step is there up to 3.12.
    steps: [AtomicU64; 2],
    has_two: AtomicBool,
    /// In a frame.
    instruction: AtomicU64,
    previous: AtomicU64,
    owner: AtomicU64,
    first_foreign_owner: AtomicU8,
}

static QUICK: Quick = Quick {
    thread_state: AtomicUsize::new(0),
    steps: [const { AtomicU64::new(0) }; 2],
    has_two: AtomicBool::new(false),
    instruction: AtomicU64::new(0),
    previous: AtomicU64::new(0),
    owner: AtomicU64::new(0),
    first_foreign_owner: AtomicU8::new(0),
};
/// Whether the layout has been found right so often that it is read without care.
static IS_TRIED: AtomicBool = AtomicBool::new(false);

fn distrust() {
    IS_TRIED.store(false, Ordering::Relaxed);
    forbid_quick();
}

/// The address of the instruction that the innermost frame is at, of whichever kind it is; 0 without a frame.
///
/// An address that was found in a frame of the program before is the program's: its code object is kept alive, so that
/// nothing else lies there.
#[inline(always)]
pub fn innermost_instruction() -> u64 {
    if IS_TRIED.load(Ordering::Relaxed) {
        unsafe { innermost_instruction_tried() }
    } else {
        0
    }
}

/// The same, once frames have been read with care often enough.
#[inline(always)]
pub unsafe fn innermost_instruction_tried() -> u64 {
    let frame = unsafe { innermost_frame_tried() };
    if frame == 0 {
        return 0;
    }
    unsafe { *((frame + QUICK.instruction.load(Ordering::Relaxed)) as *const u64) }
}

/// The innermost frame of any kind; 0 outside Python code.
#[inline(always)]
unsafe fn innermost_frame_tried() -> u64 {
    let read = |place: u64| unsafe { *(place as *const u64) };
    let step = |number: usize| QUICK.steps[number].load(Ordering::Relaxed);
    let thread_state: unsafe extern "C" fn() -> u64 =
        unsafe { std::mem::transmute(QUICK.thread_state.load(Ordering::Relaxed)) };
    let thread = unsafe { thread_state() };
    if thread == 0 {
        return 0;
    }
    let frame = read(thread + step(0));
    if QUICK.has_two.load(Ordering::Relaxed) && frame != 0 {
        return read(frame + step(1));
    }
    frame
}

/// The addresses of the instructions that the program's frames are at, as one word that other stacks do not have: of the
/// innermost frames, `most` of them; 0 before frames have been read with care often enough.
#[inline]
pub fn mix_instructions(most: usize) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = 0_u64;
    let are_tried = walk_instructions(most, |_, instruction| {
        // Less than is done elsewhere: stacks are deep, and addresses leave the upper bits to the product.
        mixed = (mixed.rotate_left(26) ^ instruction).wrapping_mul(ODD);
        true
    });
    if are_tried { mix(mixed, 0) | 1 } else { 0 }
}

/// Visit the program's frames and the addresses of the instructions that they are at, innermost first, `most` of them or
/// until `visit` says false; false before frames have been read with care often enough.
#[inline(always)]
pub fn walk_instructions(most: usize, mut visit: impl FnMut(u64, u64) -> bool) -> bool {
    if !IS_TRIED.load(Ordering::Relaxed) {
        return false;
    }
    let [instruction, previous, owner] = [&QUICK.instruction, &QUICK.previous, &QUICK.owner]
        .map(|offset| offset.load(Ordering::Relaxed));
    let first_foreign_owner = QUICK.first_foreign_owner.load(Ordering::Relaxed);
    let (mut frame, mut depth) = (unsafe { innermost_frame_tried() }, 0);
    while frame != 0 && depth < most {
        unsafe {
            if *((frame + owner) as *const u8) < first_foreign_owner {
                if !visit(frame, *((frame + instruction) as *const u64)) {
                    break;
                }
                depth += 1;
            }
            frame = *((frame + previous) as *const u64);
        }
    }
    true
}

/// The place that a frame of the program is at.
pub fn spot_in(frame: u64) -> Option<Spot> {
    let (layout, api) = (LAYOUT.get()?, api()?);
    let code = unsafe { *((frame + layout.code) as *const u64) } & !TAGS;
    if !is_code(code, api.types.code, false) {
        return None;
    }
    let instruction = unsafe { *((frame + layout.instruction) as *const u64) };
    Some(Spot {
        code,
        offset: offset_in(layout, frame, code, instruction),
    })
}

/// The innermost frame and the address of its instruction, where that frame is the program's.
pub fn innermost_with_instruction() -> Option<(Spot, u64)> {
    let instruction = innermost_instruction();
    let spot = innermost()?;
    let owns = code::offset_in(spot.code, instruction) == spot.offset;
    (instruction != 0 && owns).then_some((spot, instruction))
}

/// Let [`innermost_instruction`] be used once frames have been read with care often enough.
fn try_quick() {
    if MISREAD.load(Ordering::Relaxed) > 0 {
        distrust();
        return;
    }
    let (Some(layout), Some(api)) = (LAYOUT.get(), api()) else {
        return;
    };
    let [Some(first), second] = layout.to_frame else {
        return;
    };
    QUICK
        .thread_state
        .store(api.thread_state as usize, Ordering::Relaxed);
    QUICK.steps[0].store(first, Ordering::Relaxed);
    QUICK.steps[1].store(second.unwrap_or(0), Ordering::Relaxed);
    QUICK.has_two.store(second.is_some(), Ordering::Relaxed);
    QUICK
        .instruction
        .store(layout.instruction, Ordering::Relaxed);
    QUICK.previous.store(layout.previous, Ordering::Relaxed);
    QUICK.owner.store(layout.owner, Ordering::Relaxed);
    QUICK
        .first_foreign_owner
        .store(layout.first_foreign_owner, Ordering::Relaxed);
    IS_TRIED.store(true, Ordering::Release);
}

/// The innermost frame of the program in this thread.
#[inline]
pub fn innermost() -> Option<Spot> {
    if !IS_TRIED.load(Ordering::Relaxed) && WALKS.load(Ordering::Relaxed) >= CAREFUL_WALKS {
        try_quick();
    }
    // Most calls come from a function of the program's, whose frame is the current one.
    if let (Some(layout), Some(api), true) = (
        LAYOUT.get(),
        api(),
        WALKS.load(Ordering::Relaxed) >= CAREFUL_WALKS,
    ) {
        let read = |place: u64| unsafe { *(place as *const u64) };
        let mut frame = unsafe { (api.thread_state)() };
        for step in layout.to_frame {
            match step {
                Some(step) if frame != 0 => frame = read(frame + step),
                _ => {}
            }
        }
        if frame != 0 && MISREAD.load(Ordering::Relaxed) == 0 {
            let code = read(frame + layout.code) & !TAGS;
            let owner = unsafe { *((frame + layout.owner) as *const u8) };
            if owner < layout.first_foreign_owner && is_code(code, api.types.code, false) {
                let instruction = read(frame + layout.instruction);
                return Some(Spot {
                    code,
                    offset: offset_in(layout, frame, code, instruction),
                });
            }
        }
    }
    let mut found = None;
    walk(|spot| {
        found = Some(spot);
        false
    });
    found
}

/// Comparisons that were made.
static COMPARED: AtomicU64 = AtomicU64::new(0);
const COMPARISONS: u64 = 64;

/// Compare the first frames that are read here with what the interpreter reads in them: where that is not the same, no
/// more is read.
///
/// It is asked for nothing that it would have to make: it may be at work on that very thing.
pub fn compare_with_interpreter() {
    if COMPARED.load(Ordering::Relaxed) >= COMPARISONS {
        return;
    }
    let (Some(api), Some(layout)) = (api(), LAYOUT.get()) else {
        return;
    };
    let (Some(frame_code), Some(frame_line)) = (api.frame_code, api.frame_line) else {
        return;
    };
    let read = |place: u64| unsafe { *(place as *const u64) };
    let mut frame = unsafe { (api.thread_state)() };
    for step in layout.to_frame.into_iter().flatten() {
        if frame != 0 {
            frame = read(frame + step);
        }
    }
    if frame == 0 || !can_read(frame + layout.code) || !can_read(frame + layout.instruction) {
        return;
    }
    let code = read(frame + layout.code) & !TAGS;
    let owner = unsafe { *((frame + layout.owner) as *const u8) };
    if owner >= layout.first_foreign_owner || !is_code(code, api.types.code, true) {
        return;
    }
    COMPARED.fetch_add(1, Ordering::Relaxed);
    let told = unsafe { frame_code(frame) };
    unsafe { (api.decref)(told) };
    let line = u32::try_from(unsafe { frame_line(frame) }).unwrap_or(0);
    let instruction = read(frame + layout.instruction);
    let offset = offset_in(layout, frame, code, instruction);
    if told != code || ask_for_line(api, code, offset) != line {
        MISREAD.fetch_add(1, Ordering::Relaxed);
    }
}
