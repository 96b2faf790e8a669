//! C++'s `operator new`, which some allocators bring their own of, that calls no `malloc`.
//!
//! Those of the C++ library and of the allocator's own library hand out what `malloc` does, so that a request is
//! passed to that; where it fails, theirs is called, which knows what to do then. Any other is left alone.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{NEXT_MALLOC, Target, exports, next_aligned, next_malloc};
use crate::native::request::{Request, Way, look_at};

type Block = *mut c_void;
type New = unsafe extern "C-unwind" fn(usize, usize, usize) -> Block;

const COUNT: usize = 8;
/// In the order of [`exports!`] below: names, and whether alignment is asked for.
const NAMES: [(&CStr, bool); COUNT] = [
    (c"_Znwm", false),
    (c"_Znam", false),
    (c"_ZnwmRKSt9nothrow_t", false),
    (c"_ZnamRKSt9nothrow_t", false),
    (c"_ZnwmSt11align_val_t", true),
    (c"_ZnamSt11align_val_t", true),
    (c"_ZnwmSt11align_val_tRKSt9nothrow_t", true),
    (c"_ZnamSt11align_val_tRKSt9nothrow_t", true),
];

static NEXT: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];
static LIBRARIES: [&CStr; 2] = [c"libstdc++.so.6", c"libc++abi.so.1"];

macro_rules! operators {
    ($($number:literal $name:ident $target:ident $hook:ident $x86:literal $arm:literal $argument:ident;)*) => {
        $(
            static $target: Target = Target(AtomicUsize::new(0));
            unsafe extern "C-unwind" fn $hook(size: usize, second: usize, third: usize, fourth: usize) -> Block {
                let addresses = [second, third, fourth];
                unsafe { ask($number, size, second, third, addresses[$argument as usize] as u64) }
            }
        )*
        exports! { $($name => $target, $x86, $arm;)* }
        static TARGETS: [&Target; COUNT] = [$(&$target),*];
        fn hooks() -> [usize; COUNT] {
            [$($hook as *const () as usize),*]
        }
    };
}

/// Which argument the return address is put into: the second, third or fourth.
#[derive(Clone, Copy)]
enum Behind {
    Size = 0,
    One = 1,
    Two = 2,
}
use Behind::{One, Size, Two};

operators! {
    0 _Znwm NEW new "rsi" "x1" Size;
    1 _Znam NEW_ARRAY new_array "rsi" "x1" Size;
    2 _ZnwmRKSt9nothrow_t NEW_QUIET new_quiet "rdx" "x2" One;
    3 _ZnamRKSt9nothrow_t NEW_ARRAY_QUIET new_array_quiet "rdx" "x2" One;
    4 _ZnwmSt11align_val_t ALIGNED aligned "rdx" "x2" One;
    5 _ZnamSt11align_val_t ALIGNED_ARRAY aligned_array "rdx" "x2" One;
    6 _ZnwmSt11align_val_tRKSt9nothrow_t ALIGNED_QUIET aligned_quiet "rcx" "x3" Two;
    7 _ZnamSt11align_val_tRKSt9nothrow_t ALIGNED_ARRAY_QUIET aligned_array_quiet "rcx" "x3" Two;
}

unsafe fn ask(number: usize, size: usize, second: usize, third: usize, address: u64) -> Block {
    let is_aligned = NAMES[number].1;
    let request = Request {
        way: if is_aligned {
            Way::Aligned
        } else {
            Way::Malloc
        },
        size,
        old: std::ptr::null_mut(),
        address,
    };
    let size = size.max(1);
    let block = look_at(&request, || unsafe {
        if is_aligned {
            next_aligned(second, size.wrapping_add(second - 1) & !(second - 1))
        } else {
            next_malloc(size)
        }
    });
    if block.is_null() {
        unsafe { give_up(number, size, second, third) }
    } else {
        block
    }
}

/// Let the C++ library say that there is no memory.
#[cold]
unsafe fn give_up(number: usize, size: usize, second: usize, third: usize) -> Block {
    let mut next = NEXT[number].load(Relaxed);
    for library in LIBRARIES {
        if next == 0 {
            // It belongs to a library that was loaded later, for itself alone.
            next = unsafe {
                let loaded = libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
                if loaded.is_null() {
                    continue;
                }
                libc::dlsym(loaded, NAMES[number].0.as_ptr()) as usize
            };
        }
    }
    if next == 0 {
        unsafe { libc::abort() };
    }
    unsafe { std::mem::transmute::<usize, New>(next)(size, second, third) }
}

fn home_of(function: usize) -> Option<&'static CStr> {
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let found = unsafe { libc::dladdr(function as *const c_void, &raw mut info) } != 0;
    (found && !info.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(info.dli_fname) })
}

/// Whether an `operator new` hands out what `malloc` does.
fn is_plain(next: usize) -> bool {
    let Some(home) = home_of(next) else {
        return false;
    };
    let is_library = [&b"libstdc++"[..], b"libc++"].iter().any(|name| {
        home.to_bytes()
            .windows(name.len())
            .any(|part| part == *name)
    });
    is_library || home_of(NEXT_MALLOC.load(Relaxed)) == Some(home)
}

/// Find the operators behind ours.
pub fn resolve() {
    let hooks = hooks();
    for number in 0..COUNT {
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, NAMES[number].0.as_ptr()) } as usize;
        NEXT[number].store(next, Relaxed);
        let is_first = TARGETS[number].0.load(Relaxed) == 0;
        if is_first {
            // Before theirs is loaded, ours does the same.
            let target = if next == 0 { hooks[number] } else { next };
            TARGETS[number].0.store(target, Relaxed);
        }
    }
}

/// Have requests looked at, or no longer.
pub fn set(counts: bool) {
    let hooks = hooks();
    for number in 0..COUNT {
        let next = NEXT[number].load(Relaxed);
        let target = if next == 0 || (counts && is_plain(next)) {
            hooks[number]
        } else {
            next
        };
        TARGETS[number].0.store(target, Relaxed);
    }
}
