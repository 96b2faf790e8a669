//! What the scripts of a package do, and what the record says about it.

use std::fs;

use datamill_protocol::{FailureKind, Outcome, Phase};

use crate::support::{Bench, notices_of_its_own};

fn failing(bench: &Bench) -> (Outcome, Phase, FailureKind, String) {
    let record = bench.run();
    let failure = record.failure.unwrap();
    assert!(!failure.remedy.is_empty());
    (record.outcome, failure.phase, failure.kind, failure.message)
}

#[test]
fn a_trial_is_set_up_run_and_collected() {
    let bench = Bench::new("cat made > results/copy; echo said");
    bench.script("setup.sh", "mkdir results; echo built > made");
    let record = bench.complete();
    assert!(
        record.build.unwrap().setup.is_some() && record.run.is_some() && record.collect.is_some()
    );
    let archive = record.archive.unwrap();
    assert_eq!(archive.file, "results.tar.gz");
    assert_eq!(
        fs::metadata(bench.path("state/output/results.tar.gz"))
            .unwrap()
            .len(),
        archive.bytes
    );
    assert_eq!(bench.output("run.out"), "said\n");
    assert!(!bench.path("state/scratch").exists());
}

#[test]
fn a_failing_script_is_quoted() {
    let bench = Bench::new("echo fine; echo 'no corpus' >&2; exit 3");
    let (outcome, phase, kind, message) = failing(&bench);
    assert_eq!(
        (outcome, phase, kind),
        (Outcome::Failed, Phase::Run, FailureKind::ExitStatus)
    );
    assert_eq!(
        message,
        "run.sh exited with status 3; last lines of run.err: no corpus"
    );
}

#[test]
fn a_failing_setup_ends_the_trial_before_it_runs() {
    let bench = Bench::new("true");
    bench.script("setup.sh", "exit 2");
    let record = bench.run();
    assert_eq!(record.failure.unwrap().phase, Phase::Setup);
    assert!(record.run.is_none() && record.build.unwrap().setup.unwrap().exit_code == Some(2));
}

#[test]
fn a_script_killed_by_a_signal_is_told_as_such() {
    let (_, _, kind, message) = failing(&Bench::new("kill -ABRT $$"));
    assert_eq!(kind, FailureKind::Signal);
    assert_eq!(message, "run.sh was killed by signal 6 (abort)");
}

#[test]
fn a_script_that_hangs_times_out() {
    let mut bench = Bench::new("echo waiting; sleep 1000");
    bench.spec.limits.run_timeout_s = 0.3;
    let record = bench.run();
    assert_eq!(record.outcome, Outcome::TimedOut);
    assert!(record.run.unwrap().timed_out);
    assert_eq!(record.failure.unwrap().kind, FailureKind::Timeout);
    assert_eq!(bench.output("run.out"), "waiting\n");
}

#[test]
fn processes_left_behind_are_counted_and_killed() {
    let record = Bench::new("sleep 1000 & sleep 1000 & true").complete();
    assert_eq!(record.run.unwrap().left_processes, 2);
}

#[test]
fn output_beyond_the_limit_is_counted_but_not_kept() {
    let mut bench = Bench::new("yes | head -c 10000000");
    bench.spec.limits.output_bytes = 100;
    let run = bench.complete().run.unwrap();
    assert_eq!((run.stdout_bytes, run.output_truncated), (10_000_000, true));
    assert_eq!(bench.output("run.out").len(), 100);
}

#[test]
fn the_archives_name_is_found_behind_more_output_than_is_kept() {
    let mut bench = Bench::new("true");
    bench.script(
        "collect.sh",
        "yes | head -c 100000; echo x > r.tar; echo; echo r.tar",
    );
    bench.spec.limits.output_bytes = 10;
    assert_eq!(bench.complete().archive.unwrap().file, "r.tar");
}

#[test]
fn a_script_without_an_interpreter_line_is_explained() {
    let bench = Bench::new("true");
    bench.file("run.sh", b"echo hello\n", 0o755);
    let (_, _, kind, message) = failing(&bench);
    assert_eq!(kind, FailureKind::BadPackage);
    assert!(message.contains("no `#!` line"), "{message}");
}

