//! The same with settings of the kernel that runs these tests; one at a time, since all share it.

use std::fs;
use std::process::{Child, Command};

use super::Bench;
use super::kills::dies_at;
use crate::changes::{
    Change, Journal, NoUserVerbs, PlannedChange, make_changes, restore_host, swap_areas_in_use,
};
use crate::factors::{HostLevels, host_factors};
use crate::machine_lock::wait_for_machine;
use crate::state::Host;

/// This host with a state folder of the test's own; none, with a printed reason, without root.
fn kernel() -> Option<(Bench, Host)> {
    // SAFETY: no pointers involved.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: needs root");
        return None;
    }
    let bench = Bench::new(&[]);
    let host = Host::at("/".as_ref(), bench.host.state());
    Some((bench, host))
}

fn set_and_restore(name: &str) {
    let _turn = wait_for_machine();
    let Some((_bench, host)) = kernel() else {
        return;
    };
    let factors = host_factors(&host);
    let factor = factors.iter().find(|factor| factor.name() == name).unwrap();
    let offer = factor.offer();
    if offer.levels.len() < 2 {
        eprintln!("skipped: {name} has {:?}, {:?}", offer.levels, offer);
        return;
    }
    let before = factor.read_back("").unwrap();
    for level in &offer.levels {
        let mut levels = HostLevels::default();
        levels.parse_level(name, level).unwrap().unwrap();
        let changes = levels.plan(&host).unwrap();
        let mut journal = crate::changes::Journal::open(&host).unwrap();
        make_changes(&mut journal, &changes, &NoUserVerbs).unwrap();
        let read = levels.read_back(&host);
        let restored = restore_host(&mut journal, &NoUserVerbs);
        assert_eq!(
            read[0].observed.as_deref(),
            Some(level.as_str()),
            "{read:?}"
        );
        assert!(restored.is_complete(), "{restored:?}");
        assert_eq!(factor.read_back("").unwrap(), before);
    }
}

#[test]
fn autogroup_is_set_read_back_and_restored() {
    set_and_restore("autogroup");
}

#[test]
fn transparent_huge_pages_are_set_read_back_and_restored() {
    set_and_restore("transparent_huge_pages");
}

