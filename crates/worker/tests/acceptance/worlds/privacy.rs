//! What a trial does to its machine stays in the trial: probed with what can harm no host.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use datamill_protocol::{FailureKind, IsolationWanted, Outcome};

use crate::support::Bench;

/// A file that a test makes on the host, and removes.
struct HostFile(PathBuf);

impl HostFile {
    fn make(folder: &str, purpose: &str) -> Self {
        let path = Path::new(folder).join(format!("datamill-{purpose}-{}", std::process::id()));
        fs::write(&path, "the host's").unwrap();
        Self(path)
    }
}

impl Drop for HostFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Whether a trial completed; `false`, with a printed reason, where this host has no such world.
fn completes(bench: &Bench) -> bool {
    let record = bench.run();
    if !Bench::has_asked_world(&record) {
        return false;
    }
    assert_eq!(record.outcome, Outcome::Completed, "{:?}", record.failure);
    true
}

#[test]
fn a_file_in_dev_that_a_trial_removes_stays_on_the_host() {
    // SAFETY: no pointers involved.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: needs root");
        return;
    }
    let (kept, made) = (
        HostFile::make("/dev", "kept"),
        HostFile::make("/dev", "made"),
    );
    fs::remove_file(&made.0).unwrap();
    let [kept, made] = [&kept, &made].map(|file| file.0.display());
    let run = format!("rm -f {kept}; echo x > {made}; test ! -e {kept} -a -e {made}");
    for bench in Bench::in_private_worlds(&run) {
        if completes(&bench) {
            assert_eq!(fs::read_to_string(kept.to_string()).unwrap(), "the host's");
            assert!(!Path::new(&made.to_string()).exists());
        }
    }
}

#[test]
fn the_mode_of_a_device_is_not_changed_on_the_host() {
    let changed = || fs::metadata("/dev/null").unwrap().ctime_nsec();
    let before = changed();
    // The mode that it has already: only the time of the change could tell.
    let mode = fs::metadata("/dev/null").unwrap().mode() & 0o777;
    for bench in Bench::in_private_worlds(&format!("chmod {mode:o} /dev/null || true")) {
        if completes(&bench) {
            assert_eq!(changed(), before);
        }
    }
}

#[test]
fn everything_mounted_below_dev_is_the_trials_own() {
    let run = "for part in pts shm mqueue hugepages; do
            if mountpoint -q /dev/$part; then stat -c '%n %d' /dev/$part; fi
        done; ls /dev/pts";
    for bench in Bench::in_private_worlds(run) {
        if !completes(&bench) {
            continue;
        }
        let output = bench.output("run.out");
        assert!(
            output.contains("/dev/shm") && output.ends_with("\nptmx\n"),
            "{output}"
        );
        for line in output.lines().filter(|line| line.starts_with("/dev/")) {
            let (place, device) = line.split_once(' ').unwrap();
            assert_ne!(place, "/dev/hugepages");
            let on_host = fs::metadata(place).map(|data| data.dev().to_string());
            assert_ne!(on_host.ok().as_deref(), Some(device), "{line}");
        }
    }
}

#[test]
fn the_usual_devices_work_in_every_private_world() {
    let run = "echo x > /dev/null && head -c 4 /dev/zero | wc -c && head -c 4 /dev/urandom | wc -c
        (echo x > /dev/full) 2>/dev/null || echo full
        echo y > /dev/shm/y && cat < /dev/shm/y
        echo z | cat /dev/stdin && echo z > /dev/stdout && stat -c %a /dev/shm";
    for bench in Bench::in_private_worlds(run) {
        if completes(&bench) {
            assert_eq!(bench.output("run.out"), "4\n4\nfull\ny\nz\nz\n1777\n");
        }
    }
}

#[test]
fn terminals_work_in_every_private_world() {
    if !Path::new("/usr/bin/script").exists() {
        eprintln!("skipped: no script(1) here");
        return;
    }
    for bench in Bench::in_private_worlds("script -qc 'tty; echo on a terminal' /dev/null") {
        if completes(&bench) {
            assert_eq!(bench.output("run.out"), "/dev/pts/0\r\non a terminal\r\n");
        }
    }
}

#[test]
fn shared_memory_is_bounded_like_the_rest_of_the_world() {
    for mut bench in Bench::in_private_worlds("head -c 30000000 /dev/zero > /dev/shm/big") {
        bench.spec.limits.world_bytes = 8 << 20;
        let record = bench.run();
        if Bench::has_asked_world(&record) {
            let failure = record.failure.unwrap();
            assert_eq!(failure.kind, FailureKind::DiskLimit, "{}", failure.message);
        }
    }
}

#[test]
fn the_name_of_the_host_cannot_be_changed() {
    let own = fs::read_link("/proc/self/ns/uts").unwrap();
    for bench in Bench::in_private_worlds("readlink /proc/self/ns/uts") {
        if completes(&bench) {
            assert_ne!(Path::new(bench.output("run.out").trim()), own);
        }
    }
}

#[test]
fn a_file_of_the_host_that_the_worker_can_reach_is_not_collected() {
    let collect = "for open in /proc/1/fd/* /proc/1/root /proc/1/cwd; do
            if [ -e $open/run.out ]; then echo $open/../../secret; exit; fi
        done";
    let Some(bench) = Bench::as_root("true") else {
        return;
    };
    bench.script("collect.sh", collect);
    fs::write(bench.path("secret"), "the host's").unwrap();
    let failure = bench.run().failure.unwrap();
    assert_eq!(failure.kind, FailureKind::NoArchive);
    let refused = failure.message.contains("a link of /proc");
    assert!(
        refused || failure.message.contains("printed no path"),
        "{}",
        failure.message
    );
    assert!(!bench.path("state/output/secret").exists());
}

#[test]
fn what_the_worker_has_open_is_out_of_reach_in_a_user_namespace() {
    let run = "for open in /proc/1/fd/* /proc/1/root /proc/1/cwd /proc/1/exe; do
            if [ -e $open ]; then echo $open; fi
        done";
    for bench in Bench::in_private_worlds(run) {
        if bench.spec.isolation == IsolationWanted::UserNamespace && completes(&bench) {
            assert_eq!(bench.output("run.out"), "");
        }
    }
}

#[test]
fn links_are_followed_inside_the_world_only() {
    let Some(bench) = Bench::as_root("mkdir -p /made/here; echo x > /made/here/r.txt") else {
        return;
    };
    bench.script(
        "collect.sh",
        "ln -s /../../made/here /made/link; echo ../../made/link/../here/r.txt",
    );
    assert_eq!(bench.complete().archive.unwrap().file, "r.txt");
}
