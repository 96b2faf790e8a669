//! Factors of the machine: set for a trial, read back, and restored however the trial ends.

use std::fs::{self, File};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use datamill_host::wait_for_machine;
use datamill_protocol::{FactorFacts, FailureKind, Outcome, TrialRecord};

use crate::support::{Bench, wait_until};

/// The setting behind the factor `autogroup`.
pub const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// The kernel's settings, for one test at a time, while nobody measures on this machine; they are put back if
/// it fails.
pub struct KernelTurn {
    _lock: Option<File>,
    settings: Vec<(&'static str, String)>,
}

impl KernelTurn {
    /// `None`, with a printed reason, when this kernel does not have a setting.
    pub fn take(settings: &[&'static str]) -> Option<Self> {
        let lock = wait_for_machine();
        let read = |path: &&'static str| match fs::read_to_string(path) {
            Ok(text) => Some((*path, text.trim().to_owned())),
            Err(error) => {
                eprintln!("skipped: {path}: {error}");
                None
            }
        };
        Some(Self {
            _lock: lock,
            settings: settings.iter().map(read).collect::<Option<_>>()?,
        })
    }

    pub fn before(&self, path: &str) -> &str {
        &self
            .settings
            .iter()
            .find(|(known, _)| *known == path)
            .unwrap()
            .1
    }

    pub fn assert_restored(&self) {
        for (path, before) in &self.settings {
            assert_eq!(read(path), *before, "{path}");
        }
    }
}

impl Drop for KernelTurn {
    fn drop(&mut self) {
        for (path, before) in &self.settings {
            if read(path) != *before {
                fs::write(path, before).ok();
            }
        }
    }
}

pub fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

pub fn fact<'a>(record: &'a TrialRecord, name: &str) -> &'a FactorFacts {
    record
        .factors
        .iter()
        .find(|fact| fact.name == name)
        .unwrap()
}

/// A trial with the other level of autogroup than the host's, its text, and the host as it is.
fn other_level(run: &str) -> Option<(Bench, &'static str, KernelTurn)> {
    let mut bench = Bench::as_root(run)?;
    let turn = KernelTurn::take(&[AUTOGROUP])?;
    let (level, text) = match turn.before(AUTOGROUP) {
        "1" => ("off", "0"),
        _ => ("on", "1"),
    };
    bench
        .spec
        .levels
        .insert("autogroup".to_owned(), level.to_owned());
    Some((bench, text, turn))
}

fn start(bench: &Bench) -> Child {
    let child = bench
        .command("run-trial")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("run.sh", || bench.output("run.out").contains("started"));
    child
}

fn kill(child: &Child, signal: i32) {
    // SAFETY: signals a child of ours.
    unsafe { libc::kill(child.id() as i32, signal) };
}

pub fn restore(bench: &Bench, options: &[&str]) -> (i32, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = bench
        .worker()
        .arg("restore")
        .args(options)
        .output()
        .unwrap();
    // Why it refuses is told there; JSON is read from what it answers.
    let told = if stdout.is_empty() { stderr } else { stdout };
    (status.code().unwrap(), String::from_utf8(told).unwrap())
}

/// A test of what a killed worker left: trials of other tests undo that as well, and may be first, so that it has
/// to hold once.
pub fn try_five_times(test: fn()) {
    if !(0..4).any(|_| std::panic::catch_unwind(test).is_ok()) {
        test();
    }
}

pub fn journal_is_empty(bench: &Bench) -> bool {
    fs::metadata(bench.journal_folder().join("journal")).map_or(true, |data| data.len() == 0)
}

#[test]
fn a_setting_holds_during_the_trial_and_not_after_it() {
    let Some((bench, text, turn)) = other_level(&format!("cat {AUTOGROUP}")) else {
        return;
    };
    let record = bench.complete();
    assert_eq!(bench.output("run.out").trim(), text);
    let fact = fact(&record, "autogroup");
    assert_eq!(fact.observed.as_ref(), Some(&fact.asked));
    assert!(fact.evidence.contains(AUTOGROUP), "{}", fact.evidence);
    assert!(record.unrestored.is_empty(), "{:?}", record.unrestored);
    turn.assert_restored();
    assert!(journal_is_empty(&bench));
}

#[test]
fn a_level_that_somebody_changes_meanwhile_is_not_observed() {
    let Some((bench, _, turn)) = other_level("echo started; sleep 1") else {
        return;
    };
    let child = start(&bench);
    fs::write(AUTOGROUP, turn.before(AUTOGROUP)).unwrap();
    let output = child.wait_with_output().unwrap();
    let record: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    let fact = fact(&record, "autogroup");
    assert!(fact.observed.is_some() && fact.observed.as_ref() != Some(&fact.asked));
    assert!(
        fact.evidence.contains("changed during the trial"),
        "{}",
        fact.evidence
    );
    turn.assert_restored();
}

#[test]
fn termination_restores_the_host() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let Some((bench, text, turn)) = other_level("echo started; sleep 60") else {
            return;
        };
        let child = start(&bench);
        assert_eq!(read(AUTOGROUP), text);
        kill(&child, signal);
        let output = child.wait_with_output().unwrap();
        let record: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(record.outcome, Outcome::Lost);
        assert!(record.unrestored.is_empty());
        turn.assert_restored();
        assert!(journal_is_empty(&bench));
    }
}

/// A worker killed in mid-trial, with the host still changed.
fn killed() -> Option<(Bench, String, KernelTurn)> {
    let (bench, text, turn) = other_level("echo started; sleep 60")?;
    let mut child = start(&bench);
    kill(&child, libc::SIGKILL);
    child.wait().unwrap();
    assert_eq!(read(AUTOGROUP), text);
    assert!(!journal_is_empty(&bench));
    Some((bench, text.to_owned(), turn))
}

