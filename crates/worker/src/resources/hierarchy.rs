//! The control groups of this machine that this process may make groups in.

use std::fs;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use datamill_host::unescape_kernel_path;
use rustix::fs::{Mode, OFlags, openat};

/// Controllers that a trial's group needs.
const NEEDED: [&str; 2] = ["pids", "memory"];

/// Folders in which a trial's group can be made.
#[derive(Debug, PartialEq, Eq)]
pub enum Hierarchies {
    /// The unified one: a folder whose children get the controllers.
    Unified(PathBuf),
    /// One for each controller, by its name; beside those needed maybe `freezer`.
    Separate(Vec<(&'static str, PathBuf)>),
}

/// One mounted hierarchy.
struct Mounted {
    is_unified: bool,
    /// Folder of the hierarchy that is shown at the mount.
    root: PathBuf,
    at: PathBuf,
    options: Vec<String>,
}

/// Finds where a group can be made; the error is the reason that there is no such place.
pub fn find_hierarchies() -> Result<Hierarchies, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let mounts = parse_mounts(&read("/proc/self/mountinfo")?);
    let own = parse_own(&read("/proc/self/cgroup")?);
    if mounts.is_empty() {
        return Err("no control groups are mounted".to_owned());
    }
    let unified = find_unified(&mounts, &own);
    let separate = find_separate(&mounts, &own);
    match (unified, separate) {
        (Ok(folder), _) => Ok(Hierarchies::Unified(folder)),
        (Err(_), Some(folders)) => Ok(Hierarchies::Separate(folders)),
        (Err(reason), None) => Err(reason),
    }
}

/// The nearest folder above this process' own whose children get the controllers: the kernel gives
/// none to the children of a group that holds processes.
fn find_unified(mounts: &[Mounted], own: &[(Vec<String>, PathBuf)]) -> Result<PathBuf, String> {
    let missing = || "the unified control groups have no controllers here".to_owned();
    let mount = mounts.iter().find(|it| it.is_unified).ok_or_else(missing)?;
    let own = own
        .iter()
        .find(|(controllers, _)| controllers.is_empty())
        .and_then(|(_, path)| shown_at(mount, path))
        .unwrap_or_else(|| mount.at.clone());
    if !gives(&mount.at, "cgroup.controllers") && !gives(&own, "cgroup.controllers") {
        return Err(missing());
    }
    let mut refusal = format!(
        "no control group above {} gives its children the controllers pids and memory",
        own.display()
    );
    for folder in own.ancestors().take_while(|it| it.starts_with(&mount.at)) {
        if folder == mount.at && !gives(folder, "cgroup.subtree_control") {
            fs::write(folder.join("cgroup.subtree_control"), "+pids +memory").ok();
        }
        if !gives(folder, "cgroup.subtree_control") {
            continue;
        }
        match may_make_in(folder) {
            true => return Ok(folder.to_owned()),
            false => {
                refusal = format!(
                    "this user may make no control group in {}",
                    folder.display()
                );
            }
        }
    }
    Err(refusal)
}

fn find_separate(
    mounts: &[Mounted],
    own: &[(Vec<String>, PathBuf)],
) -> Option<Vec<(&'static str, PathBuf)>> {
    let mut folders = Vec::new();
    for controller in ["pids", "memory", "freezer"] {
        let has = |names: &[String]| names.iter().any(|name| name == controller);
        let folder = mounts
            .iter()
            .find(|mount| !mount.is_unified && has(&mount.options))
            .zip(own.iter().find(|(controllers, _)| has(controllers)))
            .and_then(|(mount, (_, path))| shown_at(mount, path))
            .filter(|folder| may_make_in(folder));
        match folder {
            Some(folder) => folders.push((controller, folder)),
            None if NEEDED.contains(&controller) => return None,
            None => {}
        }
    }
    Some(folders)
}

/// Where a group's folder is seen through a mount.
fn shown_at(mount: &Mounted, path: &Path) -> Option<PathBuf> {
    let inner = path.strip_prefix(&mount.root).ok()?;
    let folder = mount.at.join(inner);
    // `join` leaves a slash at the end when there is nothing to join.
    Some(folder.components().collect())
}

fn gives(folder: &Path, file: &str) -> bool {
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    NEEDED
        .iter()
        .all(|needed| text.split_ascii_whitespace().any(|name| name == *needed))
}

fn may_make_in(folder: &Path) -> bool {
    let may = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    // Who may write the list of a group may move processes between all groups below it.
    may(folder) && may(&folder.join("cgroup.procs"))
}

fn parse_mounts(text: &str) -> Vec<Mounted> {
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mounted> {
    let (place, kind) = line.split_once(" - ")?;
    let fields: Vec<&str> = place.split(' ').collect();
    let mut kind = kind.split(' ');
    let is_unified = match kind.next()? {
        "cgroup2" => true,
        "cgroup" => false,
        _ => return None,
    };
    let path = |text: &str| PathBuf::from(unescape_kernel_path(text.as_bytes()));
    Some(Mounted {
        is_unified,
        root: path(fields.get(3)?),
        at: path(fields.get(4)?),
        options: kind.nth(1)?.split(',').map(str::to_owned).collect(),
    })
}

/// Controllers and path of each group of this process; no controllers for the unified hierarchy.
fn parse_own(text: &str) -> Vec<(Vec<String>, PathBuf)> {
    text.lines()
        .filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let controllers = controllers.split(',').filter(|name| !name.is_empty());
            Some((
                controllers.map(str::to_owned).collect(),
                PathBuf::from(path),
            ))
        })
        .collect()
}

/// Opens a file in a folder that is known by its descriptor alone.
pub fn open_at(folder: impl AsFd, name: &str, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(openat(folder, name, flags, Mode::empty())?.into())
}

/// Reads a file in a folder that is known by its descriptor alone.
pub fn read_at(folder: impl AsFd, name: &str) -> io::Result<String> {
    let mut text = String::new();
    open_at(folder, name, OFlags::RDONLY)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_through_the_mount_that_shows_it() {
        let line = "36 31 0:29 /docker/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.options, ["rw", "memory"]);
        assert_eq!(
            shown_at(&mount, Path::new("/docker/a/b")),
            Some(PathBuf::from("/sys/fs/cgroup/memory/b"))
        );
        assert_eq!(shown_at(&mount, Path::new("/other")), None);
    }

    #[test]
    fn the_groups_of_a_process_are_told_by_controller() {
        let own = parse_own("9:name=systemd:/x\n4:cpu,cpuacct:/a:b\n0::/user.slice\n");
        assert_eq!(own[1].0, ["cpu", "cpuacct"]);
        assert_eq!(own[1].1, Path::new("/a:b"));
        assert_eq!(own[2], (Vec::new(), PathBuf::from("/user.slice")));
    }
}
