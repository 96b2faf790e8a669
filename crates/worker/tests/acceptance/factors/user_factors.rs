//! Factors that an experiment brings along: its executables may fail, hang, or lie.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use datamill_protocol::{FailureKind, TrialRecord, UserFactorSpec};

use crate::factors::host_factors::{
    AUTOGROUP, KernelTurn, fact, journal_is_empty, read, restore, try_five_times,
};
use crate::support::{Bench, wait_until};

const SETTING: &str = "/proc/sys/vm/swappiness";

/// The ready-made factors.
fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../packages/factors")
        .join(name)
        .canonicalize()
        .unwrap()
}

/// Writes a copy of the factor `swappiness` with some executables replaced, and lets a trial set it.
fn bring(bench: &mut Bench, level: &str, replaced: &[(&str, &str)]) {
    let folder = bench.path("factor");
    fs::create_dir_all(&folder).unwrap();
    for entry in fs::read_dir(shipped("swappiness")).unwrap().flatten() {
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    for (verb, body) in replaced {
        fs::write(folder.join(verb), format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(folder.join(verb), Permissions::from_mode(0o755)).unwrap();
    }
    let manifest = fs::read_to_string(folder.join("factor.toml")).unwrap();
    let hasty = manifest.replace("timeout_s = 5", "timeout_s = 1");
    fs::write(folder.join("factor.toml"), hasty).unwrap();
    bring_folder(bench, "swappiness", level, &folder);
}

fn bring_folder(bench: &mut Bench, name: &str, level: &str, folder: &Path) {
    bench.spec.user_factors.push(UserFactorSpec {
        name: name.to_owned(),
        path: folder.to_string_lossy().into_owned(),
        sha256: None,
    });
    bench.spec.levels.insert(name.to_owned(), level.to_owned());
}

/// A trial that sets swappiness to another level than the host's, which is returned.
fn trial(run: &str, replaced: &[(&str, &str)]) -> Option<(Bench, &'static str, KernelTurn)> {
    let mut bench = Bench::as_root(run)?;
    let turn = KernelTurn::take(&[SETTING])?;
    let level = if turn.before(SETTING) == "10" {
        "11"
    } else {
        "10"
    };
    bring(&mut bench, level, replaced);
    Some((bench, level, turn))
}

fn failure_message(record: &TrialRecord) -> &str {
    let failure = record.failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::Factor, "{}", failure.message);
    &failure.message
}

#[test]
fn a_setting_of_the_kernel_is_set_read_back_and_restored() {
    let Some((bench, level, turn)) = trial(&format!("cat {SETTING}"), &[]) else {
        return;
    };
    let record = bench.complete();
    assert_eq!(bench.output("run.out").trim(), level);
    assert_eq!(fact(&record, "swappiness").observed.as_deref(), Some(level));
    assert!(record.unrestored.is_empty(), "{:?}", record.unrestored);
    turn.assert_restored();
    assert!(journal_is_empty(&bench));
}

#[test]
fn what_an_executable_writes_to_files_is_thrown_away() {
    let mark = format!("/var/tmp/datamill-mark-{}", std::process::id());
    let set = format!("echo 1 >{mark}; exec sh -c 'echo \"$1\" >{SETTING}' set \"$1\"");
    let Some((bench, _, turn)) = trial(&format!("test ! -e {mark}"), &[("set", &set)]) else {
        return;
    };
    bench.complete();
    assert!(!Path::new(&mark).exists());
    turn.assert_restored();
}

#[test]
fn restore_works_after_a_kill_when_the_bundle_is_gone() {
    try_five_times(|| {
        let Some((bench, level, turn)) = trial("echo started; sleep 60", &[]) else {
            return;
        };
        let mut child = bench
            .command("run-trial")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("run.sh", || bench.output("run.out").contains("started"));
        assert_eq!(read(SETTING), level);
        child.kill().unwrap();
        child.wait().unwrap();
        fs::remove_dir_all(bench.path("factor")).unwrap();
        fs::remove_dir_all(&bench.spec.cache_dir).unwrap();
        let (status, told) = restore(&bench, &[]);
        assert_eq!(status, 0, "{told}");
        // A trial of another test may have been first, with neither bundle nor cache either.
        let undone = ["swappiness: it is at", "Nothing to undo"];
        assert!(undone.iter().any(|it| told.contains(it)), "{told}");
        turn.assert_restored();
        assert!(!bench.journal_folder().join("factors").exists());
    });
}

#[test]
fn a_worker_killed_at_any_time_leaves_what_restore_undoes() {
    let Some(mut bench) = Bench::as_root("true") else {
        return;
    };
    let Some(turn) = KernelTurn::take(&[SETTING, AUTOGROUP]) else {
        return;
    };
    let other = |path: &str, levels: [&'static str; 2], text: &str| {
        levels[usize::from(turn.before(path) == text)].to_owned()
    };
    let level = other(SETTING, ["10", "11"], "10");
    bring(&mut bench, &level, &[]);
    let level = other(AUTOGROUP, ["on", "off"], "1");
    bench.spec.levels.insert("autogroup".to_owned(), level);
    let began = Instant::now();
    bench.complete();
    // Restoring included: the last moments of a trial are among those at which it is killed.
    let whole = began.elapsed();
    let mut left = 0;
    const KILLS: u32 = 24;
    for kill in 0..KILLS {
        let mut child = bench
            .command("run-trial")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole * kill / KILLS);
        child.kill().unwrap();
        child.wait().unwrap();
        left += u32::from(!journal_is_empty(&bench));
        let (status, told) = restore(&bench, &[]);
        assert_eq!(status, 0, "{told}");
        turn.assert_restored();
        assert!(journal_is_empty(&bench));
    }
    assert!(left > 0, "no kill hit a changed host");
}

