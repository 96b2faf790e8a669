//! Factors of an experiment: half-way failures, and those that do not restore.

use super::{Bench, FileVerbs, user_change};
use crate::changes::{Journal, make_changes, restore_host};

fn bench() -> Bench {
    Bench::new(&[("/user/level", "red"), ("/sys/a", "1")])
}

#[test]
fn a_set_that_fails_half_way_is_followed_by_restore() {
    let bench = bench();
    let mut changes = bench.plan(&[("/sys/a", "0")]);
    changes.push(user_change(&bench, "green"));
    let verbs = FileVerbs::broken(&["set"]);
    let error = make_changes(&mut bench.open(), &changes, &verbs).unwrap_err();
    assert_eq!(error.cause, "its `set` exited with status 1");
    assert!(error.restored.is_complete());
    assert_eq!(
        *verbs.calls.borrow(),
        ["set green", "restore red", "verify "]
    );
    assert_eq!(
        (bench.read("/user/level"), bench.read("/sys/a")),
        ("red".into(), "1".into())
    );
    assert!(Journal::is_empty(&bench.host));
}

#[test]
fn a_restore_that_does_nothing_is_found_out_by_verify() {
    let bench = bench();
    let mut journal = bench.open();
    let verbs = FileVerbs::broken(&["quiet restore"]);
    make_changes(&mut journal, &[user_change(&bench, "green")], &verbs).unwrap();
    let restored = restore_host(&mut journal, &verbs);
    assert_eq!(restored.left.len(), 1);
    assert!(
        restored.left[0].contains("tells `green` and not `red`"),
        "{restored:?}"
    );
    assert!(!Journal::is_empty(&bench.host));
}

#[test]
fn a_reboot_undoes_a_factor_of_an_experiment_too() {
    let bench = bench();
    make_changes(
        &mut bench.open(),
        &[user_change(&bench, "green")],
        &FileVerbs::default(),
    )
    .unwrap();
    bench.boot("second");
    let verbs = FileVerbs::default();
    let restored = restore_host(&mut bench.open(), &verbs);
    assert!(restored.is_complete() && restored.forgotten.len() == 1);
    assert!(verbs.calls.borrow().is_empty());
}
