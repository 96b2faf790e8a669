//! Whatever happens between two steps, the host is brought back.

mod journals;
mod kernel;
mod kills;
mod user_factors;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::changes::{Change, Journal, PlannedChange, UserVerbs, fault_point, plan_setting};
use crate::state::Host;

/// A host whose settings are plain files.
struct Bench {
    folder: PathBuf,
    host: Host,
}

impl Bench {
    fn new(settings: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("datamill-restore-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let host = Host::at(&folder.join("root"), &folder.join("state"));
        let bench = Self { folder, host };
        bench.boot("first");
        for (file, text) in settings {
            bench.write(file, text);
        }
        bench
    }

    fn boot(&self, id: &str) {
        self.write("/proc/sys/kernel/random/boot_id", id);
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.host.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        self.host.read(file).unwrap()
    }

    fn open(&self) -> Journal {
        Journal::open(&self.host).unwrap()
    }

    fn journal_path(&self) -> PathBuf {
        self.host.state().join("journal")
    }

    /// Everything below the root, by path.
    fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.folder.join("root"), &mut files);
        files
    }

    fn plan(&self, levels: &[(&str, &str)]) -> Vec<PlannedChange> {
        let plan = |(file, text): &(&str, &str)| {
            let change = plan_setting(&self.host.path(file), text).unwrap()?;
            Some(planned(file, text, change))
        };
        levels.iter().filter_map(plan).collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            collect(&entry.path(), files);
        } else {
            files.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
}

fn planned(factor: &str, level: &str, change: Change) -> PlannedChange {
    PlannedChange {
        factor: factor.to_owned(),
        level: level.to_owned(),
        change,
    }
}

/// A factor of an experiment whose state is a plain file called `level`, in its folder.
#[derive(Default)]
struct FileVerbs {
    /// Verbs that fail.
    broken: Vec<&'static str>,
    calls: RefCell<Vec<String>>,
}

impl FileVerbs {
    fn broken(verbs: &[&'static str]) -> Self {
        Self {
            broken: verbs.to_vec(),
            ..Self::default()
        }
    }

    fn call(&self, verb: &str, argument: &str) -> Result<(), String> {
        self.calls.borrow_mut().push(format!("{verb} {argument}"));
        match self.broken.contains(&verb) {
            true => Err(format!("its `{verb}` exited with status 1")),
            false => Ok(()),
        }
    }
}

impl UserVerbs for FileVerbs {
    fn set(&self, folder: &Path, level: &str, _: u64) -> Result<(), String> {
        // Half-way: something is changed before it fails.
        fs::write(folder.join("level"), level).unwrap();
        fault_point();
        self.call("set", level)
    }

    fn verify(&self, folder: &Path, _: u64) -> Result<String, String> {
        self.call("verify", "")?;
        Ok(fs::read_to_string(folder.join("level")).unwrap())
    }

    fn restore(&self, folder: &Path, before: &str, _: u64) -> Result<(), String> {
        if self.broken.contains(&"quiet restore") {
            return self.call("restore", before);
        }
        self.call("restore", before)?;
        fs::write(folder.join("level"), before).unwrap();
        fault_point();
        Ok(())
    }
}

fn user_change(bench: &Bench, level: &str) -> PlannedChange {
    let change = Change::UserFactor {
        name: "colour".to_owned(),
        folder: bench.host.path("/user"),
        before: bench.read("/user/level"),
        after: level.to_owned(),
        timeout_s: 1,
    };
    planned("colour", level, change)
}