#[test]
fn a_set_that_fails_half_way_fails_the_trial_and_is_restored() {
    let set = format!("echo \"$1\" >{SETTING}; echo out of luck >&2; exit 3");
    let Some((mut bench, level, turn)) = trial("true", &[("set", &set)]) else {
        return;
    };
    // Set before it, and undone with it.
    let before = fs::read_to_string(AUTOGROUP).ok();
    if let Some(before) = &before {
        let other = if before.trim() == "1" { "off" } else { "on" };
        bench
            .spec
            .levels
            .insert("autogroup".to_owned(), other.to_owned());
    }
    let record = bench.run();
    assert_eq!(fs::read_to_string(AUTOGROUP).ok(), before);
    let message = failure_message(&record);
    let named = format!("The factor swappiness could not be set to `{level}`");
    assert!(message.contains(&named), "{message}");
    assert!(
        message.contains("its `set` exited with status 3; it said: out of luck"),
        "{message}"
    );
    assert!(record.run.is_none() && record.unrestored.is_empty());
    turn.assert_restored();
}

#[test]
fn a_set_that_hangs_is_killed_and_restored() {
    let set = format!("echo \"$1\" >{SETTING}; setsid sleep 60 & sleep 60");
    let Some((bench, _, turn)) = trial("true", &[("set", &set)]) else {
        return;
    };
    let record = bench.run();
    let message = failure_message(&record);
    assert!(
        message.contains("took longer than its 1 s and was killed"),
        "{message}"
    );
    assert!(record.unrestored.is_empty(), "{:?}", record.unrestored);
    turn.assert_restored();
}

#[test]
fn a_verify_that_prints_garbage_fails_the_trial_before_anything_is_set() {
    for (body, said) in [
        ("printf '\\377\\376\\n'", "bytes that are not text"),
        ("echo 1; echo 2", "2 lines"),
        (":", "printed no level"),
        ("head -c 70000 /dev/zero", "more than 65536 bytes"),
    ] {
        let Some((bench, _, turn)) = trial("true", &[("verify", body)]) else {
            return;
        };
        let record = bench.run();
        let message = failure_message(&record);
        assert!(message.contains(said), "{message}");
        turn.assert_restored();
        assert!(journal_is_empty(&bench));
    }
}

#[test]
fn a_level_that_does_not_come_is_not_observed() {
    let Some((bench, level, turn)) = trial("true", &[("set", "exit 0")]) else {
        return;
    };
    let record = bench.complete();
    let observed = fact(&record, "swappiness").observed.as_deref();
    assert_eq!(observed, Some(turn.before(SETTING)));
    assert_ne!(observed, Some(level));
}

#[test]
fn a_restore_that_lies_is_told_and_stays_in_the_journal() {
    let Some((bench, _, turn)) = trial("true", &[("restore", "exit 0")]) else {
        return;
    };
    let record = bench.complete();
    assert_eq!(record.unrestored.len(), 1, "{:?}", record.unrestored);
    assert!(
        record.unrestored[0].contains("swappiness"),
        "{:?}",
        record.unrestored
    );
    let (status, told) = restore(&bench, &[]);
    assert_eq!(status, 1);
    assert!(
        told.contains("Not undone, and still in the journal"),
        "{told}"
    );
    fs::write(SETTING, turn.before(SETTING)).unwrap();
    let (status, told) = restore(&bench, &[]);
    assert_eq!(status, 0, "{told}");
    turn.assert_restored();
}

