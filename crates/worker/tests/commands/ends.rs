//! How commands end, and sessions with them.

use std::process::Command;
use std::time::{Duration, Instant};

use datamill_protocol::FailureKind;

use crate::session::{Session, await_processes, has_children, marker, processes_with};

#[test]
fn an_exit_status_and_a_signal_are_told_and_are_no_failures() {
    let mut session = Session::begin();
    for status in [0, 3, 255] {
        let request = session.shell(&format!("exit {status}"));
        let (facts, _) = session.complete(&request);
        assert_eq!((facts.exit_code, facts.signal), (Some(status), None));
    }
    let request = session.shell("kill -SEGV $$");
    let (facts, answer) = session.complete(&request);
    assert_eq!((facts.exit_code, facts.signal), (None, Some(libc::SIGSEGV)));
    assert!(answer.disturbance.unwrap().span_ns >= facts.wall_time_ns);
}

/// A shell that hangs with a daemon and a stubborn child beside it.
fn hang(marker: &str) -> String {
    format!("setsid sleep {marker} & (trap '' TERM INT; sleep {marker}) & sleep {marker}")
}

#[test]
fn a_command_that_hangs_is_killed_with_its_family_at_its_timeout() {
    let mut session = Session::begin();
    let marker = marker();
    let mut request = session.shell(&hang(&marker));
    request.timeout_s = 1.0;
    let answer = session.answer(&request);
    let facts = answer.run.unwrap();
    assert!(facts.timed_out && facts.wall_time_ns >= 1_000_000_000);
    let failure = answer.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.contains("`/bin/sh` exceeded its 1 s"));
    assert_eq!(processes_with(&marker), 0);
    let next = session.request(&["true"]);
    session.complete(&next);
}

#[test]
fn what_a_command_leaves_behind_is_ended_and_no_zombie_stays() {
    let mut session = Session::begin();
    let marker = marker();
    let request = session.shell(&format!("setsid sleep {marker} & exit 0"));
    let (facts, _) = session.complete(&request);
    assert_eq!(facts.left_processes, 1);
    assert_eq!(processes_with(&marker), 0);
    let carrier = format!("/proc/{0}/task/{0}/children", session.worker_pid());
    let carrier = std::fs::read_to_string(carrier).unwrap();
    assert!(!has_children(carrier.trim().parse().unwrap()));
}

fn end_and_check(signal: i32, status: Option<i32>) {
    let mut session = Session::begin();
    let marker = marker();
    let request = session.shell(&hang(&marker));
    session.send(&serde_json::to_string(&request).unwrap());
    await_processes(&marker, |count| count >= 3);
    session.signal(signal);
    if signal != libc::SIGKILL {
        let answer = session.receive();
        assert!(answer.failure.unwrap().message.contains("interrupted"));
        assert!(answer.run.is_some());
    }
    assert_eq!(session.wait().code(), status);
    await_processes(&marker, |count| count == 0);
}

#[test]
fn terminating_the_worker_ends_the_command_and_its_family() {
    end_and_check(libc::SIGTERM, Some(130));
}

#[test]
fn killing_the_worker_ends_the_command_and_its_family() {
    end_and_check(libc::SIGKILL, None);
}

#[test]
fn a_worker_that_waits_for_a_request_can_be_terminated() {
    let mut session = Session::begin();
    session.signal(libc::SIGTERM);
    assert_eq!(session.wait().code(), Some(130));
}

#[test]
fn the_worker_ends_with_whoever_started_it() {
    let marker = marker();
    let worker = env!("CARGO_BIN_EXE_datamill-worker");
    let request = format!(
        r#"{{"schema":5,"command":["sleep","{marker}"],"directory":"/","variables":{{}},"input":null,"output":"null","output_file":null,"timeout_s":0,"levels":{{}}}}"#
    );
    let script = format!(
        "(echo '{request}'; sleep 600) | {worker} measure-commands --parent $$ > /dev/null"
    );
    let mut parent = Command::new("/bin/bash")
        .args(["-c", &format!("{script} & wait")])
        .spawn()
        .unwrap();
    await_processes(&format!("sleep\0{marker}"), |count| count == 1);
    parent.kill().unwrap();
    parent.wait().unwrap();
    await_processes(&format!("sleep\0{marker}"), |count| count == 0);
}

#[test]
fn a_worker_of_another_parent_does_not_begin() {
    let started = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_datamill-worker"))
        .args(["measure-commands", "--parent", "1"])
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    assert!(started.elapsed() < Duration::from_secs(60));
}
