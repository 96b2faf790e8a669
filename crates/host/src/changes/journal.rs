//! The file on disk in which every change to the host is written before it is made.
//!
//! One JSON object a line: a change, or the number of one that is undone. Changes are on the disk
//! before they are made. Marks of what is undone need not be: after a power cut the kernel has
//! forgotten the changes, and undoing twice does no harm.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::fault::fault_point;
use super::turn::{lock_for_family, lock_for_process, take_turn};
use crate::state::Host;

/// Name of the journal in the state folder.
const JOURNAL: &str = "journal";
/// Name of the lock file of the process that changes the host.
const LOCK: &str = "journal.lock";
/// Time in which another process has put right what a dead worker left, as its executables run on a busy machine.
const OTHERS_RESTORE_WITHIN: Duration = Duration::from_secs(10);

/// A change that is to be made for a factor's level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedChange {
    /// The factor.
    pub factor: String,
    /// Its level.
    pub level: String,
    /// The change.
    pub change: Change,
}

/// A change in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Number of the entry, larger than that of those before it.
    pub id: u64,
    /// Boot in which the change was made.
    pub boot_id: String,
    /// The change, and what for.
    #[serde(flatten)]
    pub planned: PlannedChange,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Change(Entry),
    Undone { id: u64 },
}

/// What a journal says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalContent {
    /// Changes that are not undone, in the order in which they were made.
    pub entries: Vec<Entry>,
    /// Lines that cannot be understood, as they are.
    pub damaged: Vec<Vec<u8>>,
    /// Whether the last line is unfinished: the changes in it were never made.
    pub torn: bool,
}

/// Why there is no journal.
#[derive(Debug)]
pub enum JournalError {
    /// Another process is changing the host.
    Held {
        /// Its number; absent when it is in another PID namespace.
        pid: Option<libc::pid_t>,
    },
    /// What a dead worker had started is still running.
    Survived,
    /// The journal cannot be read or written.
    Unusable {
        /// File or folder that is the trouble.
        path: PathBuf,
        /// Cause.
        error: io::Error,
    },
}

