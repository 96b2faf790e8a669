//! Making packages and specifications, and running the worker on them.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use datamill_protocol::{
    BuildPolicy, FailureKind, IsolationKind, IsolationWanted, Outcome, PackageSpec, SCHEMA_VERSION,
    TrialLimits, TrialRecord, TrialSpec,
};
use flate2::Compression;
use flate2::write::GzEncoder;

/// An ordinary user without any rights.
pub const NOBODY: u32 = 65534;

/// A folder of one test, with its package, specification and worker.
pub struct Bench {
    root: PathBuf,
    pub spec: TrialSpec,
    pub user: Option<u32>,
}

impl Bench {
    /// A package whose `run.sh` runs `run` and whose `collect.sh` collects what it finds in `results`.
    pub fn new(run: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        worker();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("datamill-trial-{}-{count}", std::process::id()));
        fs::create_dir_all(root.join("package")).unwrap();
        let folder = |name: &str| root.join("state").join(name).to_string_lossy().into_owned();
        let bench = Self {
            spec: TrialSpec {
                schema: SCHEMA_VERSION,
                experiment: "acceptance".to_owned(),
                trial_id: "t1".to_owned(),
                attempt: 1,
                package: PackageSpec {
                    name: "package".to_owned(),
                    path: root.join("package.tar.gz").to_string_lossy().into_owned(),
                    sha256: None,
                },
                levels: Default::default(),
                user_factors: Vec::new(),
                background: None,
                isolation: IsolationWanted::Plain,
                needs: Default::default(),
                covered: Vec::new(),
                quiet: None,
                build: BuildPolicy::Fresh,
                seed: 1,
                build_seed: None,
                measurements: 0,
                build_for: None,
                warmup: 0,
                limits: TrialLimits {
                    setup_timeout_s: 60.0,
                    run_timeout_s: 60.0,
                    collect_timeout_s: 60.0,
                    output_bytes: 1 << 16,
                    archive_bytes: 1 << 20,
                    package_bytes: 1 << 24,
                    package_files: 1000,
                    ..TrialLimits::default()
                },
                scratch_dir: folder("scratch"),
                cache_dir: folder("cache"),
                output_dir: folder("output"),
            },
            root,
            user: None,
        };
        bench.script("run.sh", run);
        bench.script(
            "collect.sh",
            "mkdir -p results\ntar -czf results.tar.gz results\necho results.tar.gz",
        );
        bench
    }

    /// The same in the world that root's packages get; `None`, with a printed reason, when this user cannot have one.
    pub fn as_root(run: &str) -> Option<Self> {
        // SAFETY: no pointers involved.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: needs root");
            return None;
        }
        let mut bench = Self::new(run);
        bench.spec.isolation = IsolationWanted::Confined;
        Some(bench)
    }

    /// The same as root in every kind of private world, and as an ordinary user; none, with a printed
    /// reason, when this is not root.
    pub fn in_private_worlds(run: &str) -> Vec<Self> {
        let kinds = [
            IsolationWanted::Confined,
            IsolationWanted::UserNamespace,
            IsolationWanted::Overlay,
        ];
        let by_root = kinds.map(|kind| {
            let mut bench = Self::as_root(run)?;
            bench.spec.isolation = kind;
            Some(bench)
        });
        let mut unprivileged = Self::as_nobody(run);
        if let Some(bench) = &mut unprivileged {
            bench.spec.isolation = IsolationWanted::UserNamespace;
        }
        by_root
            .into_iter()
            .chain([unprivileged])
            .flatten()
            .collect()
    }

    /// Whether this host allows the kind of private world that is asked for; prints the reason otherwise.
    pub fn has_asked_world(record: &TrialRecord) -> bool {
        let refused = record
            .failure
            .as_ref()
            .filter(|failure| failure.kind == FailureKind::Isolation);
        if let Some(failure) = refused {
            eprintln!("skipped: {}", failure.message);
        }
        refused.is_none()
    }

    /// The same as an ordinary user; `None`, with a printed reason, when this is not root.
    pub fn as_nobody(run: &str) -> Option<Self> {
        let mut bench = Self::as_root(run)?;
        bench.user = Some(NOBODY);
        bench.spec.isolation = IsolationWanted::Auto;
        Some(bench)
    }

    /// Writes an executable script into the package.
    pub fn script(&self, name: &str, body: &str) {
        self.file(name, format!("#!/bin/sh\n{body}\n").as_bytes(), 0o755);
    }

    /// Writes a file into the package.
    pub fn file(&self, name: &str, content: &[u8], mode: u32) {
        let path = self.package().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }

    pub fn package(&self) -> PathBuf {
        self.root.join("package")
    }

    /// A path of this test on the host.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn output(&self, name: &str) -> String {
        fs::read_to_string(Path::new(&self.spec.output_dir).join(name)).unwrap_or_default()
    }

    /// Packs the package, writes the specification and gives the command that runs it.
    pub fn command(&self, verb: &str) -> Command {
        let archive = File::create(self.root.join("package.tar.gz")).unwrap();
        let mut builder = tar::Builder::new(GzEncoder::new(archive, Compression::fast()));
        builder.follow_symlinks(false);
        builder.append_dir_all(".", self.package()).unwrap();
        builder.into_inner().unwrap().finish().unwrap();
        fs::write(
            self.root.join("spec.json"),
            serde_json::to_vec(&self.spec).unwrap(),
        )
        .unwrap();
        let state = self.root.join("state");
        fs::create_dir_all(&state).unwrap();
        let mut command = self.worker();
        command.arg(verb).arg(self.root.join("spec.json"));
        if let Some(user) = self.user {
            std::os::unix::fs::chown(&state, Some(user), Some(user)).unwrap();
            command.uid(user).gid(user);
        }
        command
    }

    /// The worker, with a journal of this test's own.
    pub fn worker(&self) -> Command {
        let mut command = Command::new(worker());
        command.env("DATAMILL_STATE_DIR", self.journal_folder());
        heed_signals(&mut command);
        command
    }

    /// Folder of the journal.
    pub fn journal_folder(&self) -> PathBuf {
        self.root.join("state/host")
    }

    pub fn execute(&self) -> Output {
        self.command("run-trial").output().unwrap()
    }

    /// Runs the trial and reads its record.
    pub fn run(&self) -> TrialRecord {
        let output = self.execute();
        let record: TrialRecord = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let expected = if record.outcome == Outcome::Completed {
            0
        } else {
            1
        };
        assert_eq!(output.status.code(), Some(expected));
        record
    }

    /// Runs a trial that must complete.
    pub fn complete(&self) -> TrialRecord {
        let record = self.run();
        assert_eq!(record.outcome, Outcome::Completed, "{:?}", record.failure);
        record
    }

    /// Whether a kind of world was given; prints the reason otherwise.
    pub fn has_world(record: &TrialRecord, kind: IsolationKind) -> bool {
        if record.isolation.kind != kind {
            eprintln!("skipped: {}", record.isolation.reason);
        }
        record.isolation.kind == kind
    }
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

