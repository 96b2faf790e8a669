//! When counting begins and ends.
//!
//! The interpreter raises audit events when it begins its program, after its own start, and when it executes what it
//! has compiled: those are what we wait for. Our audit hook is taken out of the interpreter's list then, since each
//! hook makes all audited operations slower.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};

use crate::ledger::{self, Process, State};
use crate::python::layout::{Layout, find_layout, is_free_threaded};
use crate::python::{Api, api, build, find_api, frames, name_of, read_text};
use crate::readable::{can_read, read_word};
use crate::spin::forbid_quick;
use crate::turns::take_turn;
use crate::{allocator, forks, latency, pending, record};

mod practice;

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
static LAYOUT: OnceLock<Layout> = OnceLock::new();
/// Regions that are open.
static REGIONS: AtomicU32 = AtomicU32::new(0);
/// Whether nothing was around the allocator before us.
static IS_LAST: AtomicBool = AtomicBool::new(false);
/// Whether this interpreter can be traced at all.
static READY: AtomicBool = AtomicBool::new(false);

fn say(state: State) {
    if let Some(process) = unsafe { PROCESS.load(Ordering::Acquire).as_ref() } {
        process.say(state);
    }
}

/// The library was loaded into a program.
pub extern "C" fn on_load() {
    crate::executed::resolve();
    let path = unsafe { libc::getenv(c"DATAMILL_TRACE_LEDGER".as_ptr()) };
    if path.is_null() || !ledger::open(unsafe { CStr::from_ptr(path) }) {
        return;
    }
    let Some(header) = ledger::header() else {
        return;
    };
    header.loaded.fetch_add(1, Ordering::Relaxed);
    crate::executed::note_loaded();
    crate::native::resolve();
    let Some(api) = find_api() else {
        crate::native::prepare();
        return;
    };
    write_down(api);
    let version = api.version_text();
    let Some(layout) = find_layout(version) else {
        say(State::UnknownVersion);
        return;
    };
    if !build::find_build(api, is_free_threaded(version)) {
        say(State::OtherObjects);
        return;
    }
    if build::is_free_threaded() {
        say(State::FreeThreaded);
    }
    record::keep(header.wants_stacks(), header.wants_latencies());
    READY.store(true, Ordering::Relaxed);
    LAYOUT.get_or_init(|| layout);
    forks::watch();
    if !header.wants_regions_only() {
        unsafe { (api.add_audit_hook)(on_audit, MARK as *mut c_void) };
        say(State::NoBeginning);
    }
}

/// Tells our entry in the interpreter's list of audit hooks from others.
const MARK: usize = 0x6461_7461_6d69_6c6c;

fn write_down(api: &Api) {
    if let Some(process) = ledger::add_process() {
        process.fill(api.version_text());
        PROCESS.store(std::ptr::from_ref(process).cast_mut(), Ordering::Release);
    }
}

/// How far the interpreter is.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum Stage {
    /// It starts itself.
    Starting,
    /// It looks for the program, and compiles it.
    Finding,
    /// It looks for a module, by means of a module of its own.
    FindingModule,
    /// It executes the program.
    Running,
}

static STAGE: AtomicU8 = AtomicU8::new(Stage::Starting as u8);

extern "C" fn on_audit(event: *const c_char, arguments: *mut c_void, _mark: *mut c_void) -> c_int {
    let name = unsafe { CStr::from_ptr(event) }.to_bytes();
    let stage = STAGE.load(Ordering::Relaxed);
    let next = match name {
        // Compiled files are executed without a word.
        b"cpython.run_file" if is_compiled_file(arguments as u64) => Stage::Running,
        b"cpython.run_module" => Stage::FindingModule,
        _ if name.starts_with(b"cpython.run_") => Stage::Finding,
        b"exec" if stage == Stage::Finding as u8 => Stage::Running,
        b"exec" if stage == Stage::FindingModule as u8 && is_run_by_runpy() => Stage::Running,
        _ => return 0,
    };
    STAGE.store(next as u8, Ordering::Relaxed);
    if let (Stage::Running, Some(api)) = (next, api()) {
        begin();
        leave_audit_list(api);
    }
    0
}

/// Whether the first of an event's arguments is the name of a compiled file.
fn is_compiled_file(arguments: u64) -> bool {
    /// From a tuple to its items: up to 3.13, and from 3.14 on, where tuples keep their hash.
    const ITEMS: [u64; 2] = [24, 32];
    let more = build::widened();
    ITEMS.iter().any(|items| {
        let item = read_word(arguments + items + more).unwrap_or(0);
        let is_text = api()
            .is_some_and(|api| item != 0 && read_word(item + 8 + more) == Some(api.types.text));
        is_text && read_text(item).ends_with(b".pyc")
    })
}

/// Whether the interpreter's own module executes the program's: `runpy._run_code`.
fn is_run_by_runpy() -> bool {
    prepare_frames() && frames::innermost().is_some_and(|spot| name_of(spot.code).1 == b"_run_code")
}

