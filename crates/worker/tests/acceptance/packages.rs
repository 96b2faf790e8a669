//! Packages that are refused, and how they get into the cache.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use datamill_protocol::{FailureKind, Phase};

use crate::support::{Bench, notices_of_its_own};

fn refusal(bench: &Bench) -> String {
    let failure = bench.run().failure.unwrap();
    assert_eq!(failure.kind, FailureKind::BadPackage, "{}", failure.message);
    failure.message
}

#[test]
fn a_package_without_its_scripts_is_refused() {
    let bench = Bench::new("true");
    fs::remove_file(bench.package().join("run.sh")).unwrap();
    assert_eq!(refusal(&bench), "The package has no run.sh at its root.");
}

#[test]
fn a_package_without_collect_sh_is_measured_all_the_same() {
    let bench = Bench::new("true");
    fs::remove_file(bench.package().join("collect.sh")).unwrap();
    let record = bench.complete();
    assert!(record.run.is_some() && record.collect.is_none() && record.archive.is_none());
    assert_eq!(notices_of_its_own(&record), [""; 0]);
}

#[test]
fn a_script_that_is_not_executable_is_refused() {
    let bench = Bench::new("true");
    bench.file("setup.sh", b"#!/bin/sh\n", 0o644);
    assert_eq!(
        refusal(&bench),
        "The package's setup.sh is not an executable file."
    );
}

#[test]
fn a_bad_env_file_is_named_with_its_line() {
    let bench = Bench::new("true");
    bench.file("env", b"A=1\nnonsense\n", 0o644);
    assert!(refusal(&bench).contains("env:2: expected NAME=VALUE"));
}

#[test]
fn a_dollar_in_the_env_file_is_pointed_out() {
    let bench = Bench::new("echo $EXTRA");
    bench.file("env", b"EXTRA=$HOME/x\n", 0o644);
    let record = bench.complete();
    assert_eq!(bench.output("run.out"), "$HOME/x\n");
    assert!(record.notices.iter().any(|notice| notice.contains("EXTRA")));
}

#[test]
fn a_package_with_another_hash_is_refused() {
    let mut bench = Bench::new("true");
    bench.spec.package.sha256 = Some("0".repeat(64));
    assert!(refusal(&bench).contains(&format!("not {}", "0".repeat(64))));
}

#[test]
fn a_package_that_is_not_there_is_refused() {
    let mut bench = Bench::new("true");
    bench.spec.package.path = bench.path("missing.tar.gz").to_string_lossy().into_owned();
    assert!(refusal(&bench).contains("cannot be read"));
}

#[test]
fn a_package_is_unpacked_once_and_then_found_by_its_hash() {
    let mut bench = Bench::new("true");
    let first = bench.complete();
    bench.spec.package.sha256 = first.package_sha256.clone();
    bench.spec.package.path = bench
        .path("no-longer-there.tar.gz")
        .to_string_lossy()
        .into_owned();
    assert_eq!(bench.complete().package_sha256, first.package_sha256);
}

#[test]
fn a_folder_is_a_package_and_a_change_in_it_is_noticed() {
    let mut bench = Bench::new("echo first");
    bench.spec.package.path = bench.package().to_string_lossy().into_owned();
    assert_eq!(bench.complete().package_sha256, None);
    assert_eq!(bench.output("run.out"), "first\n");
    bench.script("run.sh", "echo other");
    bench.complete();
    assert_eq!(bench.output("run.out"), "other\n");
    let copies = fs::read_dir(bench.path("state/cache/packages"))
        .unwrap()
        .count();
    assert_eq!(copies, 2);
}

#[test]
fn a_folder_with_a_link_out_of_it_is_refused() {
    let mut bench = Bench::new("true");
    bench.spec.package.path = bench.package().to_string_lossy().into_owned();
    symlink("/etc/passwd", bench.package().join("link")).unwrap();
    assert!(refusal(&bench).contains("links outside the package"));
}

#[test]
fn the_same_package_unpacked_by_several_workers_at_once_is_whole() {
    let bench = Bench::new("cat data | wc -c");
    bench.file("data", &vec![b'x'; 3_000_000], 0o644);
    let program = bench.command("run-trial").get_program().to_owned();
    let children: Vec<_> = (0..4)
        .map(|index| {
            let folder = |name: &str| bench.path(name).to_string_lossy().into_owned();
            let mut own = bench.spec.clone();
            own.scratch_dir = folder(&format!("state/scratch{index}"));
            own.output_dir = folder(&format!("state/output{index}"));
            let spec = bench.path(&format!("spec{index}.json"));
            fs::write(&spec, serde_json::to_vec(&own).unwrap()).unwrap();
            let mut command = Command::new(&program);
            command
                .arg("run-trial")
                .arg(spec)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for (index, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        let out = fs::read_to_string(bench.path(&format!("state/output{index}/run.out"))).unwrap();
        assert_eq!(out.trim(), "3000000");
    }
    assert_eq!(
        fs::read_dir(bench.path("state/cache/packages"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn a_package_that_would_replace_a_link_of_the_root_is_refused() {
    let Some(bench) = Bench::as_root("true") else {
        return;
    };
    if !fs::symlink_metadata("/bin").unwrap().is_symlink() {
        eprintln!("skipped: /bin is a folder here");
        return;
    }
    bench.script("bin/tool", "true");
    let failure = bench.run().failure.unwrap();
    assert_eq!(
        (failure.phase, failure.kind),
        (Phase::Isolate, FailureKind::BadPackage)
    );
    assert!(failure.message.contains("`/bin`"), "{}", failure.message);
}
