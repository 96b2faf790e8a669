//! Factors of the process of `run.sh`: what it sees of each, and what the record says.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use datamill_protocol::{
    FactorFacts, FactorOffer, FactorStage, FailureKind, IsolationWanted, Outcome, TrialRecord,
};

use crate::factors::inherited::tiny;
use crate::support::{Bench, own_niceness};

fn ask(bench: &mut Bench, levels: &[(&str, &str)]) {
    for (name, level) in levels {
        let level = ((*name).to_owned(), (*level).to_owned());
        bench.spec.levels.extend([level]);
    }
}

fn factor<'a>(record: &'a TrialRecord, name: &str) -> &'a FactorFacts {
    let mut facts = record.factors.iter();
    facts.find(|factor| factor.name == name).unwrap()
}

/// Runs a trial with one level; checks that it was read back, and returns what `run.sh` printed.
fn seen_under(name: &str, level: &str, run: &str) -> String {
    let mut bench = Bench::new(run);
    ask(&mut bench, &[(name, level)]);
    let record = bench.complete();
    let fact = factor(&record, name);
    assert_eq!(fact.observed.as_deref(), Some(level), "{}", fact.evidence);
    assert_eq!(fact.asked, level);
    bench.output("run.out").trim().to_owned()
}

/// What this host offers of every factor.
fn offers() -> Vec<FactorOffer> {
    let worker = Bench::new("true").command("factors");
    let output = Command::new(worker.get_program()).arg("factors").output();
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

/// What this host offers of a factor.
fn offer(name: &str) -> FactorOffer {
    let mut offers = offers().into_iter();
    offers.find(|offer| offer.name == name).unwrap()
}

/// Whether this host has a level; prints the reason otherwise.
fn has_level(name: &str, level: &str) -> bool {
    let offer = offer(name);
    let missing = offer.missing.iter().find(|missing| missing.level == level);
    if let Some(missing) = missing {
        eprintln!("skipped: {name} {level}: {}", missing.reason);
    }
    missing.is_none() && offer.reason.is_empty()
}

/// Real-time priority and policy in the kernel's own line about a process.
const POLICY: &str = "cut -d' ' -f 40,41 /proc/self/stat";

#[test]
fn run_sh_has_the_scheduling_policy_asked_for() {
    for (level, expected) in [
        ("other", "0 0"),
        ("batch", "0 3"),
        ("idle", "0 5"),
        ("fifo", "1 1"),
        ("rr", "1 2"),
    ] {
        if has_level("scheduler_policy", level) {
            assert_eq!(seen_under("scheduler_policy", level, POLICY), expected);
        }
    }
}

#[test]
fn run_sh_has_the_niceness_asked_for_and_other_scripts_have_not() {
    let own = own_niceness();
    for level in [0, 7, 19, -5] {
        if level < own && !has_level("niceness", "-10") {
            continue;
        }
        let level = level.to_string();
        assert_eq!(seen_under("niceness", &level, "nice"), level);
    }
    let other = if own == 19 { "18" } else { "19" };
    if own == 19 && !has_level("niceness", "-10") {
        return;
    }
    let mut bench = Bench::new("nice");
    bench.script("setup.sh", &format!("nice; {POLICY}"));
    bench.script("collect.sh", &format!("nice; {POLICY}; echo x > r; echo r"));
    ask(
        &mut bench,
        &[("niceness", other), ("scheduler_policy", "batch")],
    );
    bench.complete();
    assert_eq!(bench.output("run.out").trim(), other);
    assert_eq!(bench.output("setup.out").trim(), format!("{own}\n0 0"));
    let collected = bench.output("collect.out");
    assert!(collected.starts_with(&format!("{own}\n0 0\n")));
}

#[test]
fn run_sh_has_the_processors_asked_for_whatever_the_worker_has() {
    let allowed = "grep Cpus_allowed_list: /proc/self/status | cut -f2";
    let all = seen_under("cpu_set", "all", allowed);
    let first = seen_under("cpu_set", "first", allowed);
    assert_eq!(seen_under("cpu_set", &first, allowed), first);
    let last = seen_under("cpu_set", "last", allowed);
    assert!(
        all.starts_with(&first) && all.ends_with(&last),
        "{all} {first} {last}"
    );

    let mut bench = Bench::new(allowed);
    ask(&mut bench, &[("cpu_set", "all")]);
    let Some(record) = run_under(&bench, "taskset", &["-c", &first]) else {
        return;
    };
    assert_eq!(bench.output("run.out").trim(), all);
    assert_eq!(factor(&record, "cpu_set").observed.as_deref(), Some("all"));
    assert!(!tells(&record, "affinity"), "{:?}", record.notices);
}

/// Runs the worker under another program; `None`, with a printed reason, where that does not exist.
fn run_under(bench: &Bench, program: &str, arguments: &[&str]) -> Option<TrialRecord> {
    let worker = bench.command("run-trial");
    let output = Command::new(program)
        .args(arguments)
        .arg(worker.get_program())
        .args(worker.get_args())
        .output();
    if output.is_err() {
        eprintln!("skipped: no {program} here");
    }
    Some(serde_json::from_slice(&output.ok()?.stdout).unwrap())
}

fn tells(record: &TrialRecord, text: &str) -> bool {
    record.notices.iter().any(|notice| notice.contains(text))
}

#[test]
fn a_policy_that_run_sh_inherits_is_told_and_one_that_is_asked_for_is_not() {
    let mut bench = Bench::new(POLICY);
    let Some(record) = run_under(&bench, "chrt", &["-b", "0"]) else {
        return;
    };
    assert_eq!(bench.output("run.out").trim(), "0 3");
    assert!(
        tells(&record, "inherited scheduling policy batch"),
        "{:?}",
        record.notices
    );
    ask(
        &mut bench,
        &[
            ("scheduler_policy", "other"),
            ("niceness", &own_niceness().to_string()),
        ],
    );
    let record = run_under(&bench, "chrt", &["-b", "0"]).unwrap();
    assert_eq!(bench.output("run.out").trim(), "0 0");
    assert!(!tells(&record, "policy"), "{:?}", record.notices);
}

#[test]
fn run_sh_has_the_memory_policy_asked_for() {
    for (level, expected) in [
        ("default", " default "),
        ("local", " local "),
        ("interleave", " interleave:"),
    ] {
        if has_level("numa_policy", level) && Path::new("/proc/self/numa_maps").exists() {
            let told = seen_under(
                "numa_policy",
                level,
                "exec grep -m1 stack /proc/self/numa_maps",
            );
            assert!(told.contains(expected), "{level}: {told}");
        }
    }
}

#[test]
fn run_sh_has_the_limits_asked_for() {
    for (level, expected) in [
        ("default", "8192"),
        ("16777216", "16384"),
        ("131072", "128"),
        ("unlimited", "unlimited"),
    ] {
        if has_level("stack_limit", level) {
            assert_eq!(seen_under("stack_limit", level, "ulimit -S -s"), expected);
        }
    }
    for (level, expected) in [
        ("67108864", "65536"),
        ("2097152", "2048"),
        ("unlimited", "unlimited"),
    ] {
        if has_level("heap_limit", level) {
            assert_eq!(seen_under("heap_limit", level, "ulimit -S -d"), expected);
        }
    }
    let inherited = seen_under("heap_limit", "default", "ulimit -S -d");
    let mut bench = Bench::new("ulimit -S -d");
    ask(&mut bench, &[]);
    bench.complete();
    assert_eq!(bench.output("run.out").trim(), inherited);
}

#[test]
fn user_and_logname_have_the_length_asked_for() {
    for (level, expected) in [("1", "r r"), ("4", "root root"), ("7", "rootxxx rootxxx")] {
        assert_eq!(
            seen_under("user_name_length", level, "echo $USER $LOGNAME"),
            expected
        );
    }
}

#[test]
fn the_locale_is_the_one_asked_for() {
    let show = "echo $LANG $LC_ALL; locale charmap 2>/dev/null";
    for level in ["C", "C.UTF-8"] {
        if has_level("locale", level) {
            let told = seen_under("locale", level, show);
            assert!(told.starts_with(&format!("{level} {level}")), "{told}");
        }
    }
}

#[test]
fn a_locale_that_is_not_installed_fails_the_trial() {
    let mut bench = Bench::new("true");
    ask(&mut bench, &[("locale", "xx_YY.UTF-8")]);
    let failure = bench.run().failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Factor);
    assert!(
        failure.message.contains("not installed"),
        "{}",
        failure.message
    );
}

