//! From enrolment to receipt.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::coordinator::{Coordinator, PATIENCE};
use crate::worker::{Folder, WEAK_WORLDS, Worker, lease, pack, worker_command, write_script};

#[test]
fn a_worker_enrols_runs_a_trial_reports_it_and_leaves() {
    let folder = Folder::new("trial");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let package = pack("#!/bin/sh\necho measured\n");
    let bytes = package.len();
    let digest = coordinator.put(package);
    let mut worker = Worker::join(folder.path(), &coordinator, &["--once"]);
    let hello = coordinator.expect("hello", 20);
    assert_eq!(hello["subject"], "results.w234567abcdef");
    assert!(hello["content"]["inventory"]["host"]["cores"].as_u64() > Some(0));
    coordinator.order(&[], Some(lease("1.t1.1", &digest, bytes)));
    let taken = coordinator.expect("taken", 20);
    assert_eq!(taken["content"]["attempt"], "1.t1.1");
    let report = coordinator.expect("record", 30);
    let record = &report["content"]["record"];
    assert_eq!(record["outcome"], "completed", "{record:#}");
    assert_eq!(record["worker"]["id"], "the-enrolled-name");
    assert_eq!(record["metrics"]["seconds"][0], 1.5);
    assert_eq!(report["content"]["rebooted"], false);
    let artifacts = report["content"]["artifacts"].as_array().unwrap();
    let output = artifacts
        .iter()
        .find(|file| file["name"] == "run.out")
        .unwrap();
    let shelf = coordinator.shelf.lock().unwrap();
    assert_eq!(
        shelf.files[output["sha256"].as_str().unwrap()],
        b"measured\n"
    );
    drop(shelf);
    coordinator.order(&["1.t1.1"], None);
    assert_eq!(worker.wait(20).code(), Some(0), "{}", worker.said());
    let state = folder.path().join("state/fleet");
    assert!(!state.join("spool/1.t1.1").exists() && !state.join("journal.json").exists());
    assert!(!state.join("work/1.t1.1").exists());
    let mode =
        std::os::unix::fs::MetadataExt::mode(&state.join("identity.json").metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn while_a_trial_runs_the_worker_has_no_connection_and_one_process() {
    let folder = Folder::new("silence");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let seen = folder.path().join("seen");
    // The runner is the parent of whoever carries the trial, itself the parent of this script.
    let script = format!(
        "#!/bin/sh\nrunner=$(cut -d' ' -f4 /proc/$PPID/stat)\n{{ ls -l /proc/$runner/fd; tr '\\0' ' ' < /proc/$runner/cmdline; echo; ls /proc/$runner/task | wc -l; }} > {} 2>&1\n",
        seen.display()
    );
    let package = pack(&script);
    let bytes = package.len();
    let digest = coordinator.put(package);
    let worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    coordinator.order(&[], Some(lease("1.t1.1", &digest, bytes)));
    coordinator.expect("record", 30);
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("run-leased"), "{seen}");
    // The host's lock is the only socket.
    assert_eq!(seen.matches("socket:").count(), 1, "{seen}");
    assert!(seen.trim_end().ends_with("\n1"), "{seen}");
    assert!(worker.pid() > 0);
}

#[test]
fn one_worker_makes_one_trial_after_another() {
    let folder = Folder::new("many");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let package = pack("#!/bin/sh\nexit 0\n");
    let bytes = package.len();
    let digest = coordinator.put(package);
    let mut worker = Worker::join(folder.path(), &coordinator, &[]);
    let mut last = Vec::new();
    for number in 1..=4 {
        let attempt = format!("1.t{number}.1");
        let receipts: Vec<&str> = last.iter().map(String::as_str).collect();
        coordinator.order(&receipts, Some(lease(&attempt, &digest, bytes)));
        let report = coordinator.expect("record", 30);
        assert_eq!(report["content"]["attempt"], attempt);
        last = vec![attempt];
    }
    let shelf = coordinator.shelf.lock().unwrap();
    let fetched = shelf.requests.iter().filter(|request| request.0 == "GET");
    assert_eq!(fetched.count(), 1, "the package is fetched once");
    drop(shelf);
    worker.signal(libc::SIGTERM);
    assert_eq!(worker.wait(20).code(), Some(130));
}

#[test]
fn what_a_debug_trial_prints_is_sent_while_it_runs() {
    let folder = Folder::new("live");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let go = folder.path().join("go");
    let package = pack(&format!(
        "#!/bin/sh\necho first\nwhile [ ! -e {} ]; do sleep 0.1; done\necho last\n",
        go.display()
    ));
    let bytes = package.len();
    let digest = coordinator.put(package);
    let _worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    let mut live = lease("1.d1.1", &digest, bytes);
    live["live_output"] = json!(true);
    coordinator.order(&[], Some(live));
    let piece = coordinator.expect("output", 30);
    assert_eq!(piece["subject"], "status.w234567abcdef");
    assert_eq!(piece["content"]["phase"], "run");
    assert_eq!(piece["content"]["text"], "first\n");
    assert_eq!(piece["content"]["number"], 0);
    std::fs::write(go, "").unwrap();
    let piece = coordinator.expect("output", 30);
    assert_eq!(piece["content"]["text"], "last\n");
    assert_eq!(piece["content"]["number"], 1);
    let report = coordinator.expect("record", 30);
    assert_eq!(report["content"]["record"]["outcome"], "completed");
}

#[test]
fn two_workers_on_one_host_measure_one_after_the_other() {
    let folder = Folder::new("two");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let go = folder.path().join("go");
    let waiting = pack(&format!(
        "#!/bin/sh\nwhile [ ! -e {} ]; do sleep 0.05; done\n",
        go.display()
    ));
    let bytes = waiting.len();
    let digest = coordinator.put(waiting);
    let _first = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    coordinator.order(&[], Some(lease("1.t1.1", &digest, bytes)));
    coordinator.expect("taken", 20);
    // The same host by its lock; another worker by its state folder.
    let second = folder.path().join("second");
    let _second = Worker::join(
        folder.path(),
        &coordinator,
        &["--state", second.to_str().unwrap()],
    );
    coordinator.expect("hello", 20);
    coordinator.order(&[], Some(lease("1.t2.1", &digest, bytes)));
    std::thread::sleep(Duration::from_millis(1500));
    assert!(coordinator.heard(&["taken"], "1.t2.1").is_empty());
    std::fs::write(go, "").unwrap();
    coordinator.expect("taken", 20);
    assert_eq!(coordinator.heard(&["taken"], "1.t2.1").len(), 1);
}

#[test]
fn a_reboot_is_asked_of_the_owners_command_and_never_more_than_thrice() {
    let folder = Folder::new("reboot");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let package = pack("#!/bin/sh\nexit 0\n");
    let bytes = package.len();
    let digest = coordinator.put(package);
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, format!("{WEAK_WORLDS}reboot = true\n")).unwrap();
    let asked = folder.path().join("asked");
    let command = folder.path().join("reboot.sh");
    write_script(
        &command,
        &format!("#!/bin/sh\necho asked >> {}\nexit 1\n", asked.display()),
    );
    let _worker = Worker::join(
        folder.path(),
        &coordinator,
        &[
            "--policy",
            policy.to_str().unwrap(),
            "--reboot-command",
            command.to_str().unwrap(),
        ],
    );
    coordinator.expect("hello", 20);
    let mut wanted = lease("1.t1.1", &digest, bytes);
    wanted["reboot"] = json!(true);
    coordinator.order(&[], Some(wanted));
    let report = coordinator.expect("gave_up", 60);
    assert_eq!(report["content"]["attempt"], "1.t1.1");
    let asked = std::fs::read_to_string(asked).unwrap();
    assert_eq!(asked.lines().count(), 3);
    assert!(coordinator.heard(&["record"], "1.t1.1").is_empty());
}

