//! One change to the host, with what is needed to undo it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fault::fault_point;
use super::processors::{Processors, enter_group, parse_list, remove_group};
use super::setting::{read_setting, write_setting};
use super::swap_area::{make_swap_file, swap_areas_in_use, swap_off, swap_on};
use super::threads::{Places, ThreadId, clear_processors, restore_places};

/// Where the kernel shows processes.
const PROC: &str = "/proc";

/// A change to the host. It is written to the journal before it is made; undoing it needs nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A text is written to a file of the kernel, below `/proc` or `/sys`.
    Setting {
        /// The file.
        path: PathBuf,
        /// What to write to have it as before.
        before: String,
        /// What is written.
        after: String,
    },
    /// A swap area goes out of use.
    SwapOff {
        /// Its device or file.
        path: PathBuf,
        /// Its priority.
        priority: i32,
    },
    /// A file is made and used as swap area.
    SwapFile {
        /// The file; it exists only while it is used.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The worker goes into a control group that is kept to some processors.
    ProcessorGroup {
        /// Folder of the group, made for it.
        path: PathBuf,
        /// Folder of the group that the worker was in.
        home: PathBuf,
        /// Processors of the group.
        processors: String,
    },
    /// All other threads of the host leave some processors, and the worker goes onto them.
    Places {
        /// These processors.
        shielded: String,
        /// All others that are online.
        rest: String,
        /// The worker.
        worker: ThreadId,
        /// Where each thread could run, by list of processors.
        before: Places,
    },
    /// A factor that the experiment brought along is set.
    UserFactor {
        /// Its name.
        name: String,
        /// Folder with its executables, kept until the change is undone.
        folder: PathBuf,
        /// Level before, as its `verify` told it.
        before: String,
        /// Level that is set.
        after: String,
        /// Time that each of its executables has.
        timeout_s: u64,
    },
}

/// Runs the executables of factors that an experiment brought along.
pub trait UserVerbs {
    /// Runs `set LEVEL`; the error is a sentence without a full stop.
    fn set(&self, folder: &Path, level: &str, timeout_s: u64) -> Result<(), String>;
    /// Runs `verify` and returns the level that it tells.
    fn verify(&self, folder: &Path, timeout_s: u64) -> Result<String, String>;
    /// Runs `restore BEFORE`.
    fn restore(&self, folder: &Path, before: &str, timeout_s: u64) -> Result<(), String>;
}

/// For hosts on which no experiment brings factors along.
pub struct NoUserVerbs;

impl UserVerbs for NoUserVerbs {
    fn set(&self, _: &Path, _: &str, _: u64) -> Result<(), String> {
        Err("this program runs no factors of experiments".to_owned())
    }

    fn verify(&self, _: &Path, _: u64) -> Result<String, String> {
        Err("this program runs no factors of experiments".to_owned())
    }

    fn restore(&self, _: &Path, _: &str, _: u64) -> Result<(), String> {
        Err("this program runs no factors of experiments".to_owned())
    }
}

impl Change {
    /// Makes the change; the error names the file and the cause.
    pub(crate) fn apply(&self, verbs: &dyn UserVerbs) -> Result<(), String> {
        match self {
            Self::Setting { path, after, .. } => {
                write_setting(path, after).map_err(refused(path, &format!("writing `{after}` to")))
            }
            Self::SwapOff { path, .. } => {
                swap_off(path).map_err(refused(path, "taking out of use the swap area"))
            }
            Self::SwapFile { path, bytes } => make_swap_file(path, *bytes)
                .map_err(refused(path, "making the swap file"))
                .and_then(|()| swap_on(path, -1).map_err(refused(path, "swapping to"))),
            Self::ProcessorGroup {
                path, processors, ..
            } => enter_group(path, processors).map_err(refused(path, "entering the control group")),
            Self::Places { shielded, rest, .. } => {
                let (shielded, rest) = parse_places(shielded, rest)?;
                clear_processors(Path::new(PROC), &shielded, &rest)
            }
            Self::UserFactor {
                folder,
                after,
                timeout_s,
                ..
            } => verbs.set(folder, after, *timeout_s),
        }
    }

    /// What a setting reads when it is neither what was written to it nor what was before: somebody
    /// else has set it since. Where both are the same, the kernel is known to change it by itself.
    pub(crate) fn find_overruled(&self) -> Option<String> {
        let Self::Setting {
            path,
            before,
            after,
        } = self
        else {
            return None;
        };
        let now = read_setting(path).ok()?;
        (before != after && now != *before && now != *after).then_some(now)
    }