/// A copy of the worker, because the user of some tests may not enter the folder of the original.
///
/// One for all tests: while a test writes a program, another test's child could hold it open, and
/// the kernel would refuse to execute it.
fn worker() -> &'static Path {
    static WORKER: OnceLock<PathBuf> = OnceLock::new();
    WORKER.get_or_init(|| {
        let built = Path::new(env!("CARGO_BIN_EXE_datamill-worker"));
        let age = fs::metadata(built).unwrap().modified().unwrap();
        let stamp = age
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_nanos();
        let copy = std::env::temp_dir().join(format!("datamill-worker-{stamp}"));
        if !copy.exists() {
            remove_older_copies();
            let draft = copy.with_extension(std::process::id().to_string());
            fs::copy(built, &draft).unwrap();
            fs::rename(&draft, &copy).unwrap();
        }
        copy
    })
}

/// Removes copies of an hour ago and before: a younger one may be in use by tests beside these.
fn remove_older_copies() {
    let now = std::time::SystemTime::now();
    for entry in fs::read_dir(std::env::temp_dir()).unwrap().flatten() {
        let name = entry.file_name();
        let is_old = || {
            let age = now.duration_since(entry.metadata().ok()?.accessed().ok()?);
            Some(age.ok()?.as_secs() > 3600)
        };
        if name.to_string_lossy().starts_with("datamill-worker-") && is_old() == Some(true) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.root).ok();
    }
}

/// Processes of this host whose command line holds a text.
pub fn processes_with(marker: &str) -> Vec<i32> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter(|(_, path)| {
            fs::read(path.join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(marker))
        })
        .map(|(pid, _)| pid)
        .collect()
}

/// What a trial gives notice of, without what it inherited from whoever runs these tests, such as niceness.
pub fn notices_of_its_own(record: &TrialRecord) -> Vec<&str> {
    let notices = record.notices.iter().map(String::as_str);
    notices
        .filter(|notice| !notice.starts_with("run.sh inherited"))
        .collect()
}

/// Niceness of this process, which whatever it starts inherits.
pub fn own_niceness() -> i32 {
    // SAFETY: no pointers involved.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Waits until a condition holds; panics after a minute.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..6000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{what} did not happen within a minute");
}

/// Keeps other tests from dropping the machine's caches, of which there is one set, while this one looks at them.
pub fn hold_caches() -> MutexGuard<'static, ()> {
    static CACHES: Mutex<()> = Mutex::new(());
    CACHES.lock().unwrap_or_else(PoisonError::into_inner)
}