#[test]
fn the_allocator_is_loaded_into_run_sh() {
    let maps = "cat /proc/self/maps";
    for (level, library) in [
        ("glibc", "libc.so.6"),
        ("jemalloc", "libjemalloc"),
        ("mimalloc", "libmimalloc"),
        ("tcmalloc", "libtcmalloc"),
    ] {
        if !has_level("allocator", level) {
            continue;
        }
        let told = seen_under("allocator", level, maps);
        assert!(told.contains(library), "{level}");
        let others = ["libjemalloc", "libmimalloc", "libtcmalloc"];
        let others = others.iter().filter(|other| **other != library);
        assert!(
            others.into_iter().all(|other| !told.contains(other)),
            "{level}"
        );
    }
}

#[test]
fn no_allocator_is_observed_in_a_static_run_sh() {
    if !has_level("allocator", "jemalloc") {
        return;
    }
    let Some(mut bench) = tiny(Bench::new("true")) else {
        return;
    };
    ask(&mut bench, &[("allocator", "jemalloc")]);
    let record = bench.complete();
    let fact = factor(&record, "allocator");
    assert_eq!(fact.observed, None);
    assert!(fact.evidence.contains("static"), "{}", fact.evidence);
}

#[test]
fn the_c_library_takes_its_tunables() {
    let level = "glibc.malloc.tcache_count=0";
    if !has_level("libc_tunables", level) {
        return;
    }
    let told = seen_under("libc_tunables", level, "echo $GLIBC_TUNABLES");
    assert_eq!(told, level);
    let told = seen_under("libc_tunables", "none", "echo ${GLIBC_TUNABLES-unset}");
    assert_eq!(told, "unset");
}

