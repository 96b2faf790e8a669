//! What a worker does not do, and what it says.

use std::time::Duration;

use serde_json::{Value, json};

use crate::coordinator::{self, Coordinator, PATIENCE};
use crate::worker::{Folder, WEAK_WORLDS, Worker, lease, pack, worker_command};

/// A joined worker with a policy, one package on the shelf, and a lease of it that was changed.
fn refusal(policy: &str, change: impl FnOnce(&mut Value)) -> Option<(String, String)> {
    let folder = Folder::new("refusal");
    let mut coordinator = Coordinator::start(folder.path())?;
    let package = pack("#!/bin/sh\nexit 0\n");
    let bytes = package.len();
    let digest = coordinator.put(package.clone());
    // Something else than it is named.
    let mut shelf = coordinator.shelf.lock().unwrap();
    shelf.files.insert("1".repeat(64), package);
    drop(shelf);
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, policy).unwrap();
    let _worker = Worker::join(
        folder.path(),
        &coordinator,
        &["--policy", file.to_str().unwrap()],
    );
    coordinator.expect("hello", 20);
    let mut wanted = lease("1.t1.1", &digest, bytes);
    change(&mut wanted);
    coordinator.order(&[], Some(wanted));
    let content = coordinator.expect("refused", 30)["content"].clone();
    assert!(!folder.path().join("state/fleet/journal.json").exists());
    assert!(coordinator.heard(&["taken", "record"], "1.t1.1").is_empty());
    let text = |field: &str| content[field].as_str().unwrap().to_owned();
    Some((text("reason"), text("message")))
}

fn assert_refused(policy: &str, reason: &str, word: &str, change: impl FnOnce(&mut Value)) {
    assert_refused_by(&format!("{WEAK_WORLDS}{policy}"), reason, word, change);
}

