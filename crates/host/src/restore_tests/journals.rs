//! Journals after a power cut, a reboot, or with damage; and two who want one.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::{Bench, FileVerbs, planned, user_change};
use crate::changes::{
    Change, Journal, JournalError, NoUserVerbs, abandoned_states, foresee_restore, make_changes,
    restore_host,
};
use crate::state::Host;

const SETTINGS: [(&str, &str); 2] = [("/sys/a", "1"), ("/sys/b", "1")];

/// A host that a dead worker left with both settings changed.
fn changed() -> Bench {
    let bench = Bench::new(&SETTINGS);
    let changes = bench.plan(&[("/sys/a", "0"), ("/sys/b", "0")]);
    make_changes(&mut bench.open(), &changes, &NoUserVerbs).unwrap();
    assert_eq!(bench.read("/sys/a"), "0");
    bench
}

#[test]
fn changes_are_undone_in_reverse_order_and_told() {
    let bench = changed();
    let restored = restore_host(&mut bench.open(), &NoUserVerbs);
    assert_eq!(restored.undone.len(), 2);
    assert!(restored.undone[0].contains("/sys/b") && restored.undone[0].contains("`1` again"));
    assert_eq!(
        (bench.read("/sys/a"), bench.read("/sys/b")),
        ("1".into(), "1".into())
    );
    assert!(Journal::is_empty(&bench.host));
}

#[test]
fn a_torn_last_line_loses_no_other() {
    let bench = changed();
    let mut file = OpenOptions::new()
        .append(true)
        .open(bench.journal_path())
        .unwrap();
    file.write_all(b"{\"line\":\"change\",\"id\":3,\"boot")
        .unwrap();
    let restored = restore_host(&mut bench.open(), &NoUserVerbs);
    assert!(restored.is_complete(), "{restored:?}");
    assert_eq!((restored.undone.len(), restored.forgotten.len()), (2, 1));
    assert!(restored.forgotten[0].contains("unfinished"));
    assert!(Journal::is_empty(&bench.host));
}

#[test]
fn a_damaged_line_is_told_and_kept_and_loses_no_other() {
    let bench = changed();
    let text = fs::read_to_string(bench.journal_path()).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    fs::write(bench.journal_path(), format!("{}\n{rest}", &first[..40])).unwrap();
    for _ in 0..2 {
        let restored = restore_host(&mut bench.open(), &NoUserVerbs);
        assert!(!restored.is_complete());
        assert_eq!(restored.damaged.len(), 1, "{restored:?}");
        assert!(restored.damaged[0].contains("cannot be understood"));
    }
    assert_eq!(
        (bench.read("/sys/a"), bench.read("/sys/b")),
        ("0".into(), "1".into())
    );
    bench.open().forget().unwrap();
    assert!(Journal::is_empty(&bench.host));
}

#[test]
fn after_a_reboot_settings_are_left_alone_and_files_are_removed() {
    let bench = changed();
    let path = bench.host.path("/swap-file");
    let file = planned(
        "swap",
        "65536",
        Change::SwapFile {
            path: path.clone(),
            bytes: 65536,
        },
    );
    bench.open().record(&[file]).unwrap();
    fs::write(&path, "left over").unwrap();
    bench.boot("second");
    // What the administrator chose since.
    bench.write("/sys/a", "7");
    let restored = restore_host(&mut bench.open(), &NoUserVerbs);
    assert!(restored.is_complete(), "{restored:?}");
    assert_eq!((restored.undone.len(), restored.forgotten.len()), (0, 3));
    assert_eq!(bench.read("/sys/a"), "7");
    assert!(!path.exists());
}

#[test]
fn a_change_whose_boot_is_unknown_is_undone() {
    for (then, now) in [("", "first"), ("first", "")] {
        let bench = Bench::new(&SETTINGS);
        bench.boot(then);
        let changes = bench.plan(&[("/sys/a", "0")]);
        make_changes(&mut bench.open(), &changes, &NoUserVerbs).unwrap();
        bench.boot(now);
        let restored = restore_host(&mut bench.open(), &NoUserVerbs);
        assert_eq!(restored.undone.len(), 1, "{restored:?}");
        assert_eq!(bench.read("/sys/a"), "1");
    }
}

