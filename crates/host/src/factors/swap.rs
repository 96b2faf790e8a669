//! The factor `swap`: which swap areas the kernel may use.

use std::ffi::CString;
use std::fs;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use datamill_protocol::{FactorOffer, FactorStage, MissingLevel};

use super::HostFactor;
use crate::changes::{Change, SwapArea, page_bytes, swap_areas_in_use};
use crate::state::Host;

/// Start of the names of swap files in the state folder.
const FILE_NAME: &str = "swap-";

/// Least size of a swap file: what smaller ones hold, their header takes.
const SMALLEST_BYTES: u64 = 1 << 20;

/// Space that a swap file leaves on the disk.
const KEPT_FREE_BYTES: u64 = 64 << 20;

const CHOICES: &str =
    "default, off, on, or the bytes of a swap file, a multiple of 65536 from 1048576";

/// Types of file systems that hold no swap files, by the number that `statfs` gives them.
const UNFIT: [(i64, &str); 9] = [
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x794c_7630, "overlayfs"),
    (0x2fc1_2fc1, "zfs"),
    (0x6969, "nfs"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x7371_7368, "squashfs"),
    (0xca45_1a4e, "bcachefs"),
];

/// Swap areas: those of the host, none, or one file of a given size.
pub struct Swap {
    state: PathBuf,
}

impl Swap {
    /// For a host with its state folder, in whose file system swap files are made.
    pub fn new(host: &Host) -> Self {
        Self {
            state: host.state().to_owned(),
        }
    }

    fn plan_file(&self, bytes: u64) -> Result<Vec<Change>, String> {
        require_root()?;
        check_file_system(&self.state, bytes)?;
        let nanos = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let name = format!("{FILE_NAME}{}-{nanos}", std::process::id());
        let mut changes = take_out_all(&swap_areas_in_use()?);
        changes.push(Change::SwapFile {
            path: self.state.join(name),
            bytes,
        });
        Ok(changes)
    }
}

impl HostFactor for Swap {
    fn name(&self) -> &'static str {
        "swap"
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = FactorOffer::of(self.name(), FactorStage::Host, &[]);
        let one_gibibyte = (1u64 << 30).to_string();
        for level in ["default", "off", "on", &one_gibibyte] {
            match self.plan(level) {
                Ok(_) => offer.levels.push(level.to_owned()),
                Err(reason) => offer.missing.push(MissingLevel {
                    level: level.to_owned(),
                    reason,
                }),
            }
        }
        offer.current = swap_areas_in_use()
            .ok()
            .map(|areas| (if areas.is_empty() { "off" } else { "on" }).to_owned());
        offer
    }

    fn check(&self, level: &str) -> Result<(), String> {
        if matches!(level, "default" | "off" | "on") || file_bytes(level).is_some() {
            return Ok(());
        }
        Err(CHOICES.to_owned())
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        match level {
            "default" => Ok(Vec::new()),
            "on" if swap_areas_in_use()?.is_empty() => {
                Err("this host has no swap area in use".to_owned())
            }
            "on" => Ok(Vec::new()),
            "off" => {
                let changes = take_out_all(&swap_areas_in_use()?);
                if !changes.is_empty() {
                    require_root()?;
                }
                Ok(changes)
            }
            bytes => {
                let bytes = file_bytes(bytes).ok_or_else(|| format!("it can be {CHOICES}"))?;
                self.plan_file(bytes)
            }
        }
    }

    fn read_back(&self, asked: &str) -> Result<(String, String), String> {
        let areas = swap_areas_in_use()?;
        let listed: Vec<String> = areas
            .iter()
            .map(|area| format!("{} of {} bytes", area.path.display(), area.bytes))
            .collect();
        let evidence = match listed.as_slice() {
            [] => "/proc/swaps lists no swap area.".to_owned(),
            listed => format!("/proc/swaps lists {}.", listed.join(", ")),
        };
        let state = if areas.is_empty() { "off" } else { "on" };
        let is_asked_file = matches!(&areas[..], [only] if self.is_own(only)
            && file_bytes(asked) == Some(only.bytes + page_bytes()));
        let level = if asked == "default" || is_asked_file {
            asked
        } else {
            state
        };
        Ok((level.to_owned(), evidence))
    }
}