#[test]
fn an_archive_with_another_hash_is_refused() {
    let Some((mut bench, _, turn)) = trial("true", &[]) else {
        return;
    };
    let archive = bench.path("factor.tar.gz");
    let packed = std::process::Command::new("tar")
        .args(["-czf".as_ref(), archive.as_os_str(), "-C".as_ref()])
        .args([bench.path("factor").as_os_str(), ".".as_ref()])
        .status()
        .unwrap();
    assert!(packed.success());
    bench.spec.user_factors[0].path = archive.to_string_lossy().into_owned();
    bench.complete();
    bench.spec.user_factors[0].sha256 = Some("0".repeat(64));
    let failure = bench.run().failure.unwrap();
    assert_eq!(failure.kind, FailureKind::BadPackage);
    assert!(
        failure.message.contains("has SHA-256"),
        "{}",
        failure.message
    );
    turn.assert_restored();
}

#[test]
fn a_factor_of_the_environment_reaches_run_sh_in_every_world() {
    let run = "echo \"$MY_FACTOR\"";
    let mut benches = Bench::in_private_worlds(run);
    benches.push(Bench::new(run));
    for mut bench in benches {
        // Where an ordinary user can read it.
        let folder = bench.path("template");
        fs::create_dir(&folder).unwrap();
        for entry in fs::read_dir(shipped("template")).unwrap().flatten() {
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        bring_folder(&mut bench, "my_factor", "large", &folder);
        let record = bench.run();
        if !Bench::has_asked_world(&record) {
            continue;
        }
        assert!(record.failure.is_none(), "{:?}", record.failure);
        assert_eq!(bench.output("run.out"), "large\n", "{:?}", record.isolation);
        assert_eq!(
            fact(&record, "my_factor").observed.as_deref(),
            Some("large")
        );
        assert!(!bench.journal_folder().join("journal").exists());
    }
}

#[test]
fn a_factor_of_the_environment_that_refuses_its_level_fails_the_trial() {
    let mut bench = Bench::new("true");
    bring_folder(&mut bench, "my_factor", "huge", &shipped("template"));
    let record = bench.run();
    let message = failure_message(&record);
    assert!(message.contains("my_factor is small or large"), "{message}");
}

#[test]
fn a_factor_must_not_have_the_name_of_a_built_in_one() {
    let mut bench = Bench::new("true");
    bring_folder(&mut bench, "aslr", "on", &shipped("template"));
    let output = bench.execute();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("user_factors: aslr"), "{said}");
}

#[test]
fn a_host_factor_of_an_experiment_needs_root() {
    let Some((root, level, turn)) = trial("true", &[]) else {
        return;
    };
    let Some(mut bench) = Bench::as_nobody("true") else {
        return;
    };
    bring_folder(&mut bench, "swappiness", level, &root.path("factor"));
    let record = bench.run();
    let message = failure_message(&record);
    assert!(
        message.contains("swappiness") && message.contains("needs root"),
        "{message}"
    );
    turn.assert_restored();
}

#[test]
fn levels_come_from_the_factors_own_executable() {
    let Some(bench) = Bench::as_root("true") else {
        return;
    };
    let output = bench
        .worker()
        .arg("factors")
        .args(["--user".as_ref(), shipped("swappiness").as_os_str()])
        .args(["--user".as_ref(), shipped("template").as_os_str()])
        .args(["--ask", "swappiness=17", "--ask", "autogroup=sometimes"])
        .output()
        .unwrap();
    let offers: Vec<datamill_protocol::FactorOffer> =
        serde_json::from_slice(&output.stdout).unwrap();
    let offer = |name: &str| offers.iter().find(|offer| offer.name == name).unwrap();
    assert_eq!(offer("swappiness").levels, ["60", "0", "10", "100"]);
    assert_eq!(offer("swappiness").missing[0].level, "17");
    assert!(offer("swappiness").current.is_some());
    assert_eq!(offer("my_factor").levels, ["small", "large"]);
    assert!(!offer("autogroup").missing.is_empty() || !offer("autogroup").reason.is_empty());
}

#[test]
fn a_folder_that_is_no_factor_is_refused_by_name() {
    let bench = Bench::new("true");
    let output = bench
        .worker()
        .args([
            "factors".as_ref(),
            "--user".as_ref(),
            bench.package().as_os_str(),
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("factor.toml cannot be read"), "{said}");
}
