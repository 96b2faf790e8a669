//! Unpacking a `.tar.gz` whose maker is not trusted.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use datamill_protocol::{Failure, FailureKind, Phase, TrialLimits};
use flate2::bufread::MultiGzDecoder;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use tar::{Archive, EntryType};

use super::links::{check_link_target, check_links_stay_inside};
use crate::interrupt::Interrupt;
use crate::trouble::{Step, failure, io_failure, is_full};

/// Most bytes of archive structure for one member, besides its content: header, name, padding.
const STRUCTURE_BYTES_PER_MEMBER: u64 = 8192;

/// Unpacks a gzip-compressed tar archive into the empty folder `target`.
///
/// Refuses members that are absolute, climb with `..`, pass through a link, appear twice, link
/// outside the package or are devices, and stops as soon as a limit is exceeded.
pub fn unpack_archive(
    archive: File,
    target: &Path,
    limits: &TrialLimits,
    interrupt: &Interrupt,
) -> Step<()> {
    let mut compressed = BufReader::with_capacity(1 << 16, archive);
    let magic = io::BufRead::fill_buf(&mut compressed).map_err(read_failure)?;
    if !magic.starts_with(&[0x1f, 0x8b]) {
        return Err(bad(
            "it is not gzip-compressed",
            "Pack the package with `tar -czf`.",
        ));
    }
    let bounded = bound_content(compressed, limits);
    let mut unpacking = Unpacking {
        target,
        limits,
        interrupt,
        kinds: HashMap::new(),
        folder_times: Vec::new(),
        bytes: 0,
        files: 0,
    };
    let mut archive = Archive::new(bounded);
    for entry in archive.entries().map_err(read_failure)? {
        unpacking.unpack_member(entry.map_err(read_failure)?)?;
    }
    read_to_end(archive.into_inner())?;
    // Last, and innermost first, because every member changed the times of its folder.
    for (folder, seconds) in unpacking.folder_times.iter().rev() {
        set_time(folder, *seconds).map_err(io_failure(Phase::Unpack, "setting a folder's time"))?;
    }
    check_links_stay_inside(target)
}