/// The same with nothing allowed but what the policy says.
fn assert_refused_by(policy: &str, reason: &str, word: &str, change: impl FnOnce(&mut Value)) {
    if let Some((told, message)) = refusal(policy, change) {
        assert_eq!(told, reason, "{message}");
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn the_owner_of_a_machine_allows_some_users_only() {
    assert_refused("users = [\"bob\"]\n", "policy", "alice", |_| {});
}

#[test]
fn what_a_package_needs_of_a_machine_is_given_by_its_owner_alone() {
    for (need, value, word) in [
        ("network", json!(true), "network"),
        ("devices", json!(["/dev/kvm"]), "/dev/kvm"),
        ("kernel", json!(["io_uring"]), "IoUring"),
        ("folders", json!(["/usr/share"]), "/usr/share"),
    ] {
        assert_refused("", "policy", word, |lease| {
            lease["spec"]["needs"] = json!({ need: value });
        });
    }
}

#[test]
fn a_folder_is_shown_only_if_it_is_really_in_one_that_the_owner_named() {
    let place = std::env::temp_dir().join(format!("datamill-shown-{}", std::process::id()));
    let listed = place.join("listed");
    std::fs::create_dir_all(&listed).unwrap();
    std::os::unix::fs::symlink("/etc", listed.join("link")).unwrap();
    let policy = format!("folders = [\"{}\"]\n", listed.display());
    for (asked, word) in [
        (listed.join("link"), "shows no package the folder"),
        (listed.join("../secret"), "shows no package the folder"),
        (place.join("listed-too"), "shows no package the folder"),
        (listed.join("absent"), "shows no package the folder"),
    ] {
        assert_refused(&policy, "policy", word, |lease| {
            lease["spec"]["needs"] = json!({"folders": [asked]});
        });
    }
    let policy = "folders = [\"/\"]\n";
    assert_refused(policy, "policy", "no trial sees", |lease| {
        lease["spec"]["needs"] = json!({"folders": ["/etc"]});
    });
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn without_its_owners_word_no_package_is_root_of_a_machine_or_nothing_apart_from_it() {
    assert_refused_by("plain = true\n", "policy", "all rights of root", |lease| {
        lease["spec"]["needs"] = json!({"privileged": true});
    });
    assert_refused_by(
        "plain = true\n",
        "policy",
        "root of this machine",
        |lease| {
            lease["spec"]["isolation"] = json!("overlay");
        },
    );
    assert_refused_by("", "policy", "apart from this machine", |_| {});
}

#[test]
fn the_owner_of_a_machine_allows_some_packages_only() {
    let policy = format!("packages = [\"{}\"]\n", "0".repeat(64));
    assert_refused(&policy, "policy", "digest", |_| {});
}

#[test]
fn the_owner_of_a_machine_forbids_factors() {
    assert_refused(
        "forbidden_factors = [\"aslr\"]\n",
        "policy",
        "aslr",
        |lease| {
            lease["spec"]["levels"] = json!({"aslr": "off"});
        },
    );
}

#[test]
fn a_machine_is_not_rebooted_unless_its_owner_allows_it() {
    assert_refused("", "policy", "reboot", |lease| {
        lease["reboot"] = json!(true);
    });
}

#[test]
fn a_package_that_is_larger_than_allowed_is_not_fetched() {
    assert_refused("package_bytes = 10\n", "policy", "10", |_| {});
}

#[test]
fn a_level_that_this_host_lacks_is_refused() {
    assert_refused("", "factor", "aslr", |lease| {
        lease["spec"]["levels"] = json!({"aslr": "sideways"});
    });
}

#[test]
fn a_factor_that_does_not_exist_is_refused() {
    assert_refused("", "factor", "moon_phase", |lease| {
        lease["spec"]["levels"] = json!({"moon_phase": "full"});
    });
}

#[test]
fn a_file_with_another_digest_is_refused() {
    assert_refused("", "file", "SHA-256", |lease| {
        let wrong = "1".repeat(64);
        lease["spec"]["package"]["sha256"] = json!(wrong);
        lease["files"][0]["sha256"] = json!(wrong);
    });
}

#[test]
fn a_package_for_which_there_is_no_room_is_refused() {
    assert_refused("", "disk", "free", |lease| {
        lease["files"][0]["bytes"] = json!(1u64 << 60);
    });
}

#[test]
fn a_specification_of_another_version_is_refused() {
    assert_refused("", "version", "999", |lease| {
        lease["spec"]["schema"] = json!(999);
    });
}

#[test]
fn orders_of_a_newer_version_are_refused_and_said() {
    let folder = Folder::new("newer");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let _worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    coordinator.publish_orders(&json!({
        "schema": 4, "sequence": 1, "receipts": [], "novelty": {},
        "lease": {"attempt": "9.t1.1", "unknown": true},
    }));
    let content = coordinator.expect("refused", 20)["content"].clone();
    assert_eq!(content["reason"], "version");
    assert_eq!(content["attempt"], "9.t1.1");
}

#[test]
fn orders_for_another_worker_or_for_nobody_are_void() {
    let folder = Folder::new("anothers");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let package = pack("#!/bin/sh\nexit 0\n");
    let bytes = package.len();
    let digest = coordinator.put(package);
    let worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    for (schema, named) in [
        (2, json!("wother")),
        (2, json!(null)),
        (3, json!("wother")),
        (1, json!("wother")),
    ] {
        coordinator.publish_orders(&json!({
            "schema": schema, "worker_id": named, "sequence": 9, "receipts": [],
            "lease": lease("1.t1.1", &digest, bytes),
        }));
    }
    let begun = std::time::Instant::now();
    while worker.said().matches("they are for the worker").count() < 4 {
        assert!(
            begun.elapsed() < Duration::from_secs(20) * PATIENCE,
            "{}",
            worker.said()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    // Neither obeyed nor counted: its own orders with a lower number are heeded.
    coordinator.order(&[], Some(lease("1.t2.1", &digest, bytes)));
    coordinator.expect("record", 30);
    for kind in ["taken", "refused"] {
        assert!(coordinator.heard(&[kind], "1.t1.1").is_empty());
    }
}

#[test]
fn a_credential_that_is_old_is_made_anew_and_kept() {
    let folder = Folder::new("renewal");
    let Some(mut coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    let _worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    coordinator.publish_orders(&json!({"sequence": 1, "renew_credential": true}));
    let file = folder.path().join("state/fleet/identity.json");
    let begun = std::time::Instant::now();
    while !std::fs::read_to_string(&file)
        .unwrap()
        .contains("a.newer.one")
    {
        assert!(begun.elapsed() < Duration::from_secs(20) * PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    let shelf = coordinator.shelf.lock().unwrap();
    assert_eq!(shelf.renewals.len(), 1);
    assert_eq!(shelf.renewals[0]["worker_id"], coordinator::WORKER_ID);
    let key = shelf.enrolments[0]["public_key"].as_str().unwrap();
    let signed = format!(
        "datamill-credential {} {}",
        coordinator::WORKER_ID,
        shelf.renewals[0]["nonce"].as_str().unwrap()
    );
    let signature: Vec<u8> = shelf.renewals[0]["signature"]
        .as_str()
        .unwrap()
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let key = nkeys::KeyPair::from_public_key(key).unwrap();
    key.verify(signed.as_bytes(), &signature).unwrap();
}

#[test]
fn a_refused_enrolment_says_why_and_what_to_do() {
    let folder = Folder::new("expired");
    let Some(coordinator) = Coordinator::start(folder.path()) else {
        return;
    };
    coordinator.shelf.lock().unwrap().refusal = Some(json!({
        "message": "This token expired yesterday.",
        "where": "token",
        "remedy": "Make another with `datamill worker token`.",
    }));
    let told = worker_command(folder.path())
        .args(["join", &coordinator.url(), "--token", "secret.plain"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(2), "{said}");
    assert!(said.contains("expired yesterday") && said.contains("datamill worker token"));
    assert!(!folder.path().join("state/fleet/identity.json").exists());
}

#[test]
fn joining_an_unreachable_coordinator_fails_at_once_and_says_so() {
    let folder = Folder::new("unreachable");
    for (arguments, word) in [
        (
            vec!["join", "http://127.0.0.1:1", "--token", "secret.plain"],
            "cannot be reached",
        ),
        (
            vec!["join", "http://192.0.2.1:1", "--token", "secret.plain"],
            "plain text",
        ),
        (vec!["join", "http://127.0.0.1:1"], "--token"),
        (
            vec!["join", "http://127.0.0.1:1", "--token", "half"],
            "not an enrolment token",
        ),
        (vec!["join"], "address"),
        (vec!["serve-trials"], "has not joined"),
    ] {
        let told = worker_command(folder.path())
            .args(&arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&told.stderr);
        assert!(matches!(told.status.code(), Some(1 | 2)), "{said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_policy_file_with_a_mistake_is_named() {
    let folder = Folder::new("policy");
    let file = folder.path().join("mine.toml");
    let forbidding = "forbidden_factors = [\"aslr\", \"Frequency Governor\"]\n";
    for (policy, word) in [
        ("rebot = true\n", "rebot"),
        (
            forbidding,
            "`Frequency Governor` is not the name of a factor",
        ),
    ] {
        std::fs::write(&file, policy).unwrap();
        let told = worker_command(folder.path())
            .args(["join", "http://127.0.0.1:1", "--token", "secret.plain"])
            .args(["--policy", file.to_str().unwrap()])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&told.stderr);
        assert_eq!(told.status.code(), Some(2));
        assert!(said.contains("mine.toml") && said.contains(word), "{said}");
    }
}
