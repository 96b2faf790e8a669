//! Builds that several trials share.

use std::process::Command;

use datamill_protocol::{BuildFacts, BuildPolicy, IsolationKind, Outcome};

use crate::support::Bench;

fn sharing(mut bench: Bench) -> Bench {
    bench.script(
        "setup.sh",
        "mkdir -p made; date +%s%N > made/stamp; rm removed",
    );
    bench.file("removed", b"", 0o644);
    bench.spec.build = BuildPolicy::Shared;
    bench
}

const SHOW: &str = "test ! -e removed && cat made/stamp && echo x >> made/stamp";

fn assert_shared(bench: &mut Bench) {
    let first = bench.complete();
    let stamp = bench.output("run.out");
    let second = bench.complete();
    assert_eq!(
        bench.output("run.out"),
        stamp,
        "the second trial must see the build unchanged"
    );
    let (first, second) = (first.build.unwrap(), second.build.unwrap());
    assert_eq!((first.reused, second.reused), (false, true));
    assert_eq!((&first.id, &first.setup), (&second.id, &second.setup));
    bench
        .spec
        .levels
        .insert("optimization".to_owned(), "-O3".to_owned());
    let other = bench.complete().build.unwrap();
    assert!(!other.reused && other.id != first.id);
}

#[test]
fn a_plain_build_is_made_once_for_each_combination_of_build_factors() {
    assert_shared(&mut sharing(Bench::new(SHOW)));
}

#[test]
fn an_overlay_build_is_made_once_for_each_combination_of_build_factors() {
    let Some(bench) = Bench::as_root(SHOW) else {
        return;
    };
    let mut bench = sharing(bench);
    let record = bench.complete();
    if record
        .notices
        .iter()
        .any(|notice| notice.contains("could not be shared"))
    {
        eprintln!("skipped: {:?}", record.notices);
        return;
    }
    std::fs::remove_dir_all(bench.path("state/cache/builds")).unwrap();
    assert_shared(&mut bench);
}

#[test]
fn a_build_in_a_user_namespace_is_shared() {
    let Some(bench) = Bench::as_nobody(SHOW) else {
        return;
    };
    let mut bench = sharing(bench);
    let record = bench.complete();
    if !Bench::has_world(&record, IsolationKind::UserNamespace)
        || record
            .notices
            .iter()
            .any(|notice| notice.contains("could not be shared"))
    {
        eprintln!("skipped: {:?}", record.notices);
        return;
    }
    std::fs::remove_dir_all(bench.path("state/cache/builds")).unwrap();
    assert_shared(&mut bench);
}

#[test]
fn a_failed_build_is_not_kept() {
    let mut bench = Bench::new("true");
    bench.spec.build = BuildPolicy::Shared;
    bench.script("setup.sh", "exit 1");
    for _ in 0..2 {
        let record = bench.run();
        assert_eq!(record.outcome, Outcome::Failed);
        assert!(!record.build.unwrap().reused);
    }
}

#[test]
fn build_package_makes_the_build_that_the_trial_then_reuses() {
    let bench = sharing(Bench::new(SHOW));
    let output = bench.command("build-package").output().unwrap();
    assert!(output.status.success());
    let made: BuildFacts = serde_json::from_slice(&output.stdout).unwrap();
    let used = bench.complete().build.unwrap();
    assert!(!made.reused && used.reused);
    assert_eq!(made.id, used.id);
}

#[test]
fn a_build_that_fails_is_explained_on_stderr() {
    let bench = Bench::new("true");
    bench.script("setup.sh", "echo 'no rule' >&2; exit 2");
    let output = bench.command("build-package").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("setup.sh exited with status 2; last lines of setup.err: no rule")
    );
}

#[test]
fn several_workers_that_want_the_same_build_make_it_once() {
    let Some(bench) = Bench::as_root(SHOW) else {
        return;
    };
    let bench = sharing(bench);
    let program = bench.command("build-package").get_program().to_owned();
    let children: Vec<_> = (0..4)
        .map(|index| {
            let mut own = bench.spec.clone();
            own.scratch_dir = bench
                .path(&format!("state/scratch{index}"))
                .to_string_lossy()
                .into_owned();
            let spec = bench.path(&format!("spec{index}.json"));
            std::fs::write(&spec, serde_json::to_vec(&own).unwrap()).unwrap();
            Command::new(&program)
                .arg("build-package")
                .arg(spec)
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let facts: Vec<BuildFacts> = children
        .into_iter()
        .map(|child| serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    assert_eq!(facts.iter().filter(|facts| !facts.reused).count(), 1);
    assert!(
        facts
            .iter()
            .all(|one| one.id == facts[0].id && one.setup == facts[0].setup)
    );
}

#[test]
fn a_build_of_which_a_part_goes_around_the_wrapper_has_no_clear_level() {
    for bench in [Some(Bench::new("./one")), Bench::as_root("./one")] {
        let Some(mut bench) = bench else {
            return;
        };
        bench.script(
            "setup.sh",
            "gcc -O1 -c one.c && /usr/bin/gcc -O1 -c two.c && gcc one.o two.o -o one",
        );
        bench.file(
            "one.c",
            b"int two(void); int main(void) { return two(); }",
            0o644,
        );
        bench.file("two.c", b"int two(void) { return 0; }", 0o644);
        let level = ("optimization".to_owned(), "-O3".to_owned());
        bench.spec.levels.extend([level]);
        let record = bench.complete();
        let compiler = record.build.unwrap().compiler;
        assert_eq!((compiler.compiles, compiler.escaped), (1, 1));
        assert_eq!(record.factors[0].observed.as_deref(), Some("mixed"));
    }
}
