//! Requests as they are written down.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// A request; the observer's side is `src/datamill/allocators/latencies.py`.
#[repr(C)]
pub struct Call {
    pub ticks: AtomicU64,
    pub size: AtomicU64,
    /// Of native programs see [`crate::latency::NativeCall`]. From the request of a container's new table until its old one was given back; 0 where that is not known.
    pub growth: AtomicU64,
    /// The number of its line and one; 0 where it cannot be told.
    pub frame: AtomicU32,
    pub pid: AtomicU32,
    /// A bit for each event that happened in it.
    pub events: AtomicU32,
    pub way: AtomicU8,
    /// 1 for the domain of objects, 2 for that of memory, 3 for a native allocator, 4 for what a server answered;
    /// written last.
    pub domain: AtomicU8,
    /// Pages that were mapped in as they were touched, and one; 0 where that is not asked for.
    pub faults: AtomicU16,
}
