//! Nested replication: builds with seeds of their own, and measurements that are asked for.

use datamill_protocol::{BuildFacts, BuildPolicy};

use crate::support::Bench;

/// A package of two objects whose order in the program shows.
fn compiled(levels: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new("cat order");
    bench.file("one.c", b"int one(void) { return 1; }\n", 0o644);
    bench.file("two.c", b"int two(void) { return 2; }\n", 0o644);
    bench.file("three.c", b"int three(void) { return 3; }\n", 0o644);
    bench.file(
        "main.c",
        b"int one(void), two(void), three(void);\nint main(void) { return one() + two() - three(); }\n",
        0o644,
    );
    bench.script(
        "setup.sh",
        "cc -c one.c two.c three.c main.c\ncc -o program one.o two.o three.o main.o\n./program\necho made >order",
    );
    bench.spec.build = BuildPolicy::Shared;
    for (name, level) in levels {
        let (name, level) = ((*name).to_owned(), (*level).to_owned());
        bench.spec.levels.insert(name, level);
    }
    bench
}

fn build(bench: &mut Bench, seed: u64, build_seed: u64) -> BuildFacts {
    bench.spec.seed = seed;
    bench.spec.build_seed = Some(build_seed);
    bench.complete().build.unwrap()
}

#[test]
fn builds_of_equal_levels_with_different_seeds_are_different_builds() {
    let mut bench = compiled(&[]);
    let first = build(&mut bench, 1, 7);
    let again = build(&mut bench, 2, 7);
    let other = build(&mut bench, 1, 8);
    assert_eq!(
        (first.reused, again.reused, other.reused),
        (false, true, false)
    );
    assert_eq!(first.id, again.id);
    assert_ne!(first.id, other.id);
    assert!(first.executables_sha256.is_some());
    assert_eq!(
        first.executables_sha256, other.executables_sha256,
        "nothing was drawn for these builds"
    );
}

#[test]
fn what_is_drawn_for_a_build_comes_from_its_seed_and_not_from_that_of_the_trial() {
    let mut bench = compiled(&[("link_order", "random")]);
    let builds: Vec<BuildFacts> = (0..4).map(|seed| build(&mut bench, 9, seed)).collect();
    let again = build(&mut bench, 10, 0);
    assert!(again.reused);
    assert_eq!(builds[0].executables_sha256, again.executables_sha256);
    let mut digests: Vec<_> = builds.iter().map(|it| &it.executables_sha256).collect();
    digests.sort();
    digests.dedup();
    assert!(digests.len() > 1, "four of 24 orders, all the same");
}

#[test]
fn run_sh_is_told_how_many_measurements_are_wanted() {
    let mut bench = Bench::new(
        "echo \"$DATAMILL_WARMUP and ${DATAMILL_MEASUREMENTS-none}\"; tr '\\0' '\\n' </proc/self/environ | wc -c",
    );
    bench.script("setup.sh", "test -z \"${DATAMILL_MEASUREMENTS-}\"");
    (bench.spec.measurements, bench.spec.warmup) = (100, 20);
    bench.complete();
    let many = bench.output("run.out");
    let (told, size) = many.split_once('\n').unwrap();
    assert_eq!(told, "20 and 100");
    (bench.spec.measurements, bench.spec.warmup) = (1, 0);
    bench.complete();
    let one = bench.output("run.out");
    assert_eq!(
        one.split_once('\n').unwrap(),
        ("0 and 1", size),
        "the environment must have the same size"
    );
    (bench.spec.measurements, bench.spec.warmup) = (0, 0);
    bench.complete();
    assert!(bench.output("run.out").starts_with(" and none\n"));
}