fn prepare_frames() -> bool {
    static PREPARED: OnceLock<bool> = OnceLock::new();
    *PREPARED.get_or_init(|| {
        LAYOUT
            .get()
            .is_some_and(|layout| frames::set_layout(*layout))
    })
}

/// Begin counting. Needs the global lock.
fn begin() {
    let Some(api) = api() else { return };
    if let Some(process) = unsafe { PROCESS.load(Ordering::Acquire).as_ref() } {
        process
            .state
            .fetch_and(!(State::NoBeginning as u32), Ordering::Relaxed);
    }
    if !prepare_frames() {
        say(State::NoFrames);
    }
    static PREPARED: AtomicBool = AtomicBool::new(false);
    let is_first = !PREPARED.swap(true, Ordering::Relaxed);
    if is_first {
        // A tool that was there before us takes ours away when it puts things back at the end.
        IS_LAST.store(api.has_own_allocator(), Ordering::Relaxed);
        let has_pools = allocator::look_at_pools(api);
        if !has_pools && !build::is_free_threaded() {
            say(State::NoPools);
        }
        if !allocator::sees_maps() {
            say(State::NoMaps);
        }
        allocator::find_parallel(api, has_pools);
        if api.compiles() {
            say(State::Compiles);
            record::distrust_compiled_code();
        }
        if record::LATENCIES.load(Ordering::Relaxed) {
            latency::prepare();
        }
    }
    pending::begin_region();
    allocator::install(api);
    allocator::COUNTING.store(true, Ordering::Relaxed);
    if is_first {
        if practice::practise(api) {
            allocator::tell_keys_by_domain();
        } else {
            say(State::NoTables);
        }
    }
    say(State::Began);
}

/// A region of the program begins.
pub fn enable_region() -> bool {
    let Some(header) = ledger::header() else {
        return false;
    };
    let is_native = crate::native::is_prepared();
    if !(READY.load(Ordering::Relaxed) || is_native) || !header.wants_regions_only() {
        return false;
    }
    header.regions.fetch_add(1, Ordering::Relaxed);
    take_turn(|| {
        if REGIONS.fetch_add(1, Ordering::Relaxed) == 0 {
            if is_native {
                crate::native::count(true);
            } else {
                begin();
            }
        }
    });
    true
}

/// A region of the program ends.
pub fn disable_region() -> bool {
    // What this thread did is counted now: another may end the last region.
    allocator::settle_now();
    take_turn(|| {
        let is_open = REGIONS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| {
            open.checked_sub(1)
        });
        if is_open == Ok(1) && crate::native::is_prepared() {
            crate::native::count(false);
        } else if let (Ok(1), Some(api)) = (is_open, api()) {
            // While this thread waited for its turn, another may have left something.
            allocator::settle_now();
            if !allocator::is_in_place(api) {
                say(State::Replaced);
            }
            allocator::COUNTING.store(false, Ordering::Relaxed);
            forbid_quick();
            allocator::remove(api);
        }
        is_open.is_ok()
    })
}

/// The program ends by itself.
pub extern "C" fn on_exit() {
    allocator::settle_now();
    if let (Some(api), true) = (api(), allocator::COUNTING.load(Ordering::Relaxed)) {
        if IS_LAST.load(Ordering::Relaxed) && !allocator::is_in_place(api) {
            say(State::Replaced);
        }
        if frames::MISREAD.load(Ordering::Relaxed) > 0 {
            say(State::NoFrames);
        }
    }
    pending::start_over();
}

/// `_Py_AuditHookEntry`.
#[repr(C)]
struct AuditEntry {
    next: u64,
    function: u64,
    data: u64,
}

/// Take our hook out of the interpreter's list, which begins somewhere in its public state.
fn leave_audit_list(api: &Api) {
    let Some((state, size)) = api.runtime else {
        return;
    };
    let is_ours = |entry: u64| {
        read_word(entry + 8) == Some(on_audit as *const () as u64)
            && read_word(entry + 16) == Some(MARK as u64)
    };
    for place in (state..state + size as u64).step_by(8) {
        let mut link = place as *mut u64;
        // Others may have been added before or after ours.
        for _ in 0..16 {
            let entry = unsafe { *link };
            if entry < 1 << 16 || entry % 16 != 0 || !can_read(entry + 16) {
                break;
            }
            if is_ours(entry) {
                unsafe { *link = (*(entry as *const AuditEntry)).next };
                return;
            }
            let function = unsafe { (*(entry as *const AuditEntry)).function };
            if place as *mut u64 == link && !is_audit_like(function) {
                break;
            }
            link = entry as *mut u64;
        }
    }
}

/// Whether a word may be the address of a function.
fn is_audit_like(word: u64) -> bool {
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    unsafe { libc::dladdr(word as *const c_void, &raw mut info) != 0 }
}