#[test]
fn a_tunable_that_the_c_library_does_not_take_is_not_observed() {
    if !has_level("libc_tunables", "glibc.malloc.tcache_count=0") {
        return;
    }
    let known_and_refused = "glibc.rtld.dynamic_sort=99";
    for level in ["glibc.malloc.nonsense=1", known_and_refused] {
        let mut bench = Bench::new("true");
        ask(&mut bench, &[("libc_tunables", level)]);
        let record = bench.complete();
        let fact = factor(&record, "libc_tunables");
        assert_ne!(fact.observed.as_deref(), Some(level), "{}", fact.evidence);
        assert!(fact.evidence.contains("did not take"), "{}", fact.evidence);
    }
}

#[test]
fn a_variable_of_the_package_that_a_factor_sets_is_refused() {
    for (name, level, variable) in [
        ("user_name_length", "8", "USER"),
        ("locale", "C", "LANG"),
        ("allocator", "glibc", "LD_PRELOAD"),
        ("libc_tunables", "none", "GLIBC_TUNABLES"),
    ] {
        let mut bench = Bench::new("true");
        bench.file("env", format!("{variable}=x\n").as_bytes(), 0o644);
        ask(&mut bench, &[(name, level)]);
        let failure = bench.run().failure.unwrap();
        assert_eq!(failure.kind, FailureKind::BadPackage);
        assert!(failure.message.contains(variable) && failure.message.contains(name));
    }
}

