//! The bounds of one script, as its launcher keeps them.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::fd::RawFd;
use std::time::Duration;

use datamill_probe::{Alarm, Bounds, Ceiling};

use super::amounts::Reached;
use super::group::Members;
use super::kept::{Keeping, Resources, most_refused};
use super::watching::{DiskWatch, LOOK_EVERY};

/// Time after which refused processes are looked for, where the kernel does not report them.
const FIRST_LOOK: Duration = Duration::from_millis(100);
/// Longest time between two such looks.
const LAST_LOOKS: Duration = Duration::from_secs(1);

/// Bounds of one script of a trial.
pub struct ScriptBounds<'a> {
    resources: &'a Resources,
    whose: Members,
    disk: Option<DiskWatch<'a>>,
    ceilings: Vec<Ceiling>,
    reached: Cell<Option<Reached>>,
}

impl<'a> ScriptBounds<'a> {
    /// The bounds of a script that writes to memory, or to the `disk`, of which it may fill
    /// `disk_bytes` (0: what is good for it).
    pub fn new(resources: &'a Resources, whose: Members, disk: Option<(&'a File, u64)>) -> Self {
        let disk = disk.and_then(|(space, bytes)| DiskWatch::begin(space, bytes));
        let mut ceilings = vec![
            Ceiling {
                resource: libc::RLIMIT_NOFILE as i32,
                value: resources.amounts.descriptors,
            },
            Ceiling {
                resource: libc::RLIMIT_CORE as i32,
                value: core_bytes(),
            },
        ];
        if let Some(bytes) = disk.as_ref().and_then(DiskWatch::most_file_bytes) {
            ceilings.push(Ceiling {
                resource: libc::RLIMIT_FSIZE as i32,
                value: bytes,
            });
        }
        if let Keeping::Watch { .. } = resources.keeping {
            ceilings.push(Ceiling {
                resource: libc::RLIMIT_DATA as i32,
                value: resources.amounts.memory_bytes,
            });
            // Counted for all processes of the user, and not for root.
            let most = most_refused(resources.amounts.processes);
            ceilings.push(Ceiling {
                resource: libc::RLIMIT_NPROC as i32,
                value: most.saturating_add(own_tasks()),
            });
        }
        Self {
            resources,
            whose,
            disk,
            ceilings,
            reached: Cell::new(None),
        }
    }

    /// What the script has used up, if anything; to be asked once, after its end.
    pub fn settle(&self) -> Option<Reached> {
        // What the kernel counted is more exact than the first alarm about it.
        let settled = self.resources.settle();
        settled.or(self.reached.get())
    }
}

impl Bounds for ScriptBounds<'_> {
    fn groups(&self) -> &[RawFd] {
        match &self.resources.keeping {
            Keeping::Group { group, .. } => group.joins(self.whose),
            Keeping::Watch { .. } => &[],
        }
    }

    fn ceilings(&self) -> &[Ceiling] {
        &self.ceilings
    }

    fn killed_first(&self) -> bool {
        true
    }

    fn alarms(&self) -> &[Alarm] {
        match &self.resources.keeping {
            Keeping::Group { reports, .. } => reports.alarms(),
            Keeping::Watch { .. } => &[],
        }
    }

    fn interval(&self, elapsed: Duration) -> Option<Duration> {
        let reports = match &self.resources.keeping {
            Keeping::Group { reports, .. } => Some(reports),
            Keeping::Watch { .. } => None,
        };
        match (reports, &self.disk) {
            (Some(reports), None) if reports.tell_everything() => None,
            // Ever more rarely, for the sake of what is measured: a second later is soon enough then.
            (Some(_), None) => Some((elapsed / 8).clamp(FIRST_LOOK, LAST_LOOKS)),
            _ => Some(LOOK_EVERY),
        }
    }

    fn depends_on_looks(&self) -> bool {
        matches!(self.resources.keeping, Keeping::Watch { .. })
    }

    fn is_reached(&self) -> bool {
        if self.reached.get().is_none() {
            let full = self.disk.as_ref().is_some_and(DiskWatch::is_reached);
            let reached = self.resources.look().or(full.then_some(Reached::Disk));
            self.reached.set(reached);
        }
        self.reached.get().is_some()
    }

    fn kill(&self) {
        if let Keeping::Group { group, .. } = &self.resources.keeping {
            group.kill(self.whose);
        }
    }
}

/// No core file; and where the kernel pipes them to a program of the host, which runs outside the trial's
/// limits and heeds no limit of size, the value by which it knows that none is wanted.
fn core_bytes() -> u64 {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    u64::from(pattern.starts_with('|'))
}

/// Threads that this user has on the machine already.
fn own_tasks() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            let name = entry.file_name();
            name.to_string_lossy()
                .bytes()
                .all(|byte| byte.is_ascii_digit())
        })
        .filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok())
        .filter_map(|text| {
            let field = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name))?;
                line.split_ascii_whitespace().next()?.parse::<u64>().ok()
            };
            (field("Uid:")? == u64::from(own)).then(|| field("Threads:"))?
        })
        .sum()
}
