//! The ids of the host that a confined trial's processes and files have: none that the host uses.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::world::enclosure::fork_into;
use crate::world::mounts::{Place, set_attributes};

/// First id of the host that a trial has: its root. Above what is given to people, services and
/// containers, and below the numbers that programs take for negative.
pub const FIRST_ID: u32 = 0x7A00_0000;

/// How many ids a trial has.
const IDS: u32 = 1 << 16;

/// How many groups of the host's have folders of root: those that distributions number for ever.
const GROUPS: u32 = 100;

/// The user namespaces of a confined trial, made by root before the trial is enclosed.
pub struct TrialIdentity {
    /// That of its processes; seen through it, the files of the package belong to them.
    pub user: OwnedFd,
    /// Seen through this one, the host's files of root belong to the trial's root, and those of
    /// everybody else to nobody.
    base: OwnedFd,
    /// The first, with the host's root besides: who mounts an overlay makes files in its layers.
    changes: Option<OwnedFd>,
    /// Those of folders that the trial asked to see, by their user and group: seen through one of these, the
    /// files of that user belong to the trial's root, and those of everybody else to nobody.
    folders: Vec<((u32, u32), OwnedFd)>,
}

impl TrialIdentity {
    /// Makes them; the calling process must see its children in `/proc`.
    pub fn make() -> io::Result<Self> {
        let all = format!("0 {FIRST_ID} {IDS}");
        let root = format!("0 {FIRST_ID} 1");
        let groups = format!("0 {FIRST_ID} {GROUPS}");
        Ok(Self {
            user: make_user_namespace(&all, &all)?,
            base: make_user_namespace(&root, &groups)?,
            changes: None,
            folders: Vec::new(),
        })
    }

    /// Makes what is needed to write changes into a folder of the host.
    pub fn prepare_changes(&mut self) -> io::Result<()> {
        let all = format!("0 {FIRST_ID} {IDS}\n{IDS} 0 1");
        self.changes = Some(make_user_namespace(&all, &all)?);
        Ok(())
    }

    /// Makes what is needed to show these folders as their owners see them.
    pub fn prepare_folders(&mut self, folders: &[String]) -> io::Result<()> {
        // What is not there cannot be shown, and is refused with its reason later.
        for (user, group) in folders
            .iter()
            .filter_map(|folder| owner_of(Path::new(folder)))
        {
            if self
                .folders
                .iter()
                .all(|(known, _)| *known != (user, group))
            {
                let users = format!("{user} {FIRST_ID} 1");
                let made = make_user_namespace(&users, &map_groups(group))?;
                self.folders.push(((user, group), made));
            }
        }
        Ok(())
    }

    /// Shows what lies in a folder that the trial asked to see at a second place, as its owner sees it.
    pub fn show_folder(&self, folder: &Path, original: &Path, at: &Path) -> io::Result<()> {
        let owner = owner_of(folder);
        let owners = self.folders.iter().find(|(known, _)| Some(*known) == owner);
        show_owned(
            original,
            owners.map_or(&self.base, |(_, owners)| owners),
            at,
        )
    }

    /// Shows a folder of the host at a second place, with root's files as the trial's root's.
    pub fn show_base(&self, original: &Path, at: &Path) -> io::Result<()> {
        show_owned(original, &self.base, at)
    }

    /// Shows a folder that receives changes at a second place.
    pub fn show_changes(&self, original: &Path, at: &Path) -> io::Result<()> {
        show_owned(original, self.changes.as_ref().unwrap_or(&self.user), at)
    }

    /// Shows a folder with the trial's own files at a second place.
    pub fn show_own(&self, original: &Path, at: &Path) -> io::Result<()> {
        show_owned(original, &self.user, at)
    }
}

fn owner_of(folder: &Path) -> Option<(u32, u32)> {
    let data = fs::metadata(folder).ok()?;
    Some((data.uid(), data.gid()))
}

/// Groups in a folder of this group: its own as the trial's root's, root's and those of distributions
/// besides.
fn map_groups(group: u32) -> String {
    if group < GROUPS {
        return format!("0 {FIRST_ID} {GROUPS}");
    }
    let (second, beyond) = (FIRST_ID + 1, FIRST_ID + GROUPS);
    format!(
        "{group} {FIRST_ID} 1\n1 {second} {}\n0 {beyond} 1",
        GROUPS - 1
    )
}

/// Makes a user namespace with these maps, below that of the caller.
pub fn make_user_namespace(users: &str, groups: &str) -> io::Result<OwnedFd> {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
    let (told, telling) = pipe_with(PipeFlags::CLOEXEC)?;
    match fork_into(libc::CLONE_NEWUSER)? {
        0 => {
            drop(writing);
            // An unprivileged caller may not look at a child that hides its memory. No package's
            // process sees this one.
            // SAFETY: no pointers involved.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1) };
            drop(telling);
            // Until the caller has what it wants, or is gone.
            rustix::io::read(&reading, &mut [0u8; 1]).ok();
            // SAFETY: ends this process without running the parent's clean-up.
            unsafe { libc::_exit(0) }
        }
        child => {
            drop((reading, telling));
            rustix::io::read(&told, &mut [0u8; 1]).ok();
            let made = (|| {
                let of = |name: &str| format!("/proc/{child}/{name}");
                fs::write(of("gid_map"), groups)?;
                fs::write(of("uid_map"), users)?;
                Ok(File::open(of("ns/user"))?.into())
            })();
            drop(writing);
            // SAFETY: no pointers to be written; the process is a child of this one.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::__WALL) };
            made
        }
    }
}

/// Shows a folder, without what is mounted below it, with its owners mapped.
fn show_owned(original: &Path, owners: &OwnedFd, at: &Path) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, original, flags)?;
    set_attributes(
        Place::Tree(rustix::fd::AsFd::as_fd(&tree)),
        ID_MAPPED,
        Some(owners),
    )?;
    let empty_path = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(&tree, "", CWD, at, empty_path)?)
}

/// Owners are seen through a user namespace.
const ID_MAPPED: u64 = 0x0010_0000;
