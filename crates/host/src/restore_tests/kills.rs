//! SIGKILL after every step that the system can see.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::{Bench, FileVerbs, planned, user_change};
use crate::changes::{Change, Journal, die_at_step, make_changes, restore_host};

const SETTINGS: [(&str, &str); 4] = [
    ("/proc/sys/kernel/a", "1"),
    ("/sys/b", "always [madvise] never"),
    ("/sys/c", "a longer text than the new one"),
    ("/user/level", "red"),
];

/// One trial's changes and their undoing: two levels of one file, several files, a swap file that
/// cannot come into use, a factor of the experiment.
fn trial(bench: &Bench, with_swap_file: bool) {
    let mut journal = bench.open();
    let verbs = FileVerbs::default();
    let mut changes = bench.plan(&[
        ("/proc/sys/kernel/a", "0"),
        ("/sys/b", "never"),
        ("/sys/c", "short"),
    ]);
    changes.push(user_change(bench, "green"));
    let path = bench.host.path("/sys/c");
    changes.push(planned(
        "c",
        "again",
        Change::Setting {
            path,
            before: "short".to_owned(),
            after: "third".to_owned(),
        },
    ));
    if with_swap_file {
        let path = bench.host.path("/swap");
        // Less than a page: the kernel refuses it, as it does where swapping is impossible.
        let bytes = 4096;
        changes.push(planned("swap", "4096", Change::SwapFile { path, bytes }));
    }
    let made = make_changes(&mut journal, &changes, &verbs);
    assert_eq!(made.is_err(), with_swap_file);
    restore_host(&mut journal, &verbs);
}

/// Forks a child that dies at a step; returns whether it came that far.
pub(super) fn dies_at(step: u64, act: impl FnOnce()) -> bool {
    // SAFETY: the child has this thread alone; it touches files, prints nothing and ends by _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        die_at_step(step);
        act();
        // SAFETY: ends the child without what the parent would do at its end.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: a valid pointer; the child is ours.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WIFSIGNALED(status) {
        assert_eq!(libc::WTERMSIG(status), libc::SIGKILL);
        return true;
    }
    assert_eq!(libc::WEXITSTATUS(status), 0);
    false
}

fn assert_same(bench: &Bench, before: &BTreeMap<PathBuf, Vec<u8>>, step: u64) {
    let choices = bench.host.path("/sys/b");
    let mut now = bench.snapshot();
    // The kernel would mark the choice in its list; a plain file holds what was written.
    if now[&choices] == b"madvise" {
        now.insert(choices.clone(), before[&choices].clone());
    }
    assert_eq!(&now, before, "killed at step {step}");
}

fn restore_after(bench: &Bench, before: &BTreeMap<PathBuf, Vec<u8>>, step: u64) {
    let mut journal = bench.open();
    let restored = restore_host(&mut journal, &FileVerbs::default());
    assert!(restored.is_complete(), "step {step}: {restored:?}");
    drop(journal);
    assert_same(bench, before, step);
    assert!(Journal::is_empty(&bench.host));
}

#[test]
fn a_worker_killed_at_any_step_leaves_what_restore_undoes() {
    for with_swap_file in [false, true] {
        let mut steps = 0;
        for step in 1.. {
            let bench = Bench::new(&SETTINGS);
            let before = bench.snapshot();
            if !dies_at(step, || trial(&bench, with_swap_file)) {
                assert_same(&bench, &before, step);
                break;
            }
            restore_after(&bench, &before, step);
            steps = step;
        }
        // Journal twice, two for each setting, the factor, and all of it back: not a test of nothing.
        assert!(steps >= 20, "{steps}");
    }
}

#[test]
fn a_restoration_killed_at_any_step_is_completed_by_the_next_one() {
    for step in 1.. {
        let bench = Bench::new(&SETTINGS);
        let before = bench.snapshot();
        // All changes are made, none is undone.
        let made = 2 + 2 * 4 + 1;
        assert!(dies_at(made, || trial(&bench, false)));
        let interrupted = dies_at(step, || {
            let mut journal = bench.open();
            restore_host(&mut journal, &FileVerbs::default());
        });
        restore_after(&bench, &before, step);
        if !interrupted {
            assert!(step > 10, "{step}");
            break;
        }
    }
}

#[test]
fn a_killed_restoration_of_what_is_stuck_keeps_it_in_the_journal() {
    let broken = || FileVerbs::broken(&["restore"]);
    for step in 1.. {
        let bench = Bench::new(&SETTINGS);
        assert!(dies_at(11, || trial(&bench, false)));
        let interrupted = dies_at(step, || {
            let mut journal = bench.open();
            restore_host(&mut journal, &broken());
        });
        let restored = restore_host(&mut bench.open(), &broken());
        assert_eq!(restored.left.len(), 1, "step {step}: {restored:?}");
        assert_eq!(
            fs::read(bench.host.path("/proc/sys/kernel/a")).unwrap(),
            b"1"
        );
        let restored = restore_host(&mut bench.open(), &FileVerbs::default());
        assert!(restored.is_complete(), "step {step}: {restored:?}");
        assert_eq!(bench.read("/user/level"), "red");
        if !interrupted {
            break;
        }
    }
}
