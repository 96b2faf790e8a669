//! Deaths of the worker, of the broker and of transfers: nothing is lost and nothing runs twice.

use std::time::{Duration, Instant};

use datamill_protocol::digest::hash_bytes;
use serde_json::json;

use crate::coordinator::{Coordinator, PATIENCE};
use crate::worker::{Folder, WEAK_WORLDS, Worker, lease, pack};

/// How often the worker is killed at the least.
const ROUNDS: u64 = 14;

#[test]
fn a_report_is_sent_again_until_it_has_its_receipt() {
    let folder = Folder::new("full");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let package = pack("#!/bin/sh\nexit 0\n");
    let bytes = package.len();
    let digest = coordinator.put(package);
    let _worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    coordinator.order(&[], Some(lease("1.t1.1", &digest, bytes)));
    let spooled = folder.path().join("state/fleet/spool/1.t1.1/content.json");
    let first = coordinator.expect("record", 60);
    let begun = Instant::now();
    // Nobody said that it came.
    let again = coordinator.expect("record", 20);
    assert!(begun.elapsed() > Duration::from_millis(900), "it spins");
    assert_eq!(again["content"], first["content"]);
    assert!(spooled.is_file(), "kept until there is a receipt");
    coordinator.order(&["1.t1.1"], None);
    while spooled.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60) * PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_worker_whose_disk_was_full_says_so_once_there_is_room() {
    let folder = Folder::new("no-room");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    // Root writes to anything but a folder.
    let seen = folder.path().join("state/fleet/seen.json");
    let aside = folder.path().join("aside");
    let begun = Instant::now();
    while !seen.is_file() {
        assert!(begun.elapsed() < Duration::from_secs(20) * PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::rename(&seen, &aside).unwrap();
    std::fs::create_dir_all(seen.join("in the way")).unwrap();
    coordinator.order(&["1.t1.1"], None);
    while !worker.said().contains("the state folder cannot be written") {
        assert!(begun.elapsed() < Duration::from_secs(40) * PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_dir_all(&seen).unwrap();
    std::fs::rename(&aside, &seen).unwrap();
    // A coordinator that waited in vain thinks it silent, and this is the only way to learn better.
    coordinator.expect("hello", 60);
}

#[test]
fn a_worker_that_counts_as_silent_says_hello_again_when_its_orders_ask() {
    let folder = Folder::new("silent");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let _worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    coordinator.order(&[], None);
    std::thread::sleep(Duration::from_secs(2));
    // It has nothing to report, and the coordinator does not know that it is there.
    coordinator.publish_orders(&json!({
        "sequence": 1_000, "receipts": [], "lease": null, "sessions": [],
    }));
    coordinator.expect("hello", 20);
}

#[test]
fn a_worker_that_is_killed_at_any_moment_reports_once_or_gives_up_and_never_runs_twice() {
    let folder = Folder::new("kills");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let runs = folder.path().join("runs");
    // The name of the attempt is in that of the scratch folder, below which a plain world is.
    let package = pack(&format!(
        "#!/bin/sh\npwd >> {}\nsleep 0.15\n",
        runs.display()
    ));
    let bytes = package.len();
    let digest = coordinator.put(package);
    let mut worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    let mut receipts: Vec<String> = Vec::new();
    let (mut records, mut given_up) = (0, 0);
    // Later and later, until it was killed both before and in a trial, however slow this machine is.
    for number in 0..200u64 {
        if number >= ROUNDS && records > 0 && given_up > 0 {
            break;
        }
        let attempt = format!("1.t{number}.1");
        let given: Vec<&str> = receipts.iter().map(String::as_str).collect();
        coordinator.order(&given, Some(lease(&attempt, &digest, bytes)));
        std::thread::sleep(Duration::from_millis(15 + number * 45));
        worker.kill();
        worker = Worker::start(folder.path(), &["serve-trials"]);
        let begun = Instant::now();
        let reports = loop {
            let reports = coordinator.heard(&["record", "gave_up"], &attempt);
            if !reports.is_empty() {
                break reports;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(40) * PATIENCE,
                "{attempt} is never reported; {}",
                worker.said()
            );
            std::thread::sleep(Duration::from_millis(20));
        };
        match reports[0]["content"]["kind"].as_str() {
            Some("record") => records += 1,
            _ => given_up += 1,
        }
        // A report may come twice, but never two unlike ones.
        let all = coordinator.heard(&["record", "gave_up"], &attempt);
        assert!(all.iter().all(|told| told["content"] == all[0]["content"]));
        let ran = std::fs::read_to_string(&runs).unwrap_or_default();
        let times = ran.lines().filter(|line| line.contains(&attempt)).count();
        assert!(times <= 1, "{attempt} ran {times} times");
        if reports[0]["content"]["kind"] == "record" {
            assert_eq!(times, 1, "{attempt}");
        }
        receipts = vec![attempt];
    }
    eprintln!("{records} records, {given_up} given up");
    assert!(records > 0 && given_up > 0, "{records} {given_up}");
}

#[test]
fn a_report_survives_a_broker_that_lost_everything() {
    let folder = Folder::new("empty-broker");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let package = pack("#!/bin/sh\nexit 0\n");
    let bytes = package.len();
    let digest = coordinator.put(package);
    let _worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    coordinator.order(&[], Some(lease("1.t1.1", &digest, bytes)));
    let first = coordinator.expect("record", 30);
    coordinator.cut_broker();
    coordinator.start_broker();
    let hello = coordinator.expect("hello", 30);
    assert_eq!(hello["content"]["attempts"], json!(["1.t1.1"]));
    let again = coordinator.expect("record", 30);
    assert_eq!(again["content"], first["content"]);
    coordinator.order(&["1.t1.1"], None);
    let spooled = folder.path().join("state/fleet/spool/1.t1.1");
    let begun = Instant::now();
    while spooled.exists() {
        assert!(begun.elapsed() < Duration::from_secs(10) * PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn orders_older_than_the_last_are_void() {
    let folder = Folder::new("older");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let package = pack("#!/bin/sh\nexit 0\n");
    let bytes = package.len();
    let digest = coordinator.put(package);
    let mut worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    for _ in 0..3 {
        coordinator.order(&[], None);
    }
    let stale = json!({
        "sequence": 2, "receipts": [], "lease": lease("1.t1.1", &digest, bytes),
    });
    let seen = folder.path().join("state/fleet/seen.json");
    let begun = Instant::now();
    while !std::fs::read_to_string(&seen).is_ok_and(|text| text.contains("\"sequence\":3")) {
        assert!(begun.elapsed() < Duration::from_secs(10) * PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    coordinator.publish_orders(&stale);
    std::thread::sleep(Duration::from_millis(700));
    // Neither from the wire nor from the broker after a restart.
    worker.kill();
    let _worker = Worker::start(folder.path(), &["serve-trials"]);
    coordinator.expect("hello", 20);
    std::thread::sleep(Duration::from_millis(700));
    assert!(coordinator.heard(&["taken"], "1.t1.1").is_empty());
}

#[test]
fn a_transfer_that_breaks_off_goes_on_where_it_stopped() {
    let folder = Folder::new("range");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let mut script = b"#!/bin/sh\nexit 0\n#".to_vec();
    // What does not compress: digests of numbers.
    for number in 0..4000u32 {
        let line = hash_bytes(&number.to_le_bytes()).to_string();
        script.extend(line.as_bytes());
    }
    let package = pack(&String::from_utf8(script).unwrap());
    let bytes = package.len();
    let digest = coordinator.put(package);
    coordinator.shelf.lock().unwrap().broken_transfers = 2;
    let _worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    coordinator.order(&[], Some(lease("1.t1.1", &digest, bytes)));
    let report = coordinator.expect("record", 40);
    assert_eq!(report["content"]["record"]["outcome"], "completed");
    let shelf = coordinator.shelf.lock().unwrap();
    let ranges: Vec<&String> = shelf
        .requests
        .iter()
        .filter(|request| request.0 == "GET")
        .map(|request| &request.2)
        .collect();
    assert_eq!(ranges.len(), 3);
    assert_eq!(*ranges[1], format!("bytes={}-", bytes / 2));
}

#[test]
fn a_worker_whose_coordinator_is_away_waits_ever_longer_and_does_not_spin() {
    let folder = Folder::new("away");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let mut worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    worker.kill();
    coordinator.cut_broker();
    let begun = Instant::now();
    let mut worker = Worker::start(folder.path(), &["serve-trials"]);
    let waits = loop {
        let said = worker.said();
        let waits: Vec<f64> = said
            .split("the next try is in ")
            .skip(1)
            .filter_map(|rest| rest.split_once(" s")?.0.parse().ok())
            .collect();
        if waits.len() >= 3 {
            break waits;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(10) * PATIENCE,
            "{said}"
        );
        std::thread::sleep(Duration::from_millis(20));
    };
    // The shortest that two delays of a second and two can be.
    assert!(
        begun.elapsed() > Duration::from_millis(2000),
        "it spins: {}",
        worker.said()
    );
    assert!(waits[2] > waits[0], "{waits:?}");
    coordinator.start_broker();
    coordinator.expect("hello", 20);
    worker.signal(libc::SIGTERM);
    assert_eq!(worker.wait(15).code(), Some(130));
}

#[test]
fn after_a_reboot_the_trial_runs_before_anything_is_connected() {
    reboot_for_a_trial(false);
}

#[test]
fn while_a_machine_starts_its_trial_runs_and_the_agent_reports_it_later() {
    reboot_for_a_trial(true);
}

/// Takes a trial that wants a reboot, and makes it in the next boot: `before_others` while that boot starts.
fn reboot_for_a_trial(before_others: bool) {
    // SAFETY: no pointers involved.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("SKIPPED: only root can give a process another boot");
        return;
    }
    let folder = Folder::new("boot");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let ran = folder.path().join("ran");
    let package = pack(&format!("#!/bin/sh\necho ran >> {}\n", ran.display()));
    let bytes = package.len();
    let digest = coordinator.put(package);
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, format!("{WEAK_WORLDS}reboot = true\n")).unwrap();
    let boot = folder.path().join("boot_id");
    std::fs::write(&boot, "first-boot\n").unwrap();
    let asked = folder.path().join("asked");
    let url = coordinator.url();
    let command = format!("touch {}", asked.display());
    let mut worker = Worker::start_in_boot(
        folder.path(),
        &boot,
        &[
            "join",
            &url,
            "--token",
            "secret.plain",
            "--policy",
            policy.to_str().unwrap(),
            "--reboot-command",
            &command,
        ],
    );
    let hello = coordinator.expect("hello", 20);
    assert_eq!(hello["boot_id"], "first-boot");
    let mut wanted = lease("1.t1.1", &digest, bytes);
    wanted["reboot"] = json!(true);
    coordinator.order(&[], Some(wanted));
    coordinator.expect("taken", 20);
    let begun = Instant::now();
    while !asked.exists() {
        assert!(begun.elapsed() < Duration::from_secs(20) * PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!ran.exists());
    // The machine goes down, and comes up where nobody can be reached.
    worker.kill();
    coordinator.cut_broker();
    if before_others {
        // In the same boot there is nothing to do.
        let mut early = Worker::start_in_boot(folder.path(), &boot, &["run-pending"]);
        assert!(early.wait(20).success());
        assert!(!ran.exists());
    }
    std::fs::write(&boot, "second-boot\n").unwrap();
    if before_others {
        for _ in 0..2 {
            let mut early = Worker::start_in_boot(folder.path(), &boot, &["run-pending"]);
            assert!(early.wait(40).success());
            assert!(ran.exists());
        }
    }
    let _worker = Worker::start_in_boot(folder.path(), &boot, &["serve-trials"]);
    while !ran.exists() {
        assert!(begun.elapsed() < Duration::from_secs(40) * PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    coordinator.start_broker();
    let report = coordinator.expect("record", 40);
    assert_eq!(report["content"]["rebooted"], true);
    assert_eq!(report["content"]["taken_boot_id"], "first-boot");
    assert_eq!(report["boot_id"], "second-boot");
    assert_eq!(std::fs::read_to_string(ran).unwrap().lines().count(), 1);
}
