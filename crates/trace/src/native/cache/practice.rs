//! Where the thread cache keeps its next block, found out by asking for blocks.

use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use super::{MOST, MOST_STEPS, Path, SERVES_CALLOC, Step};
use crate::native::allocator::{Allocator, Kind};
use crate::native::entries::{next_calloc, next_free, next_malloc};
use crate::own::own;
use crate::readable::Pages;
use crate::spin::this_thread;

/// Bytes of an allocator's structures that are looked through.
const REACH: u64 = 4096;
/// What is looked through of mimalloc's pages: the list of free blocks is among their first words.
const PAGE_REACH: u64 = 96;
const MOST_FOUND: usize = 64;
/// glibc's caches serve blocks of up to so many usable bytes (`MAX_TCACHE_SIZE`).
const GLIBC_MOST: usize = 1032;
/// mimalloc finds pages at once for requests of up to so many bytes (`MI_SMALL_SIZE_MAX`).
const MIMALLOC_MOST: usize = 1024;
/// Requests whose paths are compared: no two are of one class anywhere.
const SIZES: [usize; 3] = [24, 88, 240];

type Offsets = [i64; MOST_STEPS];

struct Found {
    paths: [Offsets; MOST_FOUND],
    count: usize,
    /// How often they were right since they were found.
    rounds: usize,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            paths: [[0; MOST_STEPS]; MOST_FOUND],
            count: 0,
            rounds: 0,
        }
    }
}

/// Find out where the cache keeps its next block; false where that does not show.
pub fn practise(allocator: &Allocator) -> bool {
    own().at_work(|| unsafe {
        let Some(words) = find_words(allocator.base) else {
            return false;
        };
        if !set_classes(allocator) {
            return false;
        }
        let length = if allocator.kind == Kind::Mimalloc {
            3
        } else {
            2
        };
        let sets = SIZES.map(|size| search(size, words, allocator.kind));
        let [first, second, third] = &sets;
        let [a, b, c] = SIZES.map(|size| i64::from(super::class_of(size).unwrap_or(0)));
        for one in &first.paths[..first.count] {
            for two in &second.paths[..second.count] {
                let Some(path) = join(one, two, a, b, length) else {
                    continue;
                };
                let fits = third.paths[..third.count].iter().any(|three| {
                    (0..length).all(|step| {
                        three[step] == path.steps[step].offset + path.steps[step].stride * c
                    })
                });
                if fits {
                    super::set_path(&path);
                    SERVES_CALLOC.store(serves_calloc(), Relaxed);
                    return true;
                }
            }
        }
        false
    })
}

/// The path on which both lie: they differ in one step at most.
fn join(one: &Offsets, two: &Offsets, a: i64, b: i64, length: usize) -> Option<Path> {
    let mut path = Path {
        length,
        ..Path::default()
    };
    let mut differing = 0;
    for step in 0..length {
        let change = two[step] - one[step];
        if change % (b - a) != 0 {
            return None;
        }
        let stride = change / (b - a);
        differing += usize::from(stride != 0);
        path.steps[step] = Step {
            offset: one[step] - stride * a,
            stride,
        };
    }
    (differing == 1).then_some(path)
}

/// Number size classes in their order, or by words where the allocator does.
unsafe fn set_classes(allocator: &Allocator) -> bool {
    let most = match allocator.kind {
        Kind::Glibc => GLIBC_MOST,
        Kind::Mimalloc => MIMALLOC_MOST,
        Kind::Jemalloc | Kind::Tcmalloc => MOST,
        Kind::Other => return false,
    };
    let Some(size_of_block) = allocator.size_of_block else {
        return false;
    };
    let (mut class, mut last) = (0, 0);
    for words in 0..=MOST / 8 {
        let size = words * 8;
        if size > most {
            super::set_class(words, None);
            continue;
        }
        if allocator.kind == Kind::Mimalloc {
            super::set_class(words, Some(words as u32));
            continue;
        }
        let block = unsafe { size_of_block(size.max(1), 0) };
        if words > 0 && block != last && last != 0 {
            class += 1;
        }
        last = block;
        super::set_class(words, Some(class));
    }
    true
}

/// The allocator's thread-local words of this thread.
fn find_words(base: u64) -> Option<(u64, u64)> {
    struct Wanted {
        base: u64,
        found: Option<(u64, u64)>,
    }
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> libc::c_int {
        unsafe {
            let (info, wanted) = (&*info, &mut *data.cast::<Wanted>());
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            let begin = headers
                .iter()
                .find(|header| header.p_type == libc::PT_LOAD)
                .map_or(0, |header| header.p_vaddr);
            if info.dlpi_addr + begin != wanted.base {
                return 0;
            }
            let words = headers
                .iter()
                .find(|header| header.p_type == libc::PT_TLS)
                .map(|header| (info.dlpi_tls_data as u64, header.p_memsz));
            wanted.found = words.filter(|(place, _)| *place != 0);
            1
        }
    }
    let mut wanted = Wanted { base, found: None };
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut wanted).cast()) };
    wanted.found
}

