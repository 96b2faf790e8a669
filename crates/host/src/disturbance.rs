//! What else goes on on this host: looked at before and after a trial.

use std::fs::File;

use datamill_protocol::{DisturbanceFacts, PhaseFacts};

/// The kernel's log, read from where it was opened.
#[derive(Debug)]
pub struct KernelLog {
    file: File,
}

impl KernelLog {
    /// Opens the kernel's log at its end; absent when this process may not read it.
    pub fn open() -> Option<Self> {
        let file = File::open("/dev/kmsg").ok()?;
        Some(Self { file })
    }
}

/// One look at the host's counters.
#[derive(Debug)]
pub struct HostLook {}

impl HostLook {
    /// Looks now.
    pub fn take(log: Option<&KernelLog>) -> Self {
        let _ = log.map(|log| &log.file);
        Self {}
    }

    /// What went on between this look and a later one, of which the trial itself did `run`.
    pub fn compare(&self, _later: &Self, _run: &PhaseFacts) -> DisturbanceFacts {
        DisturbanceFacts::default()
    }
}
