//! Builds that are profiled before they are measured.

use serde_json::{Value, json};

use crate::coordinator::Coordinator;
use crate::worker::{Folder, Worker, lease, pack_scripts};

/// What a worker reports of a profile of a package with these scripts, and the file that came of it.
fn profile(scripts: &[(&str, &str)]) -> Option<(Value, Option<String>)> {
    let folder = Folder::new("profiled");
    let mut coordinator = Coordinator::start(folder.path())?;
    let package = pack_scripts(scripts);
    let bytes = package.len();
    let digest = coordinator.put(package);
    let _worker = Worker::join(folder.path(), &coordinator, &[]);
    coordinator.expect("hello", 20);
    let mut wanted = lease("1.profile1.1", &digest, bytes);
    wanted["task"] = json!("profile");
    coordinator.order(&[], Some(wanted));
    let told = coordinator.expect("record", 30)["content"].clone();
    let kept = told["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["name"] == "counts.txt")
        .map(|file| file["sha256"].as_str().unwrap().to_owned());
    let text = kept.map(|digest| {
        let shelf = coordinator.shelf.lock().unwrap();
        String::from_utf8_lossy(&shelf.files[&digest]).into_owned()
    });
    Some((told, text))
}

const SETUP: (&str, &str) = ("setup.sh", "#!/bin/sh\necho built > program\n");
const RUN: (&str, &str) = ("run.sh", "#!/bin/sh\necho measured > counts.txt\n");
const COLLECT: (&str, &str) = ("collect.sh", "#!/bin/sh\nexit 9\n");

#[test]
fn the_script_of_a_profile_runs_instead_of_run_sh_and_its_file_is_kept() {
    let script =
        "#!/bin/sh\necho talk\nsed s/built/profiled/ program > counts.txt\necho counts.txt\n";
    let scripts = [SETUP, RUN, COLLECT, ("profile.sh", script)];
    let Some((told, text)) = profile(&scripts) else {
        return;
    };
    let record = &told["record"];
    assert_eq!(record["outcome"], "completed", "{record:#}");
    assert_eq!(text.as_deref(), Some("profiled\n"));
    assert_eq!(record["archive"]["file"], "counts.txt");
    assert!(record["collect"].is_null(), "collect.sh is for trials");
    assert_eq!(record["metrics"], json!({}));
}

#[test]
fn a_profile_that_cannot_be_made_says_why() {
    for (script, phase, words) in [
        (
            "#!/bin/sh\nexit 3\n",
            "run",
            "profile.sh exited with status 3",
        ),
        (
            "#!/bin/sh\ntrue\n",
            "collect",
            "profile.sh printed no path.",
        ),
        (
            "#!/bin/sh\necho gone\n",
            "collect",
            "profile.sh named `gone`",
        ),
    ] {
        let Some((told, _)) = profile(&[SETUP, RUN, ("profile.sh", script)]) else {
            return;
        };
        let failure = &told["record"]["failure"];
        assert_eq!(failure["phase"], phase, "{failure:#}");
        let message = failure["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_package_without_the_script_cannot_be_profiled() {
    let Some((told, _)) = profile(&[SETUP, RUN]) else {
        return;
    };
    let message = told["record"]["failure"]["message"].as_str().unwrap();
    assert!(message.contains("has no profile.sh"), "{message}");
}
