//! The same with settings of the kernel that runs these tests; one at a time, since all share it.

use std::fs;

use super::Bench;
use crate::changes::{Change, NoUserVerbs, make_changes, restore_host, swap_areas_in_use};
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
