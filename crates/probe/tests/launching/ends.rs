//! How processes end, what they leave behind, and what they start with.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::{
    QUIET, Request, interruption, processes_with, run, run_shell, take_turn, try_run,
};

#[test]
fn a_process_that_exits_well_is_measured() {
    let _turn = take_turn();
    let facts = run(&QUIET).measured.facts;
    assert_eq!(
        (facts.exit_code, facts.signal, facts.timed_out),
        (Some(0), None, false)
    );
    assert!(facts.wall_time_ns > 0 && facts.wall_time_ns < 5_000_000_000);
    assert!(facts.peak_memory_bytes > 0 && facts.minor_faults > 0);
    assert_eq!(
        (facts.stdout_bytes, facts.stderr_bytes, facts.left_processes),
        (0, 0, 0)
    );
}

#[test]
fn exit_status_and_signal_are_told_apart() {
    let _turn = take_turn();
    assert_eq!(run_shell("exit 42").measured.facts.exit_code, Some(42));
    let facts = run_shell("kill -SEGV $$").measured.facts;
    assert_eq!((facts.exit_code, facts.signal), (None, Some(libc::SIGSEGV)));
}

#[test]
fn both_output_streams_are_kept_apart() {
    let _turn = take_turn();
    let output = run_shell("echo out; echo err >&2");
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("out\n", "err\n")
    );
    assert_eq!(
        (
            output.measured.facts.stdout_bytes,
            output.measured.facts.stderr_bytes
        ),
        (4, 4)
    );
    assert_eq!(output.measured.stdout_tail, b"out\n");
}

#[test]
fn a_process_that_writes_a_gigabyte_is_read_to_its_end_but_only_the_start_is_kept() {
    let _turn = take_turn();
    let script = "head -c 1073741824 /dev/zero; echo end";
    let output = run(&Request {
        program: "/bin/sh",
        arguments: &["-c", script],
        output_bytes: 1000,
        ..QUIET
    });
    let facts = &output.measured.facts;
    assert_eq!(
        (facts.exit_code, facts.stdout_bytes),
        (Some(0), (1 << 30) + 4)
    );
    assert!(facts.output_truncated && output.stdout.len() == 1000);
    assert!(output.measured.stdout_tail.ends_with(b"end\n"));
}

#[test]
fn a_script_that_hangs_is_killed_with_its_whole_family() {
    let _turn = take_turn();
    let marker = format!("31536{}", std::process::id());
    let script =
        format!("sleep {marker} & setsid sleep {marker} & (trap '' TERM; sleep {marker}) & wait");
    let started = Instant::now();
    let output = run(&Request {
        program: "/bin/sh",
        arguments: &["-c", &script],
        timeout: Some(Duration::from_millis(300)),
        ..QUIET
    });
    let facts = output.measured.facts;
    assert!(facts.timed_out && facts.exit_code.is_none());
    assert!(facts.wall_time_ns >= 300_000_000 && started.elapsed() < Duration::from_secs(100));
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn a_daemon_that_keeps_the_output_open_does_not_hold_up_the_measurement() {
    let _turn = take_turn();
    let marker = format!("41536{}", std::process::id());
    let started = Instant::now();
    let facts = run_shell(&format!(
        "f=/dev/shm/begun-$$; setsid sh -c \"echo begun; sleep {marker} & touch $f; wait\" &
        until [ -e $f ]; do sleep 0.01; done; rm $f"
    ))
    .measured
    .facts;
    assert!(started.elapsed() < Duration::from_secs(100));
    assert_eq!((facts.exit_code, facts.stdout_bytes), (Some(0), 6));
    // The shell of the daemon, and its sleep.
    assert_eq!(facts.left_processes, 2);
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn a_missing_program_is_told_as_such() {
    let _turn = take_turn();
    let error = try_run(&Request {
        program: "/nowhere/program",
        ..QUIET
    })
    .err()
    .unwrap();
    assert_eq!(
        error.execute_error().unwrap().raw_os_error(),
        Some(libc::ENOENT)
    );
}

#[test]
fn a_file_that_is_no_program_is_told_as_such() {
    let _turn = take_turn();
    let path: PathBuf = std::env::temp_dir().join(format!("datamill-probe-{}", std::process::id()));
    fs::write(&path, "no program\n").unwrap();
    let mut mode = fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&path, mode).unwrap();
    let error = try_run(&Request {
        program: path.to_str().unwrap(),
        ..QUIET
    })
    .err()
    .unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(
        error.execute_error().unwrap().raw_os_error(),
        Some(libc::ENOEXEC)
    );
}

#[test]
fn the_environment_is_exactly_the_one_given() {
    let _turn = take_turn();
    let output = run(&Request {
        program: "/usr/bin/env",
        environment: &["ONLY=this"],
        ..QUIET
    });
    assert_eq!(output.stdout, "ONLY=this\n");
}

#[test]
fn a_process_starts_without_our_signals_and_descriptors() {
    let _turn = take_turn();
    let output = run_shell("grep -E 'SigBlk|SigIgn' /proc/self/status; ls /proc/self/fd");
    let expected = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n1\n2\n3\n";
    assert_eq!(output.stdout, expected);
}

#[test]
fn an_interruption_ends_the_measurement() {
    let _turn = take_turn();
    let (interrupt, mut trigger) = interruption();
    let breaker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        trigger.write_all(b"x").unwrap();
        std::thread::sleep(Duration::from_millis(200));
        drop(trigger);
    });
    let started = Instant::now();
    let output = run(&Request {
        program: "/bin/sleep",
        arguments: &["1000"],
        interrupt: Some(&interrupt),
        ..QUIET
    });
    breaker.join().unwrap();
    assert!(output.measured.interrupted && started.elapsed() < Duration::from_secs(100));
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert_eq!(output.measured.facts.signal, Some(libc::SIGKILL));
}

#[test]
fn while_a_process_is_silent_the_prober_sleeps() {
    let _turn = take_turn();
    let switches = || {
        // SAFETY: an all-zero rusage is valid, and so is the pointer.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage.ru_nvcsw
        }
    };
    let before = switches();
    run(&Request {
        program: "/bin/sleep",
        arguments: &["0.5"],
        ..QUIET
    });
    // One sleep until the program has started, one until it has ended; a little for locks.
    assert!(switches() - before <= 5, "{}", switches() - before);
}

#[test]
fn left_processes_are_counted_after_a_timeout_too() {
    let _turn = take_turn();
    // A shell that waits may, dying itself, still reap some of them.
    let output = run(&Request {
        program: "/bin/sh",
        arguments: &[
            "-c",
            "sleep 1000 & sleep 1000 & sleep 1000 & exec sleep 1000",
        ],
        // Time enough to start them on a busy machine.
        timeout: Some(Duration::from_secs(3)),
        ..QUIET
    });
    assert_eq!(output.measured.facts.left_processes, 3);
}

#[test]
fn processes_that_the_family_killed_itself_were_not_left() {
    let _turn = take_turn();
    let output = run_shell(
        "(sleep 1000 & echo $!) > /dev/shm/left-$$; p=$(cat /dev/shm/left-$$); rm /dev/shm/left-$$; kill -9 $p; sleep 1",
    );
    assert_eq!(output.measured.facts.left_processes, 0);
}