#[test]
fn a_missing_interpreter_is_named() {
    let bench = Bench::new("true");
    bench.file("run.sh", b"#!/usr/bin/no-such-shell -e\n", 0o755);
    assert!(
        failing(&bench)
            .3
            .contains("interpreter `/usr/bin/no-such-shell -e` does not exist")
    );
}

#[test]
fn an_interpreter_line_with_a_carriage_return_is_made_visible() {
    let bench = Bench::new("true");
    bench.file("run.sh", b"#!/bin/sh\r\ntrue\r\n", 0o755);
    assert!(failing(&bench).3.contains("interpreter `/bin/sh"));
}

#[test]
fn the_environment_is_fixed_and_holds_the_packages_variables() {
    let bench = Bench::new("env | grep -v -e ^PWD= -e ^HOME= | sort");
    bench.file("env", b"# for run.sh\nexport CORPUS='two words'\n", 0o644);
    let mut command = bench.command("run-trial");
    command
        .env("STRAY", "1")
        .env("LD_PRELOAD", "")
        .env("CORPUS", "other");
    assert!(command.output().unwrap().status.success());
    let expected = "CCACHE_DISABLE=1\nCORPUS=two words\nLANG=C.UTF-8\nLOGNAME=root\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nSHELL=/bin/sh\nUSER=root\n";
    assert_eq!(bench.output("run.out"), expected);
}

#[test]
fn metrics_are_read_from_the_archive() {
    let bench = Bench::new(
        "mkdir results; echo '{\"bytes\": 7, \"times\": [1, 2.5]}' > results/metrics.json",
    );
    let metrics = bench.complete().metrics;
    assert_eq!(metrics["bytes"], [7.0]);
    assert_eq!(metrics["times"], [1.0, 2.5]);
}

#[test]
fn metrics_are_read_from_an_archive_that_is_not_compressed() {
    let bench = Bench::new("printf 'a,b\\n1,2\\n3,4\\n' > metrics.csv");
    bench.script(
        "collect.sh",
        "tar -cf /tmp/../$PWD/r.tar metrics.csv; echo r.tar",
    );
    let metrics = bench.complete().metrics;
    assert_eq!(
        (&metrics["a"], &metrics["b"]),
        (&vec![1.0, 3.0], &vec![2.0, 4.0])
    );
}

#[test]
fn metrics_that_cannot_be_used_fail_the_trial() {
    let bench =
        Bench::new("mkdir results; printf '{\"a\": 1,\\n\"b\": NaN}' > results/metrics.json");
    let (_, phase, kind, message) = failing(&bench);
    assert_eq!((phase, kind), (Phase::Collect, FailureKind::BadMetrics));
    assert!(
        message.contains("`results/metrics.json`") && message.contains("line 2"),
        "{message}"
    );
}

#[test]
fn the_same_metric_from_two_files_fails_the_trial() {
    let bench = Bench::new(
        "mkdir results; echo '{\"a\": 1}' > results/metrics.json; printf 'a\\n1\\n' > results/metrics.csv",
    );
    assert_eq!(failing(&bench).2, FailureKind::BadMetrics);
}

#[test]
fn an_archive_of_another_format_is_collected_with_a_notice() {
    let bench = Bench::new("echo text > notes.txt");
    bench.script("collect.sh", "echo notes.txt");
    let record = bench.complete();
    assert_eq!(record.archive.unwrap().bytes, 5);
    assert!(
        record
            .notices
            .iter()
            .any(|notice| notice.contains("Metrics were not looked for"))
    );
}

#[test]
fn an_archive_without_members_is_an_archive() {
    for pack in ["tar -cf r -T /dev/null", "tar -czf r -T /dev/null"] {
        let bench = Bench::new("true");
        bench.script("collect.sh", &format!("{pack}; echo r"));
        let record = bench.complete();
        assert!(record.archive.is_some() && record.metrics.is_empty());
        assert_eq!(notices_of_its_own(&record), [""; 0]);
    }
}

