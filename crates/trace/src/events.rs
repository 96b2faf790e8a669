//! What is counted. The order is that of the totals in the ledger.

/// An event of Table 2.1, or one of those that we count besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Event {
    /// A pool was taken into use for a size class.
    PoolInit = 0,
    /// An arena was mapped.
    NewArena = 1,
    /// A dictionary got a new table of keys.
    DictResize = 2,
    /// A set got a new table.
    SetResize = 3,
    /// The items of a list were reallocated.
    ListResize = 4,
    /// A tuple was reallocated while it was made.
    TupleResize = 5,
    /// A text was reallocated.
    StrResize = 6,
    /// A bytes object was reallocated.
    BytesResize = 7,
    /// A request was answered by a mapping of its own: large blocks, chunks of the frame stack, arenas.
    MemoryMap = 8,
    /// The heap of a native program was extended.
    HeapExtend = 9,
    /// A thread's cache had no block: the allocator took its longer path.
    CacheRefill = 10,
    /// Pages that the kernel mapped in as the allocator touched them.
    PageFault = 11,
}
