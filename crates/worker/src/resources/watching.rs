//! Watching a trial from outside where the machine gives it no control group.

use std::cell::Cell;
use std::fs::{self, File};
use std::time::Duration;

use rustix::fs::fstatvfs;

use super::amounts::{Amounts, Reached, memory_field};

/// How often to look.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Of a disk's free space, the part that a trial leaves alone, one in so many.
const DISK_LEFT_PART: u64 = 16;
/// The most that it leaves alone, in bytes.
const MOST_DISK_LEFT: u64 = 2 << 30;

/// What the machine's own counters said before the trial.
pub struct Watch {
    tasks_before: u64,
    available_before: u64,
}

impl Watch {
    /// Looks before the trial.
    pub fn begin() -> Self {
        Self {
            tasks_before: count_tasks(),
            available_before: memory_field("MemAvailable:"),
        }
    }

    /// Which limit the trial has reached, as far as the machine's counters tell.
    pub fn look(&self, amounts: &Amounts) -> Option<Reached> {
        if count_tasks() > self.tasks_before.saturating_add(amounts.processes) {
            return Some(Reached::Processes);
        }
        let used = self
            .available_before
            .saturating_sub(memory_field("MemAvailable:"));
        (used > amounts.memory_bytes).then_some(Reached::Memory)
    }
}

/// Threads of the whole machine; 0 when it does not tell.
fn count_tasks() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = text
        .split_ascii_whitespace()
        .nth(3)
        .and_then(|field| field.split_once('/'));
    tasks.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}

/// A file system on a disk that a trial writes to.
pub struct DiskWatch<'a> {
    space: &'a File,
    least_free: u64,
    is_reached: Cell<bool>,
}

impl<'a> DiskWatch<'a> {
    /// Looks before a script; `most_bytes` is what the trial may write, 0 for as much as is good for
    /// the disk.
    pub fn begin(space: &'a File, most_bytes: u64) -> Option<Self> {
        let free = free_bytes(space)?;
        let left = (free / DISK_LEFT_PART).min(MOST_DISK_LEFT);
        let least_free = match most_bytes {
            0 => left,
            most => free.saturating_sub(most).max(left),
        };
        Some(Self {
            space,
            least_free,
            is_reached: Cell::new(false),
        })
    }

    /// Whether too little is left.
    pub fn is_reached(&self) -> bool {
        if free_bytes(self.space).is_some_and(|free| free < self.least_free) {
            self.is_reached.set(true);
        }
        self.is_reached.get()
    }

    /// Most bytes that one file can have without too little being left.
    pub fn most_file_bytes(&self) -> Option<u64> {
        Some(free_bytes(self.space)?.saturating_sub(self.least_free))
    }
}

fn free_bytes(space: &File) -> Option<u64> {
    let space = fstatvfs(space).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}
