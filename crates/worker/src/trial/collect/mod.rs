//! The archive that `collect.sh` names: checked, copied out and searched for metrics.

mod metrics;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use datamill_protocol::digest::copy_and_hash;
use datamill_protocol::{ArchiveFacts, Failure, FailureKind, Phase, TrialLimits};
use flate2::bufread::MultiGzDecoder;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

pub use metrics::Metrics;

use crate::package::{COLLECT, is_pax_sparse};
use crate::trouble::{Step, failure, io_failure};
use crate::world::{World, open_confined};
use metrics::{parse_metrics_csv, parse_metrics_json};

/// Largest member that is read as metrics.
const METRICS_BYTES: u64 = 64 << 20;

/// Names that the phases' output has in the output folder.
const TAKEN_NAMES: [&str; 8] = [
    "setup.out",
    "setup.err",
    "run.out",
    "run.err",
    "collect.out",
    "collect.err",
    "profile.out",
    "profile.err",
];

/// Reads the text of a member as metrics; the error names line and cause.
type Parser = fn(&[u8]) -> Result<Metrics, String>;

/// What was collected.
pub struct Collected {
    /// The archive in the output folder.
    pub archive: ArchiveFacts,
    /// Metrics found in it.
    pub metrics: Metrics,
    /// That metrics were not looked for, if so.
    pub notice: Option<String>,
}

/// Collects the archive named by the last line of `stdout`.
///
/// `started` is the time at which the trial started, on the clock that stamps files, in nanoseconds.
pub fn collect_archive(
    world: &World,
    stdout: &[u8],
    limits: &TrialLimits,
    started: i128,
    output: &OwnedFd,
) -> Step<Collected> {
    let (archive, file) = keep_named_file(world, COLLECT, stdout, limits, started, output)?;
    let (metrics, notice) = find_metrics(file, &archive.file, limits)?;
    Ok(Collected {
        archive,
        metrics,
        notice,
    })
}

/// Copies the file that the last line of a script's `stdout` names, and returns it at its beginning.
pub fn keep_named_file(
    world: &World,
    script: &str,
    stdout: &[u8],
    limits: &TrialLimits,
    started: i128,
    output: &OwnedFd,
) -> Step<(ArchiveFacts, File)> {
    let named = last_line(stdout).ok_or_else(|| {
        no_archive(
            format!("{script} printed no path."),
            format!("Print the path of the file as the last line of {script}'s output."),
        )
    })?;
    let (mut file, path) = open_archive(world, script, &named)?;
    check_archive(world, script, &file, &path, &named, limits, started)?;
    let name = path
        .file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default()
        .into_owned();
    if TAKEN_NAMES.contains(&name.as_str()) {
        return Err(no_archive(
            format!(
                "{script} named `{}`, whose name the worker uses itself.",
                shown(&named)
            ),
            "Give the file another name.".to_owned(),
        ));
    }
    let storing = || io_failure(Phase::Collect, format!("storing the archive `{name}`"));
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut target: File = openat(output, name.as_str(), flags, Mode::from_raw_mode(0o644))
        .map_err(io::Error::from)
        .map_err(storing())?
        .into();
    let (bytes, sha256) = copy_and_hash(&mut file, &mut target).map_err(storing())?;
    file.rewind().map_err(storing())?;
    let archive = ArchiveFacts {
        file: name,
        bytes,
        sha256: sha256.to_string(),
    };
    Ok((archive, file))
}

fn last_line(stdout: &[u8]) -> Option<PathBuf> {
    let line = stdout
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .rfind(|line| !line.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(line)))
}

/// Opens what was named, below the world's root, and tells where it really is, links followed.
fn open_archive(world: &World, script: &str, named: &Path) -> Step<(File, PathBuf)> {
    let opened = open_confined(world, || {
        let file = open_in_world(world, named)?;
        let path = fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
            .or_else(|_| fs::canonicalize(world.root.join(named)))?;
        Ok((file, path))
    });
    let (file, path) = opened.map_err(|error| {
        let (cause, remedy) = match error.raw_os_error() {
            Some(libc::EXDEV) => return outside(script, named),
            Some(libc::ELOOP) => (
                "leads through links in a circle or through a link of /proc".to_owned(),
                "Print the plain path of the archive.",
            ),
            _ => (
                format!("cannot be read: {error}"),
                "Print the path of an existing file, relative to the package's root or absolute.",
            ),
        };
        no_archive(
            format!("{script} named `{}`, which {cause}.", shown(named)),
            remedy.to_owned(),
        )
    })?;
    Ok((file, path))
}

