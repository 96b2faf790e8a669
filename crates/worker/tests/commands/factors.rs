//! Levels of the process of a command, and what was seen of them.

use std::collections::BTreeMap;

use datamill_protocol::{CommandAnswer, FailureKind};

use crate::session::Session;

fn levels(asked: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = asked.iter();
    pairs
        .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()))
        .collect()
}

fn observed(answer: &CommandAnswer, name: &str) -> (Option<String>, String) {
    let mut facts = answer.factors.iter();
    let fact = facts.find(|fact| fact.name == name).unwrap();
    (fact.observed.clone(), fact.evidence.clone())
}

#[test]
fn padding_changes_the_environment_of_the_command_by_exactly_that() {
    let mut session = Session::begin();
    let mut request = session.shell("wc -c < /proc/$$/environ >&2");
    let mut size = |level: Option<&str>| -> (u64, CommandAnswer) {
        request.levels = level.map_or_else(BTreeMap::new, |it| levels(&[("env_padding", it)]));
        let (_, answer) = session.complete(&request);
        (answer.stderr_tail.trim().parse().unwrap(), answer)
    };
    let (plain, _) = size(None);
    for bytes in [0, 6, 123, 4096, 10_928] {
        let level = bytes.to_string();
        let (padded, answer) = size(Some(&level));
        assert_eq!(padded - plain, bytes);
        let (seen, evidence) = observed(&answer, "env_padding");
        assert_eq!(seen, Some(level));
        assert!(evidence.contains("handed to execve"), "{evidence}");
    }
}

#[test]
fn other_factors_are_set_and_read_back_from_witnesses_before_the_first_execution() {
    let mut session = Session::begin();
    let mut request = session.shell("cat /proc/self/personality >&2; nice >&2");
    request.levels = levels(&[("aslr", "off"), ("niceness", "19"), ("env_padding", "64")]);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let (_, answer) = session.complete(&request);
        assert_eq!(answer.stderr_tail, "00040000\n19\n");
        answers.push(answer);
    }
    let (seen, evidence) = observed(&answers[0], "niceness");
    assert_eq!(seen.as_deref(), Some("19"));
    assert!(evidence.contains("witness process launched like the command"));
    assert!(
        evidence.contains("before the first execution"),
        "{evidence}"
    );
    assert!(!evidence.contains("run.sh"));
    assert_eq!(observed(&answers[0], "aslr").0.as_deref(), Some("off"));
    assert_eq!(answers[0].factors, answers[1].factors);
    let names: Vec<_> = answers[0].factors.iter().map(|fact| &*fact.name).collect();
    assert_eq!(names, ["aslr", "env_padding", "niceness"]);
}

#[test]
fn a_level_that_is_none_or_not_here_is_refused_and_nothing_is_executed() {
    let mut session = Session::begin();
    let mut request = session.shell("touch executed");
    request.levels = levels(&[("aslr", "maybe")]);
    let failure = session.answer(&request).failure.unwrap();
    assert!(failure.message.contains("on, off"), "{}", failure.message);
    request.levels = levels(&[("cpu_set", "8000")]);
    let answer = session.answer(&request);
    assert_eq!(answer.failure.as_ref().unwrap().kind, FailureKind::Factor);
    assert_eq!(observed(&answer, "cpu_set").0, None);
    request.levels = levels(&[("locale", "C")]);
    request.variables = levels(&[("LANG", "C.UTF-8")]);
    let failure = session.answer(&request).failure.unwrap();
    assert!(failure.message.contains("LANG") && failure.message.contains("locale"));
    assert!(!session.path("executed").exists());
}

#[test]
fn the_peak_memory_after_a_large_command_is_not_inherited() {
    let mut session = Session::begin();
    let small = session.request(&["/bin/true"]);
    let (before, _) = session.complete(&small);
    let large = session.shell("head -c 200000000 /dev/zero | tail -c 200000000 > /dev/null");
    let (facts, _) = session.complete(&large);
    assert!(facts.peak_memory_bytes > 150_000_000);
    let loud = session.shell("head -c 50000000 /dev/zero");
    session.complete(&loud);
    let (after, _) = session.complete(&small);
    let room = 4 << 20;
    assert!(after.peak_memory_bytes < before.peak_memory_bytes + room);
    assert!(after.peak_memory_floor_bytes < before.peak_memory_floor_bytes + room);
}