impl Swap {
    fn is_own(&self, area: &SwapArea) -> bool {
        let state = self.state.canonicalize();
        state.is_ok_and(|state| area.path.parent() == Some(&state))
    }
}

/// The least priority first: brought back the other way round, those whose priority the kernel
/// chooses get the one that they had.
fn take_out_all(areas: &[SwapArea]) -> Vec<Change> {
    let change = |area: &SwapArea| Change::SwapOff {
        path: area.path.clone(),
        priority: area.priority,
    };
    let mut ordered: Vec<&SwapArea> = areas.iter().collect();
    ordered.sort_by_key(|area| area.priority);
    ordered.into_iter().map(change).collect()
}

/// The size that a level gives, if it gives one; whole pages on every machine.
fn file_bytes(level: &str) -> Option<u64> {
    let bytes: u64 = level.parse().ok()?;
    (bytes >= SMALLEST_BYTES && bytes.is_multiple_of(1 << 16)).then_some(bytes)
}

fn require_root() -> Result<(), String> {
    // SAFETY: no pointers involved.
    match unsafe { libc::geteuid() } {
        0 => Ok(()),
        _ => Err("needs root to change what the kernel swaps to".to_owned()),
    }
}

/// Whether a swap file can be made in a folder, which need not exist yet.
fn check_file_system(folder: &Path, bytes: u64) -> Result<(), String> {
    let existing = folder
        .ancestors()
        .find(|folder| fs::metadata(folder).is_ok())
        .unwrap_or(Path::new("/"));
    let shown = existing.display();
    let name = CString::new(existing.as_os_str().as_bytes())
        .map_err(|_| format!("{shown}: a path holds a NUL byte"))?;
    // SAFETY: an all-zero statfs is valid, and both pointers outlive the call.
    let space = unsafe {
        let mut space: libc::statfs = mem::zeroed();
        if libc::statfs(name.as_ptr(), &mut space) != 0 {
            return Err(format!("{shown}: {}", std::io::Error::last_os_error()));
        }
        space
    };
    #[allow(clippy::unnecessary_cast)]
    let kind = space.f_type as i64;
    if let Some((_, name)) = UNFIT.iter().find(|(number, _)| *number == kind) {
        return Err(format!(
            "the state folder is on {name}, which holds no swap files; set DATAMILL_STATE_DIR to a folder on a disk"
        ));
    }
    #[allow(clippy::unnecessary_cast)]
    let free = (space.f_bavail as u64).saturating_mul(space.f_bsize as u64);
    if free < bytes.saturating_add(KEPT_FREE_BYTES) {
        return Err(format!(
            "the file system of the state folder has {free} bytes left, and {KEPT_FREE_BYTES} are to stay free"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_file_has_a_size_in_whole_pages() {
        assert_eq!(file_bytes("1073741824"), Some(1 << 30));
        for refused in ["4096", "1048577", "-1", "1G"] {
            assert_eq!(file_bytes(refused), None, "{refused}");
        }
    }

    #[test]
    fn swap_areas_come_back_in_the_order_of_their_priorities() {
        let areas = [("/a", -2), ("/b", 5), ("/c", -3)].map(|(path, priority)| SwapArea {
            path: path.into(),
            bytes: 1 << 20,
            priority,
        });
        let brought_back: Vec<i32> = take_out_all(&areas)
            .iter()
            .rev()
            .map(|change| match change {
                Change::SwapOff { priority, .. } => *priority,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(brought_back, [5, -2, -3]);
    }

    #[test]
    fn memory_holds_no_swap_file() {
        let Ok(mounts) = fs::read_to_string("/proc/mounts") else {
            eprintln!("skipped: /proc is not mounted");
            return;
        };
        if !mounts.contains(" /dev/shm tmpfs ") {
            eprintln!("skipped: /dev/shm is not memory here");
            return;
        }
        let refused = check_file_system(Path::new("/dev/shm/none"), 1 << 20).unwrap_err();
        assert!(refused.contains("tmpfs"), "{refused}");
    }
}
