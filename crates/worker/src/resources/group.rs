//! The control group of one trial: made before it, removed after it, recognised when its worker died.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::hierarchy::{Hierarchies, open_at};
use super::members::{kill_members, thaw};

/// What the names of trials' groups begin with.
const PREFIX: &str = "datamill-trial-";

/// Groups inside the trial's that its processes are in: each sees its own as the root of all groups,
/// and the limits are above both.
const FOLDERS: [&str; 2] = ["members", "beside"];

/// Whose processes are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// Those of the package that is measured.
    Measured,
    /// Those of the package that runs beside it.
    Beside,
}

/// Time in which killed processes have left a group.
const EMPTY_WITHIN: Duration = Duration::from_secs(10);

/// Names that are tried before a machine counts as one that gives no group.
const MOST_TRIES: u32 = 50;

/// Which of the kernel's two designs a group is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// One hierarchy for all controllers.
    Unified,
    /// One hierarchy for each controller.
    Separate,
}

/// The group of one trial, in each hierarchy that it needs.
pub struct Group {
    /// Which design it is made with.
    pub design: Design,
    parts: Vec<Part>,
    joins: [Vec<File>; 2],
    descriptors: [Vec<RawFd>; 2],
}

/// The group in one hierarchy.
struct Part {
    controller: &'static str,
    path: PathBuf,
    /// Its folder, locked: as long as a process of the worker lives, nobody takes it for abandoned.
    folder: OwnedFd,
    members: [OwnedFd; 2],
}

impl Group {
    /// Makes a group, and removes those that dead workers left beside it.
    ///
    /// Between the making of a folder and its lock another worker may take it for abandoned; then the
    /// next name is tried.
    pub fn make(hierarchies: &Hierarchies) -> io::Result<Self> {
        let mut tries = 1;
        loop {
            match Self::try_make(hierarchies) {
                Err(error) if tries < MOST_TRIES && was_taken(&error) => tries += 1,
                made => return made,
            }
        }
    }

    fn try_make(hierarchies: &Hierarchies) -> io::Result<Self> {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = nanos.map_or(0, |since| since.as_nanos());
        let name = format!("{PREFIX}{}-{nanos}", std::process::id());
        let (design, parents) = places(hierarchies);
        let mut group = Self {
            design,
            parts: Vec::new(),
            joins: Default::default(),
            descriptors: Default::default(),
        };
        for (controller, parent) in parents {
            remove_abandoned(parent);
            // On an error what is made already goes with the group.
            group.parts.push(Part::make(controller, parent, &name)?);
        }
        for part in &group.parts {
            // Of the two lists in the old design the one of threads takes a process without the lock that
            // makes the other one wait for every processor.
            let list = match design {
                Design::Unified => "cgroup.procs",
                Design::Separate => "tasks",
            };
            for (joins, members) in group.joins.iter_mut().zip(&part.members) {
                joins.push(open_at(members, list, OFlags::WRONLY)?);
            }
        }
        group.descriptors =
            [0, 1].map(|of: usize| group.joins[of].iter().map(AsRawFd::as_raw_fd).collect());
        Ok(group)
    }

    /// Files through which a process joins.
    pub fn joins(&self, whose: Members) -> &[RawFd] {
        &self.descriptors[whose as usize]
    }

    /// Writes a file of the trial's group; `controller` counts in the separate design only.
    pub fn set(&self, controller: &str, file: &str, value: &str) -> io::Result<()> {
        open_at(&self.part(controller)?.folder, file, OFlags::WRONLY)?.write_all(value.as_bytes())
    }

    /// Opens a file of the trial's group, or of the one inside it that has certain processes.
    pub fn open(&self, controller: &str, file: &str, of: Option<Members>) -> io::Result<File> {
        let part = self.part(controller)?;
        let folder = match of {
            Some(whose) => &part.members[whose as usize],
            None => &part.folder,
        };
        open_at(folder, file, OFlags::RDONLY)
    }

    /// Kills all of one sort in it. Through descriptors alone: a world does not show the groups.
    pub fn kill(&self, whose: Members) {
        // One list is enough, that of the hierarchy in which they can be stopped from forking.
        let freezer = self.parts.iter().find(|it| it.controller == "freezer");
        if let Some(part) = freezer.or(self.parts.first()) {
            kill_members(part.members[whose as usize].as_fd());
        }
    }

    fn part(&self, controller: &str) -> io::Result<&Part> {
        let is_asked =
            |part: &&Part| part.controller == controller || self.design == Design::Unified;
        let found = self.parts.iter().find(is_asked);
        found.ok_or_else(|| io::Error::other(format!("it has no controller {controller}")))
    }

    /// Kills what is left in it and removes it; the error is a sentence.
    pub fn remove(mut self) -> Result<(), String> {
        self.take_away()
    }

    fn take_away(&mut self) -> Result<(), String> {
        self.joins = Default::default();
        let mut troubles = Vec::new();
        for part in self.parts.drain(..) {
            let removed = remove_group(&part.path, part.folder.as_fd());
            troubles.extend(removed.err().map(|error| {
                format!(
                    "The control group {} could not be removed: {error}.",
                    part.path.display()
                )
            }));
        }
        if troubles.is_empty() {
            Ok(())
        } else {
            Err(troubles.join(" "))
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.take_away().ok();
    }
}

impl Part {
    fn make(controller: &'static str, parent: &Path, name: &str) -> io::Result<Self> {
        let path = parent.join(name);
        fs::create_dir(&path)?;
        let made = Self::open(controller, &path);
        if made.is_err() {
            remove_folders(&path).ok();
        }
        made
    }

