//! Factors of the trial's world: its file system, its path, the caches and what runs beforehand.

use std::fs;
use std::path::Path;

use datamill_protocol::{
    BuildPolicy, FactorFacts, FailureKind, IsolationKind, IsolationWanted, Outcome, TrialRecord,
};

use crate::support::{Bench, hold_caches, processes_with, wait_until};

fn factor<'a>(record: &'a TrialRecord, name: &str) -> &'a FactorFacts {
    record
        .factors
        .iter()
        .find(|factor| factor.name == name)
        .unwrap()
}

/// Checks that a factor had the level asked for.
fn assert_effective(record: &TrialRecord, name: &str) {
    let seen = factor(record, name);
    assert_eq!(
        seen.observed.as_ref(),
        Some(&seen.asked),
        "{}",
        seen.evidence
    );
}

fn ask(bench: &mut Bench, name: &str, level: &str) {
    bench.spec.levels.insert(name.to_owned(), level.to_owned());
}

/// What the worker says of a specification that it refuses.
fn refusal(bench: &Bench) -> String {
    let output = bench.execute();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether this host offers a level; prints the reason otherwise.
fn is_offered(name: &str, level: &str) -> bool {
    let mut bench = Bench::new("true");
    ask(&mut bench, name, level);
    bench.spec.isolation = IsolationWanted::Auto;
    let output = bench.execute();
    if output.status.code() == Some(2) {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.code() != Some(2)
}

#[test]
fn the_working_directory_has_a_path_of_exactly_the_length_asked_for() {
    let run = "exec 2>&1; /bin/pwd | tr -d '\\n' | wc -c; cat dry/data; echo x > dry/made";
    for length in [1, 2, 57, 1000, 4000] {
        for mut bench in Bench::in_private_worlds(run) {
            bench.file("dry/data", b"wet\n", 0o644);
            bench.script("collect.sh", "pwd; cat dry/made; echo x > r; echo r");
            ask(&mut bench, "working_directory_length", &length.to_string());
            let record = bench.run();
            if Bench::has_asked_world(&record) && record.isolation.kind != IsolationKind::Plain {
                assert_eq!(bench.output("run.out"), format!("{length}\nwet\n"));
                assert!(bench.output("collect.out").starts_with("/\nx\n"));
                assert_effective(&record, "working_directory_length");
            }
        }
    }
}

#[test]
fn factors_of_a_private_world_are_refused_where_there_is_none() {
    for (name, level) in [
        ("working_directory_length", "100"),
        ("root_filesystem", "tmpfs"),
    ] {
        let mut bench = Bench::new("true");
        ask(&mut bench, name, level);
        let said = refusal(&bench);
        assert!(said.contains(&format!("levels.{name}")), "{said}");
    }
}

const SHOW_FILE_SYSTEM: &str = "set -e
cat dry/data
head -c 5000000 /dev/zero > dry/made
test -e /etc/passwd
awk '$5 == \"/\" { print $9 }' /proc/self/mountinfo";

#[test]
fn package_and_changes_are_on_the_file_system_asked_for() {
    for kind in ["memory", "tmpfs", "ext4", "xfs", "btrfs"] {
        if !is_offered("root_filesystem", kind) {
            continue;
        }
        for policy in [BuildPolicy::Fresh, BuildPolicy::Shared] {
            let Some(mut bench) = Bench::as_root(SHOW_FILE_SYSTEM) else {
                return;
            };
            bench.spec.build = policy;
            bench.file("dry/data", b"wet\n", 0o644);
            bench.file("dry/goes", b"", 0o644);
            bench.script("setup.sh", "rm dry/goes; echo built > dry/built");
            bench.script(
                "collect.sh",
                "test ! -e dry/goes && cat dry/built && echo x > r && echo r",
            );
            ask(&mut bench, "root_filesystem", kind);
            let record = bench.complete();
            assert_eq!(bench.output("run.out"), "wet\noverlay\n", "{kind}");
            assert_eq!(bench.output("collect.out"), "built\nr\n", "{kind}");
            assert_effective(&record, "root_filesystem");
            assert!(!bench.path("state/scratch").exists());
            let image = bench.path("state/scratch/datamill-trial-image");
            wait_until("clearing the loop device", || !is_attached(&image));
        }
    }
}

#[test]
fn a_file_system_in_memory_needs_no_privilege() {
    for mut bench in Bench::in_private_worlds(SHOW_FILE_SYSTEM) {
        bench.file("dry/data", b"wet\n", 0o644);
        ask(&mut bench, "root_filesystem", "tmpfs");
        let record = bench.run();
        if Bench::has_asked_world(&record) && record.isolation.kind != IsolationKind::Plain {
            assert_effective(&record, "root_filesystem");
        }
    }
}

/// Whether some loop device shows a file, gone or not.
fn is_attached(image: &Path) -> bool {
    fs::read_dir("/sys/block").unwrap().flatten().any(|device| {
        fs::read_to_string(device.path().join("loop/backing_file"))
            .is_ok_and(|file| file.contains(&*image.to_string_lossy()))
    })
}

#[test]
fn nothing_is_left_of_an_image_when_the_worker_is_killed() {
    let marker = format!("29{:07}", std::process::id());
    let Some(mut bench) = Bench::as_root(&format!("exec sleep {marker}")) else {
        return;
    };
    if !is_offered("root_filesystem", "ext4") {
        return;
    }
    ask(&mut bench, "root_filesystem", "ext4");
    let image = bench.path("state/scratch/datamill-trial-image");
    let mut worker = bench.command("run-trial").spawn().unwrap();
    wait_until("run.sh", || !processes_with(&marker).is_empty());
    assert!(is_attached(&image));
    worker.kill().unwrap();
    worker.wait().unwrap();
    wait_until("the end of the trial's processes", || {
        processes_with(&marker).is_empty()
    });
    wait_until("clearing the loop device", || !is_attached(&image));
    let left: Vec<_> = fs::read_dir(bench.path("state/scratch")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_full_image_is_told_as_a_full_world() {
    let Some(mut bench) = Bench::as_root("head -c 2000000000 /dev/zero > /big") else {
        return;
    };
    if !is_offered("root_filesystem", "ext4") {
        return;
    }
    ask(&mut bench, "root_filesystem", "ext4");
    bench.spec.limits.world_bytes = 8 << 20;
    let failure = bench.run().failure.unwrap();
    assert_eq!(failure.kind, FailureKind::DiskLimit, "{}", failure.message);
}

#[test]
fn an_image_has_no_more_room_than_the_world_may_hold() {
    for kind in ["ext4", "xfs", "btrfs"] {
        let script = "head -c 200000000 /dev/zero > /big || stat -c %s /big; rm /big";
        let Some(mut bench) = Bench::as_root(script) else {
            return;
        };
        if !is_offered("root_filesystem", kind) {
            continue;
        }
        bench.file("big", &vec![7; 3 << 20], 0o644);
        ask(&mut bench, "root_filesystem", kind);
        bench.spec.limits.world_bytes = 64 << 20;
        bench.run();
        let free: u64 = bench.output("run.out").trim().parse().unwrap();
        assert!(free <= 64 << 20, "{kind}: {free} bytes fit");
        assert!(free >= 32 << 20, "{kind}: {free} bytes fit");
    }
}

#[test]
fn an_image_that_does_not_fit_on_the_disk_is_told_before_the_trial() {
    let Some(mut bench) = Bench::as_root("true") else {
        return;
    };
    if !is_offered("root_filesystem", "ext4") {
        return;
    }
    ask(&mut bench, "root_filesystem", "ext4");
    bench.spec.limits.world_bytes = 1 << 60;
    let failure = bench.run().failure.unwrap();
    assert_eq!(failure.kind, FailureKind::DiskFull, "{}", failure.message);
    assert!(failure.message.contains("root_filesystem"));
}

#[test]
fn an_image_is_refused_to_who_may_not_mount_one() {
    let Some(mut bench) = Bench::as_nobody("true") else {
        return;
    };
    ask(&mut bench, "root_filesystem", "ext4");
    let said = refusal(&bench);
    assert!(said.contains("ext4 is not available"), "{said}");
}

#[test]
fn caches_are_dropped_just_before_run_sh() {
    let _held = hold_caches();
    for (caches, isolation) in [
        ("none", IsolationWanted::Confined),
        ("inode", IsolationWanted::Plain),
        ("all", IsolationWanted::Confined),
    ] {
        let Some(mut bench) = Bench::as_root("cat big > /dev/null") else {
            return;
        };
        bench.spec.isolation = isolation;
        bench.file("big", &vec![7; 3 << 20], 0o644);
        ask(&mut bench, "drop_caches", caches);
        let record = bench.complete();
        let seen = factor(&record, "drop_caches");
        if seen.observed.is_none() {
            // The folder for temporary files may be in memory, and others use this machine.
            eprintln!("not shown: {}", seen.evidence);
            continue;
        }
        assert_effective(&record, "drop_caches");
    }
}

#[test]
fn dropping_the_caches_makes_run_sh_read_from_the_disk() {
    let _held = hold_caches();
    let Some(mut bench) = Bench::as_root("exec ./own-cat big") else {
        return;
    };
    // A program that nobody else runs: pages that some process has mapped stay.
    bench.file("own-cat", &fs::read("/bin/cat").unwrap(), 0o755);
    bench.file("big", &vec![7; 3 << 20], 0o644);
    ask(&mut bench, "drop_caches", "page");
    ask(&mut bench, "warmups", "1");
    let record = bench.complete();
    let seen = factor(&record, "drop_caches");
    if seen.observed.is_none() {
        // The folder for temporary files may be in memory, and others use this machine.
        eprintln!("skipped: {}", seen.evidence);
        return;
    }
    assert_effective(&record, "drop_caches");
    assert!(record.run.unwrap().major_faults > 0);
}

#[test]
fn what_cannot_be_dropped_is_not_said_to_be() {
    let _held = hold_caches();
    let Some(mut bench) = Bench::as_root("true") else {
        return;
    };
    ask(&mut bench, "root_filesystem", "tmpfs");
    ask(&mut bench, "drop_caches", "page");
    let record = bench.complete();
    let seen = factor(&record, "drop_caches");
    assert_eq!(seen.observed, None, "{}", seen.evidence);
}

#[test]
fn an_unprivileged_user_cannot_drop_caches() {
    let Some(mut bench) = Bench::as_nobody("true") else {
        return;
    };
    ask(&mut bench, "drop_caches", "page");
    let said = refusal(&bench);
    assert!(
        said.contains("levels.drop_caches") && said.contains("Permission denied"),
        "{said}"
    );
}

#[test]
fn the_packages_files_are_in_memory_before_run_sh_when_asked() {
    let _held = hold_caches();
    let mut benches: Vec<Bench> = Bench::in_private_worlds("true");
    benches.push(Bench::new("true"));
    for mut bench in benches {
        bench.file("dry/big", &vec![7; 3 << 20], 0o644);
        bench.script("setup.sh", "head -c 1000000 /dev/zero > dry/built");
        ask(&mut bench, "cache_preload", "on");
        // One file came with the package, setup.sh made another, and there are three scripts.
        // SAFETY: no pointers involved.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let pages = (3usize << 20).div_ceil(page) + 1_000_000usize.div_ceil(page) + 3;
        let record = bench.run();
        if Bench::has_asked_world(&record) {
            assert_effective(&record, "cache_preload");
            let evidence = &factor(&record, "cache_preload").evidence;
            assert!(
                evidence.starts_with(&format!("{pages} of {pages} pages")),
                "{evidence}"
            );
        }
    }
}

#[test]
fn dropped_caches_are_filled_with_the_package_when_both_are_asked_for() {
    let _held = hold_caches();
    let Some(mut bench) = Bench::as_root("cat big > /dev/null") else {
        return;
    };
    bench.file("big", &vec![7; 3 << 20], 0o644);
    ask(&mut bench, "cache_preload", "on");
    ask(&mut bench, "drop_caches", "all");
    assert_effective(&bench.complete(), "cache_preload");
}

#[test]
fn warm_ups_are_executed_and_told_apart_from_the_measured_execution() {
    let mut bench = Bench::new("echo $PADa | wc -c; echo x >> count; wc -l < count");
    ask(&mut bench, "warmups", "3");
    ask(&mut bench, "env_padding", "100");
    let record = bench.complete();
    assert_eq!(record.warmups.len(), 3);
    assert!(
        record
            .warmups
            .iter()
            .all(|warmup| warmup.exit_code == Some(0))
    );
    assert_effective(&record, "warmups");
    let outputs: Vec<String> = ["run-warmup-1", "run-warmup-2", "run-warmup-3", "run"]
        .iter()
        .map(|stem| bench.output(&format!("{stem}.out")))
        .collect();
    assert_eq!(outputs, ["95\n1\n", "95\n2\n", "95\n3\n", "95\n4\n"]);
}

#[test]
fn a_warm_up_that_fails_is_named() {
    let mut bench = Bench::new("test ! -e trace || { echo no more >&2; exit 3; }; touch trace");
    ask(&mut bench, "warmups", "2");
    let record = bench.run();
    let failure = record.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::ExitStatus);
    assert_eq!(
        failure.message,
        "run.sh (warm-up 2) exited with status 3; last lines of run-warmup-2.err: no more"
    );
    assert!(
        failure.remedy.contains("run-warmup-2.out"),
        "{}",
        failure.remedy
    );
    assert_eq!(record.warmups.len(), 2);
    assert!(record.run.is_none());
}

#[test]
fn a_warm_up_has_the_time_of_run_sh() {
    let mut bench = Bench::new("sleep 60");
    bench.spec.limits.run_timeout_s = 0.2;
    ask(&mut bench, "warmups", "1");
    let record = bench.run();
    assert_eq!(record.outcome, Outcome::TimedOut);
    assert!(record.failure.unwrap().message.contains("warm-up 1"));
}

#[test]
fn a_reboot_is_not_to_be_had_here() {
    let mut bench = Bench::new("true");
    ask(&mut bench, "reboot", "before_trial");
    let said = refusal(&bench);
    assert!(said.contains("fleet"), "{said}");
    ask(&mut bench, "reboot", "none");
    assert_effective(&bench.complete(), "reboot");
}
