//! What a guest hands back: written to a disk by the worker inside, read by the one outside, who believes
//! nothing of it. A package that has taken its guest over can write whatever it likes there.
//!
//! One file after the other: length of the name (2 bytes), name, length of the content (8 bytes), content; the
//! record comes last. What was never written is zero, and a name without length ends it.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use datamill_protocol::TrialLimits;
use rustix::fs::{Mode, OFlags, openat};

/// Name of the last file: what the guest has to say.
pub const REPORT: &str = "\u{1}report";
/// Largest report, in bytes.
const MOST_REPORT: u64 = 32 << 20;
/// Most files in a result.
const MOST_FILES: usize = 1024;
/// Longest name of a file, as file systems have it.
const MOST_NAME: usize = 255;
/// Blocks of a disk.
const BLOCK: u64 = 4096;

/// Writes the files of a folder and then the report.
pub fn write_result(disk: &mut File, folder: Option<&Path>, report: &[u8]) -> io::Result<()> {
    if let Some(folder) = folder {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_file() {
                continue;
            }
            let mut file = File::open(entry.path())?;
            let bytes = file.metadata()?.len();
            let name = entry.file_name();
            write_head(disk, name.as_encoded_bytes(), bytes)?;
            io::copy(&mut (&mut file).take(bytes), disk)?;
        }
    }
    write_head(disk, REPORT.as_bytes(), report.len() as u64)?;
    disk.write_all(report)?;
    disk.sync_all()
}

fn write_head(disk: &mut File, name: &[u8], bytes: u64) -> io::Result<()> {
    disk.write_all(&(name.len() as u16).to_le_bytes())?;
    disk.write_all(name)?;
    disk.write_all(&bytes.to_le_bytes())
}

/// Size of the disk that holds every result within the limits, in bytes; `largest` is that of the archive.
pub fn result_bytes(limits: &TrialLimits, executions: u64, largest: u64) -> u64 {
    // Two streams of each execution, of setup.sh, collect.sh and of both scripts of a background package.
    let outputs = limits
        .output_bytes
        .saturating_mul(executions.saturating_add(5).saturating_mul(2));
    outputs
        .saturating_add(largest)
        .saturating_add(MOST_REPORT + (2 << 20))
        .min(1 << 40)
        .next_multiple_of(BLOCK)
}

/// Why a result cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// The guest ended before it had written it all.
    Unfinished,
    /// It is no result; says why.
    Forged(String),
    /// It cannot be stored here.
    Unstored(io::Error),
}

/// Stores the files of a result in an empty folder, each of at most `most_bytes`, and returns the report.
pub fn read_result(disk: &File, output: &Path, most_bytes: u64) -> Result<Vec<u8>, Unusable> {
    let folder = File::open(output).map_err(Unusable::Unstored)?;
    let mut source = BufReader::with_capacity(1 << 18, disk);
    for _ in 0..MOST_FILES {
        let name = read_bytes(&mut source, 2)?;
        let length = usize::from(u16::from_le_bytes([name[0], name[1]]));
        if length == 0 {
            return Err(Unusable::Unfinished);
        }
        if length > MOST_NAME {
            return Err(forged("a name of a file is too long"));
        }
        let name = read_bytes(&mut source, length)?;
        let head = read_bytes(&mut source, 8)?;
        let bytes = head
            .iter()
            .rev()
            .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        if name == REPORT.as_bytes() {
            if bytes > MOST_REPORT {
                return Err(forged("its record is too long"));
            }
            return read_bytes(&mut source, bytes as usize);
        }
        if bytes > most_bytes {
            return Err(forged("a file is longer than the limits allow"));
        }
        store(&mut source, &folder, &name, bytes)?;
    }
    Err(forged("it has too many files"))
}

fn store(source: &mut impl Read, folder: &File, name: &[u8], bytes: u64) -> Result<(), Unusable> {
    let is_plain = name
        .iter()
        .all(|byte| *byte != b'/' && *byte >= b' ' && *byte != 0x7f)
        && !name.starts_with(b".")
        && std::str::from_utf8(name).is_ok();
    let name = CString::new(name)
        .ok()
        .filter(|_| is_plain)
        .ok_or_else(|| forged("a name of a file is not a plain name"))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let target = openat(folder.as_fd(), &name, flags, Mode::from_raw_mode(0o644));
    let mut target: File = match target {
        Ok(target) => target.into(),
        Err(rustix::io::Errno::EXIST) => return Err(forged("two files have one name")),
        Err(error) => return Err(Unusable::Unstored(error.into())),
    };
    let copied = io::copy(&mut source.take(bytes), &mut target).map_err(Unusable::Unstored)?;
    if copied < bytes {
        return Err(forged("a file is longer than the disk"));
    }
    Ok(())
}

