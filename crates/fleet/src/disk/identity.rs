//! Who this worker is in its fleet.

use std::io;

use serde::{Deserialize, Serialize};

use super::durable::{read_if_there, write_durably};
use super::folder::FleetFolder;

/// What enrolment gave, and the secrets that belong to it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Identity {
    /// Address of the coordinator, without a slash at its end.
    pub url: String,
    /// Identity, for ever.
    pub worker_id: String,
    /// Name, as records show it.
    pub name: String,
    /// Addresses of the broker.
    pub nats_urls: Vec<String>,
    /// User JWT for the broker.
    pub nats_jwt: String,
    /// Seed of the NKEY that the JWT is for.
    pub nats_seed: String,
    /// Bearer token for files.
    pub api_key: String,
    /// The only certificate authority of the coordinator that is believed; absent without TLS.
    pub ca_pem: Option<String>,
    /// The same for the broker, which may be another's; absent: without TLS, or whom this system trusts.
    pub nats_ca_pem: Option<String>,
    /// Command of the machine's owner that reboots it.
    #[serde(default)]
    pub reboot_command: Option<String>,
}

impl Identity {
    /// Reads the identity; none when this worker has not joined yet.
    pub fn read(folder: &FleetFolder) -> io::Result<Option<Self>> {
        let Some(text) = read_if_there(&folder.identity())? else {
            return Ok(None);
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            io::Error::other(format!(
                "{}: {error}; remove the file and join the fleet again with a new token",
                folder.identity().display()
            ))
        })
    }

    /// Keeps the identity, for its owner alone.
    pub fn write(&self, folder: &FleetFolder) -> io::Result<()> {
        write_durably(&folder.identity(), &serde_json::to_vec_pretty(self)?, 0o600)
    }
}