/// A level of each factor that needs no privilege.
const HARMLESS: [(&str, &str); 10] = [
    ("aslr", "off"),
    ("env_padding", "4096"),
    ("scheduler_policy", "batch"),
    ("niceness", "19"),
    ("cpu_set", "first"),
    ("stack_limit", "4194304"),
    ("heap_limit", "536870912"),
    ("user_name_length", "12"),
    ("locale", "C"),
    ("allocator", "glibc"),
];

#[test]
fn all_process_factors_together_are_read_back_in_every_kind_of_world() {
    let mut plain = Bench::as_nobody("true");
    if let Some(bench) = &mut plain {
        bench.spec.isolation = IsolationWanted::Plain;
    }
    let benches = [Bench::new("true")]
        .into_iter()
        .chain(plain)
        .chain(Bench::in_private_worlds("true"));
    for mut bench in benches {
        ask(&mut bench, &HARMLESS);
        let record = bench.run();
        if !Bench::has_asked_world(&record) {
            continue;
        }
        assert_eq!(record.outcome, Outcome::Completed, "{:?}", record.failure);
        for (name, level) in HARMLESS {
            let fact = factor(&record, name);
            assert_eq!(fact.observed.as_deref(), Some(level), "{}", fact.evidence);
        }
    }
}

#[test]
fn a_level_without_the_privilege_for_it_fails_the_trial_with_the_reason() {
    for (name, level, doing) in [
        ("niceness", "-5", "setting its niceness"),
        ("scheduler_policy", "fifo", "setting its scheduling policy"),
    ] {
        let Some(mut bench) = Bench::as_nobody("true") else {
            return;
        };
        ask(&mut bench, &[(name, level)]);
        let record = bench.run();
        let failure = record.failure.as_ref().unwrap();
        assert_eq!(failure.kind, FailureKind::Factor);
        assert!(failure.message.contains(doing), "{}", failure.message);
        let fact = factor(&record, name);
        assert_eq!(fact.observed, None);
        assert!(fact.evidence.contains(doing), "{}", fact.evidence);
    }
}

#[test]
fn a_real_time_run_sh_that_never_ends_is_killed_in_time() {
    if !has_level("scheduler_policy", "fifo") {
        return;
    }
    let busy = "for i in $(seq $(nproc)); do (while :; do :; done) & done; while :; do :; done";
    let mut bench = Bench::new(busy);
    ask(&mut bench, &[("scheduler_policy", "fifo")]);
    bench.spec.limits.run_timeout_s = 0.4;
    let before = Instant::now();
    let record = bench.run();
    let run = record.run.as_ref().unwrap();
    assert_eq!(record.outcome, Outcome::TimedOut);
    assert!(run.wall_time_ns < 1_500_000_000, "{}", run.wall_time_ns);
    assert!(
        before.elapsed().as_secs_f64() < 60.0,
        "{:?}",
        before.elapsed()
    );
}

/// Every level that is offered, of all process factors at once: trial by trial the next level of each.
#[test]
fn every_process_factor_that_is_offered_is_set_and_read_back_at_each_of_its_levels() {
    let offers = offers();
    let of_process = offers
        .iter()
        .filter(|offer| offer.stage == FactorStage::Process && !offer.levels.is_empty());
    let offers: Vec<&FactorOffer> = of_process.collect();
    assert!(offers.len() > 5, "{offers:?}");
    let most = offers.iter().map(|offer| offer.levels.len()).max();
    for turn in 0..most.unwrap() {
        let asked: Vec<(&str, &str)> = offers
            .iter()
            .map(|offer| {
                let level = &offer.levels[turn % offer.levels.len()];
                (offer.name.as_str(), level.as_str())
            })
            .collect();
        let mut bench = Bench::new("true");
        ask(&mut bench, &asked);
        let record = bench.complete();
        for (name, level) in asked {
            let fact = factor(&record, name);
            assert_eq!(fact.asked, level);
            assert!(!fact.evidence.is_empty(), "{name} {level}");
            let unseen = "a factor that cannot be read back has to say so: ";
            assert_eq!(
                fact.observed.as_deref(),
                Some(level),
                "{unseen}{}",
                fact.evidence
            );
        }
    }
}
