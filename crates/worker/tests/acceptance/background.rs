//! A package that runs beside `run.sh`.

use std::fs;

use datamill_protocol::{
    FactorFacts, FailureKind, IsolationWanted, Outcome, PackageSpec, TrialRecord,
};

use crate::support::{Bench, processes_with, wait_until};

const BUSY: &str = "while :; do :; done";

fn factor<'a>(record: &'a TrialRecord, name: &str) -> &'a FactorFacts {
    record
        .factors
        .iter()
        .find(|factor| factor.name == name)
        .unwrap()
}

/// Gives a trial a background package named `load` with this `run.sh`, and asks for it.
fn put_beside(bench: &mut Bench, run: &str) {
    for (name, body) in [("run.sh", run), ("collect.sh", "true")] {
        write_script(bench, name, body);
    }
    bench.spec.background = Some(PackageSpec {
        name: "load".to_owned(),
        path: bench.path("load").to_string_lossy().into_owned(),
        sha256: None,
    });
    ask(bench, "background_load", "load");
}

fn write_script(bench: &Bench, name: &str, body: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = bench.path("load").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn ask(bench: &mut Bench, name: &str, level: &str) {
    bench.spec.levels.insert(name.to_owned(), level.to_owned());
}

/// The same trial in every kind of world that this user can have.
fn benches(run: &str) -> Vec<Bench> {
    let mut benches = Bench::in_private_worlds(run);
    benches.push(Bench::new(run));
    benches
}

#[test]
fn a_load_runs_beside_run_sh_and_is_no_part_of_its_figures() {
    for mut bench in benches("sleep 0.5") {
        put_beside(&mut bench, &format!("({BUSY}) & {BUSY}"));
        let record = bench.run();
        if !Bench::has_asked_world(&record) {
            continue;
        }
        assert!(record.failure.is_none(), "{:?}", record.failure);
        let seen = factor(&record, "background_load");
        assert_eq!(seen.observed.as_deref(), Some("load"), "{}", seen.evidence);
        let used: f64 = seen
            .evidence
            .split(' ')
            .nth(2)
            .and_then(|text| text.parse().ok())
            .unwrap();
        let run = record.run.as_ref().unwrap();
        let wall = run.wall_time_ns as f64 / 1e9;
        let own = (run.user_time_ns + run.system_time_ns) as f64 / 1e9;
        // Others may keep the processors busy as well.
        assert!(used >= 0.02 * wall, "{}", seen.evidence);
        assert!(own < 0.1, "{own} s of processor time asleep");
        assert_eq!(run.left_processes, 0);
    }
}

#[test]
fn nothing_of_a_load_is_left_when_collect_sh_runs() {
    let marker = format!("31{:07}", std::process::id());
    for mut bench in benches("sleep 0.2") {
        put_beside(
            &mut bench,
            &format!("setsid sleep {marker} & (sleep {marker} &) ; sleep {marker}"),
        );
        let collect =
            format!("ps -ef 2>/dev/null | grep -c '[s]leep {marker}'; echo x > r; echo r");
        bench.script("collect.sh", &collect);
        let record = bench.run();
        if Bench::has_asked_world(&record) {
            assert!(record.failure.is_none(), "{:?}", record.failure);
            assert_eq!(bench.output("collect.out"), "0\nr\n");
            assert!(processes_with(&marker).is_empty());
        }
    }
}

#[test]
fn what_run_sh_leaves_is_ended_without_ending_the_load() {
    let run = "sleep 61 & (sleep 61 &); exit 0";
    for mut bench in benches(run) {
        ask(&mut bench, "warmups", "2");
        put_beside(&mut bench, BUSY);
        let record = bench.run();
        if Bench::has_asked_world(&record) {
            let seen = factor(&record, "background_load");
            assert_eq!(seen.observed.as_deref(), Some("load"), "{}", seen.evidence);
            assert_eq!(record.run.unwrap().left_processes, 2);
        }
    }
}

#[test]
fn a_load_that_ends_early_is_told() {
    for mut bench in benches("sleep 0.4") {
        put_beside(&mut bench, "echo tired >&2; exit 4");
        let record = bench.run();
        if Bench::has_asked_world(&record) {
            let seen = factor(&record, "background_load");
            assert_eq!(seen.observed.as_deref(), Some("ended early"));
            assert!(seen.evidence.contains("status 4"), "{}", seen.evidence);
            assert_eq!(bench.output("background.err"), "tired\n");
        }
    }
}

#[test]
fn a_load_is_set_up_in_its_own_folder_of_the_same_world() {
    let run =
        "i=0; until test -s ready; do sleep 0.02; i=$((i+1)); test $i -lt 400; done; cat ready";
    for mut bench in benches(run) {
        put_beside(&mut bench, "cat made > $TOLD; exec sleep 60");
        write_script(&bench, "setup.sh", "test -e run.sh; echo mine > made");
        let ready = match bench.spec.isolation {
            IsolationWanted::Plain => "../../tree/ready",
            _ => "/ready",
        };
        fs::write(bench.path("load/env"), format!("TOLD={ready}\n")).unwrap();
        bench.script("setup.sh", "test ! -e made");
        let record = bench.run();
        if Bench::has_asked_world(&record) {
            assert!(record.failure.is_none(), "{:?}", record.failure);
            assert_eq!(bench.output("run.out"), "mine\n");
        }
    }
}

#[test]
fn a_load_that_cannot_be_set_up_fails_the_trial() {
    let mut bench = Bench::new("true");
    put_beside(&mut bench, BUSY);
    write_script(&bench, "setup.sh", "echo no compiler >&2; exit 7");
    let failure = bench.run().failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Factor);
    assert!(
        failure.message.contains("status 7") && failure.message.contains("no compiler"),
        "{}",
        failure.message
    );
}