    /// Brings back what was before, whether or not the change was made, and looks that it is so.
    pub(crate) fn undo(&self, verbs: &dyn UserVerbs) -> Result<(), String> {
        match self {
            Self::Setting { path, before, .. } => undo_setting(path, before),
            Self::SwapOff { path, priority } => {
                if is_swap_area(path)? {
                    return Ok(());
                }
                swap_on(path, *priority).map_err(refused(path, "taking into use the swap area"))
            }
            Self::SwapFile { path, .. } => {
                let moved = area_named_like(path)?.filter(|_| !path.exists());
                let path = moved.as_deref().unwrap_or(path);
                end_swapping_to(path)?;
                remove_file(path)
            }
            Self::ProcessorGroup { path, home, .. } => {
                remove_group(path, home).map_err(refused(path, "removing the control group"))
            }
            Self::Places {
                shielded,
                rest,
                worker,
                before,
            } => {
                let (shielded, rest) = parse_places(shielded, rest)?;
                restore_places(Path::new(PROC), before, *worker, &shielded, &rest)
            }
            Self::UserFactor {
                folder,
                before,
                timeout_s,
                ..
            } => {
                verbs.restore(folder, before, *timeout_s)?;
                let now = verbs.verify(folder, *timeout_s)?;
                if now == *before {
                    return Ok(());
                }
                Err(format!(
                    "after its `restore`, its `verify` tells `{now}` and not `{before}` as before"
                ))
            }
        }
    }

    /// Cleans up what a reboot does not; the kernel forgot the rest.
    pub(crate) fn clean_after_reboot(&self) -> Result<(), String> {
        match self {
            Self::SwapFile { path, .. } => remove_file(path),
            Self::Setting { .. }
            | Self::SwapOff { .. }
            | Self::ProcessorGroup { .. }
            | Self::Places { .. }
            | Self::UserFactor { .. } => Ok(()),
        }
    }

    /// What is undone, for the user: "FILE is `BEFORE` again".
    pub(crate) fn undone(&self) -> String {
        match self {
            Self::Setting { path, before, .. } => {
                format!("{} is `{before}` again", path.display())
            }
            Self::SwapOff { path, .. } => {
                format!("the swap area {} is in use again", path.display())
            }
            Self::SwapFile { path, .. } => format!("the swap file {} is gone", path.display()),
            Self::ProcessorGroup { path, .. } => {
                format!("the control group {} is gone", path.display())
            }
            Self::Places { shielded, .. } => {
                format!("other processes may run on processors {shielded} again")
            }
            Self::UserFactor { before, .. } => format!("it is at `{before}` again"),
        }
    }

    /// What was done to the host, for the user, behind "had": "set FILE from `BEFORE` to `AFTER`".
    pub fn describe(&self) -> String {
        match self {
            Self::Setting {
                path,
                before,
                after,
            } => format!("set {} from `{before}` to `{after}`", path.display()),
            Self::SwapOff { path, .. } => {
                format!("taken the swap area {} out of use", path.display())
            }
            Self::SwapFile { path, bytes } => {
                format!("made the swap file {} of {bytes} bytes", path.display())
            }
            Self::ProcessorGroup {
                path, processors, ..
            } => format!(
                "made the control group {} of processors {processors}",
                path.display()
            ),
            Self::Places {
                shielded, before, ..
            } => format!(
                "moved what may run there of {} threads off processors {shielded}",
                before.values().map(Vec::len).sum::<usize>()
            ),
            Self::UserFactor { before, after, .. } => {
                format!("been set from `{before}` to `{after}`")
            }
        }
    }
}

fn parse_places(shielded: &str, rest: &str) -> Result<(Processors, Processors), String> {
    let parse = |list: &str| {
        parse_list(list).ok_or_else(|| format!("`{list}` is not a list of processors"))
    };
    Ok((parse(shielded)?, parse(rest)?))
}

fn undo_setting(path: &Path, before: &str) -> Result<(), String> {
    if read_setting(path)? == before {
        return Ok(());
    }
    write_setting(path, before).map_err(refused(path, &format!("writing `{before}` to")))?;
    let now = read_setting(path)?;
    if now == before {
        return Ok(());
    }
    Err(format!(
        "{} reads `{now}` after `{before}` was written to it",
        path.display()
    ))
}

/// Takes a swap file out of use if it is in use. The kernel is asked by doing it: it knows the file
/// by whatever path, also where `/proc/swaps` is hidden or names another.
fn end_swapping_to(path: &Path) -> Result<(), String> {
    let Err(error) = swap_off(path) else {
        return Ok(());
    };
    let is_unused = match error.raw_os_error() {
        // It was never in use.
        Some(libc::EINVAL) => true,
        // It was never made; or who may not take it out of use could not take it into use either.
        Some(libc::ENOENT | libc::EPERM) => area_named_like(path)?.is_none(),
        _ => false,
    };
    if is_unused {
        return Ok(());
    }
    Err(refused(path, "taking out of use the swap file")(error))
}

/// The swap area in use that has the name of one of our files, which no other file has: by whatever
/// path, also when its folder was moved.
fn area_named_like(path: &Path) -> Result<Option<PathBuf>, String> {
    let mut areas = swap_areas_in_use()?.into_iter();
    let found = areas.find(|area| area.path.file_name() == path.file_name());
    Ok(found.map(|area| area.path))
}

fn is_swap_area(path: &Path) -> Result<bool, String> {
    Ok(swap_areas_in_use()?.iter().any(|area| area.path == path))
}

fn remove_file(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("removing {}: {error}", path.display()))
        }
        _ => {
            fault_point();
            Ok(())
        }
    }
}

fn refused(path: &Path, doing: &str) -> impl FnOnce(io::Error) -> String {
    let doing = format!("{doing} {}", path.display());
    move |error| format!("{doing}: {error}")
}
