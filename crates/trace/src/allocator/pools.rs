//! Where pools have their headers, found out by asking for blocks (`Objects/obmalloc.c`, `struct pool_header`).

use std::ffi::c_void;

use crate::python::{Api, build};
use crate::readable::read_word;

/// How pools are laid out here.
#[derive(Debug, PartialEq)]
pub struct Pools {
    pub pool_size: u64,
    /// What is added to each request where blocks are watched for overruns.
    pub padding: usize,
}

/// From a pool's header to `szidx`, the number of its size class, in the upper half of a word.
const SIZE_CLASS: u64 = 32;
/// Requests whose blocks are looked at.
const SIZES: [usize; 5] = [1, 40, 100, 250, 470];

/// Find out how pools are laid out; nothing where requests are not served from pools.
pub fn find_pools(api: &Api) -> Option<Pools> {
    let blocks = SIZES.map(|size| unsafe { (api.object_malloc)(size) } as u64);
    // Pools of 16 KiB with the map of arenas, of 4 KiB without; 24 bytes or, with serial numbers, 32 around a block.
    let fits = |pools: &Pools| {
        blocks.iter().zip(SIZES).all(|(block, size)| {
            let header = block & !(pools.pool_size - 1);
            let class = read_word(header + SIZE_CLASS).map(|word| word >> 32);
            let count = read_word(header).map(|word| word & 0xffff_ffff);
            class == Some(((size + pools.padding - 1) >> 4) as u64)
                && count.is_some_and(|count| (1..=pools.pool_size / 16).contains(&count))
        })
    };
    let found = [16 << 10, 4 << 10]
        .into_iter()
        .flat_map(|pool_size| [0, 24, 32].map(|padding| Pools { pool_size, padding }))
        .find(fits);
    for block in blocks {
        unsafe { (api.object_free)(block as *mut c_void) };
    }
    found
}

/// From a block of no pool back to the word in which glibc's allocator keeps its size, and whether it has a mapping of its
/// own; nothing where another allocator serves it.
pub fn find_map_word(api: &Api) -> Option<u64> {
    /// Not so large that giving it back would change which blocks are mapped.
    const SIZE: u64 = 4096;
    /// What may be around a block where it is watched for overruns.
    const MORE: u64 = 80;
    // A free-threaded build has nothing else than mimalloc, whose blocks have the next one's before them.
    if build::is_free_threaded() || api.has_mimalloc() || !has_glibc_malloc() {
        return None;
    }
    let block = unsafe { (api.object_malloc)(SIZE as usize) };
    let is_size = |before: &u64| {
        let word = read_word(block as u64 - before).unwrap_or(0);
        (SIZE..SIZE + MORE).contains(&(word & !7))
    };
    // Right before it, or before what watches it: 16 bytes, twice where the raw domain that serves it is watched as well.
    let found = [8, 24, 40].into_iter().find(is_size);
    unsafe { (api.object_free)(block) };
    found
}

/// Whether `malloc`, behind ours, is glibc's.
fn has_glibc_malloc() -> bool {
    unsafe extern "C" {
        fn gnu_get_libc_version() -> *const libc::c_char;
    }
    let home_of = |function: *const c_void| unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(function, &raw mut info) != 0).then_some(info.dli_fbase)
    };
    let malloc = unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc".as_ptr()) };
    let libc_home = home_of(gnu_get_libc_version as *const c_void);
    libc_home.is_some() && home_of(malloc) == libc_home
}