impl std::fmt::Display for JournalError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Held { pid: Some(pid) } => {
                write!(formatter, "process {pid} is changing this host's settings")
            }
            Self::Held { pid: None } => write!(
                formatter,
                "a process of another container is changing this host's settings"
            ),
            Self::Survived => write!(
                formatter,
                "processes that a dead worker had started are still ending"
            ),
            Self::Unusable { path, error } => {
                write!(formatter, "the journal {}: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for JournalError {}

/// The journal, open and locked: while it lives, nobody else changes the host.
pub struct Journal {
    path: PathBuf,
    file: File,
    content: JournalContent,
    next_id: u64,
    boot_id: String,
    // Locked twice: for this process, which tells others its number and ends with it; and for the
    // open file, which the processes that carry a trial inherit, so that nobody restores the host
    // while one of them may still change it.
    _lock: File,
    // The same for the whole machine: workers with other state folders have journals of their own, and
    // would take for its natural state what this one has set.
    _turn: Option<File>,
}

impl Journal {
    /// Whether a journal holds anything; looks at its size alone.
    pub fn is_empty(host: &Host) -> bool {
        fs::metadata(host.state().join(JOURNAL)).map_or(true, |data| data.len() == 0)
    }

    /// Reads a journal without locking it.
    pub fn peek(host: &Host) -> Result<JournalContent, JournalError> {
        let path = host.state().join(JOURNAL);
        match fs::read(&path) {
            Ok(text) => Ok(parse_journal(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Default::default()),
            Err(error) => Err(JournalError::Unusable { path, error }),
        }
    }

    /// Opens and locks the journal, and reads what a dead worker may have left in it.
    pub fn open(host: &Host) -> Result<Self, JournalError> {
        let folder = host.state();
        let path = folder.join(JOURNAL);
        let unusable = |path: &Path| {
            let path = path.to_owned();
            move |error| JournalError::Unusable { path, error }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(folder)
            .map_err(unusable(folder))?;
        check_owner(folder).map_err(unusable(folder))?;
        let lock_path = folder.join(LOCK);
        // Whoever may open it, may lock it: nobody else can keep the host from being restored.
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .map_err(unusable(&lock_path))?;
        lock_for_process(&lock, &lock_path)?;
        lock_for_family(&lock, &lock_path)?;
        let turn = take_turn(host)?;
        let is_new = !path.exists();
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(unusable(&path))?;
        check_owner(&path).map_err(unusable(&path))?;
        if is_new {
            sync_folder(folder).map_err(unusable(folder))?;
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(unusable(&path))?;
        let content = parse_journal(&text);
        let next_id = content.entries.last().map_or(1, |entry| entry.id + 1);
        Ok(Self {
            path,
            file,
            content,
            next_id,
            boot_id: host.boot_id(),
            _lock: lock,
            _turn: turn,
        })
    }

    /// The same, after a wait for a process that only puts right what a dead worker left: that takes seconds, a trial
    /// that holds the host takes longer and is told.
    pub fn open_patiently(host: &Host) -> Result<Self, JournalError> {
        let deadline = Instant::now() + OTHERS_RESTORE_WITHIN;
        loop {
            match Self::open(host) {
                Err(JournalError::Held { .. }) if Instant::now() < deadline => {
                    sleep(Duration::from_millis(20));
                }
                opened => return opened,
            }
        }
    }

    /// Changes that are not undone, and what cannot be understood.
    pub fn content(&self) -> &JournalContent {
        &self.content
    }

    /// The boot that this journal was opened in.
    pub fn boot_id(&self) -> &str {
        &self.boot_id
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes changes that are about to be made, and returns once they are on the disk.
    pub fn record(&mut self, planned: &[PlannedChange]) -> io::Result<Vec<Entry>> {
        let entries: Vec<Entry> = planned
            .iter()
            .zip(self.next_id..)
            .map(|(planned, id)| Entry {
                id,
                boot_id: self.boot_id.clone(),
                planned: planned.clone(),
            })
            .collect();
        let mut text = Vec::new();
        for entry in &entries {
            append_line(&mut text, &Line::Change(entry.clone()))?;
        }
        let length = self.file.metadata()?.len();
        let written = self.file.write_all(&text).and_then(|()| {
            fault_point();
            self.file.sync_data()
        });
        fault_point();
        if let Err(error) = written {
            // Nothing was changed yet: nothing of it is to be undone.
            self.file.set_len(length).ok();
            return Err(error);
        }
        self.next_id += entries.len() as u64;
        self.content.entries.extend(entries.iter().cloned());
        Ok(entries)
    }

    /// Notes that a change is undone.
    pub fn mark_undone(&mut self, id: u64) -> io::Result<()> {
        self.content.entries.retain(|entry| entry.id != id);
        let mut text = Vec::new();
        append_line(&mut text, &Line::Undone { id })?;
        self.file.write_all(&text)?;
        fault_point();
        Ok(())
    }

    /// Whether there is nothing in the file.
    pub(crate) fn is_blank(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() == 0)
    }

    /// Leaves only what is not undone and what cannot be understood; an unfinished line goes.
    pub fn tidy(&mut self) -> io::Result<()> {
        self.content.torn = false;
        if self.content.entries.is_empty() && self.content.damaged.is_empty() {
            self.file.set_len(0)?;
            fault_point();
            return Ok(());
        }
        let mut text = Vec::new();
        for line in &self.content.damaged {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        for entry in &self.content.entries {
            append_line(&mut text, &Line::Change(entry.clone()))?;
        }
        let draft = self.path.with_extension("draft");
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&draft)?;
        file.set_len(0)?;
        file.write_all(&text)?;
        fault_point();
        file.sync_data()?;
        fs::rename(&draft, &self.path)?;
        fault_point();
        self.file = file;
        sync_folder(self.path.parent().unwrap_or(Path::new("/")))
    }

    /// Writes to another file from now on.
    #[cfg(test)]
    pub(crate) fn replace_file(&mut self, file: File) {
        self.file = file;
    }

    /// Gives up everything that is in the journal.
    pub fn forget(&mut self) -> io::Result<()> {
        self.content = JournalContent::default();
        self.tidy()
    }
}

fn append_line(text: &mut Vec<u8>, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *text, line)?;
    text.push(b'\n');
    Ok(())
}

fn parse_journal(text: &[u8]) -> JournalContent {
    let mut content = JournalContent::default();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let finished = line.strip_suffix(b"\n");
        let line = finished.unwrap_or(line);
        match serde_json::from_slice(line) {
            Ok(Line::Change(entry)) => content.entries.push(entry),
            Ok(Line::Undone { id }) => content.entries.retain(|entry| entry.id != id),
            // Changes are made only once their lines are on the disk, line ends included.
            Err(_) if finished.is_none() => content.torn = true,
            // Zeros, where a power cut left a file longer than what was written to it, say nothing.
            Err(_) if line.iter().all(|byte| *byte == 0) => content.torn = true,
            Err(_) => content.damaged.push(line.to_owned()),
        }
    }
    content
}

/// Fails when somebody else may have written a file or folder: what a journal says is done with all
/// rights of this process.
fn check_owner(path: &Path) -> io::Result<()> {
    let data = fs::metadata(path)?;
    // SAFETY: no pointers involved.
    let own = unsafe { libc::geteuid() };
    if data.uid() != own {
        return Err(io::Error::other(format!(
            "it belongs to user {}, and user {own} obeys no journal that another user may have written",
            data.uid()
        )));
    }
    // Those of a user's own group are trusted with that user's files, and with no more.
    let others = if own == 0 { 0o022 } else { 0o002 };
    if data.mode() & others != 0 {
        return Err(io::Error::other(
            "other users may write it; take that right away with `chmod go-w`",
        ));
    }
    Ok(())
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64) -> Entry {
        Entry {
            id,
            boot_id: "b".to_owned(),
            planned: PlannedChange {
                factor: "f".to_owned(),
                level: "on".to_owned(),
                change: Change::Setting {
                    path: PathBuf::from(format!("/sys/{id}")),
                    before: "0".to_owned(),
                    after: "1".to_owned(),
                },
            },
        }
    }

    fn text(ids: &[u64]) -> Vec<u8> {
        let mut text = Vec::new();
        for id in ids {
            append_line(&mut text, &Line::Change(entry(*id))).unwrap();
        }
        text
    }

    #[test]
    fn what_is_undone_does_not_count() {
        let mut text = text(&[1, 2]);
        append_line(&mut text, &Line::Undone { id: 1 }).unwrap();
        assert_eq!(parse_journal(&text).entries, [entry(2)]);
    }

    #[test]
    fn a_journal_cut_anywhere_keeps_all_lines_before_the_cut() {
        let whole = text(&[1, 2, 3]);
        let line = whole.len() / 3;
        for length in 0..=whole.len() {
            let content = parse_journal(&whole[..length]);
            // Without its line end a line may be whole all the same.
            let least = length / line;
            assert!(content.entries.len() == least || content.entries.len() == (length + 1) / line);
            assert!(content.damaged.is_empty());
            assert_eq!(
                content.entries,
                [entry(1), entry(2), entry(3)][..content.entries.len()]
            );
        }
    }

    #[test]
    fn a_damaged_line_loses_no_other() {
        let whole = text(&[1, 2, 3]);
        for place in whole.len() / 3..2 * whole.len() / 3 - 1 {
            let mut damaged = whole.clone();
            damaged[place] = 0xff;
            let content = parse_journal(&damaged);
            assert_eq!(content.entries, [entry(1), entry(3)]);
            assert_eq!(content.damaged.len(), 1);
        }
    }

    #[test]
    fn zeros_behind_the_last_line_are_an_unfinished_line() {
        let mut text = text(&[1]);
        text.extend([0; 512]);
        let content = parse_journal(&text);
        assert_eq!((content.entries.len(), content.torn), (1, true));
        assert!(content.damaged.is_empty());
    }
}