#[test]
fn ctrl_c_ends_a_trial_says_so_and_leaves_nothing() {
    let folder = Folder::new("interrupt");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let started = folder.path().join("started");
    let package = pack(&format!(
        "#!/bin/sh\necho $$ > {}\nexec sleep 60\n",
        started.display()
    ));
    let bytes = package.len();
    let digest = coordinator.put(package);
    let mut worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    coordinator.order(&[], Some(lease("1.t1.1", &digest, bytes)));
    let begun = Instant::now();
    let script = loop {
        match std::fs::read_to_string(&started) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            _ => assert!(begun.elapsed() < Duration::from_secs(20) * PATIENCE),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    worker.signal(libc::SIGINT);
    // It goes before what it did is told: else it would be given another trial.
    let hello = coordinator.expect("hello", 20);
    assert_eq!(hello["content"]["attempts"], serde_json::json!(["1.t1.1"]));
    let goodbye = coordinator.expect("goodbye", 20);
    assert_eq!(goodbye["content"]["session"], hello["content"]["session"]);
    let report = coordinator.expect("gave_up", 20);
    assert_eq!(report["content"]["attempt"], "1.t1.1");
    assert_eq!(worker.wait(20).code(), Some(130), "{}", worker.said());
    assert!(!std::path::Path::new("/proc").join(script).exists());
    let state = folder.path().join("state/fleet");
    assert!(!state.join("journal.json").exists());
}

#[test]
fn a_worker_that_waits_says_goodbye_and_begins_another_session() {
    let folder = Folder::new("goodbye");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let mut before = 0;
    for _ in 0..2 {
        let mut worker = Worker::join(folder.path(), &coordinator, &[]);
        let session = coordinator.expect("hello", 20)["content"]["session"].clone();
        assert!(session["number"].as_u64().unwrap() > before, "{session}");
        before = session["number"].as_u64().unwrap();
        worker.signal(libc::SIGTERM);
        let goodbye = coordinator.expect("goodbye", 20);
        assert_eq!(goodbye["content"]["session"], session);
        assert_eq!(worker.wait(20).code(), Some(130), "{}", worker.said());
    }
}

#[test]
fn a_worker_that_is_told_to_end_while_it_connects_says_goodbye_all_the_same() {
    let folder = Folder::new("connecting");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    coordinator.signal_broker(libc::SIGSTOP);
    let mut worker = Worker::join(folder.path(), &coordinator, &[]);
    let begun = Instant::now();
    while !worker.said().contains("this machine is") {
        assert!(begun.elapsed() < Duration::from_secs(20) * PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    // It listens to signals at once, and then has nothing to do but wait for the broker.
    std::thread::sleep(Duration::from_secs(1));
    worker.signal(libc::SIGTERM);
    std::thread::sleep(Duration::from_millis(200));
    coordinator.signal_broker(libc::SIGCONT);
    let hello = coordinator.expect("hello", 20);
    let goodbye = coordinator.expect("goodbye", 20);
    assert_eq!(goodbye["content"]["session"], hello["content"]["session"]);
    assert_eq!(worker.wait(20).code(), Some(130), "{}", worker.said());
}

#[test]
fn the_fleet_inventory_is_printed() {
    let folder = Folder::new("inventory");
    let told = worker_command(folder.path())
        .args(["inventory", "--fleet"])
        .output()
        .unwrap();
    assert!(told.status.success());
    let inventory: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(inventory["schema"], 4);
    assert!(inventory["factors"].as_array().unwrap().len() > 5);
    assert!(inventory["free_disk_bytes"].as_u64() > Some(0));
    assert!(
        !folder.path().join("state").exists(),
        "looking makes nothing"
    );
}
