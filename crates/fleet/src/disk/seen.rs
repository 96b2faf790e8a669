//! The newest orders that this worker has seen: older ones are void, also after a crash.

use std::io;

use serde::{Deserialize, Serialize};

use super::durable::{read_if_there, write_durably};
use super::folder::FleetFolder;

/// How far the orders have come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Sequence number of the newest orders.
    pub sequence: u64,
    /// Attempts that had their receipts last: they are never made again.
    pub receipted: Vec<String>,
    /// Number of the latest session.
    #[serde(default)]
    pub sessions: u64,
}

impl Seen {
    /// Reads it; nothing was seen when it is not there, or damaged.
    pub fn read(folder: &FleetFolder) -> io::Result<Self> {
        let text = read_if_there(&folder.seen())?.unwrap_or_default();
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }

    /// Brings it to the disk.
    pub fn write(&self, folder: &FleetFolder) -> io::Result<()> {
        write_durably(&folder.seen(), &serde_json::to_vec(self)?, 0o600)
    }
}