#[test]
fn a_load_that_is_not_the_one_asked_for_is_refused() {
    let mut bench = Bench::new("true");
    ask(&mut bench, "background_load", "load");
    for expected in ["but no package is given", "`load` is given"] {
        let output = bench.execute();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "{said}");
        put_beside(&mut bench, BUSY);
        ask(&mut bench, "background_load", "none");
    }
}

#[test]
fn the_session_of_a_load_is_as_asked() {
    let own_group = "cut -d' ' -f1 /proc/self/autogroup 2>/dev/null; cut -d' ' -f6 /proc/self/stat";
    for level in [Some("same"), Some("different"), None] {
        for mut bench in benches(&format!("sleep 0.2; {own_group}")) {
            put_beside(&mut bench, &format!("{own_group}; exec sleep 60"));
            if let Some(level) = level {
                ask(&mut bench, "session", level);
            }
            let record = bench.run();
            if !Bench::has_asked_world(&record) {
                continue;
            }
            assert!(record.failure.is_none(), "{:?}", record.failure);
            if level.is_some() {
                let seen = factor(&record, "session");
                assert_eq!(seen.observed.as_deref(), level, "{}", seen.evidence);
            }
            let first = |name: &str| bench.output(name).lines().next().map(str::to_owned);
            let same = first("run.out") == first("background.out");
            let asked_same = level != Some("different");
            assert_eq!(
                same,
                asked_same,
                "{:?} {:?}",
                first("run.out"),
                first("background.out")
            );
        }
    }
}

#[test]
fn without_a_load_any_session_is_as_asked() {
    let mut bench = Bench::new("true");
    ask(&mut bench, "background_load", "none");
    ask(&mut bench, "session", "same");
    let record = bench.complete();
    assert_eq!(factor(&record, "session").observed.as_deref(), Some("same"));
    assert_eq!(
        factor(&record, "background_load").observed.as_deref(),
        Some("none")
    );
}

#[test]
fn a_load_ends_with_a_worker_that_is_killed() {
    let marker = format!("32{:07}", std::process::id());
    for mut bench in benches(&format!("exec sleep {marker}")) {
        if bench.user.is_some() {
            continue;
        }
        put_beside(
            &mut bench,
            &format!("sleep {marker}1 & exec sleep {marker}2"),
        );
        let mut worker = bench.command("run-trial").spawn().unwrap();
        wait_until("both scripts", || processes_with(&marker).len() >= 3);
        worker.kill().unwrap();
        worker.wait().unwrap();
        wait_until("the end of both", || processes_with(&marker).is_empty());
    }
}

#[test]
fn an_interruption_ends_a_trial_with_its_load() {
    let marker = format!("33{:07}", std::process::id());
    for mut bench in benches(&format!("exec sleep {marker}")) {
        if bench.user.is_some() {
            continue;
        }
        put_beside(&mut bench, &format!("exec sleep {marker}2"));
        let worker = bench
            .command("run-trial")
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        wait_until("both scripts", || processes_with(&marker).len() >= 2);
        // SAFETY: signals a child that has not been reaped.
        unsafe { libc::kill(worker.id() as i32, libc::SIGTERM) };
        let output = worker.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let record: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(record.outcome, Outcome::Lost);
        assert!(processes_with(&marker).is_empty());
    }
}
