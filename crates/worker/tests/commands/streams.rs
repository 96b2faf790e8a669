//! What commands read and write.

use std::fs;
use std::process::Stdio;

use datamill_protocol::CommandOutput;
use datamill_protocol::digest::hash_bytes;

use crate::session::Session;

#[test]
fn a_command_reads_its_input_from_a_file_each_time_or_nothing() {
    let mut session = Session::begin();
    let mut request = session.shell("cat >&2; echo end >&2");
    assert_eq!(session.complete(&request).1.stderr_tail, "end\n");
    request.input = Some(session.write("input", "from a file\n"));
    for _ in 0..2 {
        let (_, answer) = session.complete(&request);
        assert_eq!(answer.stderr_tail, "from a file\nend\n");
    }
    request.input = Some("/no/such/input".to_owned());
    let failure = session.answer(&request).failure.unwrap();
    assert!(failure.message.contains("/no/such/input"));
}

#[test]
fn all_bytes_of_captured_output_are_hashed_and_none_kept() {
    let mut session = Session::begin();
    let content: Vec<u8> = (0..3_000_000u32)
        .map(|number| (number * 7 / 3) as u8)
        .collect();
    let path = session.write("content", &content);
    let request = session.request(&["cat", &path]);
    for _ in 0..3 {
        let (facts, answer) = session.complete(&request);
        assert_eq!(facts.stdout_bytes, 3_000_000);
        assert!(!facts.output_truncated);
        let expected = hash_bytes(&content).to_string();
        assert_eq!(answer.stdout_sha256, Some(expected));
    }
    let silent = session.request(&["true"]);
    let (_, answer) = session.complete(&silent);
    assert_eq!(answer.stdout_sha256, Some(hash_bytes(b"").to_string()));
}

#[test]
fn sixty_four_megabytes_of_output_are_read_to_its_end_without_being_kept() {
    let mut session = Session::begin();
    let request = session.shell("head -c 67108864 /dev/zero; echo end");
    let (facts, answer) = session.complete(&request);
    assert_eq!(
        (facts.exit_code, facts.stdout_bytes),
        (Some(0), (1 << 26) + 4)
    );
    assert_eq!(answer.stdout_sha256.unwrap().len(), 64);
}

#[test]
fn output_that_goes_nowhere_is_not_read_and_errors_are() {
    let mut session = Session::begin();
    let mut request = session.shell("[ /dev/stdout -ef /dev/null ] && echo out && echo err >&2");
    request.output = CommandOutput::Null;
    let (facts, answer) = session.complete(&request);
    assert_eq!((facts.exit_code, facts.stdout_bytes), (Some(0), 0));
    assert_eq!(
        (answer.stdout_sha256, &*answer.stderr_tail),
        (None, "err\n")
    );
}

#[test]
fn output_that_goes_to_a_file_replaces_what_was_in_it() {
    let mut session = Session::begin();
    let path = session.write("output", "much longer than what comes");
    let mut request = session.shell("echo out; echo err >&2");
    request.output = CommandOutput::File;
    request.output_file = Some(path.clone());
    let (facts, answer) = session.complete(&request);
    assert_eq!(fs::read_to_string(&path).unwrap(), "out\n");
    assert_eq!((facts.stdout_bytes, answer.stdout_sha256), (0, None));
    assert_eq!(answer.stderr_tail, "err\n");
    request.output_file = Some("/no/such/folder/file".to_owned());
    let failure = session.answer(&request).failure.unwrap();
    assert!(failure.message.contains("/no/such/folder/file"));
}

#[test]
fn inherited_output_goes_where_the_errors_of_the_worker_go() {
    let place = std::env::temp_dir().join(format!("datamill-inherit-{}", std::process::id()));
    let errors = fs::File::create(&place).unwrap();
    let mut session = Session::begin_with(|command| {
        command.stderr(Stdio::from(errors));
    });
    let mut request = session.shell("echo out; echo err >&2");
    request.output = CommandOutput::Inherit;
    let (facts, answer) = session.complete(&request);
    assert_eq!((facts.stdout_bytes, facts.stderr_bytes), (0, 0));
    assert_eq!((answer.stdout_sha256, &*answer.stderr_tail), (None, ""));
    assert_eq!(fs::read_to_string(&place).unwrap(), "out\nerr\n");
    fs::remove_file(place).unwrap();
}

#[test]
fn of_many_errors_the_last_are_shown() {
    let mut session = Session::begin();
    let request = session.shell("seq 5000 >&2; printf '\\377' >&2");
    let (facts, answer) = session.complete(&request);
    assert!(facts.stderr_bytes > 20_000);
    assert!(answer.stderr_tail.ends_with("4999\n5000\n\u{fffd}"));
    assert!(answer.stderr_tail.len() <= 2050);
}
