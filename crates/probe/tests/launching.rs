//! What a measured process can do, and what is seen of it.
//!
//! The probe reaps every child of its process, so these tests take turns.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use datamill_probe::{Family, Launch, LaunchError, Measured, launch};

fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: OnceLock<Mutex<()>> = OnceLock::new();
    let turn = TURN.get_or_init(|| {
        // SAFETY: no pointers involved.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        Mutex::new(())
    });
    turn.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Request<'a> {
    program: &'a str,
    arguments: &'a [&'a str],
    environment: &'a [&'a str],
    timeout: Option<Duration>,
    output_bytes: u64,
    address_randomization: bool,
    interrupt: Option<&'a OwnedFd>,
}

const QUIET: Request<'static> = Request {
    program: "/bin/true",
    arguments: &[],
    environment: &["PATH=/usr/bin:/bin"],
    timeout: Some(Duration::from_secs(60)),
    output_bytes: 1 << 20,
    address_randomization: true,
    interrupt: None,
};

struct Output {
    measured: Measured,
    stdout: String,
    stderr: String,
}

fn try_run(request: &Request<'_>) -> Result<Output, LaunchError> {
    let strings = |list: &[&str]| {
        list.iter()
            .map(|text| CString::new(*text).unwrap())
            .collect::<Vec<_>>()
    };
    let (mut stdout, mut stderr) = (temporary_file(), temporary_file());
    let measured = launch(Launch {
        program: Path::new(request.program),
        arguments: &strings(request.arguments),
        environment: &strings(request.environment),
        directory: Path::new("/"),
        address_randomization: request.address_randomization,
        with_counters: true,
        timeout: request.timeout,
        output_bytes: request.output_bytes,
        stdout: stdout.try_clone().unwrap(),
        stderr: stderr.try_clone().unwrap(),
        family: Family::Subreaper,
        interrupt: request.interrupt.map(AsFd::as_fd),
    })?;
    Ok(Output {
        measured,
        stdout: content(&mut stdout),
        stderr: content(&mut stderr),
    })
}

fn run(request: &Request<'_>) -> Output {
    try_run(request).unwrap()
}

fn run_shell(script: &str) -> Output {
    run(&Request {
        program: "/bin/sh",
        arguments: &["-c", script],
        ..QUIET
    })
}

fn temporary_file() -> File {
    // SAFETY: a valid name; the descriptor is fresh.
    unsafe {
        let descriptor = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
        assert!(descriptor >= 0);
        File::from_raw_fd(descriptor)
    }
}

fn content(file: &mut File) -> String {
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

fn processes_with(marker: &str) -> usize {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(marker))
        .count()
}

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
    assert!(facts.wall_time_ns >= 300_000_000 && started.elapsed() < Duration::from_secs(10));
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn a_daemon_that_keeps_the_output_open_does_not_hold_up_the_measurement() {
    let _turn = take_turn();
    let marker = format!("41536{}", std::process::id());
    let started = Instant::now();
    let facts = run_shell(&format!(
        "setsid sh -c 'echo begun; sleep {marker}' & sleep 0.2"
    ))
    .measured
    .facts;
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!((facts.exit_code, facts.stdout_bytes), (Some(0), 6));
    // The shell of the daemon, and its sleep.
    assert_eq!(facts.left_processes, 2);
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn a_small_process_after_a_big_one_is_small() {
    let _turn = take_turn();
    let big = run_shell("dd if=/dev/zero of=/dev/null bs=200M count=1")
        .measured
        .facts;
    let small = run(&QUIET).measured.facts;
    assert!(
        big.peak_memory_bytes > 150_000_000,
        "{}",
        big.peak_memory_bytes
    );
    assert!(
        small.peak_memory_bytes < 20_000_000,
        "{}",
        small.peak_memory_bytes
    );
}

#[test]
fn the_time_measured_is_that_of_the_process() {
    let _turn = take_turn();
    let facts = run(&Request {
        program: "/bin/sleep",
        arguments: &["0.25"],
        ..QUIET
    })
    .measured
    .facts;
    assert!(
        (250_000_000..400_000_000).contains(&facts.wall_time_ns),
        "{}",
        facts.wall_time_ns
    );
    assert!(facts.user_time_ns + facts.system_time_ns < 50_000_000);
}

#[test]
fn every_counter_has_a_value_or_a_reason() {
    let _turn = take_turn();
    let counters = run_shell("i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done")
        .measured
        .facts
        .counters;
    let names: Vec<_> = counters
        .iter()
        .map(|counter| counter.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "cycles",
            "instructions",
            "cache_references",
            "cache_misses",
            "branches",
            "branch_misses",
            "context_switches",
            "cpu_migrations",
            "page_faults",
            "task_clock_ns"
        ]
    );
    for counter in counters {
        assert!(
            counter.value.is_some() || !counter.reason.is_empty(),
            "{}",
            counter.name
        );
    }
}

#[test]
fn counters_include_descendants() {
    let _turn = take_turn();
    let faults = |output: Output| {
        let counter = output
            .measured
            .facts
            .counters
            .into_iter()
            .find(|counter| counter.name == "page_faults");
        counter.and_then(|counter| counter.value)
    };
    let (alone, family) = (
        faults(run_shell("true")),
        faults(run_shell("/bin/ls / | /bin/cat > /dev/null")),
    );
    if let (Some(alone), Some(family)) = (alone, family) {
        assert!(family > alone + 50, "{alone} {family}");
    } else {
        eprintln!("skipped: this kernel gives no page-fault counter");
    }
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
fn address_randomisation_is_set_as_asked() {
    let _turn = take_turn();
    let personality = |address_randomization| {
        run(&Request {
            program: "/bin/cat",
            arguments: &["/proc/self/personality"],
            address_randomization,
            ..QUIET
        })
        .stdout
    };
    assert_eq!(
        (personality(true).trim(), personality(false).trim()),
        ("00000000", "00040000")
    );
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
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, owned below.
    let (interrupt, trigger) = unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    let breaker = std::thread::spawn(move || {
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
    assert!(output.measured.interrupted && started.elapsed() < Duration::from_secs(10));
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
