//! The first page of the ledger.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Where a table is: `capacity` entries from `offset` on.
#[repr(C)]
pub struct Place {
    pub offset: u64,
    pub capacity: u64,
}

#[repr(C)]
pub struct Header {
    magic: [u8; 8],
    version: u32,
    /// Bit 0: whole stacks are kept. Bit 1: only regions are counted. Bit 2: latencies are kept.
    /// Bit 3: page faults are, too. Bit 4: requests that servers answer are kept.
    pub wishes: u32,
    /// Lines of the program and stacks, in the order in which they came.
    pub frames: Place,
    pub stacks: Place,
    /// Numbers of frames, for stacks; bytes, for names.
    pub stack_frames: Place,
    pub texts: Place,
    pub processes: Place,
    /// Native programs.
    pub programs: Place,
    /// Where lines and stacks are found by their hash.
    pub frame_index: Place,
    pub stack_index: Place,
    pub frames_used: AtomicU64,
    pub stacks_used: AtomicU64,
    pub stack_frames_used: AtomicU64,
    pub texts_used: AtomicU64,
    /// Programs into which the library was loaded, and forks of traced ones.
    pub loaded: AtomicU64,
    pub forks: AtomicU64,
    /// Interpreters that were traced, and native programs.
    pub interpreters: AtomicU64,
    pub native: AtomicU64,
    /// Events at lines or stacks for which there was no room left.
    pub frames_refused: AtomicU64,
    pub stacks_refused: AtomicU64,
    /// Times that a region began.
    pub regions: AtomicU64,
    /// Calls that were looked at, to find out whose they are.
    pub asked: AtomicU64,
    /// Events in lines that could not be told.
    pub untold: [AtomicU64; 16],
    /// Events outside the program's frames: while the interpreter starts, compiles its program, and ends.
    pub outside: [AtomicU64; 16],
    /// Requests, each with its latency, where that is wanted; how many there were, whether or not there was room.
    pub calls: Place,
    pub calls_seen: AtomicU64,
    /// The counter that latencies are read from: what it is, what a reading costs, ticks of it in a second.
    pub counter: AtomicU64,
    pub clock_cost: AtomicU64,
    pub ticks_per_s: AtomicU64,
    /// How often the tracer itself took 2^(n/4) to 2^((n+1)/4) ticks in a request.
    pub own_times: [AtomicU64; 160],
    /// Whether several processes may add to the counters.
    pub shared: AtomicU64,
    /// Programs that were executed, by their files; executions for which there was no room.
    pub executed: Place,
    pub executed_refused: AtomicU64,
}

impl Header {
    /// Whether the file is a ledger that this library understands.
    pub fn is_ours(&self) -> bool {
        &self.magic == b"DMLEDGER" && self.version == 4
    }

    /// Whether whole stacks are wanted.
    pub fn wants_stacks(&self) -> bool {
        self.wishes & 1 != 0
    }

    /// Whether nothing is counted outside regions.
    pub fn wants_regions_only(&self) -> bool {
        self.wishes & 2 != 0
    }

    /// Whether page faults of every request are wanted.
    pub fn wants_faults(&self) -> bool {
        self.wishes & 8 != 0
    }

    /// Whether what a server does for each request that it reads is wanted, in place of requests to the allocator.
    pub fn wants_served(&self) -> bool {
        self.wishes & 16 != 0
    }

    /// Whether the latency of every request is wanted.
    pub fn wants_latencies(&self) -> bool {
        self.wishes & 4 != 0
    }
}

/// An interpreter that was traced, and what could not be seen in it.
#[repr(C)]
pub struct Process {
    pub pid: AtomicU32,
    pub state: AtomicU32,
    pub version: [u8; 120],
    pub program: [u8; 384],
}

/// What is known about a process, as bits.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum State {
    /// Counting began.
    Began = 1,
    /// The allocator has no pools: it is not CPython's own.
    NoPools = 2,
    /// A build without the global lock, whose allocator has no pools.
    FreeThreaded = 4,
    /// A version whose layout we do not know.
    UnknownVersion = 8,
    /// The current frame could not be found.
    NoFrames = 16,
    /// The program put another allocator in ours' place.
    Replaced = 32,
    /// The interpreter said nothing when it began its program.
    NoBeginning = 64,
    /// What the caches of a native program's threads do cannot be seen.
    NoCache = 128,
    /// Page faults of a native program cannot be seen.
    NoFaults = 256,
    /// A native program asked for memory through us.
    Asked = 512,
    /// Objects do not begin with what they begin with in other builds.
    OtherObjects = 1024,
    /// A list, dictionary or set that was grown to try it out was not recognised.
    NoTables = 2048,
    /// Blocks do not say whether they have a mapping of their own.
    NoMaps = 4096,
    /// The interpreter compiles code that does not say which instruction it is at.
    Compiles = 8192,
}

impl Process {
    /// Say something of this process.
    pub fn say(&self, state: State) {
        self.state.fetch_or(state as u32, Ordering::Relaxed);
    }

    /// Write down who a process is; `version` is that of what is traced in it.
    pub fn fill(&self, version: &[u8]) {
        self.pid.store(std::process::id(), Ordering::Relaxed);
        let fill = |place: *const u8, room: usize, text: &[u8]| unsafe {
            std::ptr::copy_nonoverlapping(
                text.as_ptr(),
                place.cast_mut(),
                text.len().min(room - 1),
            );
        };
        fill(self.version.as_ptr(), self.version.len(), version);
        let mut program = [0_u8; 384];
        let path = c"/proc/self/exe".as_ptr();
        let length =
            unsafe { libc::readlink(path, program.as_mut_ptr().cast(), program.len() - 1) };
        fill(
            self.program.as_ptr(),
            self.program.len(),
            &program[..usize::try_from(length).unwrap_or(0)],
        );
    }
}
