//! Where the host's settings are, and where we keep what must outlive a worker.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Variable that names the state folder.
pub const STATE_VARIABLE: &str = "DATAMILL_STATE_DIR";

/// The host as it is changed: the root of its files, and our state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    root: PathBuf,
    state: PathBuf,
}

impl Host {
    /// The host that this process runs on.
    pub fn here() -> Self {
        // SAFETY: no pointers involved.
        let is_root = unsafe { libc::geteuid() } == 0;
        let variable = |name: &str| env::var_os(name).map(PathBuf::from);
        Self::at(Path::new("/"), &choose_state(variable, is_root))
    }

    /// A host whose `/proc` and `/sys` lie below `root`.
    pub fn at(root: &Path, state: &Path) -> Self {
        Self {
            root: root.to_owned(),
            state: state.to_owned(),
        }
    }

    /// The same host as a worker with another state folder sees it.
    pub fn with_state(&self, state: &Path) -> Self {
        Self::at(&self.root, state)
    }

    /// The folder for what must outlive a worker; it need not exist.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Where a file of the kernel is, such as `/proc/swaps`.
    pub fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// What a file of the kernel holds, without white space around it.
    pub fn read(&self, absolute: &str) -> io::Result<String> {
        Ok(fs::read_to_string(self.path(absolute))?.trim().to_owned())
    }

    /// The kernel's random identity of this boot; empty when it does not tell.
    pub fn boot_id(&self) -> String {
        self.read("/proc/sys/kernel/random/boot_id")
            .unwrap_or_default()
    }
}

/// `$DATAMILL_STATE_DIR`; else `/var/lib/datamill` for root; else `datamill` in the user's own
/// folder for state.
fn choose_state(variable: impl Fn(&str) -> Option<PathBuf>, is_root: bool) -> PathBuf {
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    if let Some(folder) = absolute(STATE_VARIABLE) {
        return folder;
    }
    if is_root {
        return PathBuf::from("/var/lib/datamill");
    }
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(env::temp_dir)
        .join("datamill")
}

/// The folder that is used where no variable names one.
pub fn usual_state() -> PathBuf {
    // SAFETY: no pointers involved.
    let is_root = unsafe { libc::geteuid() } == 0;
    let others = |name: &str| env::var_os(name).filter(|_| name != STATE_VARIABLE);
    choose_state(|name| others(name).map(PathBuf::from), is_root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(variables: &[(&str, &str)], is_root: bool) -> PathBuf {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(PathBuf::from(found.1))
        };
        choose_state(variable, is_root)
    }

    #[test]
    fn the_state_folder_is_the_named_one_then_the_systems_then_the_users() {
        let named = [("DATAMILL_STATE_DIR", "/s"), ("HOME", "/h")];
        assert_eq!(choose(&named, true), Path::new("/s"));
        assert_eq!(choose(&named, false), Path::new("/s"));
        assert_eq!(choose(&named[1..], true), Path::new("/var/lib/datamill"));
        assert_eq!(
            choose(&named[1..], false),
            Path::new("/h/.local/state/datamill")
        );
        let moved = [("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(choose(&moved, false), Path::new("/x/datamill"));
    }

    #[test]
    fn a_relative_state_folder_does_not_count() {
        let relative = [("DATAMILL_STATE_DIR", "state"), ("HOME", "/h")];
        assert_eq!(
            choose(&relative, false),
            Path::new("/h/.local/state/datamill")
        );
    }
}
