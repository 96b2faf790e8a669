//! Where in the program a request was made: the return address, as a file and an offset in it. The observer finds
//! function and line afterwards (`src/datamill/conduct/tracing/read_lines.py`).

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::ledger::{self, Counts, intern_frame, intern_stack, mix};

/// Stands for a line that the observer has to find.
const TO_BE_FOUND: u32 = u32::MAX;
const ROOM: usize = 1 << 14;
const MOST_STEPS: usize = 16;
/// Frames of a stack that are kept.
const DEEPEST: usize = 128;

/// A return address that was seen: what it stands for in the ledger.
struct Known {
    key: AtomicU64,
    counts: AtomicPtr<Counts>,
    number: AtomicU32,
}

static KNOWN: [Known; ROOM] = [const {
    Known {
        key: AtomicU64::new(0),
        counts: AtomicPtr::new(std::ptr::null_mut()),
        number: AtomicU32::new(0),
    }
}; ROOM];
/// Libraries that were unloaded: another may lie where one was.
static UNLOADED: AtomicU64 = AtomicU64::new(0);

/// A library is unloaded.
pub fn forget() {
    UNLOADED.fetch_add(1, Ordering::Relaxed);
}

/// A place by its number and counters; nothing where there is no room for more.
pub fn find(address: u64) -> Option<(u32, &'static Counts)> {
    let key = address ^ UNLOADED.load(Ordering::Relaxed) << 48;
    let begin = (mix(key, 0) >> 20) as usize;
    for step in 0..MOST_STEPS {
        let known = &KNOWN[(begin + step) % ROOM];
        match known.key.load(Ordering::Relaxed) {
            found if found == key => {
                let counts = known.counts.load(Ordering::Acquire);
                if counts.is_null() {
                    // Another thread is about to write it down.
                    break;
                }
                return Some((known.number.load(Ordering::Relaxed), unsafe { &*counts }));
            }
            0 => {
                let number = write_down(address)?;
                let counts = ledger::counts_of(number)?;
                if known
                    .key
                    .compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
                {
                    known.number.store(number, Ordering::Relaxed);
                    known
                        .counts
                        .store(std::ptr::from_ref(counts).cast_mut(), Ordering::Release);
                }
                return Some((number, counts));
            }
            _ => {}
        }
    }
    let number = write_down(address)?;
    Some((number, ledger::counts_of(number)?))
}

/// `struct link_map`, as far as it is public.
#[repr(C)]
struct LinkMap {
    base: u64,
    name: *const libc::c_char,
}

unsafe extern "C" {
    fn dladdr1(
        address: *const c_void,
        info: *mut libc::Dl_info,
        extra: *mut *mut c_void,
        flags: c_int,
    ) -> c_int;
}

#[cold]
fn write_down(address: u64) -> Option<u32> {
    const LINK_MAP: c_int = 2;
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let mut map = std::ptr::null_mut();
    // The call is before its return address.
    let inside = (address - 1) as *const c_void;
    let is_known = unsafe { dladdr1(inside, &raw mut info, &raw mut map, LINK_MAP) } != 0;
    if !is_known || map.is_null() {
        return intern_frame(b"", b"[code that was made while the program ran]", 0);
    }
    let map = unsafe { &*map.cast::<LinkMap>() };
    let mut program = [0_u8; 4096];
    let file = if map.name.is_null() || unsafe { *map.name } == 0 {
        let path = c"/proc/self/exe".as_ptr();
        let length = unsafe { libc::readlink(path, program.as_mut_ptr().cast(), program.len()) };
        &program[..usize::try_from(length).unwrap_or(0)]
    } else {
        unsafe { CStr::from_ptr(map.name) }.to_bytes()
    };
    let mut digits = [0_u8; 16];
    let offset = address - map.base;
    for (index, digit) in digits.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(offset >> (60 - 4 * index) & 15) as usize];
    }
    intern_frame(file, &digits, TO_BE_FOUND)
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

struct Walk {
    first: u64,
    depth: usize,
    frames: [u32; DEEPEST],
}

/// The stack from the frame with this return address outwards, as a number; nothing where there is no room for more.
#[cold]
pub fn find_stack(first: u64) -> Option<u32> {
    extern "C" fn visit(context: *mut c_void, data: *mut c_void) -> c_int {
        const GO_ON: c_int = 0;
        const STOP: c_int = 4;
        let walk = unsafe { &mut *data.cast::<Walk>() };
        let address = unsafe { _Unwind_GetIP(context) } as u64;
        if (walk.depth == 0 && address != walk.first) || address == 0 {
            return GO_ON;
        }
        match find(address) {
            Some((number, _)) if walk.depth < DEEPEST => {
                walk.frames[walk.depth] = number;
                walk.depth += 1;
                GO_ON
            }
            _ => STOP,
        }
    }
    let mut walk = Walk {
        first,
        depth: 0,
        frames: [0; DEEPEST],
    };
    unsafe { _Unwind_Backtrace(visit, (&raw mut walk).cast()) };
    if walk.depth == 0 {
        // Where frames cannot be unwound.
        walk.frames[0] = find(first)?.0;
        walk.depth = 1;
    }
    intern_stack(&walk.frames[..walk.depth])
}