/// Whether a packed package has a member of this name at its root; nothing of it is written anywhere.
pub fn has_member(packed: impl Read, name: &str, limits: &TrialLimits) -> io::Result<bool> {
    let mut archive = Archive::new(bound_content(BufReader::new(packed), limits));
    for entry in archive.entries()? {
        if inner_path(&entry?.path()?).is_ok_and(|path| path == Path::new(name)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn bound_content<R: io::BufRead>(
    compressed: R,
    limits: &TrialLimits,
) -> BoundedReader<MultiGzDecoder<R>> {
    let structure =
        STRUCTURE_BYTES_PER_MEMBER.saturating_mul(limits.package_files.saturating_add(1));
    BoundedReader {
        inner: MultiGzDecoder::new(compressed),
        left: limits.package_bytes.saturating_add(structure),
        limit: limits.package_bytes,
    }
}

/// Reads what is behind the last member: nothing but padding may be there, and only the end of each
/// gzip member has the checksum of its content.
fn read_to_end(mut rest: impl Read) -> Step<()> {
    let mut buffer = [0; 1 << 13];
    loop {
        let read = rest.read(&mut buffer).map_err(read_failure)?;
        if read == 0 {
            return Ok(());
        }
        if buffer[..read].iter().any(|byte| *byte != 0) {
            return Err(bad(
                "there is more behind the end of the archive",
                "Pack the package anew with `tar -czf`.",
            ));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    /// A folder that only the path of a member below it implies.
    ImpliedFolder,
    File,
    Link,
}

struct Unpacking<'a> {
    target: &'a Path,
    limits: &'a TrialLimits,
    interrupt: &'a Interrupt,
    kinds: HashMap<PathBuf, Kind>,
    folder_times: Vec<(PathBuf, u64)>,
    bytes: u64,
    files: u64,
}

impl Unpacking<'_> {
    fn unpack_member<R: Read>(&mut self, mut entry: tar::Entry<'_, R>) -> Step<()> {
        if self.interrupt.is_pending() {
            return Err(interrupted());
        }
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = inner_path(&entry.path().map_err(read_failure)?)
            .map_err(|cause| bad_member(&shown, cause))?;
        self.files += 1;
        if self.files > self.limits.package_files {
            return Err(bad(
                &format!("it holds more than {} members", self.limits.package_files),
                "Raise the limit package_files if this is intended.",
            ));
        }
        if path.as_os_str().is_empty() {
            return match kind {
                EntryType::Directory => Ok(()),
                _ => Err(bad_member(&shown, "it has no name")),
            };
        }
        if is_pax_sparse(&mut entry).map_err(read_failure)? {
            return Err(sparse_member(&shown));
        }
        self.make_parents(&path, &shown)?;
        let known = self.kinds.get(&path).copied();
        let is_folder = kind == EntryType::Directory;
        if known.is_some_and(|known| {
            !(is_folder && matches!(known, Kind::Folder | Kind::ImpliedFolder))
        }) {
            return Err(bad_member(&shown, "a member of this name came before"));
        }
        let full = self.target.join(&path);
        let mode = entry.header().mode().map_err(read_failure)? & 0o777;
        let seconds = entry.header().mtime().unwrap_or(0);
        let made = match kind {
            EntryType::Directory => {
                self.folder_times.push((full.clone(), seconds));
                self.make_folder(&full, known.is_some(), mode)
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                self.write_file(&mut entry, &full, mode, &shown)?;
                set_time(&full, seconds)
            }
            EntryType::Symlink => {
                let link = entry.link_name().map_err(read_failure)?.unwrap_or_default();
                check_link_target(&path, &link).map_err(|cause| bad_member(&shown, &cause))?;
                symlink(&link, &full).and_then(|()| set_time(&full, seconds))
            }
            EntryType::Link => {
                let link = entry.link_name().map_err(read_failure)?.unwrap_or_default();
                let original = inner_path(&link).map_err(|cause| bad_member(&shown, cause))?;
                match self.kinds.get(&original) {
                    Some(Kind::File) => {}
                    Some(Kind::Link) => return Err(hard_linked_link(&shown, &original)),
                    _ => {
                        return Err(bad_member(
                            &shown,
                            "it is a hard link to no earlier file of the package",
                        ));
                    }
                }
                fs::hard_link(self.target.join(original), &full)
            }
            EntryType::Char | EntryType::Block => return Err(bad_member(&shown, "it is a device")),
            EntryType::Fifo => return Err(bad_member(&shown, "it is a named pipe")),
            _ => return Err(bad_member(&shown, "its type is not supported")),
        };
        made.map_err(io_failure(Phase::Unpack, format!("unpacking `{shown}`")))?;
        self.kinds.insert(
            path,
            match kind {
                EntryType::Directory => Kind::Folder,
                EntryType::Symlink => Kind::Link,
                _ => Kind::File,
            },
        );
        Ok(())
    }

    fn make_parents(&mut self, path: &Path, shown: &str) -> Step<()> {
        let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
        parents.retain(|parent| !parent.as_os_str().is_empty());
        for parent in parents.into_iter().rev() {
            match self.kinds.get(parent) {
                Some(Kind::Folder | Kind::ImpliedFolder) => {}
                Some(_) => {
                    return Err(bad_member(
                        shown,
                        "it lies below a member that is not a folder",
                    ));
                }
                None => {
                    self.files += 1;
                    self.make_folder(&self.target.join(parent), false, 0o755)
                        .map_err(io_failure(Phase::Unpack, format!("unpacking `{shown}`")))?;
                    self.kinds.insert(parent.to_owned(), Kind::ImpliedFolder);
                }
            }
        }
        Ok(())
    }

    fn make_folder(&self, full: &Path, exists: bool, mode: u32) -> io::Result<()> {
        if !exists {
            fs::create_dir(full)?;
        }
        // The owner keeps access, or the members below could be neither written nor removed.
        fs::set_permissions(full, Permissions::from_mode(mode | 0o700))
    }

    fn write_file(
        &mut self,
        content: &mut impl Read,
        full: &Path,
        mode: u32,
        shown: &str,
    ) -> Step<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(full)
            .map_err(io_failure(Phase::Unpack, format!("unpacking `{shown}`")))?;
        let mut buffer = vec![0u8; 1 << 16];
        loop {
            let count = content.read(&mut buffer).map_err(read_failure)?;
            if count == 0 {
                break;
            }
            self.bytes += count as u64;
            if self.bytes > self.limits.package_bytes {
                return Err(too_large(self.limits.package_bytes));
            }
            if self.interrupt.is_pending() {
                return Err(interrupted());
            }
            io::Write::write_all(&mut file, &buffer[..count])
                .map_err(io_failure(Phase::Unpack, format!("unpacking `{shown}`")))?;
        }
        file.set_permissions(Permissions::from_mode(mode | 0o400))
            .map_err(io_failure(Phase::Unpack, format!("unpacking `{shown}`")))
    }
}

/// Whether the content of a member begins with a map of its holes, in the records that GNU tar and
/// libarchive add to the format pax. (The older sparse format of GNU is unpacked by the tar reader.)
pub fn is_pax_sparse<R: Read>(entry: &mut tar::Entry<'_, R>) -> io::Result<bool> {
    let Some(records) = entry.pax_extensions()? else {
        return Ok(false);
    };
    for record in records {
        if record?.key_bytes().starts_with(b"GNU.sparse.") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The member's path below the package's root, or why there is none.
fn inner_path(path: &Path) -> Result<PathBuf, &'static str> {
    let mut inner = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => inner.push(name),
            Component::CurDir => {}
            Component::ParentDir => return Err("its path climbs with `..`"),
            Component::RootDir | Component::Prefix(_) => return Err("its path is absolute"),
        }
    }
    Ok(inner)
}

/// Sets the time of a file, folder or link itself, for build systems that compare times.
pub fn set_time(path: &Path, seconds: u64) -> io::Result<()> {
    let time = Timespec {
        tv_sec: i64::try_from(seconds).unwrap_or(0),
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    Ok(utimensat(
        CWD.as_fd(),
        path,
        &times,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

/// Reads at most `left` bytes, then fails.
struct BoundedReader<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => {
                return Err(io::Error::new(
                    io::ErrorKind::FileTooLarge,
                    self.limit.to_string(),
                ));
            }
        }
        Ok(count)
    }
}

fn read_failure(error: io::Error) -> Failure {
    // The tar reader wraps the errors of what it reads from.
    let inner =
        std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
    let kind = inner.map_or(error.kind(), io::Error::kind);
    if kind == io::ErrorKind::FileTooLarge {
        return bad(
            "it unpacks to more than limits.package_bytes",
            "Raise the limit package if this is intended.",
        );
    }
    if is_full(&error) {
        return io_failure(Phase::Unpack, "unpacking the package")(error);
    }
    bad(
        &format!("it is damaged: {error}"),
        "Pack the package again with `tar -czf`.",
    )
}

fn too_large(limit: u64) -> Failure {
    bad(
        &format!("it unpacks to more than {limit} bytes"),
        "Raise the limit package if this is intended.",
    )
}

fn bad_member(member: &str, cause: &str) -> Failure {
    bad(
        &format!("member `{member}` is refused: {cause}"),
        "Pack the package again without this member.",
    )
}

fn hard_linked_link(member: &str, original: &Path) -> Failure {
    bad(
        &format!(
            "member `{member}` is refused: it is a hard link to the symbolic link `{}`",
            original.display()
        ),
        "Make it a separate symbolic link and pack the package again.",
    )
}

fn sparse_member(member: &str) -> Failure {
    bad(
        &format!(
            "member `{member}` is refused: it is packed as a sparse file in the format pax, whose map of holes is not understood here"
        ),
        "Pack the package again without `-S` (`--sparse`), or with `--format=gnu`.",
    )
}

fn bad(cause: &str, remedy: &str) -> Failure {
    failure(
        Phase::Unpack,
        FailureKind::BadPackage,
        format!("The package cannot be used: {cause}."),
        remedy,
    )
}

/// The failure that an interruption leaves; the trial counts as lost.
pub fn interrupted() -> Failure {
    failure(
        Phase::Unpack,
        FailureKind::Internal,
        "The worker was interrupted.",
        "Resume the experiment; the trial will be attempted again.",
    )
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "unpack_mutations.rs"]
mod mutations;
