//! A host of plain files, for the tests of factors that this machine may not have.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::state::Host;

/// A host below a folder that is removed with it.
pub struct FakeHost {
    /// The host.
    pub host: Host,
    folder: PathBuf,
}

impl FakeHost {
    /// One without any files.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("datamill-host-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self {
            host: Host::at(&folder, &folder.join("state")),
            folder,
        }
    }

    /// Writes a file, whose folders are made.
    pub fn write(&self, path: &str, text: &str) {
        let file = self.host.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
    }
}

impl Drop for FakeHost {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}
