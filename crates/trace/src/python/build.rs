//! How the interpreter at hand was built, where that moves what we read.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::api::Api;
use crate::readable::read_word;

static WIDENED: AtomicU64 = AtomicU64::new(0);
static FREE_THREADED: AtomicBool = AtomicBool::new(false);

/// From a type to the size of its objects, and the size of the plainest of them, in most builds.
const BASIC_SIZE: u64 = 32;
const USUAL_HEAD: u64 = 16;

/// Find out what objects begin with; false where it is nothing that we know.
///
/// That is a reference count and a type (`Include/object.h`). Two more words come before the type without the global
/// lock and, up to 3.12, where all objects are in a list (`--with-trace-refs`).
pub fn find_build(api: &Api, is_free_threaded: bool) -> bool {
    FREE_THREADED.store(is_free_threaded, Ordering::Relaxed);
    let found = [0, 16]
        .into_iter()
        .find(|more| read_word(api.types.object + BASIC_SIZE + more) == Some(USUAL_HEAD + more));
    WIDENED.store(found.unwrap_or(0), Ordering::Relaxed);
    found.is_some()
}

/// By how many bytes all that follows an object's reference count lies further on than in most builds.
#[inline(always)]
pub fn widened() -> u64 {
    WIDENED.load(Ordering::Relaxed)
}

/// Whether threads run at the same time.
#[inline(always)]
pub fn is_free_threaded() -> bool {
    FREE_THREADED.load(Ordering::Relaxed)
}
