//! Making the wrapper's folder.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

use crate::build_log::LOG_FILE;
use crate::compilers::Toolchain;
use crate::program::{FileIdentity, identify_program, is_executable};
use crate::settings::{WrapperSettings, invalid_input};

const WORKER: &str = "../datamill-worker";

/// Makes `<dir>/bin` with a wrapper for each wrapped program on `search_path`, and its settings and log.
///
/// `search_path` is a colon-separated list of folders whose absolute members are taken under `root`.
/// Programs that do not exist get no wrapper, so that configure scripts are not misled. The caller
/// puts the binary at `<dir>/datamill-worker` and `<dir>/bin` first in PATH. Returns the names,
/// sorted. A compiler that is asked for is looked for on `search_path` as this process sees it. Fails with
/// `InvalidInput` for an unknown level or a compiler that is not there, and when a file cannot be made.
pub fn install_wrappers(
    dir: &Path,
    root: &Path,
    search_path: &str,
    settings: &WrapperSettings,
) -> io::Result<Vec<String>> {
    settings.check().map_err(invalid_input)?;
    let bin = dir.join("bin");
    fs::create_dir_all(&bin)?;
    let compiler = settings.wishes().compiler;
    let toolchain = compiler
        .map(|compiler| Toolchain::find(&compiler, settings.cross.as_deref(), search_path))
        .transpose();
    Toolchain::leave(toolchain.map_err(invalid_input)?.as_ref(), dir)?;
    settings.write_into(dir)?;
    let log = fs::File::create(dir.join(LOG_FILE))?;
    // A build may drop its privileges, and must be able to log all the same.
    log.set_permissions(fs::Permissions::from_mode(0o666))?;

    let names = find_wrapped_programs(Some(&bin), root, search_path)?;
    for name in &names {
        match symlink(WORKER, bin.join(name)) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
    }
    Ok(names.into_iter().collect())
}

/// Names of the wrapped programs on the search path, without those in the folder `except`.
pub(crate) fn find_wrapped_programs(
    except: Option<&Path>,
    root: &Path,
    search_path: &str,
) -> io::Result<BTreeSet<String>> {
    let root = RootFolder::open(root)?;
    let mut names = BTreeSet::new();
    let mut seen = Vec::new();
    if let Some(except) = except {
        seen.push(FileIdentity::of(&fs::metadata(except)?));
    }
    for folder in search_path.split(':').filter(|folder| !folder.is_empty()) {
        collect_wrapped_programs(&root, Path::new(folder), &mut seen, &mut names);
    }
    Ok(names)
}

/// Adds the names of the wrapped programs in `folder`, unless it was seen already (`/bin` is often
/// `/usr/bin`); a folder that cannot be read has none.
fn collect_wrapped_programs(
    root: &RootFolder,
    folder: &Path,
    seen: &mut Vec<FileIdentity>,
    names: &mut BTreeSet<String>,
) {
    let Ok((opened, metadata)) = root.look_up(folder, OFlags::RDONLY | OFlags::DIRECTORY) else {
        return;
    };
    let identity = FileIdentity::of(&metadata);
    if seen.contains(&identity) {
        return;
    }
    seen.push(identity);
    let Ok(entries) = Dir::new(opened) else {
        return;
    };
    for entry in entries.flatten() {
        // Only UTF-8 names are identified.
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        if identify_program(name.as_bytes()).is_some()
            && !names.contains(name)
            && root
                .look_up(&folder.join(name), OFlags::PATH)
                .is_ok_and(|(_, metadata)| is_executable(&metadata))
        {
            names.insert(name.to_owned());
        }
    }
}

/// The folder that the build will have as its root.
struct RootFolder {
    path: PathBuf,
    opened: OwnedFd,
}

impl RootFolder {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_path_buf(),
            opened: open(
                path,
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )?,
        })
    }

    /// Opens a path as a process below this root would: links such as `/etc/alternatives/cc` stay
    /// below it. A kernel without `openat2` (before 5.6) follows them from its own root.
    fn look_up(&self, path: &Path, flags: OFlags) -> io::Result<(OwnedFd, Metadata)> {
        let flags = flags | OFlags::CLOEXEC;
        let opened = match openat2(
            &self.opened,
            path,
            flags,
            Mode::empty(),
            ResolveFlags::IN_ROOT,
        ) {
            Err(Errno::NOSYS | Errno::PERM) => {
                let path = self.path.join(path.strip_prefix("/").unwrap_or(path));
                open(&path, flags, Mode::empty())?
            }
            opened => opened?,
        };
        let file = File::from(opened);
        let metadata = file.metadata()?;
        Ok((OwnedFd::from(file), metadata))
    }
}
