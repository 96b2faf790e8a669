//! Return addresses of the callers of a hook, and where on the stack they are.

use std::ffi::{c_int, c_void};

/// Callers that are told apart.
pub const MOST_LEVELS: usize = 6;

/// From each return address on the stack to that of its caller, in bytes; 0 where it is not known.
type Steps = [u32; MOST_LEVELS];

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

struct Walk {
    /// Where the hook's own return address is.
    at: u64,
    found: usize,
    /// Where the return address of each level is.
    places: [u64; MOST_LEVELS + 1],
    looked_at: usize,
    /// Steps to find.
    most: usize,
}

/// From the return address of a caller of the hook on the stack to that of its own caller, in bytes; 0 where that is not
/// known. The hook's own return address, which is that of caller 0, is at `at`.
pub fn find_step(at: u64, caller: usize) -> u32 {
    unwind(at, caller + 1)[caller]
}

/// Unwind from here to the callers of the hook whose return address is at `at`, for so many steps: 1 to [`MOST_LEVELS`].
fn unwind(at: u64, most: usize) -> Steps {
    let mut walk = Walk {
        at,
        found: 0,
        places: [0; MOST_LEVELS + 1],
        looked_at: 0,
        most,
    };
    unsafe { _Unwind_Backtrace(visit, (&raw mut walk).cast()) };
    let mut steps = [0; MOST_LEVELS];
    for (step, places) in steps.iter_mut().zip(walk.places[..walk.found].windows(2)) {
        *step = (places[1] - places[0]) as u32;
    }
    steps
}

extern "C" fn visit(context: *mut c_void, data: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 4;
    let walk = unsafe { &mut *data.cast::<Walk>() };
    let (address, frame) = unsafe {
        (
            _Unwind_GetIP(context) as u64,
            _Unwind_GetCFA(context) as u64,
        )
    };
    walk.looked_at += 1;
    let read = |place: u64| unsafe { *(place as *const u64) };
    if walk.found == 0 {
        if address == read(walk.at) && frame > walk.at {
            walk.places[0] = walk.at;
            walk.found = 1;
        }
        return if walk.looked_at < 32 { GO_ON } else { STOP };
    }
    let before = walk.places[walk.found - 1];
    // Where frames end at their return addresses, else somewhere within.
    let place = if read(frame - 8) == address {
        Some(frame - 8)
    } else {
        (before + 8..frame)
            .step_by(8)
            .find(|place| read(*place) == address)
    };
    match place {
        Some(place) if place > before => {
            walk.places[walk.found] = place;
            walk.found += 1;
            if walk.found <= walk.most { GO_ON } else { STOP }
        }
        _ => STOP,
    }
}
