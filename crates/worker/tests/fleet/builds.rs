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
    let measured = coordinator.expect("record", 30)["content"].clone();
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
