//! A worker of the tests' own.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::coordinator::{Coordinator, PATIENCE};

/// A folder that goes away with the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(purpose: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("datamill-fleet-{purpose}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A worker, ended with the test.
pub struct Worker {
    child: Child,
    log: PathBuf,
}

/// The binary with a state folder of the test's own, so that nobody else's lock is waited for.
pub fn worker_command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_datamill-worker"));
    command
        .env("DATAMILL_STATE_DIR", folder.join("state"))
        .env("DATAMILL_HOST_LOCK", "state-folder")
        .stdin(Stdio::null());
    heed_signals(&mut command);
    command
}

/// Starts a command with the usual effect of signals: a shell without job control ignores some of them for what it
/// runs in the background, such as these tests, and the worker does not listen to those.
fn heed_signals(command: &mut Command) {
    let heed = || {
        for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            // SAFETY: a system call only.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: system calls only.
    unsafe { command.pre_exec(heed) };
}

/// What a policy of these tests allows besides: their scripts tell the test about themselves.
pub const WEAK_WORLDS: &str = "plain = true\nprivileged = true\n";

/// Writes the owner's policy, unless there is one or it is named when the worker joins.
pub fn allow_weak_worlds(state: &Path) {
    let policy = state.join("fleet/policy.toml");
    std::fs::create_dir_all(policy.parent().unwrap()).unwrap();
    if !policy.exists() {
        std::fs::write(policy, WEAK_WORLDS).unwrap();
    }
}

/// Lets all workers of these tests remember the versions of compilers in one file: each has a state folder of its own, and
/// asking eleven compilers takes longer than most of what is tested.
fn share_known_compilers(state: &Path) {
    let memory = state.join("fleet/cache/compilers.json");
    std::fs::create_dir_all(memory.parent().unwrap()).unwrap();
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet-compilers.json");
    std::os::unix::fs::symlink(shared, memory).ok();
}

impl Worker {
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        allow_weak_worlds(&folder.join("state"));
        share_known_compilers(&folder.join("state"));
        let mut command = worker_command(folder);
        command.args(arguments);
        Self::spawn(folder, command)
    }

    /// Starts one to which a file tells the identity of the boot.
    pub fn start_in_boot(folder: &Path, boot: &Path, arguments: &[&str]) -> Self {
        allow_weak_worlds(&folder.join("state"));
        share_known_compilers(&folder.join("state"));
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c"])
            .arg("mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"")
            .arg(boot)
            .arg(env!("CARGO_BIN_EXE_datamill-worker"))
            .args(arguments)
            .env("DATAMILL_STATE_DIR", folder.join("state"))
            .env("DATAMILL_HOST_LOCK", "state-folder")
            .stdin(Stdio::null());
        heed_signals(&mut command);
        Self::spawn(folder, command)
    }

    fn spawn(folder: &Path, mut command: Command) -> Self {
        let log = folder.join("worker.log");
        let file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let child = command
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// Joins a coordinator, or serves it again.
    pub fn join(folder: &Path, coordinator: &Coordinator, more: &[&str]) -> Self {
        let url = coordinator.url();
        let mut arguments = vec!["join", url.as_str(), "--token", "secret.plain"];
        arguments.extend(more);
        Self::start(folder, &arguments)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: a child that has not been waited for keeps its number.
        unsafe { libc::kill(self.pid() as i32, signal) };
    }

    pub fn wait(&mut self, within_s: u64) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(within_s) * PATIENCE,
                "the worker does not end; it said: {}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        if std::thread::panicking() {
            eprintln!("the worker said: {}", self.said());
        }
    }
}

/// A package as an archive, with a `run.sh` of one's own.
pub fn pack(run: &str) -> Vec<u8> {
    let collect = "#!/bin/sh\nset -e\nprintf '{\"seconds\": 1.5}' > metrics.json\ntar czf result.tar.gz metrics.json\necho result.tar.gz\n";
    pack_scripts(&[("run.sh", run), ("collect.sh", collect)])
}

pub fn pack_scripts(scripts: &[(&str, &str)]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(&mut packed);
    for (name, text) in scripts {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o755);
        archive
            .append_data(&mut header, name, text.as_bytes())
            .unwrap();
    }
    archive.finish().unwrap();
    drop(archive);
    packed.flush().unwrap();
    packed.finish().unwrap()
}

/// A lease of a package, in a plain world so that its script can tell the test about itself.
pub fn lease(attempt: &str, package: &str, bytes: usize) -> Value {
    json!({
        "attempt": attempt,
        "user": "alice",
        "spec": {
            "schema": 5,
            "experiment": "an experiment",
            "trial_id": "t1",
            "attempt": 1,
            "package": {"name": "p", "path": "", "sha256": package},
            "levels": {},
            "isolation": "plain",
            "build": "fresh",
            "seed": 7,
            "limits": {
                "setup_timeout_s": 20.0, "run_timeout_s": 20.0, "collect_timeout_s": 20.0,
                "output_bytes": 1_048_576, "archive_bytes": 1_048_576,
                "package_bytes": 1_048_576, "package_files": 100, "world_bytes": 0,
            },
            "scratch_dir": "", "cache_dir": "", "output_dir": "",
        },
        "files": [{"sha256": package, "bytes": bytes}],
        "reboot": false,
        "expected_s": 60.0,
        "live_output": false,
        "task": "trial",
        "prebuilt": null,
    })
}

/// Makes a file that its owner may execute.
pub fn write_script(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
