//! Other names of what is covered: the same folder mounted at a second place.

use std::path::{Path, PathBuf};

use super::cover::{Cover, Shows};
use crate::world::mounts::HostMount;

/// Finds the places at which a part of a covered place is shown by another mount of its file system.
pub fn find_other_names(covers: &[Cover], mounts: &[HostMount]) -> Vec<Cover> {
    let is_twice = |mount: &HostMount| {
        let same = |other: &&HostMount| other.device == mount.device;
        mounts.iter().filter(same).count() > 1
    };
    // Most hosts mount no file system twice.
    if !mounts.iter().any(is_twice) {
        return Vec::new();
    }
    covers
        .iter()
        .flat_map(|cover| other_names(cover, mounts))
        .collect()
}

fn other_names(cover: &Cover, mounts: &[HostMount]) -> Vec<Cover> {
    let holding = mounts
        .iter()
        .filter(|mount| cover.at.starts_with(&mount.at))
        .max_by_key(|mount| mount.at.components().count());
    let Some(holding) = holding else {
        return Vec::new();
    };
    let inside = within(&holding.root, &cover.at, &holding.at);
    mounts
        .iter()
        .filter(|mount| mount.device == holding.device && mount.at != holding.at)
        .filter_map(|mount| {
            if mount.root.starts_with(&inside) {
                let empty = Shows::EmptyFolder(0o755);
                let shows = if mount.at.is_dir() {
                    empty
                } else {
                    Shows::EmptyFile
                };
                return Some(Cover {
                    at: mount.at.clone(),
                    shows,
                    is_closed: false,
                });
            }
            inside.starts_with(&mount.root).then(|| Cover {
                at: within(&mount.at, &inside, &mount.root),
                shows: cover.shows,
                is_closed: false,
            })
        })
        .collect()
}

/// The path below `to` that leads where `path` leads below `from`.
fn within(to: &Path, path: &Path, from: &Path) -> PathBuf {
    match path.strip_prefix(from) {
        Ok(rest) if !rest.as_os_str().is_empty() => to.join(rest),
        _ => to.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(at: &str, root: &str, device: &str) -> HostMount {
        HostMount {
            at: PathBuf::from(at),
            kind: "ext4".to_owned(),
            read_only: false,
            root: PathBuf::from(root),
            device: device.to_owned(),
        }
    }

    #[test]
    fn a_secret_is_found_wherever_its_file_system_is_mounted() {
        let mounts = [
            mount("/", "/", "8:1"),
            mount("/data", "/", "8:2"),
            mount("/mnt/whole", "/", "8:2"),
            mount("/mnt/part", "/keys/inner", "8:2"),
            mount("/mnt/other", "/elsewhere", "8:2"),
            mount("/mnt/same", "/data/keys", "8:1"),
        ];
        let covers = [Cover {
            at: PathBuf::from("/data/keys"),
            shows: Shows::EmptyFolder(0o700),
            is_closed: false,
        }];
        let found: Vec<PathBuf> = find_other_names(&covers, &mounts)
            .into_iter()
            .map(|cover| cover.at)
            .collect();
        assert_eq!(found, ["/mnt/whole/keys", "/mnt/part"].map(PathBuf::from));
    }
}
