//! Builds that are made on one worker and measured on another.

use serde_json::{Value, json};

use crate::coordinator::Coordinator;
use crate::worker::{Folder, Worker, allow_weak_worlds, lease, pack_scripts};

const COLLECT: &str =
    "#!/bin/sh\ncp program metrics.txt\ntar czf result.tar.gz metrics.txt\necho result.tar.gz\n";

/// Builds a package on one worker; returns what it reports, after which another may take the build.
fn build(coordinator: &mut Coordinator, digest: &str, bytes: usize, isolation: &str) -> Value {
    let mut wanted = lease("1.build1.1", digest, bytes);
    wanted["task"] = json!("build");
    wanted["spec"]["isolation"] = json!(isolation);
    coordinator.order(&[], Some(wanted));
    coordinator.expect("record", 30)["content"].clone()
}

fn ship(isolation: &str, setup: &str) -> Option<(Value, Value)> {
    let folder = Folder::new("shipped");
    let mut coordinator = Coordinator::start(folder.path())?;
    let run = "#!/bin/sh\ncat program\n";
    let scripts = [
        ("setup.sh", setup),
        ("run.sh", run),
        ("collect.sh", COLLECT),
    ];
    let package = pack_scripts(&scripts);
    let bytes = package.len();
    let digest = coordinator.put(package);
    let mut worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    let built = build(&mut coordinator, &digest, bytes, isolation);
    worker.kill();
    let artifacts = built["artifacts"].as_array().unwrap().clone();
    let Some(build) = artifacts.iter().find(|file| file["name"] == "build.tar.gz") else {
        return Some((built, Value::Null));
    };
    // Another worker, to which the first one's cache is unknown.
    let second = folder.path().join("second");
    allow_weak_worlds(&second);
    let _worker = Worker::join(
        folder.path(),
        &coordinator,
        &["--state", second.to_str().unwrap()],
    );
    coordinator.expect("hello", 20);
    let mut wanted = lease("1.t1.1", &digest, bytes);
    wanted["spec"]["isolation"] = json!(isolation);
    wanted["prebuilt"] = json!({"sha256": build["sha256"], "bytes": build["bytes"]});
    coordinator.order(&["1.build1.1"], Some(wanted));
    // The build's record comes a second time where its worker was killed before it read the receipt.
    let measured = loop {
        let content = coordinator.expect("record", 30)["content"].clone();
        if content["attempt"] == "1.t1.1" {
            break content;
        }
    };
    let output = measured["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["name"] == "run.out")
        .map(|file| file["sha256"].as_str().unwrap().to_owned());
    let printed = output.map(|digest| {
        let shelf = coordinator.shelf.lock().unwrap();
        String::from_utf8_lossy(&shelf.files[&digest]).into_owned()
    });
    let mut measured = measured;
    measured["printed"] = json!(printed);
    measured["left"] = json!(
        std::fs::read_dir(second.join("fleet/cache/builds"))
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().join("origin.json").exists())
            .count()
    );
    Some((built, measured))
}

fn is_possible(isolation: &str) -> bool {
    // SAFETY: no pointers involved.
    let is_root = unsafe { libc::geteuid() } == 0;
    let needs_root = isolation != "plain";
    if needs_root && !is_root {
        eprintln!("SKIPPED: needs root");
    }
    !needs_root || is_root
}

#[test]
fn a_build_is_made_on_one_worker_and_measured_on_another() {
    // What it prints tells whether it was built again.
    let setup = "#!/bin/sh\nmkdir -p deep/er\nln -s program link\ncat /proc/sys/kernel/random/uuid > program\n";
    for isolation in ["plain", "overlay", "confined"]
        .into_iter()
        .filter(|it| is_possible(it))
    {
        let Some((built, measured)) = ship(isolation, setup) else {
            return;
        };
        assert_eq!(built["record"]["outcome"], "completed", "{built:#}");
        assert!(built["record"]["run"].is_null());
        let record = &measured["record"];
        assert_eq!(record["outcome"], "completed", "{record:#}");
        let notices = record["notices"].to_string();
        assert!(notices.contains("built on the-enrolled-name"), "{notices}");
        assert_eq!(record["build"]["reused"], true);
        assert!(measured["printed"].as_str().unwrap().len() > 30);
        assert_eq!(
            measured["left"], 0,
            "it does not stay among this worker's own"
        );
    }
}

