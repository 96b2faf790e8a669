//! From a lease to an attempt that can be made here: checks, files, folders.

use std::path::Path;

use datamill_protocol::digest::is_digest;
use datamill_protocol::{
    FLEET_SCHEMA_VERSION, FileNeed, Lease, Orders, Policy, RefusalReason, SCHEMA_VERSION,
};
use rustix::fs::statvfs;

use super::policy::{check_isolation, check_needs, check_policy};
use super::restart::check_reboot;
use crate::disk::{FleetFolder, Identity, work_folder, work_output};
use crate::machine::{Machine, Refusal};
use crate::network::{FileClient, TransferError};
use crate::termination::Termination;

/// Space that is left free for journals and reports, in bytes.
const LEFT_FREE: u64 = 64 << 20;

/// Orders as they came, understood as far as possible.
#[derive(Debug, Clone, PartialEq)]
pub enum Understood {
    /// Whole.
    Orders(Box<Orders>),
    /// They are of another version; only this much of them is known.
    Foreign {
        /// Their sequence number.
        sequence: u64,
        /// Attempt that they ask for.
        attempt: Option<String>,
        /// Why the rest is not understood.
        cause: String,
    },
}

/// Reads orders for a worker; the error is one sentence.
///
/// Orders of the first version named no worker. They are another version's, of which only a refusal comes; those
/// of any later version that do not name this worker are void.
pub fn read_orders(payload: &[u8], worker_id: &str) -> Result<Understood, String> {
    let cause = match serde_json::from_slice::<Orders>(payload) {
        Ok(orders) if orders.worker_id != worker_id => {
            return Err(not_ours(&orders.worker_id));
        }
        Ok(orders) if orders.schema == FLEET_SCHEMA_VERSION => {
            return Ok(Understood::Orders(Box::new(orders)));
        }
        Ok(orders) => format!(
            "version {} of the messages is not this worker's {FLEET_SCHEMA_VERSION}",
            orders.schema
        ),
        Err(error) => error.to_string(),
    };
    let rough: serde_json::Value =
        serde_json::from_slice(payload).map_err(|error| error.to_string())?;
    let named = rough.get("worker_id").and_then(serde_json::Value::as_str);
    let is_first = rough.get("schema").and_then(serde_json::Value::as_u64) == Some(1);
    if named != Some(worker_id) && !(named.is_none() && is_first) {
        return Err(not_ours(named.unwrap_or_default()));
    }
    let sequence = rough.get("sequence").and_then(serde_json::Value::as_u64);
    let Some(sequence) = sequence else {
        return Err(cause);
    };
    let attempt = rough
        .pointer("/lease/attempt")
        .and_then(serde_json::Value::as_str)
        .filter(|attempt| is_attempt(attempt))
        .map(str::to_owned);
    Ok(Understood::Foreign {
        sequence,
        attempt,
        cause,
    })
}

fn not_ours(named: &str) -> String {
    let named: String = named
        .chars()
        .filter(char::is_ascii_graphic)
        .take(16)
        .collect();
    format!("they are for the worker \"{named}\"")
}

/// Whether a text can name an attempt, and therefore a folder.
pub fn is_attempt(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 200
        && !text.starts_with('.')
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// The refusal of what another version asks for.
pub fn refuse_version(cause: &str) -> Refusal {
    Refusal::new(
        RefusalReason::Version,
        format!(
            "datamill-worker {} does not understand the orders: {cause}. Install the coordinator's version on this machine.",
            env!("CARGO_PKG_VERSION")
        ),
    )
}

/// Fills in the paths of a lease's specification.
pub fn place_lease(folder: &FleetFolder, mut lease: Lease) -> Result<Lease, Refusal> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let spec = &mut lease.spec;
    if spec.schema != SCHEMA_VERSION {
        return Err(refuse_version(&format!(
            "version {} of the specification is not this worker's {SCHEMA_VERSION}",
            spec.schema
        )));
    }
    let work = work_folder(folder, &lease.attempt);
    spec.scratch_dir = text(&work.join("scratch"));
    spec.output_dir = text(&work_output(folder, &lease.attempt));
    spec.cache_dir = text(&folder.cache());
    let archives = [&mut spec.package]
        .into_iter()
        .chain(&mut spec.background)
        .map(|package| (&package.name, &package.sha256, &mut package.path))
        .chain(
            spec.user_factors
                .iter_mut()
                .map(|factor| (&factor.name, &factor.sha256, &mut factor.path)),
        );
    for (name, sha256, path) in archives {
        let digest = sha256.as_deref().filter(|sha256| is_digest(sha256));
        let Some(digest) = digest else {
            return Err(Refusal::new(
                RefusalReason::File,
                format!("{name} has no digest by which it could be fetched."),
            ));
        };
        *path = text(&folder.files().join(format!("{digest}.tar.gz")));
    }
    Ok(lease)
}

/// Checks everything about a placed lease that needs no transfer.
pub fn check_lease(
    folder: &FleetFolder,
    identity: &Identity,
    machine: &dyn Machine,
    policy: &Policy,
    lease: &Lease,
) -> Result<(), Refusal> {
    check_policy(policy, lease)?;
    check_needs(policy, &lease.spec.needs)?;
    check_isolation(policy, &lease.spec, machine.isolation())?;
    if lease.reboot {
        check_reboot(identity).map_err(|cause| Refusal::new(RefusalReason::Policy, cause))?;
    }
    machine.check_folders(&lease.spec, policy)?;
    machine.check_spec(&lease.spec, lease.prebuilt.is_some())?;
    check_space(folder, lease)
}

/// Files of a lease that are not here yet, neither packed nor unpacked.
pub fn missing_files(folder: &FleetFolder, lease: &Lease) -> Vec<FileNeed> {
    lease
        .files
        .iter()
        .chain(&lease.prebuilt)
        .filter(|need| {
            let packed = folder.files().join(format!("{}.tar.gz", need.sha256));
            let unpacked = folder.cache().join("packages").join(&need.sha256);
            !unpacked.is_dir()
                && packed
                    .metadata()
                    .map_or(true, |data| data.len() != need.bytes)
        })
        .cloned()
        .collect()
}

/// Checks that there is room for the files, after throwing away what can be fetched or built again.
fn check_space(folder: &FleetFolder, lease: &Lease) -> Result<(), Refusal> {
    let needed = |lease: &Lease| {
        let files: u64 = missing_files(folder, lease)
            .iter()
            .map(|need| need.bytes)
            .sum();
        // Packed and unpacked.
        files.saturating_mul(2).saturating_add(LEFT_FREE)
    };
    if free_bytes(&folder.cache()).is_none_or(|free| free >= needed(lease)) {
        return Ok(());
    }
    folder.make_room();
    let (free, needed) = (free_bytes(&folder.cache()).unwrap_or(0), needed(lease));
    if free >= needed {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalReason::Disk,
        format!(
            "{} has {free} bytes free, and the attempt needs {needed}.",
            folder.cache().display()
        ),
    ))
}

/// Free bytes on the file system of a path.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let space = statvfs(path).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

/// Brings the files of a lease here.
pub fn fetch_files(
    folder: &FleetFolder,
    client: &FileClient,
    lease: &Lease,
    termination: &Termination,
) -> Result<(), TransferError> {
    for need in missing_files(folder, lease) {
        if !is_digest(&need.sha256) {
            return Err(TransferError::Refused(Refusal::new(
                RefusalReason::File,
                "A file of the attempt is named by something that is not a digest.",
            )));
        }
        let target = folder.files().join(format!("{}.tar.gz", need.sha256));
        client.download(&need, &target, termination)?;
    }
    Ok(())
}