/// Opens a path as a script of the trial names it, without leaving the world: the kernel follows the
/// links, but not those of `/proc` that lead to what other processes have open.
fn open_in_world(world: &World, named: &Path) -> io::Result<File> {
    let root = File::open(&world.root)?;
    // In a plain world `/` is the host's, and absolute paths and links are to be taken from there.
    let resolved;
    let (path, how) = if world.root == Path::new("/") {
        (named, ResolveFlags::IN_ROOT)
    } else {
        resolved = fs::canonicalize(world.root.join(named))?;
        let inner = resolved.strip_prefix(fs::canonicalize(&world.root)?);
        let inner = inner.map_err(|_| io::Error::from_raw_os_error(libc::EXDEV))?;
        let itself = inner.as_os_str().is_empty();
        (
            if itself { Path::new(".") } else { inner },
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
        )
    };
    // A named pipe must not make the worker wait.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let how = how | ResolveFlags::NO_MAGICLINKS;
    let mut opened = Err(Errno::AGAIN);
    for _ in 0..1000 {
        opened = openat2(&root, path, flags, Mode::empty(), how);
        // Again: anybody on this host renamed or mounted something while `..` was followed.
        if !matches!(opened, Err(Errno::AGAIN)) {
            break;
        }
    }
    Ok(opened?.into())
}

fn check_archive(
    world: &World,
    script: &str,
    file: &File,
    path: &Path,
    named: &Path,
    limits: &TrialLimits,
    started: i128,
) -> Step<()> {
    let root = fs::canonicalize(&world.root).unwrap_or_else(|_| world.root.clone());
    let kernels_own = ["/proc", "/sys", "/dev"]
        .iter()
        .any(|own| path.starts_with(own));
    if !path.starts_with(&root) || kernels_own {
        return Err(outside(script, named));
    }
    let data = file
        .metadata()
        .map_err(io_failure(Phase::Collect, "reading the archive"))?;
    if !data.is_file() {
        return Err(no_archive(
            format!(
                "{script} named `{}`, which is not a regular file.",
                shown(named)
            ),
            "Pack the results into one file, for example with `tar -czf`.".to_owned(),
        ));
    }
    let changed = i128::from(data.ctime()) * 1_000_000_000 + i128::from(data.ctime_nsec());
    if changed < started {
        return Err(no_archive(
            format!(
                "{script} named `{}`, which is older than this trial.",
                shown(named)
            ),
            match script {
                COLLECT => "Make the archive in run.sh or collect.sh, not before.".to_owned(),
                _ => format!("Make the file in {script}, not before."),
            },
        ));
    }
    if data.len() > limits.archive_bytes {
        return Err(no_archive(
            format!(
                "{script} named `{}` of {} bytes; the limit is {}.",
                shown(named),
                data.len(),
                limits.archive_bytes
            ),
            "Raise the limit archive, or collect less.".to_owned(),
        ));
    }
    Ok(())
}

fn find_metrics(
    mut file: File,
    name: &str,
    limits: &TrialLimits,
) -> Step<(Metrics, Option<String>)> {
    let reading = || io_failure(Phase::Collect, format!("reading the archive `{name}`"));
    let mut start = [0u8; 1024];
    let got = read_up_to(&mut file, &mut start).map_err(reading())?;
    file.rewind().map_err(reading())?;
    let not_looked = |what: &str| {
        Some(format!(
            "Metrics were not looked for in `{name}`: it is {what}."
        ))
    };
    if start[..got].starts_with(&[0x1f, 0x8b]) {
        let mut content = MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file));
        let got = read_up_to(&mut content, &mut start).map_err(|error| damaged(name, &error))?;
        if !begins_tar(&start[..got]) {
            return Ok((Metrics::new(), not_looked("compressed but no tar archive")));
        }
        let whole = io::Cursor::new(start).chain(content);
        return Ok((metrics_in_tar(whole, name, limits)?, None));
    }
    if begins_tar(&start[..got]) {
        return Ok((metrics_in_tar(BufReader::new(file), name, limits)?, None));
    }
    Ok((Metrics::new(), not_looked("neither .tar nor .tar.gz")))
}