#[test]
fn what_a_killed_worker_left_is_told_and_undone_by_restore() {
    try_five_times(|| {
        let Some((bench, text, turn)) = killed() else {
            return;
        };
        let (status, told) = restore(&bench, &["--dry-run"]);
        assert_eq!(status, 1);
        assert!(told.contains(AUTOGROUP), "{told}");
        assert_eq!(told.matches("would be undone").count(), 1, "{told}");
        assert_eq!(read(AUTOGROUP), text);

        let (status, told) = restore(&bench, &[]);
        assert_eq!(status, 0, "{told}");
        assert!(told.contains("The host is as it was before"), "{told}");
        turn.assert_restored();

        let (status, told) = restore(&bench, &[]);
        assert_eq!(status, 0);
        assert!(told.contains("Nothing to undo"), "{told}");
    });
}

#[test]
fn a_restoration_can_be_told_as_json() {
    try_five_times(|| {
        let Some((bench, _, turn)) = killed() else {
            return;
        };
        let (status, told) = restore(&bench, &["--json"]);
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(
            (status, &told["is_restored"]),
            (0, &serde_json::json!(true))
        );
        assert_eq!(told["undone"].as_array().unwrap().len(), 1);
        turn.assert_restored();
    });
}

#[test]
fn what_a_killed_worker_left_is_undone_by_the_next_trial() {
    try_five_times(|| {
        let Some((mut bench, _, turn)) = killed() else {
            return;
        };
        bench.spec.levels.clear();
        bench.script("run.sh", &format!("cat {AUTOGROUP}"));
        let record = bench.complete();
        assert_eq!(bench.output("run.out").trim(), turn.before(AUTOGROUP));
        assert!(
            record
                .notices
                .iter()
                .any(|notice| notice.contains("had not restored the host")),
            "{:?}",
            record.notices
        );
        turn.assert_restored();
    });
}

#[test]
fn a_damaged_journal_is_told_and_does_not_hide_what_can_be_undone() {
    try_five_times(|| {
        let Some((bench, _, turn)) = killed() else {
            return;
        };
        let path = bench.journal_folder().join("journal");
        let journal = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{{\"line\":\"chan\n{journal}")).unwrap();
        let (status, told) = restore(&bench, &[]);
        assert_eq!(status, 1);
        assert!(
            told.contains("cannot be understood") && told.contains("--forget"),
            "{told}"
        );
        turn.assert_restored();
        let (status, told) = restore(&bench, &["--forget", "--json"]);
        assert_eq!(status, 0, "{told}");
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["is_restored"], serde_json::json!(false));
        assert_eq!(told["given_up"].as_array().unwrap().len(), 1);
        assert!(journal_is_empty(&bench));
    });
}

#[test]
fn a_second_worker_is_refused_within_seconds_with_the_number_of_the_first() {
    let Some((bench, _, turn)) = other_level("echo started; sleep 60") else {
        return;
    };
    let first = start(&bench);
    let mut second = Bench::as_root("true").unwrap();
    second.spec.levels.clone_from(&bench.spec.levels);
    let began = Instant::now();
    let output = second
        .command("run-trial")
        .env("DATAMILL_STATE_DIR", bench.journal_folder())
        .output()
        .unwrap();
    assert!(began.elapsed() < Duration::from_secs(50));
    let record: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    let failure = record.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Factor);
    let pid = format!("process {} ", first.id());
    assert!(failure.message.contains(&pid), "{}", failure.message);
    let (status, _) = restore(&bench, &[]);
    assert_eq!(status, 1);
    kill(&first, libc::SIGTERM);
    first.wait_with_output().unwrap();
    turn.assert_restored();
}

#[test]
fn when_one_of_two_levels_is_not_to_be_had_neither_is_set() {
    let Some((mut bench, _, turn)) = other_level("true") else {
        return;
    };
    // More than any disk has.
    let bytes = (1u64 << 60).to_string();
    bench.spec.levels.insert("swap".to_owned(), bytes);
    let record = bench.run();
    let failure = record.failure.unwrap();
    assert_eq!(
        (record.outcome, failure.kind),
        (Outcome::Failed, FailureKind::Factor)
    );
    assert!(
        failure.message.contains("factor swap"),
        "{}",
        failure.message
    );
    assert!(record.run.is_none() && record.unrestored.is_empty());
    turn.assert_restored();
}

#[test]
fn an_ordinary_user_is_told_that_root_is_needed() {
    let Some((root, _, turn)) = other_level("true") else {
        return;
    };
    let Some(mut bench) = Bench::as_nobody("true") else {
        return;
    };
    bench.spec.levels.clone_from(&root.spec.levels);
    let record = bench.run();
    let failure = record.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Factor);
    assert!(
        failure.message.contains("needs root"),
        "{}",
        failure.message
    );
    turn.assert_restored();

    // The level that the host is at needs no change.
    let at = if turn.before(AUTOGROUP) == "1" {
        "on"
    } else {
        "off"
    };
    bench
        .spec
        .levels
        .insert("autogroup".to_owned(), at.to_owned());
    let record = bench.complete();
    assert_eq!(fact(&record, "autogroup").observed.as_deref(), Some(at));
}

#[test]
fn a_state_folder_by_a_relative_path_is_refused() {
    let told = std::process::Command::new(env!("CARGO_BIN_EXE_datamill-worker"))
        .args(["restore", "--dry-run"])
        .env("DATAMILL_STATE_DIR", "state")
        .output()
        .unwrap();
    assert_eq!(told.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&told.stderr).contains("absolute path"));
}
