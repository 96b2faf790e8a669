//! How this machine was booted, as its kernel tells.

use crate::state::Host;

/// Begins the word of the command line behind which is what was added for a trial; the release of the machine's
/// own kernel follows. The kernel takes it for a parameter of a module that it does not have.
const MARK: &str = "datamill.own=";

/// The boot that this machine is in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootState {
    /// Release of the running kernel.
    pub release: String,
    /// The whole command line.
    pub line: String,
    /// The command line with which the machine boots by itself.
    pub own_line: String,
    /// Release of the kernel that the machine boots by itself.
    pub own_release: String,
    /// Parameters that were added for a trial, separated by single spaces; empty: none.
    pub added: String,
    /// Whether this boot was made for a trial; the next ordinary one is the machine's own.
    pub is_borrowed: bool,
}

impl BootState {
    /// Reads it from the kernel; the error is one sentence without a full stop.
    pub fn read(host: &Host) -> Result<Self, String> {
        let read = |path: &str| host.read(path).map_err(|error| format!("{path}: {error}"));
        Ok(Self::parse(
            &read("/proc/cmdline")?,
            &read("/proc/sys/kernel/osrelease")?,
        ))
    }

    /// Takes a command line apart.
    pub fn parse(line: &str, release: &str) -> Self {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let mark = words.iter().position(|word| word.starts_with(MARK));
        let own = mark.map_or(words.len(), |place| place);
        Self {
            release: release.to_owned(),
            line: line.to_owned(),
            own_line: words[..own].join(" "),
            own_release: mark
                .map_or(release, |place| &words[place][MARK.len()..])
                .to_owned(),
            added: words.get(own + 1..).unwrap_or_default().join(" "),
            is_borrowed: mark.is_some(),
        }
    }

    /// The command line of a borrowed boot with some parameters added.
    pub fn line_with(&self, parameters: &str) -> String {
        format!("{} {MARK}{} {parameters}", self.own_line, self.own_release)
            .trim()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_parts_the_machines_own_line_from_what_was_added() {
        let own = BootState::parse("console=ttyS0 quiet", "6.1.0-50-amd64");
        assert!(!own.is_borrowed);
        let line = own.line_with("mitigations=off nosmt");
        assert_eq!(
            line,
            "console=ttyS0 quiet datamill.own=6.1.0-50-amd64 mitigations=off nosmt"
        );
        let borrowed = BootState::parse(&line, "6.1.0-49-amd64");
        assert!(borrowed.is_borrowed);
        assert_eq!(borrowed.own_line, own.own_line);
        assert_eq!(borrowed.own_release, "6.1.0-50-amd64");
        assert_eq!(borrowed.added, "mitigations=off nosmt");
        // Another boot from there adds to the machine's own line, not to the borrowed one.
        assert_eq!(
            borrowed.line_with(""),
            "console=ttyS0 quiet datamill.own=6.1.0-50-amd64"
        );
    }
}
