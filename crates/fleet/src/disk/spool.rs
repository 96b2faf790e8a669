//! Reports that wait for their receipts, on the disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use datamill_protocol::digest::hash_file;
use datamill_protocol::{ArtifactFile, ReportContent};

use super::durable::{read_if_there, sync_parent, write_durably};
use super::folder::FleetFolder;

/// File of a spooled attempt with what its report tells.
const CONTENT: &str = "content.json";
/// Folder of an attempt that receives its output.
const OUTPUT: &str = "output";

/// Folder in which an attempt is made.
pub fn work_folder(folder: &FleetFolder, attempt: &str) -> PathBuf {
    folder.work().join(attempt)
}

/// Folder that receives the output of an attempt that is made.
pub fn work_output(folder: &FleetFolder, attempt: &str) -> PathBuf {
    work_folder(folder, attempt).join(OUTPUT)
}

/// Lists the files of a folder with their digests, in the order of their names.
pub fn list_artifacts(output: &Path) -> io::Result<Vec<ArtifactFile>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(output)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name());
        }
    }
    names.sort();
    let mut artifacts = Vec::new();
    for name in names {
        let Some(text) = name.to_str() else { continue };
        let (bytes, sha256) = hash_file(&output.join(&name))?;
        artifacts.push(ArtifactFile {
            name: text.to_owned(),
            sha256: sha256.to_string(),
            bytes,
        });
    }
    Ok(artifacts)
}

/// Puts what an attempt's report tells beside its output and makes both durable, as one.
pub fn spool_report(
    folder: &FleetFolder,
    attempt: &str,
    content: &ReportContent,
) -> io::Result<()> {
    let work = work_folder(folder, attempt);
    let output = work.join(OUTPUT);
    fs::create_dir_all(&output)?;
    for entry in fs::read_dir(&work)? {
        let entry = entry?;
        if entry.file_name() != OUTPUT && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    for entry in fs::read_dir(&output)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(&output)?.sync_all()?;
    write_durably(&work.join(CONTENT), &serde_json::to_vec(content)?, 0o600)?;
    let spooled = folder.spool().join(attempt);
    fs::rename(&work, &spooled)?;
    sync_parent(&spooled)
}

/// Forgets the output of an attempt that did not end well: what is left of it may be half written.
pub fn clear_work(folder: &FleetFolder, attempt: &str) -> io::Result<()> {
    match fs::remove_dir_all(work_folder(folder, attempt)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Attempts whose reports wait for their receipts, in the order of their names.
pub fn list_spooled(folder: &FleetFolder) -> io::Result<Vec<String>> {
    let mut attempts = Vec::new();
    for entry in fs::read_dir(folder.spool())? {
        if let Ok(name) = entry?.file_name().into_string() {
            attempts.push(name);
        }
    }
    attempts.sort();
    Ok(attempts)
}

/// Whether an attempt's report waits for its receipt.
pub fn is_spooled(folder: &FleetFolder, attempt: &str) -> bool {
    folder.spool().join(attempt).is_dir()
}

/// What a spooled report tells, and the folder with its files.
pub fn read_spooled(
    folder: &FleetFolder,
    attempt: &str,
) -> io::Result<Option<(ReportContent, PathBuf)>> {
    let spooled = folder.spool().join(attempt);
    let Some(text) = read_if_there(&spooled.join(CONTENT))? else {
        return Ok(None);
    };
    let content = serde_json::from_slice(&text)
        .map_err(|error| io::Error::other(format!("{}: {error}", spooled.display())))?;
    Ok(Some((content, spooled.join(OUTPUT))))
}

/// Forgets an attempt whose report has arrived.
pub fn remove_spooled(folder: &FleetFolder, attempt: &str) -> io::Result<()> {
    let spooled = folder.spool().join(attempt);
    match fs::remove_dir_all(&spooled) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    sync_parent(&spooled)
}