#[test]
fn what_a_dead_worker_with_another_state_folder_changed_is_known() {
    let bench = Bench::new(&SETTINGS);
    fs::create_dir_all(bench.host.path("/run")).unwrap();
    let changes = bench.plan(&[("/sys/a", "0")]);
    make_changes(&mut bench.open(), &changes, &NoUserVerbs).unwrap();
    let other = bench.host.with_state(&bench.folder.join("other"));
    assert!(abandoned_states(&bench.host).is_empty());
    for _ in 0..2 {
        assert_eq!(abandoned_states(&other), [bench.host.state()]);
        // A worker that takes its turn with a journal of its own forgets the first one no more than it does.
        drop(Journal::open(&other).unwrap());
    }
    let restored = restore_host(&mut bench.open(), &NoUserVerbs);
    assert_eq!(restored.undone.len(), 1);
    assert!(abandoned_states(&other).is_empty());
}

#[test]
fn what_somebody_else_set_meanwhile_is_told_when_it_is_undone() {
    let bench = changed();
    bench.write("/sys/a", "7");
    let restored = restore_host(&mut bench.open(), &NoUserVerbs);
    assert_eq!(bench.read("/sys/a"), "1");
    assert_eq!((restored.undone.len(), restored.overruled.len()), (2, 1));
    assert!(restored.overruled[0].contains("`7`"), "{restored:?}");
}

#[test]
fn a_journal_that_others_may_write_is_not_obeyed() {
    for name in ["journal", ""] {
        let bench = changed();
        let path = bench.host.state().join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = Journal::open(&bench.host).err().unwrap().to_string();
        assert!(refused.contains("other users may write"), "{refused}");
        assert_eq!(bench.read("/sys/a"), "0");
    }
}

#[test]
fn a_journal_of_another_user_is_not_obeyed() {
    // SAFETY: no pointers involved.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: only root can give files away");
        return;
    }
    for name in ["journal", ""] {
        let bench = changed();
        let path = bench.host.state().join(name);
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        let refused = Journal::open(&bench.host).err().unwrap().to_string();
        assert!(refused.contains("belongs to user 65534"), "{refused}");
        assert_eq!(bench.read("/sys/a"), "0");
    }
}

#[test]
fn what_cannot_be_undone_stays_in_the_journal_and_is_told() {
    let bench = changed();
    fs::remove_file(bench.host.path("/sys/a")).unwrap();
    for _ in 0..2 {
        let restored = restore_host(&mut bench.open(), &NoUserVerbs);
        assert_eq!(restored.left.len(), 1, "{restored:?}");
        assert!(restored.left[0].contains("/sys/a"));
        assert_eq!(bench.read("/sys/b"), "1");
    }
    bench.write("/sys/a", "0");
    let restored = restore_host(&mut bench.open(), &NoUserVerbs);
    assert_eq!((restored.undone.len(), restored.left.len()), (1, 0));
    assert_eq!(bench.read("/sys/a"), "1");
}

#[test]
fn a_setting_that_does_not_keep_what_is_written_is_told() {
    let bench = Bench::new(&[]);
    let path = bench.host.path("/sys/deaf");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    let change = Change::Setting {
        path,
        before: "1".into(),
        after: "0".into(),
    };
    let mut journal = bench.open();
    make_changes(&mut journal, &[planned("deaf", "0", change)], &NoUserVerbs).unwrap();
    let restored = restore_host(&mut journal, &NoUserVerbs);
    assert!(
        restored.left[0].contains("reads `` after `1` was written"),
        "{restored:?}"
    );
}

#[test]
fn when_one_of_several_changes_fails_all_are_undone() {
    let bench = Bench::new(&SETTINGS);
    let before = bench.snapshot();
    let changes = bench.plan(&[("/sys/a", "0"), ("/sys/b", "0")]);
    fs::remove_file(bench.host.path("/sys/b")).unwrap();
    fs::create_dir(bench.host.path("/sys/b")).unwrap();
    let error = make_changes(&mut bench.open(), &changes, &NoUserVerbs).unwrap_err();
    assert_eq!(
        (error.factor.as_str(), error.level.as_str()),
        ("/sys/b", "0")
    );
    assert!(error.cause.contains("/sys/b"), "{}", error.cause);
    assert_eq!(bench.read("/sys/a"), "1");
    // The one that failed cannot even be read: that is told as well.
    assert_eq!(error.restored.left.len(), 1);
    fs::remove_dir(bench.host.path("/sys/b")).unwrap();
    bench.write("/sys/b", "1");
    assert!(restore_host(&mut bench.open(), &NoUserVerbs).is_complete());
    assert_eq!(bench.snapshot(), before);
}