#[test]
fn a_build_that_fails_at_a_level_names_the_level() {
    let mut bench = Bench::new("true");
    bench.script("setup.sh", "cc -dM -E - < /dev/null | grep __OPTIMIZE__");
    let level = ("optimization".to_owned(), "-O0".to_owned());
    bench.spec.levels.extend([level]);
    let failure = bench.run().failure.unwrap();
    let remedy = failure.remedy;
    assert!(remedy.contains("optimization = -O0: see"), "{remedy}");
    assert!(remedy.contains("do not define __OPTIMIZE__"), "{remedy}");
    bench.spec.levels.clear();
    assert!(!bench.run().failure.unwrap().remedy.contains("__OPTIMIZE__"));
}

fn refused_archive(collect: &str) -> String {
    let bench = Bench::new("true");
    bench.file("packed.tar", b"packed", 0o644);
    bench.script("collect.sh", collect);
    let (_, phase, kind, message) = failing(&bench);
    assert_eq!(
        (phase, kind),
        (Phase::Collect, FailureKind::NoArchive),
        "{message}"
    );
    message
}

#[test]
fn a_collect_script_that_names_nothing_usable_is_explained() {
    for (collect, cause) in [
        ("true", "printed no path"),
        ("echo missing.tar.gz", "No such file"),
        ("echo .", "not a regular file"),
        ("mkfifo pipe; echo pipe", "not a regular file"),
        ("echo /etc/passwd", "outside the trial's world"),
        (
            "ln -s /etc/passwd link; echo link",
            "outside the trial's world",
        ),
        (
            "echo ../../../../../../etc/passwd",
            "outside the trial's world",
        ),
        ("echo /dev/null", "outside the trial's world"),
        (
            "touch -d 2001-01-01 old; echo x > run.out; echo run.out",
            "whose name the worker uses",
        ),
        (
            "head -c 2000000 /dev/zero > big; echo big",
            "the limit is 1048576",
        ),
    ] {
        let message = refused_archive(collect);
        assert!(message.contains(cause), "{collect}: {message}");
    }
}

#[test]
fn a_specification_that_cannot_be_used_leaves_no_record() {
    let mut bench = Bench::new("true");
    bench
        .spec
        .levels
        .insert("phase_of_moon".to_owned(), "full".to_owned());
    let output = bench.execute();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(
        message.contains("spec.json: levels.phase_of_moon"),
        "{message}"
    );
}

#[test]
fn the_record_can_go_to_a_file() {
    let bench = Bench::new("true");
    let record = bench.path("record.json");
    let output = bench
        .command("run-trial")
        .arg("--record")
        .arg(&record)
        .output()
        .unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(
        serde_json::from_slice::<datamill_protocol::TrialRecord>(&fs::read(record).unwrap())
            .is_ok()
    );
}

#[test]
fn a_record_that_has_no_place_is_refused_before_the_trial() {
    let bench = Bench::new("true");
    fs::create_dir(bench.path("folder")).unwrap();
    for name in ["missing/record.json", "folder"] {
        let record = bench.path(name);
        let output = bench
            .command("run-trial")
            .arg("--record")
            .arg(&record)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&*record.to_string_lossy()), "{message}");
        assert!(!bench.path("state/output").exists());
    }
}

#[test]
fn a_script_that_another_one_removed_is_told_as_such() {
    let (_, phase, kind, message) = failing(&Bench::new("rm collect.sh"));
    assert_eq!((phase, kind), (Phase::Collect, FailureKind::BadPackage));
    assert!(
        message.contains("collect.sh is not there any more"),
        "{message}"
    );
}

#[test]
fn metrics_in_a_sparse_member_are_refused() {
    let bench = Bench::new(
        "printf 'a\n1\n' > metrics.csv; truncate -s 100000 metrics.csv; printf '2\n' >> metrics.csv",
    );
    bench.script(
        "collect.sh",
        "tar --format=posix -S -cf r.tar metrics.csv; echo r.tar",
    );
    let (_, _, kind, message) = failing(&bench);
    assert_eq!(kind, FailureKind::BadMetrics);
    assert!(message.contains("sparse"), "{message}");
}
