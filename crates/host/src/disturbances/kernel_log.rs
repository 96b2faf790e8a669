//! The kernel's log, read as it grows.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// Levels up to this one are warnings or worse.
const WARNING: u32 = 4;

/// Longest record that the kernel hands out.
const RECORD_BYTES: usize = 8192;

/// Lines kept of one reading.
const KEPT_LINES: usize = 20;

/// The kernel's log, from where it was opened.
#[derive(Debug)]
pub struct KernelLog {
    file: File,
}

impl KernelLog {
    /// Opens the kernel's log at its end; absent when this process may not read it.
    pub fn open() -> Option<Self> {
        let mut file = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/kmsg")
            .ok()?;
        file.seek(SeekFrom::End(0)).ok()?;
        Some(Self { file })
    }

    /// Lines of level warning or worse since the last reading: 20, and how many more there were.
    pub fn read_new_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut record = [0u8; RECORD_BYTES];
        loop {
            match (&self.file).read(&mut record) {
                Ok(0) => break,
                Ok(count) => lines.extend(serious_line(&String::from_utf8_lossy(&record[..count]))),
                // Older records were overwritten before they were read: the next one is there.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        shorten(lines)
    }
}

fn shorten(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(KEPT_LINES);
    lines.truncate(KEPT_LINES);
    if more > 0 {
        lines.push(format!("and {more} more lines"));
    }
    lines
}

/// Text of a record of `/dev/kmsg` (`priority,number,time,flags;text`) that is a warning or worse.
fn serious_line(record: &str) -> Option<String> {
    let (head, rest) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    let text = rest.lines().next()?.trim();
    (priority & 7 <= WARNING && !text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_kept_and_a_notice_is_not() {
        let warning = "4,1,2,-;CPU0: Core temperature above threshold\n SUBSYSTEM=cpu\n";
        assert_eq!(
            serious_line(warning).as_deref(),
            Some("CPU0: Core temperature above threshold")
        );
        assert_eq!(serious_line("5,1,2,-;a notice\n"), None);
    }

    #[test]
    fn lines_that_are_not_kept_are_counted() {
        let lines = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(shorten(lines(20)), lines(20));
        assert_eq!(shorten(lines(33))[19..], ["19", "and 13 more lines"]);
    }

    #[test]
    fn the_facility_does_not_hide_the_level() {
        // A daemon's error: facility 3, level 3.
        assert!(serious_line("27,1,2,-;disk error\n").is_some());
        assert!(serious_line("30,1,2,-;started\n").is_none());
    }
}
