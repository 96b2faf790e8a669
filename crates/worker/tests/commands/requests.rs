//! What is asked, and how the session goes on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use datamill_protocol::{FailureKind, IsolationKind, Phase, SCHEMA_VERSION};

use crate::session::Session;

#[test]
fn the_greeting_tells_who_measures_and_that_nothing_is_kept_apart() {
    let mut session = Session::begin();
    let greeting = session.greeting.clone();
    assert_eq!(greeting.schema, SCHEMA_VERSION);
    assert_eq!(greeting.isolation.kind, IsolationKind::Plain);
    assert!(greeting.isolation.reason.contains("as the user who asked"));
    assert!(greeting.host.cores > 0 && !greeting.worker.id.is_empty());
    assert_eq!(session.end().code(), Some(0));
}

#[test]
fn a_bad_line_is_answered_and_does_not_end_the_session() {
    let mut session = Session::begin();
    for line in ["nonsense", "", "{}", r#"{"schema":5,"surprise":1}"#] {
        session.send(line);
        let answer = session.receive();
        let failure = answer.failure.unwrap();
        assert_eq!(
            (failure.phase, failure.kind),
            (Phase::Run, FailureKind::Internal)
        );
        assert!(failure.message.contains("not one"), "{}", failure.message);
        assert_eq!((answer.run, answer.disturbance), (None, None));
    }
    let request = session.request(&["true"]);
    assert_eq!(session.complete(&request).0.exit_code, Some(0));
}

#[test]
fn a_request_that_contradicts_itself_is_refused_with_the_field() {
    let mut session = Session::begin();
    let good = session.request(&["true"]);
    let mut bad = vec![good.clone(); 8];
    bad[0].schema = 3;
    bad[1].command.clear();
    bad[2].directory = "here".to_owned();
    bad[3].variables = [("A=B".to_owned(), String::new())].into();
    bad[4].input = Some("file".to_owned());
    bad[5].output_file = Some("/tmp/unwanted".to_owned());
    bad[6].timeout_s = -1.0;
    bad[7].levels = [("governor".to_owned(), "performance".to_owned())].into();
    let named = [
        "version",
        "command",
        "directory",
        "A=B",
        "input",
        "output_file",
        "timeout_s",
        "governor",
    ];
    for (request, field) in bad.iter().zip(named) {
        let failure = session.answer(request).failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Internal);
        assert!(failure.message.contains(field), "{}", failure.message);
    }
}

#[test]
fn a_missing_program_is_named_with_the_path_that_was_searched() {
    let mut session = Session::begin();
    let mut request = session.request(&["no-such-program", "-9"]);
    request.variables = [("PATH".to_owned(), "/bin:/none".to_owned())].into();
    let answer = session.answer(&request);
    let failure = answer.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::BadPackage);
    assert!(failure.message.contains("no-such-program"));
    assert!(failure.message.contains("PATH (/bin:/none)"));
    assert_eq!(answer.run, None);
}

#[test]
fn what_is_no_program_is_told_from_what_is_missing() {
    let mut session = Session::begin();
    session.write("text", "no program\n");
    session.write("lost", "#!/no/such/interpreter\n");
    for (name, mode, told) in [
        ("text", 0o755, "no `#!` line"),
        ("text", 0o644, "permission denied"),
        ("lost", 0o755, "`/no/such/interpreter` does not exist"),
        ("gone", 0o755, "gone does not exist"),
    ] {
        let path = session.path(name);
        if path.exists() {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let request = session.request(&[&format!("./{name}")]);
        let failure = session.answer(&request).failure.unwrap();
        assert!(failure.message.contains(told), "{}", failure.message);
    }
    let mut request = session.request(&["true"]);
    request.directory = "/no/such/folder".to_owned();
    let failure = session.answer(&request).failure.unwrap();
    assert!(failure.message.contains("/no/such/folder"));
}

#[test]
fn a_relative_program_is_found_in_the_folder_and_called_as_it_was_typed() {
    let mut session = Session::begin();
    let path = session.write("mine", "#!/bin/sh\npwd >&2; echo \"$0\" >&2\n");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let request = session.request(&["./mine"]);
    let (facts, answer) = session.complete(&request);
    assert_eq!(facts.exit_code, Some(0));
    let folder = session.path("").canonicalize().unwrap();
    let told = answer.stderr_tail;
    assert!(told.starts_with(&*folder.to_string_lossy()), "{told}");

    let show = session.request(&["sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline >&2"]);
    let (_, answer) = session.complete(&show);
    assert!(
        answer.stderr_tail.starts_with("sh -c "),
        "{}",
        answer.stderr_tail
    );
}

#[test]
fn a_command_gets_the_environment_and_the_file_mode_mask_of_its_user() {
    let mut session = Session::begin_with(|command| {
        command.env("INHERITED", "kept").env("CHANGED", "old");
        // SAFETY: a system call only.
        let mask = || unsafe {
            libc::umask(0o077);
            Ok(())
        };
        // SAFETY: as above.
        unsafe { std::os::unix::process::CommandExt::pre_exec(command, mask) };
    });
    let mut request = session.shell("echo $INHERITED $CHANGED $ADDED $(umask) >&2");
    request.variables = ["CHANGED", "ADDED"]
        .map(|name| (name.to_owned(), "new".to_owned()))
        .into();
    let (_, answer) = session.complete(&request);
    assert_eq!(answer.stderr_tail, "kept new new 0077\n");
}

#[test]
fn two_hundred_executions_are_soon_over() {
    let mut session = Session::begin_with(|command| {
        command.stderr(Stdio::null());
    });
    let request = session.request(&["/bin/true"]);
    let started = Instant::now();
    let mut times: Vec<u64> = (0..200)
        .map(|_| session.complete(&request).0.wall_time_ns)
        .collect();
    times.sort_unstable();
    println!("median of /bin/true: {} ns", times[100]);
    assert!(started.elapsed() < Duration::from_secs(60));
}
