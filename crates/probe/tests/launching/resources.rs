//! Times, memory and counters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use datamill_protocol::PhaseFacts;

use crate::support::{Output, QUIET, Request, run, run_shell, take_turn};

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
        arguments: &["1"],
        ..QUIET
    })
    .measured
    .facts;
    // What a busy machine adds is less than another such time.
    assert!(
        (1_000_000_000..1_900_000_000).contains(&facts.wall_time_ns),
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

/// A program that ends at once and has neither a C library nor a loader; `None`, with a printed
/// reason, where none can be made.
fn tiny_program() -> Option<PathBuf> {
    let code = match std::env::consts::ARCH {
        "x86_64" => "mov $60, %eax\n xor %edi, %edi\n syscall\n",
        "aarch64" => "mov x8, #93\n mov x0, #0\n svc #0\n",
        other => {
            eprintln!("skipped: no tiny program for {other}");
            return None;
        }
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("tiny.s"), folder.join("tiny"));
    fs::write(&source, format!(".globl _start\n_start:\n {code}")).unwrap();
    let built = Command::new("cc")
        .args(["-nostdlib", "-static", "-o"])
        .args([&program, &source])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: cc cannot build a program without a C library");
        return None;
    }
    Some(program)
}

fn processor_time_ns(facts: &PhaseFacts) -> u64 {
    facts.user_time_ns + facts.system_time_ns
}

/// Processor time of a program that the standard library spawns, and nothing else.
#[expect(clippy::zombie_processes, reason = "wait4 reaps it")]
fn spawned_time_ns(program: &Path) -> u64 {
    let child = Command::new(program).spawn().unwrap();
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid; a child of ours that nobody else waits for.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::wait4(child.id() as i32, &mut status, 0, &mut usage);
        usage
    };
    let time_ns =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    time_ns(usage.ru_utime) + time_ns(usage.ru_stime)
}

#[test]
fn processor_time_is_the_programs_own_and_not_that_of_our_preparation() {
    let _turn = take_turn();
    let Some(program) = tiny_program() else {
        return;
    };
    let request = Request {
        program: program.to_str().unwrap(),
        ..QUIET
    };
    let mut ours = Vec::new();
    let mut spawned = Vec::new();
    for _ in 0..50 {
        ours.push(processor_time_ns(&run(&request).measured.facts));
        spawned.push(spawned_time_ns(&program));
    }
    // Other load only adds, and our preparation would be in each of them.
    let least = |times: Vec<u64>| times.into_iter().min().unwrap_or(0);
    let (ours, spawned) = (least(ours), least(spawned));
    eprintln!("{ours} ns measured, {spawned} ns when spawned");
    assert!(
        ours > 0 && ours <= spawned + spawned / 4 + 10_000,
        "{ours} {spawned}"
    );
}

#[test]
fn processor_time_agrees_with_the_task_clock() {
    let _turn = take_turn();
    let facts = run_shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
        .measured
        .facts;
    let clock = facts.counters.iter().find(|c| c.name == "task_clock_ns");
    let Some(clock_ns) = clock.and_then(|counter| counter.value) else {
        eprintln!("skipped: this kernel gives no task clock");
        return;
    };
    let difference = processor_time_ns(&facts).abs_diff(clock_ns);
    assert!(
        difference < clock_ns / 20 + 200_000,
        "{clock_ns} {difference}"
    );
}

/// What other threads of the test program may take or give back while a program starts; the worker
/// has none, and its tests allow no peak above the floor.
const OTHER_THREADS_BYTES: u64 = 1 << 20;

#[test]
fn a_program_smaller_than_its_launcher_has_the_launchers_peak_as_its_floor() {
    let _turn = take_turn();
    let Some(program) = tiny_program() else {
        return;
    };
    let big = std::hint::black_box(vec![1u8; 32 << 20]);
    let request = Request {
        program: program.to_str().unwrap(),
        ..QUIET
    };
    let tiny = run(&request).measured.facts;
    let (peak, floor) = (tiny.peak_memory_bytes, tiny.peak_memory_floor_bytes);
    eprintln!("peak {peak}, floor {floor}");
    assert!(floor > 32 << 20);
    assert!(peak.abs_diff(floor) < OTHER_THREADS_BYTES);
    drop(big);
    let after = run(&request).measured.facts;
    let (peak, floor) = (after.peak_memory_bytes, after.peak_memory_floor_bytes);
    eprintln!("peak {peak}, floor {floor} after the launcher has shrunk");
    assert!(floor < 32 << 20);
    assert!(peak.abs_diff(floor) < OTHER_THREADS_BYTES);
}
