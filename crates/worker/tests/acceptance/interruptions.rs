//! Ctrl-C, and workers that die: nothing of a trial outlives its worker.

use std::fs;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use datamill_protocol::{IsolationKind, IsolationWanted, Outcome, TrialRecord};

use crate::support::{Bench, processes_with, wait_until};

/// A trial that hangs in `run.sh`, with a daemon beside it, both with a mark in their command lines.
fn hanging(make: impl FnOnce(&str) -> Option<Bench>) -> Option<(Bench, String)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let marker = format!(
        "9{}{:03}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    );
    let run =
        format!("setsid sleep {marker} & (trap '' TERM INT; sleep {marker}) & sleep {marker}");
    Some((make(&run)?, marker))
}

fn start(bench: &Bench, marker: &str) -> Child {
    let child = bench
        .command("run-trial")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the trial's processes", || {
        processes_with(marker).len() >= 3
    });
    child
}

fn assert_gone(bench: &Bench, marker: &str) {
    wait_until("the end of the trial's processes", || {
        processes_with(marker).is_empty()
    });
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&*bench.path("").to_string_lossy()));
}

fn kill(pid: u32, signal: i32) {
    // SAFETY: signals a child of ours.
    unsafe { libc::kill(pid as i32, signal) };
}

fn interrupt_and_check(make: impl FnOnce(&str) -> Option<Bench>, signal: i32) {
    let Some((bench, marker)) = hanging(make) else {
        return;
    };
    let child = start(&bench, &marker);
    kill(child.id(), signal);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let record: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record.outcome, Outcome::Lost);
    assert!(
        record.run.is_some(),
        "what was measured until then is in the record"
    );
    assert_gone(&bench, &marker);
    assert!(!bench.path("state/scratch").exists());
}

#[test]
fn ctrl_c_ends_a_plain_trial_and_leaves_a_record() {
    interrupt_and_check(|run| Some(Bench::new(run)), libc::SIGINT);
}

#[test]
fn ctrl_c_ends_an_overlay_trial_and_leaves_a_record() {
    interrupt_and_check(Bench::as_root, libc::SIGINT);
}

#[test]
fn termination_ends_a_trial_in_a_user_namespace_and_leaves_a_record() {
    interrupt_and_check(Bench::as_nobody, libc::SIGTERM);
}

fn survive_and_check(make: impl FnOnce(&str) -> Option<Bench>) {
    let run =
        "for s in TERM INT HUP; do kill -s $s $PPID || exit 3; done; sleep 0.3; echo survived";
    let Some(bench) = make(run) else {
        return;
    };
    let record = bench.complete();
    assert_eq!(bench.output("run.out"), "survived\n");
    assert!(
        record
            .notices
            .iter()
            .any(|notice| notice.contains("sent the worker 3 signals")),
        "{:?}",
        record.notices
    );
}

#[test]
fn a_script_cannot_interrupt_its_plain_trial() {
    survive_and_check(|run| Some(Bench::new(run)));
}

#[test]
fn a_script_may_not_even_signal_the_worker_in_a_confined_trial() {
    let run = "for s in TERM INT HUP KILL; do kill -s $s $PPID 2>/dev/null && echo $s; done; echo survived";
    if let Some(bench) = Bench::as_root(run) {
        bench.complete();
        assert_eq!(bench.output("run.out"), "survived\n");
    }
}

#[test]
fn a_script_cannot_interrupt_its_overlay_trial() {
    survive_and_check(|run| {
        let mut bench = Bench::as_root(run)?;
        bench.spec.isolation = IsolationWanted::Overlay;
        Some(bench)
    });
}

#[test]
fn a_script_cannot_interrupt_its_trial_in_a_user_namespace() {
    survive_and_check(Bench::as_nobody);
}

#[test]
fn ctrl_c_still_ends_a_trial_whose_script_tried_to_interrupt_it() {
    for make in [
        (|run: &str| Some(Bench::new(run))) as fn(&str) -> Option<Bench>,
        Bench::as_root,
    ] {
        let refused = |run: &str| make(&format!("kill -TERM $PPID; {run}"));
        interrupt_and_check(refused, libc::SIGINT);
    }
}

#[test]
fn a_signal_of_a_script_that_is_not_read_yet_does_not_hide_ctrl_c() {
    // The process that carries the trial stands still while both signals come.
    let hide = "kill -STOP $PPID; kill -TERM $PPID; (sleep 1; kill -CONT $PPID) &";
    interrupt_and_check(
        |run| Some(Bench::new(&format!("{hide} {run}"))),
        libc::SIGINT,
    );
}

fn murder_and_check(make: impl FnOnce(&str) -> Option<Bench>) {
    let Some((bench, marker)) = hanging(make) else {
        return;
    };
    let mut child = start(&bench, &marker);
    kill(child.id(), libc::SIGKILL);
    child.wait().unwrap();
    assert_gone(&bench, &marker);
    let scratch = bench.path("state/scratch");
    if bench.spec.isolation != datamill_protocol::IsolationWanted::Plain && scratch.exists() {
        assert_eq!(fs::read_dir(scratch).unwrap().count(), 0);
    }
}

#[test]
fn a_killed_worker_takes_its_plain_trial_along() {
    murder_and_check(|run| Some(Bench::new(run)));
}

#[test]
fn a_killed_worker_takes_its_overlay_trial_along() {
    murder_and_check(Bench::as_root);
}

#[test]
fn a_killed_worker_takes_its_trial_in_a_user_namespace_along() {
    let Some(probe) = Bench::as_nobody("true") else {
        return;
    };
    if Bench::has_world(&probe.run(), IsolationKind::UserNamespace) {
        murder_and_check(Bench::as_nobody);
    }
}

#[test]
fn a_trial_ends_when_its_carrier_is_killed() {
    let Some((bench, marker)) = hanging(|run| Some(Bench::new(run))) else {
        return;
    };
    let child = start(&bench, &marker);
    let spec = bench.path("spec.json").to_string_lossy().into_owned();
    let carrier = processes_with(&spec)
        .into_iter()
        .find(|pid| *pid != child.id() as i32)
        .unwrap();
    kill(carrier as u32, libc::SIGKILL);
    let output = child.wait_with_output().unwrap();
    let record: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), record.outcome),
        (Some(1), Outcome::Lost)
    );
    assert_gone(&bench, &marker);
}

#[test]
fn a_trial_ends_when_whoever_started_the_worker_dies() {
    let Some((bench, marker)) = hanging(|run| Some(Bench::new(run))) else {
        return;
    };
    let worker = bench.command("run-trial");
    let mut parent = std::process::Command::new("/bin/sh");
    let line = format!(
        "{} run-trial {} & wait",
        worker.get_program().display(),
        bench.path("spec.json").display()
    );
    let mut parent = parent
        .args(["-c", &line])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the trial's processes", || {
        processes_with(&format!("sleep\0{marker}")).len() >= 3
    });
    kill(parent.id(), libc::SIGKILL);
    parent.wait().unwrap();
    assert_gone(&bench, &marker);
}
