//! What this host offers of the factors of a trial's private world.

use std::fs::File;
use std::sync::OnceLock;

use datamill_protocol::{FactorOffer, FactorStage, MissingLevel};

use super::page_cache::DroppedCaches;
use crate::world::{DROP_CACHES, RootFilesystem};

/// Longest path of a working directory that leaves programs room for names below it.
pub const LONGEST_DIRECTORY: usize = 4000;

/// Why no trial is preceded by a reboot.
pub const REBOOT_REASON: &str =
    "it needs a worker of a fleet, which goes on after its host came up again";

/// What this host offers of the world factors.
pub fn offer_factors() -> Vec<FactorOffer> {
    let stage = FactorStage::World;
    let of = |name: &str, levels: &[&str]| FactorOffer::of(name, stage, levels);
    let in_private_world = |offer: FactorOffer| match missing_world() {
        None => offer,
        Some(reason) => FactorOffer::none(&offer.name, stage, &reason),
    };
    let mut reboot = of("reboot", &["none"]);
    reboot.missing.push(missing("before_trial", REBOOT_REASON));
    vec![
        in_private_world(of("working_directory_length", &["1", "100", "1000"])),
        in_private_world(offer_filesystems()),
        offer_caches(),
        of("cache_preload", &["off", "on"]),
        of("warmups", &["0", "1", "3", "10"]),
        of("background_load", &["none"]),
        of("session", &["same", "different"]),
        reboot,
    ]
}

fn missing(level: &str, reason: &str) -> MissingLevel {
    MissingLevel {
        level: level.to_owned(),
        reason: reason.to_owned(),
    }
}

fn offer_filesystems() -> FactorOffer {
    let mut offer = FactorOffer::of("root_filesystem", FactorStage::World, &[]);
    for filesystem in RootFilesystem::ALL {
        match filesystem.missing_reason() {
            None => offer.levels.push(filesystem.name().to_owned()),
            Some(reason) => offer.missing.push(missing(filesystem.name(), &reason)),
        }
    }
    offer
}

fn offer_caches() -> FactorOffer {
    let mut offer = FactorOffer::of("drop_caches", FactorStage::World, &["none"]);
    for caches in DroppedCaches::ALL.into_iter().skip(1) {
        match missing_caches() {
            None => offer.levels.push(caches.name().to_owned()),
            Some(reason) => offer.missing.push(missing(caches.name(), &reason)),
        }
    }
    offer
}

/// Why this host cannot have a trial's root on such a file system.
pub fn missing_filesystem(filesystem: RootFilesystem) -> Option<String> {
    missing_world().or_else(|| filesystem.missing_reason())
}

/// Why the kernel's caches cannot be dropped here.
pub fn missing_caches() -> Option<String> {
    match File::options().write(true).open(DROP_CACHES) {
        Ok(_) => None,
        Err(error) => Some(format!("{DROP_CACHES} cannot be written: {error}")),
    }
}

/// Why trials cannot have a private world here.
pub fn missing_world() -> Option<String> {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    REASON
        .get_or_init(|| {
            let namespaces = match rustix::process::geteuid().is_root() {
                true => libc::CLONE_NEWNS | libc::CLONE_NEWPID,
                false => libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID,
            };
            may_unshare(namespaces).err().map(|error| {
                format!("it needs a private world, and the kernel refuses the namespaces: {error}")
            })
        })
        .clone()
}

/// Whether a child of this process may have such namespaces of its own.
fn may_unshare(namespaces: i32) -> std::io::Result<()> {
    // SAFETY: whatever other threads do, the child makes system calls only.
    unsafe {
        match libc::fork() {
            -1 => Err(std::io::Error::last_os_error()),
            0 => libc::_exit(match libc::unshare(namespaces) {
                0 => 0,
                _ => *libc::__errno_location(),
            }),
            child => {
                let mut status = 0;
                libc::waitpid(child, &mut status, 0);
                match libc::WEXITSTATUS(status) {
                    0 => Ok(()),
                    errno => Err(std::io::Error::from_raw_os_error(errno)),
                }
            }
        }
    }
}