#[test]
fn a_build_that_removes_files_says_that_it_cannot_be_shipped() {
    if !is_possible("overlay") {
        return;
    }
    let setup = "#!/bin/sh\nset -e\necho built > program\nrm collect.sh\n";
    let Some((built, measured)) = ship("overlay", setup) else {
        return;
    };
    assert_eq!(built["record"]["outcome"], "failed", "{built:#}");
    let message = built["record"]["failure"]["message"].as_str().unwrap();
    assert!(message.contains("/collect.sh is removed"), "{message}");
    assert!(measured.is_null());
}

#[test]
fn a_build_for_another_architecture_is_one_or_fails_by_the_name_of_what_is_not() {
    let compiler = "/usr/bin/aarch64-linux-gnu-gcc";
    if std::env::consts::ARCH == "aarch64" || !std::path::Path::new(compiler).exists() {
        eprintln!("SKIPPED: {compiler} is not here, or this machine is an aarch64 one");
        return;
    }
    let folder = Folder::new("cross");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let _worker = Worker::join(folder.path(), &coordinator, &[]);
    let hello = coordinator.expect("hello", 20);
    let cross = hello["content"]["inventory"]["cross"].to_string();
    assert!(cross.contains("aarch64-linux-gnu"), "{cross}");
    let program = "echo 'int main(void) { return 0; }' > a.c\n";
    let good = format!(
        "#!/bin/sh\nset -e\n{program}test $CHOST = aarch64-linux-gnu\n$CC -O3 -o made a.c\n"
    );
    let bad = format!("#!/bin/sh\nset -e\n{program}gcc -o made a.c\n");
    for (number, setup) in [good, bad].iter().enumerate() {
        let package = pack_scripts(&[("setup.sh", setup), ("run.sh", "#!/bin/sh\n./made\n")]);
        let bytes = package.len();
        let digest = coordinator.put(package);
        let mut wanted = lease(&format!("1.build{number}.1"), &digest, bytes);
        wanted["task"] = json!("build");
        wanted["spec"]["isolation"] = json!("plain");
        wanted["spec"]["build_for"] = json!("aarch64");
        wanted["spec"]["levels"] = json!({"optimization": "-O1"});
        let receipts: &[&str] = if number == 0 { &[] } else { &["1.build0.1"] };
        coordinator.order(receipts, Some(wanted));
        let built = loop {
            // The first one comes again until its receipt has.
            let told = coordinator.expect("record", 30)["content"].clone();
            if told["attempt"] == json!(format!("1.build{number}.1")) {
                break told;
            }
        };
        let record = &built["record"];
        if number == 1 {
            assert_eq!(record["outcome"], "failed", "{record:#}");
            let message = record["failure"]["message"].as_str().unwrap();
            assert!(message.contains("to be built for aarch64"), "{message}");
            assert!(message.contains("made for x86_64"), "{message}");
            continue;
        }
        assert_eq!(record["outcome"], "completed", "{record:#}");
        let told = &record["build"]["compiler"];
        let programs = told["programs"].to_string();
        assert!(programs.contains("aarch64-linux-gnu-gcc"), "{programs}");
        // The level that was asked for, and not the build system's.
        assert_eq!(told["optimization_passed"], json!({"-O1": 1}), "{told:#}");
        let artifacts = built["artifacts"].to_string();
        assert!(artifacts.contains("build.tar.gz"), "{artifacts}");
    }
}
