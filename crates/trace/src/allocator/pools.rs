//! Where pools have their headers, found out by asking for blocks (`Objects/obmalloc.c`, `struct pool_header`).

use std::ffi::{CStr, c_void};

use crate::python::Api;
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

/// Whether `malloc`, behind ours, is glibc's, whose blocks say whether they have a mapping of their own.
pub fn has_glibc_malloc() -> bool {
    unsafe extern "C" {
        fn gnu_get_libc_version() -> *const libc::c_char;
    }
    let home_of = |function: *const c_void| unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(function, &raw mut info) != 0 && !info.dli_fname.is_null();
        found.then(|| CStr::from_ptr(info.dli_fname).to_bytes().to_vec())
    };
    let malloc = unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc".as_ptr()) };
    let libc_home = home_of(gnu_get_libc_version as *const c_void);
    libc_home.is_some() && home_of(malloc) == libc_home
}
