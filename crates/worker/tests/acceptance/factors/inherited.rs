//! What a script gets of whoever started the worker, and what of that the record tells.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use datamill_protocol::TrialRecord;

use crate::support::{Bench, own_niceness};

const SHOW: &str = "ulimit -S -s; cat /proc/self/personality";
const ADDR_COMPAT_LAYOUT: libc::c_ulong = 0x0200000;

/// Gives the calling process more niceness, one processor, an odd stack limit and a layout of its own.
fn distort() -> io::Result<()> {
    // SAFETY: all values live on this stack.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, distorted_niceness());
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        let first = (0..1024).find(|cpu| libc::CPU_ISSET(*cpu, &set));
        libc::CPU_ZERO(&mut set);
        libc::CPU_SET(first.unwrap_or(0), &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_STACK, &mut limit);
        limit.rlim_cur = limit.rlim_max.min(4 << 20);
        libc::setrlimit(libc::RLIMIT_STACK, &limit);
        libc::personality(ADDR_COMPAT_LAYOUT);
    }
    Ok(())
}

/// One that needs no right and shows: it is not 0.
fn distorted_niceness() -> i32 {
    own_niceness().max(7)
}

fn run_distorted(bench: &Bench) -> TrialRecord {
    let mut command = bench.command("run-trial");
    // SAFETY: system calls only.
    unsafe { command.pre_exec(distort) };
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn stack_limit_and_personality_are_fixed_whatever_the_caller_has() {
    let bench = Bench::new(SHOW);
    bench.complete();
    let usual = bench.output("run.out");
    run_distorted(&bench);
    assert_eq!(bench.output("run.out"), usual);
    assert!(usual.ends_with("\n00000000\n"), "{usual}");
}

#[test]
fn niceness_and_affinity_of_the_caller_are_told_in_the_record() {
    let record = run_distorted(&Bench::new("true"));
    let tells = |text: &str| record.notices.iter().any(|notice| notice.contains(text));
    let told = format!("run.sh inherited niceness {}.", distorted_niceness());
    assert!(tells(&told), "{:?}", record.notices);
    if record.host.cores > 1 {
        let text = format!("to 1 of the {} processors online", record.host.cores);
        assert!(tells(&text), "{:?}", record.notices);
    }
}

#[test]
fn a_caller_without_randomised_addresses_and_with_a_limited_heap_is_told_in_the_record() {
    let bench = Bench::new("cat /proc/self/personality; ulimit -S -d");
    let mut command = bench.command("run-trial");
    let limit = || {
        let bytes = 1 << 30;
        // SAFETY: all values live on this stack.
        unsafe {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            let mut limit: libc::rlimit = std::mem::zeroed();
            libc::getrlimit(libc::RLIMIT_DATA, &mut limit);
            limit.rlim_cur = bytes;
            libc::setrlimit(libc::RLIMIT_DATA, &limit);
        }
        Ok(())
    };
    // SAFETY: system calls only.
    unsafe { command.pre_exec(limit) };
    let output = command.output().unwrap();
    let record: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(bench.output("run.out"), "00040000\n1048576\n");
    let expected = [
        "run.sh inherited addresses that are not randomised.",
        "run.sh inherited a data segment limit of 1073741824 bytes.",
    ];
    for text in expected {
        assert!(
            record.notices.iter().any(|notice| notice == text),
            "{:?}",
            record.notices
        );
    }
}

/// A program that ends at once and has no C library, as the package's `run.sh`; `None`, with a
/// printed reason, where none can be made.
pub fn tiny(bench: Bench) -> Option<Bench> {
    let code = match std::env::consts::ARCH {
        "x86_64" => "mov $60, %eax\n xor %edi, %edi\n syscall\n",
        "aarch64" => "mov x8, #93\n mov x0, #0\n svc #0\n",
        other => {
            eprintln!("skipped: no tiny program for {other}");
            return None;
        }
    };
    let source = bench.path("tiny.s");
    fs::write(&source, format!(".globl _start\n_start:\n {code}")).unwrap();
    let built = Command::new("cc")
        .args(["-nostdlib", "-static", "-o"])
        .args([&bench.package().join("run.sh"), &source])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: cc cannot build a program without a C library");
        return None;
    }
    Some(bench)
}

#[test]
fn the_peak_of_a_program_smaller_than_the_worker_is_the_floor_of_the_record() {
    let Some(mut bench) = tiny(Bench::new("true")) else {
        return;
    };
    for bytes in ["0", "65536", "1048576"] {
        let level = ("env_padding".to_owned(), bytes.to_owned());
        bench.spec.levels.extend([level]);
        let run = bench.complete().run.unwrap();
        let (peak, floor) = (run.peak_memory_bytes, run.peak_memory_floor_bytes);
        assert!(peak > 0 && peak <= floor, "{bytes}: {peak} {floor}");
        assert!(floor - peak < 1 << 18, "{bytes}: {peak} {floor}");
    }
}

#[test]
fn the_peak_of_a_bigger_program_is_above_the_floor() {
    let bench = Bench::new("dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null");
    let run = bench.complete().run.unwrap();
    assert!(run.peak_memory_bytes > 60_000_000 && run.peak_memory_floor_bytes < 20_000_000);
}
