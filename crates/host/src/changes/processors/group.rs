//! A control group that keeps its processes to some processors, in the design of one hierarchy for each controller.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::changes::fault::fault_point;

/// Name of the group of a trial.
const GROUP: &str = "datamill-shield";

/// Passes over the processes of a group: new ones begin while others are moved.
const MOST_PASSES: u32 = 100;

/// Where the group of a trial would be made, and the group that this process is in; the error says why not.
pub fn find_group(proc: &Path) -> Result<(PathBuf, PathBuf), String> {
    let read = |name: &str| fs::read_to_string(proc.join("self").join(name)).unwrap_or_default();
    let mount = read("mounts")
        .lines()
        .find_map(cpuset_mount)
        .ok_or("no hierarchy of the controller cpuset is mounted")?;
    let own = read("cgroup")
        .lines()
        .find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let is_cpuset = controllers.split(',').any(|it| it == "cpuset");
            is_cpuset.then(|| path.trim_start_matches('/').to_owned())
        })
        .ok_or("this process is in no group of the controller cpuset")?;
    let home = mount.join(own);
    crate::changes::check_writable(&mount.join("cgroup.procs"))?;
    crate::changes::check_writable(&home.join("cgroup.procs"))?;
    Ok((mount.join(GROUP), home))
}

fn cpuset_mount(line: &str) -> Option<PathBuf> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, place, "cgroup", options, ..] = fields[..] else {
        return None;
    };
    options
        .split(',')
        .any(|it| it == "cpuset")
        .then(|| PathBuf::from(place))
}

/// Makes a group and moves this process into it.
pub fn enter_group(group: &Path, processors: &str) -> io::Result<()> {
    match fs::create_dir(group) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => fault_point(),
    }
    let parent = group.parent().unwrap_or(group);
    let nodes = fs::read_to_string(parent.join("cpuset.mems"))?;
    fs::write(group.join("cpuset.cpus"), processors)?;
    fs::write(group.join("cpuset.mems"), nodes.trim())?;
    fault_point();
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())?;
    fault_point();
    Ok(())
}

/// Moves all of a group to another one and removes it; one that is not there is removed already.
pub fn remove_group(group: &Path, home: &Path) -> io::Result<()> {
    // The group that the worker was in may be gone with it.
    let home = match home.is_dir() {
        true => home,
        false => group.parent().unwrap_or(home),
    };
    for _ in 0..MOST_PASSES {
        let members = match fs::read_to_string(group.join("cgroup.procs")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for member in members.lines() {
            match fs::write(home.join("cgroup.procs"), member) {
                // It ended meanwhile.
                Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error),
                _ => fault_point(),
            }
        }
        match fs::remove_dir(group) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => return other,
        }
    }
    Err(io::Error::other("its processes do not leave it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_of_the_controller_is_found_among_the_mounts() {
        let line = "cgroup /sys/fs/cgroup/cpu,cpuset cgroup rw,nosuid,cpu,cpuset 0 0";
        assert_eq!(
            cpuset_mount(line),
            Some(PathBuf::from("/sys/fs/cgroup/cpu,cpuset"))
        );
        for other in [
            "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0",
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0",
            "cpuset /x tmpfs rw 0 0",
        ] {
            assert_eq!(cpuset_mount(other), None, "{other}");
        }
    }
}