/// A process of nobody's family: a child of this process would be of its own.
fn start_stranger() -> i32 {
    let script = "sleep 60 >/dev/null 2>&1 & echo $!";
    let output = Command::new("sh").args(["-c", script]).output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// What `shield` changes here; where it does not work, nothing, with a printed reason.
fn plan_shield(host: &Host) -> Option<(HostLevels, Vec<PlannedChange>)> {
    let mut levels = HostLevels::default();
    levels.parse_level("shield", "last").unwrap().unwrap();
    match levels.plan(host) {
        Ok(changes) => Some((levels, changes)),
        Err(error) => {
            eprintln!("skipped: {}", error.cause);
            None
        }
    }
}

#[test]
fn a_shield_holds_and_everything_runs_where_it_could_afterwards() {
    let _turn = wait_for_machine();
    let Some((_bench, host)) = kernel() else {
        return;
    };
    let Some((levels, changes)) = plan_shield(&host) else {
        return;
    };
    let stranger = start_stranger();
    let own = std::process::id() as i32;
    let before = [allowed(stranger), allowed(1), allowed(own)];
    let mut journal = Journal::open(&host).unwrap();
    make_changes(&mut journal, &changes, &NoUserVerbs).unwrap();
    let child = Neighbour(Command::new("sleep").arg("60").spawn().unwrap());
    let read = levels.read_back(&host);
    let during = [allowed(stranger), allowed(1), allowed(own)];
    let of_child = allowed(child.0.id() as i32);
    let restored = restore_host(&mut journal, &NoUserVerbs);
    let after = [allowed(stranger), allowed(1), allowed(own)];
    // SAFETY: no pointers involved.
    unsafe { libc::kill(stranger, libc::SIGKILL) };
    assert_eq!(read[0].observed.as_deref(), Some("last"), "{read:?}");
    assert!(
        restored.is_complete() && restored.overruled.is_empty(),
        "{restored:?}"
    );
    assert_eq!(during[2], of_child);
    assert!(
        during[0] != during[2] && during[1] != during[2],
        "{during:?}"
    );
    assert_eq!(after, before);
}

#[test]
fn what_a_worker_shielded_that_was_killed_is_given_back() {
    let _turn = wait_for_machine();
    let Some((_bench, host)) = kernel() else {
        return;
    };
    if plan_shield(&host).is_none() {
        return;
    }
    let stranger = start_stranger();
    let own = std::process::id() as i32;
    let before = [allowed(stranger), allowed(1), allowed(own)];
    // Before anything is made, among the settings and threads, and with all of it made.
    for step in [2, 6, 60, u64::MAX] {
        let died = dies_at(step, || {
            let (_, changes) = plan_shield(&host).unwrap();
            let mut journal = Journal::open(&host).unwrap();
            make_changes(&mut journal, &changes, &NoUserVerbs).unwrap();
            // SAFETY: signals this process only.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        });
        let during = allowed(stranger);
        let mut journal = Journal::open(&host).unwrap();
        let restored = restore_host(&mut journal, &NoUserVerbs);
        let after = [allowed(stranger), allowed(1), allowed(own)];
        assert!(died && restored.is_complete(), "{step}: {restored:?}");
        assert!(step < u64::MAX || during != before[0], "{during}");
        assert_eq!(after, before, "{step}");
        assert!(Journal::is_empty(&host));
    }
    // SAFETY: no pointers involved.
    unsafe { libc::kill(stranger, libc::SIGKILL) };
}

/// A process that ends with the test.
struct Neighbour(Child);

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn allowed(process: i32) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"));
    line.unwrap().to_owned()
}

#[test]
fn a_swap_file_is_used_and_gone_afterwards() {
    if let Some((_bench, host)) = kernel() {
        use_swap_file(&host);
    }
}

#[test]
fn a_swap_file_below_a_symbolic_link_is_gone_afterwards() {
    if let Some((bench, host)) = kernel() {
        fs::create_dir_all(host.state()).unwrap();
        let link = bench.host.path("/link");
        std::os::unix::fs::symlink(host.state(), &link).unwrap();
        use_swap_file(&Host::at("/".as_ref(), &link));
    }
}

#[test]
fn a_swap_file_whose_folder_was_moved_is_gone_afterwards() {
    let _turn = wait_for_machine();
    let Some((bench, host)) = kernel() else {
        return;
    };
    let mut levels = HostLevels::default();
    levels.parse_level("swap", "8388608").unwrap().unwrap();
    let Ok(changes) = levels.plan(&host) else {
        eprintln!("skipped: no swap file can be made here");
        return;
    };
    let before = swap_areas_in_use().unwrap();
    let mut journal = crate::changes::Journal::open(&host).unwrap();
    if let Err(error) = make_changes(&mut journal, &changes, &NoUserVerbs) {
        eprintln!("skipped: {}", error.cause);
        return;
    }
    let elsewhere = bench.host.path("/elsewhere");
    fs::rename(host.state(), &elsewhere).unwrap();
    let restored = restore_host(&mut journal, &NoUserVerbs);
    assert!(restored.is_complete(), "{restored:?}");
    assert_eq!(swap_areas_in_use().unwrap(), before);
    let left = fs::read_dir(&elsewhere).unwrap().flatten();
    let names: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().starts_with("swap-")),
        "{names:?}"
    );
}

fn use_swap_file(host: &Host) {
    let _turn = wait_for_machine();
    let before = swap_areas_in_use().unwrap();
    let mut levels = HostLevels::default();
    levels.parse_level("swap", "8388608").unwrap().unwrap();
    let changes = match levels.plan(host) {
        Ok(changes) => changes,
        Err(error) => {
            eprintln!("skipped: {}", error.cause);
            return;
        }
    };
    let Some(Change::SwapFile { path, .. }) = changes.last().map(|last| last.change.clone()) else {
        panic!("{changes:?}");
    };
    let mut journal = crate::changes::Journal::open(host).unwrap();
    if let Err(error) = make_changes(&mut journal, &changes, &NoUserVerbs) {
        // Containers forbid it.
        assert!(error.cause.contains("Operation not permitted"), "{error:?}");
        eprintln!("skipped: {}", error.cause);
        return;
    }
    let read = levels.read_back(host);
    let mode = fs::metadata(&path)
        .map(|data| std::os::unix::fs::PermissionsExt::mode(&data.permissions()));
    let restored = restore_host(&mut journal, &NoUserVerbs);
    assert_eq!(read[0].observed.as_deref(), Some("8388608"), "{read:?}");
    assert_eq!(mode.unwrap() & 0o777, 0o600);
    assert!(restored.is_complete(), "{restored:?}");
    assert!(!path.exists());
    assert_eq!(swap_areas_in_use().unwrap(), before);
}