    fn open(controller: &'static str, path: &Path) -> io::Result<Self> {
        let folder = open_folder(path)?;
        flock(folder.as_fd(), FlockOperation::NonBlockingLockExclusive)?;
        let [measured, beside] = FOLDERS.map(|name| {
            fs::create_dir(path.join(name))?;
            open_folder(&path.join(name))
        });
        let members = [measured?, beside?];
        Ok(Self {
            controller,
            path: path.to_owned(),
            folder,
            members,
        })
    }
}

/// Whether an error in the making of a group may come from a worker that cleared it away: it holds the
/// lock, or the folder is gone.
fn was_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::NotFound
    )
}

/// Removes the groups that dead workers left.
pub fn remove_all_abandoned(hierarchies: &Hierarchies) {
    for (_, parent) in places(hierarchies).1 {
        remove_abandoned(parent);
    }
}

fn places(hierarchies: &Hierarchies) -> (Design, Vec<(&'static str, &Path)>) {
    match hierarchies {
        Hierarchies::Unified(parent) => (Design::Unified, vec![("", parent.as_path())]),
        Hierarchies::Separate(parents) => {
            let parents = parents.iter().map(|(name, at)| (*name, at.as_path()));
            (Design::Separate, parents.collect())
        }
    }
}

fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        if let Ok(folder) = open_folder(&entry.path())
            && flock(folder.as_fd(), FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            // The next trial tries again.
            remove_group(&entry.path(), folder.as_fd()).ok();
        }
    }
}

/// Empties a group and removes it with those inside it.
fn remove_group(path: &Path, folder: std::os::fd::BorrowedFd<'_>) -> io::Result<()> {
    let deadline = Instant::now() + EMPTY_WITHIN;
    loop {
        let removed = remove_folders(path);
        if removed.is_ok() || Instant::now() >= deadline {
            return removed;
        }
        kill_members(folder);
        thaw(folder);
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn remove_folders(path: &Path) -> io::Result<()> {
    let removed = remove_folders_below(path).and_then(|()| fs::remove_dir(path));
    match removed {
        // Another worker was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn remove_folders_below(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_folders(&entry.path())?;
        }
    }
    Ok(())
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(File::open(path)?.into())
}

#[cfg(test)]
mod tests {
    use super::super::hierarchy::find_hierarchies;
    use super::*;

    fn here() -> Option<Hierarchies> {
        match find_hierarchies() {
            Ok(found) => Some(found),
            Err(reason) => {
                eprintln!("skipped: {reason}");
                None
            }
        }
    }

    fn groups_with(hierarchies: &Hierarchies, text: &str) -> usize {
        let (_, parents) = places(hierarchies);
        let names = parents
            .into_iter()
            .flat_map(|(_, parent)| fs::read_dir(parent).unwrap().flatten())
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.contains(text)).count()
    }

    #[test]
    fn a_group_goes_with_its_processes() {
        let Some(hierarchies) = here() else { return };
        let group = Group::make(&hierarchies).unwrap();
        let name = group.parts[0].path.file_name().unwrap().to_owned();
        let name = name.to_string_lossy().into_owned();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        for part in &group.parts {
            let list = part.members[0].as_fd();
            let mut list = open_at(list, "cgroup.procs", OFlags::WRONLY).unwrap();
            list.write_all(child.id().to_string().as_bytes()).unwrap();
        }
        // What a trial may have made below.
        fs::create_dir(group.parts[0].path.join(FOLDERS[0]).join("more")).unwrap();
        let ended = std::thread::spawn(move || child.wait().unwrap());
        group.remove().unwrap();
        assert!(!ended.join().unwrap().success());
        assert_eq!(groups_with(&hierarchies, &name), 0);
    }

    #[test]
    fn workers_that_clear_away_at_the_same_time_take_no_group_from_each_other() {
        let Some(hierarchies) = here() else { return };
        let makers: Vec<_> = (0..4)
            .map(|_| {
                let hierarchies = find_hierarchies().unwrap();
                std::thread::spawn(move || {
                    for _ in 0..12 {
                        Group::make(&hierarchies).unwrap().remove().unwrap();
                    }
                })
            })
            .collect();
        while makers.iter().any(|maker| !maker.is_finished()) {
            remove_all_abandoned(&hierarchies);
        }
        for maker in makers {
            maker.join().unwrap();
        }
    }

    #[test]
    fn a_group_in_use_is_left_alone_and_an_abandoned_one_is_removed() {
        let Some(hierarchies) = here() else { return };
        let used = Group::make(&hierarchies).unwrap();
        let (_, parents) = places(&hierarchies);
        let abandoned = format!("{PREFIX}{}-abandoned", std::process::id());
        for (_, parent) in parents {
            fs::create_dir_all(parent.join(&abandoned).join(FOLDERS[0])).unwrap();
        }
        remove_all_abandoned(&hierarchies);
        assert_eq!(groups_with(&hierarchies, &abandoned), 0);
        assert!(used.parts.iter().all(|part| part.path.exists()));
    }
}
