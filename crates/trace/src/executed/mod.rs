//! Programs that are executed, and those of them that load this library: what the observer finds missing ran unseen.

mod binary;
mod entries;

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::ledger::{self, Executed, mix};
use binary::{Binary, find_binary, search_binary};
pub use entries::resolve;

/// Places that are looked at before there is no room.
const MOST_STEPS: u64 = 64;

fn find_entry(binary: &Binary) -> Option<&'static Executed> {
    let header = ledger::header()?;
    let key = mix(binary.device, binary.inode) | 1;
    let capacity = header.executed.capacity;
    for step in 0..MOST_STEPS.min(capacity) {
        let entry = ledger::executed(header, (key >> 1).wrapping_add(step) % capacity);
        match entry.key.compare_exchange(0, key, Release, Acquire) {
            Ok(_) => {
                entry.device.store(binary.device, Relaxed);
                entry.inode.store(binary.inode, Relaxed);
                binary.write_path(entry.path.as_ptr().cast_mut(), entry.path.len());
                entry.ready.store(1, Release);
                return Some(entry);
            }
            Err(other) if other == key => return Some(entry),
            Err(_) => {}
        }
    }
    None
}

/// This program loaded the library.
pub fn note_loaded() {
    let entry = find_binary(libc::AT_FDCWD, c"/proc/self/exe".as_ptr())
        .and_then(|binary| find_entry(&binary));
    if let Some(entry) = entry {
        entry.loaded.fetch_add(1, Relaxed);
    }
}

/// How a program that is about to be executed was named.
enum Named {
    /// By a path from a folder.
    At(c_int, *const c_char),
    /// By a descriptor.
    Descriptor(c_int),
    /// As a shell names it, to be found in `PATH`.
    Searched(*const c_char),
}

type Words = *const *const c_char;

/// Write down that a program is about to be executed; nothing where no trace is.
///
/// May be called between `vfork` and `execve`: it takes no lock and no memory. `environment` is absent where it is not known.
fn note_executed(named: &Named, environment: Option<Words>) -> Option<&'static Executed> {
    let header = ledger::header()?;
    let errno = unsafe { *libc::__errno_location() };
    let found = match named {
        Named::At(folder, path) => find_binary(*folder, *path),
        Named::Descriptor(descriptor) => binary::find_opened(*descriptor),
        Named::Searched(file) => search_binary(*file),
    };
    let entry = found.as_ref().and_then(find_entry);
    if found.is_some() && entry.is_none() {
        header.executed_refused.fetch_add(1, Relaxed);
    }
    drop(found);
    if let Some(entry) = entry {
        entry.executed.fetch_add(1, Relaxed);
        if environment.is_some_and(|words| !asks_for_us(words)) {
            entry.bare.fetch_add(1, Relaxed);
        }
    }
    unsafe { *libc::__errno_location() = errno };
    entry
}

/// It was not executed after all.
fn take_back(entry: Option<&'static Executed>, environment: Option<Words>) {
    if let Some(entry) = entry {
        entry.executed.fetch_sub(1, Relaxed);
        if environment.is_some_and(|words| !asks_for_us(words)) {
            entry.bare.fetch_sub(1, Relaxed);
        }
    }
}

/// Whether a program with this environment is asked to load the library, and told where to count.
fn asks_for_us(environment: Words) -> bool {
    let (mut is_preloaded, mut has_ledger) = (false, false);
    // Without any environment it asks for nothing.
    let mut place = environment;
    while let Some(word) = unsafe { place.as_ref().and_then(|word| word.as_ref()) } {
        let word = unsafe { CStr::from_ptr(word) }.to_bytes();
        has_ledger |= word.starts_with(b"DATAMILL_TRACE_LEDGER=");
        is_preloaded |= word.starts_with(b"LD_PRELOAD=") && names_a_tracer(word);
        place = unsafe { place.add(1) };
    }
    is_preloaded && has_ledger
}

fn names_a_tracer(word: &[u8]) -> bool {
    const NAME: &[u8] = b"datamill_trace";
    word.windows(NAME.len()).any(|part| part == NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_asks_for_the_library_only_with_both_of_its_words() {
        let asks = |words: &[&CStr]| {
            let mut words: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
            words.push(std::ptr::null());
            asks_for_us(words.as_ptr())
        };
        let preload = c"LD_PRELOAD=/a.so:/lib/libdatamill_trace.so";
        let ledger = c"DATAMILL_TRACE_LEDGER=/dev/shm/ledger";
        assert!(asks(&[c"HOME=/", preload, ledger]));
        assert!(!asks(&[preload]));
        assert!(!asks(&[c"LD_PRELOAD=/a.so", ledger]));
        assert!(!asks(&[]));
        assert!(!asks_for_us(std::ptr::null()));
    }
}
