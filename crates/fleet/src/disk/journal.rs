//! The attempt that was taken and is not reported yet, on the disk.
//!
//! The stage only goes forward, so that whoever finds it after a crash knows what may have happened: nothing of
//! an attempt that was taken has run; one that was started is never run again.

use std::io;

use datamill_protocol::Lease;
use serde::{Deserialize, Serialize};

use super::durable::{read_if_there, remove_durably, write_durably};
use super::folder::FleetFolder;

/// How far an attempt has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Its files are here; nothing of it has run.
    Taken,
    /// It may have run, in part or whole.
    Started,
}

/// The attempt that a worker is making.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenAttempt {
    /// What was lent; the paths of its specification are filled in.
    pub lease: Lease,
    /// How far it has come.
    pub stage: Stage,
    /// Boot in which it was taken.
    pub taken_boot_id: String,
    /// How often a worker has set out to start it.
    pub starts: u32,
}

impl OpenAttempt {
    /// Reads the journal; none when no attempt is open.
    pub fn read(folder: &FleetFolder) -> io::Result<Option<Self>> {
        let Some(text) = read_if_there(&folder.journal())? else {
            return Ok(None);
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| io::Error::other(format!("{}: {error}", folder.journal().display())))
    }

    /// Writes the journal; it is on the disk when this returns.
    pub fn write(&self, folder: &FleetFolder) -> io::Result<()> {
        write_durably(&folder.journal(), &serde_json::to_vec(self)?, 0o600)
    }

    /// Empties the journal; that is on the disk when this returns.
    pub fn remove(folder: &FleetFolder) -> io::Result<()> {
        remove_durably(&folder.journal())
    }
}
