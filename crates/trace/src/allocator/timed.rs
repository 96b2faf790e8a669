//! What is done around every request where latencies are kept: the counter is read before and after the allocator's own
//! function.

use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use super::hooks::Watch;
use super::slow;
use crate::latency::{self, Way, clock};
use crate::pending::WAITING;
use crate::python::objects::Kind;

/// A request, from its beginning to what we have done about it.
pub struct Timed {
    entered: u64,
    pub begin: u64,
    pub end: u64,
    /// Page faults in it, where they are asked for.
    pub faults: Option<u64>,
}

impl Watch for Timed {
    #[inline(always)]
    fn enter() -> Self {
        let entered = clock::read();
        if WAITING.load(Relaxed) {
            slow::settle_now();
        }
        latency::begin();
        Self {
            entered,
            begin: 0,
            end: 0,
            faults: None,
        }
    }

    #[inline(always)]
    fn call(&mut self, request: impl FnOnce() -> *mut c_void) -> *mut c_void {
        let before = latency::read_faults();
        self.begin = clock::read();
        let block = request();
        self.end = clock::read();
        self.faults = before.and_then(|before| Some(latency::read_faults()? - before));
        block
    }

    #[inline(always)]
    fn made(&self, way: Way, is_mem: bool, size: usize) {
        slow::request_made(way, is_mem, size as u64, self);
    }

    #[inline(always)]
    fn table_made(&self, kind: Kind, block: *mut c_void, at: u64) {
        match kind {
            Kind::List => slow::items_made(block as u64, at),
            _ => slow::table_made_in(kind, block as u64, at, (self.begin, self.end)),
        }
    }

    #[inline(always)]
    fn leave(self) {
        let own = clock::read().wrapping_sub(self.entered) - (self.end - self.begin);
        latency::note_own_time(own);
    }

    #[inline(always)]
    fn released(block: *mut c_void) {
        slow::block_released(block as u64);
    }
}