#[test]
fn nothing_is_changed_when_the_journal_cannot_be_written() {
    let bench = Bench::new(&SETTINGS);
    let mut journal = bench.open();
    journal.replace_file(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let changes = bench.plan(&[("/sys/a", "0")]);
    let error = make_changes(&mut journal, &changes, &NoUserVerbs).unwrap_err();
    assert!(
        error.factor.is_empty() && error.cause.contains("journal"),
        "{error:?}"
    );
    assert_eq!(bench.read("/sys/a"), "1");
}

#[test]
fn a_second_process_is_refused_at_once_and_told_who_holds_the_journal() {
    let bench = Bench::new(&[]);
    let _held = bench.open();
    // SAFETY: the child looks at one file and ends by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let parent = std::os::unix::process::parent_id() as libc::pid_t;
        let refused = matches!(Journal::open(&bench.host),
            Err(JournalError::Held { pid: Some(pid) }) if pid == parent);
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(!refused)) };
    }
    let mut status = 0;
    // SAFETY: a valid pointer; the child is ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
}

#[test]
fn a_process_with_another_state_folder_is_refused_as_well() {
    let bench = Bench::new(&[("/run/utmp", "")]);
    let _held = bench.open();
    let other = Host::at(
        &bench.folder.join("root"),
        &bench.folder.join("other-state"),
    );
    // SAFETY: the child looks at one file and ends by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = matches!(Journal::open(&other), Err(JournalError::Held { .. }));
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(!refused)) };
    }
    let mut status = 0;
    // SAFETY: a valid pointer; the child is ours.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
}

#[test]
fn nobody_restores_before_what_a_dead_worker_had_started_is_gone() {
    let bench = Bench::new(&[]);
    let journal = bench.open();
    let pause = Duration::from_millis(200);
    let began = Instant::now();
    // SAFETY: the child sleeps and ends by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        std::thread::sleep(pause);
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    // As at the worker's death: its own lock is gone, that of the child is not.
    drop(journal);
    let reopened = Journal::open(&bench.host);
    assert!(reopened.is_ok() && began.elapsed() >= pause);
    // SAFETY: a child of ours.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}

#[test]
fn a_restoration_is_foreseen_without_changing_anything() {
    let bench = changed();
    let content = Journal::peek(&bench.host).unwrap();
    let foreseen = foresee_restore(&content, "first");
    assert_eq!(foreseen.len(), 2);
    assert!(
        foreseen[0].contains("/sys/b from `1` to `0`"),
        "{foreseen:?}"
    );
    assert!(foresee_restore(&content, "second")[0].contains("before the last reboot"));
    assert_eq!(bench.read("/sys/a"), "0");
}

#[test]
fn the_journal_and_its_lock_are_for_their_owner_alone() {
    let bench = Bench::new(&[("/user/level", "red")]);
    let changes = [user_change(&bench, "green")];
    make_changes(&mut bench.open(), &changes, &FileVerbs::default()).unwrap();
    for name in ["journal", "journal.lock"] {
        let mode = fs::metadata(bench.host.state().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
}

#[test]
fn a_process_that_restores_is_waited_for() {
    let bench = Bench::new(&[]);
    let (reader, writer) = std::io::pipe().unwrap();
    // SAFETY: the child opens one file, sleeps and ends by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let held = bench.open();
        drop(writer);
        std::thread::sleep(Duration::from_millis(200));
        drop(held);
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    drop(writer);
    // Ends when the child holds the journal.
    std::io::read_to_string(reader).unwrap();
    let refused = Journal::open(&bench.host).err();
    assert!(matches!(refused, Some(JournalError::Held { .. })));
    assert!(Journal::open_patiently(&bench.host).is_ok());
    // SAFETY: a child of ours.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}