fn read_bytes(source: &mut impl Read, count: usize) -> Result<Vec<u8>, Unusable> {
    let mut bytes = Vec::new();
    source
        .take(count as u64)
        .read_to_end(&mut bytes)
        .map_err(Unusable::Unstored)?;
    if bytes.len() < count {
        return Err(forged("it ends too early"));
    }
    Ok(bytes)
}

fn forged(cause: &str) -> Unusable {
    Unusable::Forged(cause.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use super::*;
    use crate::scratch::TemporaryFolder;

    fn read(content: &[u8], most_bytes: u64) -> (TemporaryFolder, Result<Vec<u8>, Unusable>) {
        let folder = TemporaryFolder::new("guest-result");
        let output = folder.path().join("output");
        fs::create_dir(&output).unwrap();
        let disk = folder.path().join("disk");
        fs::write(&disk, content).unwrap();
        let told = read_result(&File::open(&disk).unwrap(), &output, most_bytes);
        (folder, told)
    }

    fn member(name: &[u8], bytes: u64, content: &[u8]) -> Vec<u8> {
        let mut told = (name.len() as u16).to_le_bytes().to_vec();
        told.extend_from_slice(name);
        told.extend_from_slice(&bytes.to_le_bytes());
        told.extend_from_slice(content);
        told
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = TemporaryFolder::new("guest-result");
        let [given, output] = ["given", "output"].map(|name| folder.path().join(name));
        fs::create_dir(&given).unwrap();
        fs::create_dir(&output).unwrap();
        fs::write(given.join("run.out"), "said").unwrap();
        let path = folder.path().join("disk");
        let mut disk = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        disk.set_len(1 << 20).unwrap();
        write_result(&mut disk, Some(&given), b"{}").unwrap();
        disk.rewind().unwrap();
        assert_eq!(read_result(&disk, &output, 100).unwrap(), b"{}");
        assert_eq!(fs::read(output.join("run.out")).unwrap(), b"said");
    }

    #[test]
    fn a_disk_that_was_never_written_is_unfinished() {
        assert!(matches!(read(&[0; 8192], 100).1, Err(Unusable::Unfinished)));
    }

    #[test]
    fn a_forged_result_is_refused_and_writes_nothing_elsewhere() {
        let twice = [member(b"a", 1, b"x"), member(b"a", 1, b"x")].concat();
        let many: Vec<u8> = (0..2000)
            .flat_map(|number| member(format!("f{number}").as_bytes(), 0, b""))
            .collect();
        for (content, cause) in [
            (member(b"../evil", 1, b"x"), "plain name"),
            (member(b"/etc/evil", 1, b"x"), "plain name"),
            (member(b"..", 1, b"x"), "plain name"),
            (member(b"a\0b", 1, b"x"), "plain name"),
            (member(b"\x1b[2J", 1, b"x"), "plain name"),
            (member(&[0xff, 0xfe], 1, b"x"), "plain name"),
            (member(&[b'n'; 300], 1, b"x"), "too long"),
            (member(b"big", 101, &[0; 101]), "limits"),
            (member(b"big", u64::MAX, b"x"), "limits"),
            (member(b"short", 50, b"x"), "longer than the disk"),
            (member(REPORT.as_bytes(), u64::MAX, b"{}"), "too long"),
            (member(REPORT.as_bytes(), 1 << 20, b"{}"), "too early"),
            (twice, "one name"),
            (many, "too many files"),
            (vec![1], "too early"),
        ] {
            let (folder, told) = read(&content, 100);
            let Err(Unusable::Forged(told)) = told else {
                panic!("{cause}: {told:?}");
            };
            assert!(told.contains(cause), "{told}");
            assert!(!folder.path().join("evil").exists());
        }
    }

    #[test]
    fn a_name_that_is_a_link_already_is_not_followed() {
        let folder = TemporaryFolder::new("guest-result");
        let output = folder.path().join("output");
        fs::create_dir(&output).unwrap();
        std::os::unix::fs::symlink(folder.path().join("victim"), output.join("link")).unwrap();
        let disk = folder.path().join("disk");
        fs::write(&disk, member(b"link", 1, b"x")).unwrap();
        let told = read_result(&File::open(&disk).unwrap(), &output, 100);
        assert!(matches!(told, Err(Unusable::Forged(_))));
        assert!(!folder.path().join("victim").exists());
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..500 {
            let content: Vec<u8> = (0..300)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    (state as u8) & if state & 0x300 == 0 { 0xff } else { 3 }
                })
                .collect();
            assert!(read(&content, 100).1.is_err());
        }
    }
}
