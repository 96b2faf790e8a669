//! Factors are set, act on `run.sh` alone, and are read back.

use datamill_protocol::{FactorFacts, TrialRecord};

use crate::support::Bench;

fn factor<'a>(record: &'a TrialRecord, name: &str) -> &'a FactorFacts {
    record
        .factors
        .iter()
        .find(|factor| factor.name == name)
        .unwrap()
}

const SHOW: &str = "cat /proc/self/personality";

#[test]
fn address_randomisation_is_off_for_run_sh_when_asked() {
    let mut bench = Bench::new(SHOW);
    bench.script("setup.sh", SHOW);
    bench.script("collect.sh", &format!("{SHOW}; echo x > r; echo r"));
    bench
        .spec
        .levels
        .insert("aslr".to_owned(), "off".to_owned());
    let record = bench.complete();
    assert_eq!(factor(&record, "aslr").observed.as_deref(), Some("off"));
    assert_eq!(bench.output("run.out").trim(), "00040000");
    assert_eq!(bench.output("setup.out").trim(), "00000000");
    assert!(bench.output("collect.out").starts_with("00000000"));
}

#[test]
fn address_randomisation_stays_off_behind_su() {
    if !std::path::Path::new("/usr/bin/su").exists() {
        eprintln!("skipped: no su here");
        return;
    }
    let Some(mut bench) = Bench::as_root(&format!("su nobody -s /bin/sh -c '{SHOW}'")) else {
        return;
    };
    bench
        .spec
        .levels
        .insert("aslr".to_owned(), "off".to_owned());
    bench.complete();
    assert_eq!(bench.output("run.out").trim(), "00040000");
}

#[test]
fn address_randomisation_stays_off_behind_a_set_uid_program_of_the_trials_own() {
    let run = "cp /bin/cat /own-cat; chmod 4755 /own-cat; /own-cat /proc/self/personality";
    for mut bench in Bench::in_private_worlds(run) {
        bench
            .spec
            .levels
            .insert("aslr".to_owned(), "off".to_owned());
        if Bench::has_asked_world(&bench.run()) {
            assert_eq!(bench.output("run.out").trim(), "00040000");
        }
    }
}

#[test]
fn address_randomisation_is_on_when_asked() {
    let mut bench = Bench::new(SHOW);
    bench.spec.levels.insert("aslr".to_owned(), "on".to_owned());
    let record = bench.complete();
    let setting = std::fs::read_to_string("/proc/sys/kernel/randomize_va_space").unwrap();
    let expected = if setting.trim() == "0" { "off" } else { "on" };
    assert_eq!(factor(&record, "aslr").observed.as_deref(), Some(expected));
    assert_eq!(bench.output("run.out").trim(), "00000000");
}

#[test]
fn padding_adds_exactly_its_bytes_to_the_environment_of_run_sh() {
    let count = "cat /proc/self/environ | wc -c";
    let mut sizes = Vec::new();
    for padding in [0u64, 6, 10_928, 300_000] {
        let mut bench = Bench::new("exec /bin/cat /proc/self/environ");
        bench.script("setup.sh", count);
        bench
            .spec
            .levels
            .insert("env_padding".to_owned(), padding.to_string());
        bench.spec.limits.output_bytes = 1 << 20;
        // The path of the private folder is in the environment, and must be as long each time.
        bench.spec.scratch_dir = format!("{}-{:08}", bench.spec.scratch_dir, std::process::id());
        let record = bench.complete();
        let seen = factor(&record, "env_padding");
        assert_eq!(
            seen.observed.as_deref(),
            Some(padding.to_string().as_str()),
            "{}",
            seen.evidence
        );
        let home = bench.spec.scratch_dir.len() as u64;
        // The shell adds PWD with the same folder.
        sizes.push((padding, record.run.unwrap().stdout_bytes - 2 * home));
    }
    let base = sizes[0].1;
    assert!(
        sizes
            .iter()
            .all(|(padding, bytes)| *bytes == base + padding),
        "{sizes:?}"
    );
}

#[test]
fn factors_are_read_back_in_every_kind_of_world() {
    let benches = [
        Some(Bench::new("true")),
        Bench::as_root("true"),
        Bench::as_nobody("true"),
    ];
    for mut bench in benches.into_iter().flatten() {
        bench
            .spec
            .levels
            .insert("aslr".to_owned(), "off".to_owned());
        bench
            .spec
            .levels
            .insert("env_padding".to_owned(), "4096".to_owned());
        let record = bench.complete();
        let observed: Vec<_> = record
            .factors
            .iter()
            .map(|factor| factor.observed.as_deref())
            .collect();
        assert_eq!(
            observed,
            [Some("off"), Some("4096")],
            "{:?}",
            record.isolation
        );
    }
}

#[test]
fn a_variable_of_the_package_that_looks_like_padding_is_refused() {
    let mut bench = Bench::new("true");
    bench.file("env", b"PADa=1\n", 0o644);
    bench
        .spec
        .levels
        .insert("env_padding".to_owned(), "100".to_owned());
    assert!(bench.run().failure.unwrap().message.contains("PADa"));
}

#[test]
fn build_factors_reach_the_compiler_and_only_in_setup() {
    if !std::path::Path::new("/usr/bin/gcc").exists() {
        eprintln!("skipped: no gcc here");
        return;
    }
    let mut bench = Bench::new("gcc -dumpversion > /dev/null; echo $PATH");
    bench.script(
        "setup.sh",
        "gcc -O1 -c a.c && gcc -O1 -c b.c && gcc -o program b.o a.o",
    );
    bench.file(
        "a.c",
        b"int f(void); int main(void) { return f(); }\n",
        0o644,
    );
    bench.file("b.c", b"int f(void) { return 0; }\n", 0o644);
    bench
        .spec
        .levels
        .insert("optimization".to_owned(), "-O3".to_owned());
    bench
        .spec
        .levels
        .insert("link_order".to_owned(), "alphabetical".to_owned());
    let record = bench.complete();
    assert_eq!(
        factor(&record, "optimization").observed.as_deref(),
        Some("-O3")
    );
    assert_eq!(
        factor(&record, "link_order").observed.as_deref(),
        Some("alphabetical")
    );
    assert!(!bench.output("run.out").contains("datamill"));
}

#[test]
fn a_factor_that_was_never_reached_is_recorded_without_an_observation() {
    let mut bench = Bench::new("true");
    bench.script("setup.sh", "exit 1");
    bench
        .spec
        .levels
        .insert("aslr".to_owned(), "off".to_owned());
    let record = bench.run();
    assert_eq!(factor(&record, "aslr").observed, None);
}