fn metrics_in_tar(content: impl Read, name: &str, limits: &TrialLimits) -> Step<Metrics> {
    // Bounds what a small archive can unpack to.
    let bounded = content.take(
        limits
            .package_bytes
            .max(limits.archive_bytes.saturating_mul(64)),
    );
    let mut archive = tar::Archive::new(bounded);
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    let mut metrics = Metrics::new();
    for entry in archive.entries().map_err(|error| damaged(name, &error))? {
        let mut entry = entry.map_err(|error| damaged(name, &error))?;
        let path = entry
            .path()
            .map_err(|error| damaged(name, &error))?
            .into_owned();
        let (kind, parse): (_, Parser) = match path.file_name().and_then(OsStr::to_str) {
            Some("metrics.json") => ("metrics.json", parse_metrics_json),
            Some("metrics.csv") => ("metrics.csv", parse_metrics_csv),
            _ => continue,
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let member = path.display().to_string();
        if is_pax_sparse(&mut entry).map_err(|error| damaged(name, &error))? {
            return Err(bad_metrics(format!(
                "`{member}` in the archive `{name}` is packed as a sparse file (tar -S)."
            )));
        }
        if let Some(other) = found.insert(kind, member.clone()) {
            return Err(bad_metrics(format!(
                "The archive `{name}` holds both `{other}` and `{member}`."
            )));
        }
        let bad = |cause: String| {
            bad_metrics(format!(
                "`{member}` in the archive `{name}` cannot be used: {cause}."
            ))
        };
        if entry.size() > METRICS_BYTES {
            return Err(bad(format!("it is larger than {METRICS_BYTES} bytes")));
        }
        let mut text = Vec::new();
        entry
            .read_to_end(&mut text)
            .map_err(|error| damaged(name, &error))?;
        for (metric, values) in parse(&text).map_err(bad)? {
            if metrics.insert(metric.clone(), values).is_some() {
                return Err(bad_metrics(format!(
                    "The archive `{name}` reports `{metric}` in metrics.json and in metrics.csv."
                )));
            }
        }
    }
    Ok(metrics)
}

fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match reader.read(&mut buffer[got..])? {
            0 => break,
            count => got += count,
        }
    }
    Ok(got)
}

/// Whether a file of this beginning, of two blocks, is a tar archive: the first block is a member's, or
/// both are empty, as where an archive of no members ends.
fn begins_tar(start: &[u8]) -> bool {
    let is_empty = start.len() == 1024 && start.iter().all(|byte| *byte == 0);
    is_empty || start.get(..512).is_some_and(is_tar_header)
}

/// Whether a block carries the checksum of a tar header; every tar format has it.
fn is_tar_header(block: &[u8]) -> bool {
    let Ok(block) = <&[u8; 512]>::try_from(block) else {
        return false;
    };
    let header = tar::Header::from_byte_slice(block);
    let own = 148..156;
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(i, byte)| {
            if own.contains(&i) {
                32
            } else {
                u32::from(*byte)
            }
        })
        .sum();
    header.cksum().is_ok_and(|cksum| cksum == sum)
}

fn shown(named: &Path) -> String {
    named.display().to_string().escape_debug().to_string()
}

fn outside(script: &str, named: &Path) -> Failure {
    no_archive(
        format!(
            "{script} named `{}`, which is outside the trial's world.",
            shown(named)
        ),
        "Make the file in the package's folder, or in /tmp of a private world.".to_owned(),
    )
}

fn no_archive(message: String, remedy: String) -> Failure {
    failure(Phase::Collect, FailureKind::NoArchive, message, remedy)
}

fn bad_metrics(message: String) -> Failure {
    failure(
        Phase::Collect,
        FailureKind::BadMetrics,
        message,
        "Write metrics.json as {\"name\": number, \"other\": [number, …]}, or metrics.csv with a header of names.",
    )
}

fn damaged(name: &str, error: &io::Error) -> Failure {
    bad_metrics(format!(
        "The archive `{name}` cannot be searched for metrics: {error}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_is_not_empty_names_the_archive() {
        assert_eq!(
            last_line(b"packing\n/dry/results.tar.gz\n\n  \n"),
            Some(PathBuf::from("/dry/results.tar.gz"))
        );
        assert_eq!(last_line(b"\n \n"), None);
    }

    #[test]
    fn a_tar_header_is_known_by_its_checksum() {
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.set_cksum();
        assert!(is_tar_header(header.as_bytes()));
        assert!(!is_tar_header(&[0; 512]) && !is_tar_header(b"short"));
        assert!(begins_tar(header.as_bytes()) && begins_tar(&[0; 1024]));
        assert!(!begins_tar(&[0; 512]) && !begins_tar(b"") && !begins_tar(&[1; 1024]));
    }
}
