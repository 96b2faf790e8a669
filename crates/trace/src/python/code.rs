//! Code objects: their names and lines.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::build::{is_free_threaded, widened};
use super::{api, lines};
use crate::ledger::NO_TEXT;

/// Where a code object has its file's and its own name, and its instructions; 0 before [`find_offsets`].
static FILE: AtomicU64 = AtomicU64::new(0);
static NAME: AtomicU64 = AtomicU64::new(0);
static INSTRUCTIONS: AtomicU64 = AtomicU64::new(0);

const TYPE_BASIC_SIZE: u64 = 32;

/// Find out how code objects are laid out here, from one whose names we know.
///
/// Needs the global lock, and no hooks in place. Returns false where it cannot be found out.
pub fn find_offsets() -> bool {
    let Some(api) = api() else { return false };
    unsafe {
        let code = (api.new_code)(c"datamill-file".as_ptr(), c"datamill_name".as_ptr(), 1);
        if code == 0 {
            return false;
        }
        // Its instructions are what varies in size: they begin where its fixed part ends.
        let fixed = *((api.types.code + TYPE_BASIC_SIZE + widened()) as *const u64);
        let find = |name: &std::ffi::CStr| {
            let value = (api.get_attribute)(code, name.as_ptr());
            let found = (16..fixed)
                .step_by(8)
                .find(|offset| value != 0 && *((code + offset) as *const u64) == value);
            (api.decref)(value);
            found
        };
        let offsets = (find(c"co_filename"), find(c"co_name"));
        lines::set_table(find(c"co_linetable").unwrap_or(0));
        (api.decref)(code);
        let (Some(file), Some(name)) = offsets else {
            return false;
        };
        FILE.store(file, Ordering::Relaxed);
        NAME.store(name, Ordering::Relaxed);
        INSTRUCTIONS.store(fixed, Ordering::Relaxed);
    }
    true
}

/// From the beginning of a code object's instructions, in bytes.
pub fn offset_in(code: u64, instruction: u64) -> i32 {
    instruction.wrapping_sub(code + INSTRUCTIONS.load(Ordering::Relaxed)) as i32
}

/// From the beginning of a thread's own copy of a code object's instructions, in bytes.
///
/// The copies are in a list (`_PyCodeArray`), the last of a code object's fixed parts; the first is the original.
pub fn offset_in_copy(code: u64, copy: i32, instruction: u64) -> i32 {
    let read = |place: u64| unsafe { *(place as *const u64) };
    let copies = read(code + INSTRUCTIONS.load(Ordering::Relaxed) - 8);
    instruction.wrapping_sub(read(copies + 8 + 8 * copy as u64)) as i32
}

/// The file and the function of a code object.
pub fn name_of(code: u64) -> (&'static [u8], &'static [u8]) {
    let [file, name] = [&FILE, &NAME].map(|offset| {
        let text = unsafe { *((code + offset.load(Ordering::Relaxed)) as *const u64) };
        read_text(text)
    });
    (file, name)
}

/// The bytes of a text, as long as the text lives.
pub fn read_text(text: u64) -> &'static [u8] {
    let Some(api) = api() else { return NO_TEXT };
    let mut length = 0_isize;
    unsafe {
        // The program may be in the middle of raising something.
        let mut error = [0_u64; 3];
        let [kind, value, trace] = &mut error;
        (api.fetch_error)(kind, value, trace);
        let bytes = (api.text_bytes)(text, &raw mut length);
        (api.restore_error)(error[0], error[1], error[2]);
        if bytes.is_null() {
            NO_TEXT
        } else {
            std::slice::from_raw_parts(bytes, length as usize)
        }
    }
}

/// Whether nothing refers to an object any more.
fn is_being_given_back(object: u64) -> bool {
    // The count comes first, or after the two words of the list of all objects.
    !is_free_threaded() && unsafe { *((object + widened()) as *const u32) } == 0
}

const ROOM: usize = 1 << 15;
/// Code objects that are kept alive, so that their addresses stay theirs.
static KEPT: [AtomicU64; ROOM] = [const { AtomicU64::new(0) }; ROOM];
static KEPT_COUNT: AtomicU32 = AtomicU32::new(0);
/// A program that makes code without end must not grow by it.
const MOST_KEPT: u32 = 1 << 14;

/// Keep a code object alive; false when there are too many or it is too late, and what is known of it must not be
/// remembered.
pub fn keep_code(code: u64) -> bool {
    let begin = (code >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize;
    for step in 0..ROOM {
        let slot = &KEPT[(begin >> 20).wrapping_add(step) % ROOM];
        match slot.load(Ordering::Relaxed) {
            there if there == code => return true,
            0 => {
                if KEPT_COUNT.load(Ordering::Relaxed) >= MOST_KEPT || is_being_given_back(code) {
                    return false;
                }
                let Some(api) = api() else { return false };
                unsafe { (api.incref)(code) };
                KEPT_COUNT.fetch_add(1, Ordering::Relaxed);
                slot.store(code, Ordering::Relaxed);
                return true;
            }
            _ => {}
        }
    }
    false
}