/// Paths that led to the next block each time for requests of a size.
unsafe fn search(size: usize, words: (u64, u64), kind: Kind) -> Found {
    if kind == Kind::Mimalloc {
        return unsafe { search_in_pages(size, words) };
    }
    let mut found = Found::default();
    unsafe {
        // What was given back last is handed out first.
        let blocks = [(); 3].map(|()| next_malloc(size));
        for block in blocks {
            next_free(block);
        }
        let reach = if kind == Kind::Jemalloc { 8 } else { REACH };
        look(words, reach, blocks[2] as u64, 2, &mut found);
        for number in (0..3).rev() {
            found.keep_those_at(blocks[number] as u64, 2);
            // Never given back: the cache is as empty as it was.
            next_malloc(size);
        }
    }
    found
}

/// mimalloc keeps what is given back apart, and hands out a new page's blocks in their order.
unsafe fn search_in_pages(size: usize, words: (u64, u64)) -> Found {
    let mut found = Found::default();
    let mut taken = [std::ptr::null_mut(); 40];
    unsafe {
        for number in 0..taken.len() {
            taken[number] = next_malloc(size);
            if number < 2 {
                continue;
            }
            let step = taken[number] as i64 - taken[number - 1] as i64;
            let is_in_order = step == taken[number - 1] as i64 - taken[number - 2] as i64;
            let next = (taken[number] as u64).wrapping_add(step as u64);
            if !is_in_order {
                found.count = 0;
            } else if found.count == 0 {
                look(words, REACH, next, 3, &mut found);
                found.rounds = 0;
            } else {
                found.keep_those_at(next, 3);
                found.rounds += 1;
                if found.rounds == 3 {
                    break;
                }
            }
        }
        for block in taken {
            next_free(block);
        }
    }
    found
}

impl Found {
    /// Leave out all paths that do not lead to a block now.
    fn keep_those_at(&mut self, block: u64, length: usize) {
        let mut kept = 0;
        for number in 0..self.count {
            if follow(&self.paths[number], length) == block {
                self.paths[kept] = self.paths[number];
                kept += 1;
            }
        }
        self.count = kept;
    }
}

fn follow(path: &Offsets, length: usize) -> u64 {
    let pages = Pages::new();
    let mut place = this_thread();
    for step in &path[..length] {
        match pages.read_word(place.wrapping_add(*step as u64)) {
            Some(word) => place = word,
            None => return 0,
        }
    }
    place
}

/// Write down all paths that lead to a block.
fn look(words: (u64, u64), reach: u64, block: u64, length: usize, found: &mut Found) {
    let pages = Pages::new();
    let thread = this_thread();
    for first in (words.0..words.0 + words.1).step_by(8) {
        let Some(one) = pages.read_word(first) else {
            continue;
        };
        if !is_address(one) {
            continue;
        }
        for second in (one..one + reach).step_by(8) {
            let Some(two) = pages.read_word(second) else {
                break;
            };
            let offsets = [first.wrapping_sub(thread) as i64, (second - one) as i64, 0];
            if length == 2 {
                if two == block {
                    keep(found, offsets);
                }
                continue;
            }
            if !is_address(two) {
                continue;
            }
            for third in (two..two + PAGE_REACH).step_by(8) {
                match pages.read_word(third) {
                    Some(word) if word == block => {
                        keep(found, [offsets[0], offsets[1], (third - two) as i64]);
                    }
                    Some(_) => {}
                    None => break,
                }
            }
        }
    }
}

fn is_address(word: u64) -> bool {
    word.is_multiple_of(8) && (1 << 16..1 << 47).contains(&word)
}

fn keep(found: &mut Found, path: Offsets) {
    if found.count < MOST_FOUND {
        found.paths[found.count] = path;
        found.count += 1;
    }
}

/// Whether `calloc` hands out what the cache has next.
fn serves_calloc() -> bool {
    unsafe {
        let block = next_malloc(SIZES[0]);
        next_free(block);
        let expected = super::find_next(SIZES[0]);
        let given = next_calloc(1, SIZES[0]);
        let serves = expected == Some(given as u64) && !given.is_null();
        if serves {
            return true;
        }
        // Takes out again what was put into the cache.
        next_malloc(SIZES[0]);
        false
    }
}
