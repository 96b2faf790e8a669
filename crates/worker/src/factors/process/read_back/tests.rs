//! What a witness shows, judged.

use super::*;

fn witness() -> Witness {
    crate::process::observe_self().unwrap()
}

fn at(stack: u64, mapping: u64, randomization_off: bool) -> Witness {
    Witness {
        stack,
        mapping,
        randomization_off,
        ..witness()
    }
}

#[test]
fn equal_addresses_alone_do_not_prove_that_randomisation_is_off() {
    let still = at(1, 1, false);
    assert_eq!(judge_randomization(&still, &still, true).0, None);
    assert_eq!(
        judge_randomization(&still, &still, false).0.as_deref(),
        Some("off")
    );
}

#[test]
fn moving_addresses_show_randomisation_even_where_it_was_asked_to_be_off() {
    let (first, second) = (at(1, 1, true), at(2, 2, true));
    assert_eq!(
        judge_randomization(&first, &second, true).0.as_deref(),
        Some("on")
    );
}

fn observed(name: &str, level: &str, conditions: &RunConditions, seen: &Witness) -> Option<String> {
    let mut levels = ProcessLevels::default();
    levels.parse_level(name, level).unwrap().unwrap();
    let facts = read_witness(&levels, conditions, seen);
    assert_eq!((facts.len(), facts[0].asked.as_str()), (1, level));
    facts[0].observed.clone()
}

#[test]
fn a_limit_is_named_as_asked_only_when_it_is_the_same() {
    let seen = Witness {
        stack_limit: (8 << 20, u64::MAX),
        heap_limit: u64::MAX,
        ..witness()
    };
    let none = RunConditions::default();
    for (name, level, expected) in [
        ("stack_limit", "default", "default"),
        ("stack_limit", "8388608", "8388608"),
        ("stack_limit", "unlimited", "8388608"),
        ("heap_limit", "unlimited", "unlimited"),
        ("heap_limit", "1048576", "unlimited"),
    ] {
        assert_eq!(
            observed(name, level, &none, &seen).as_deref(),
            Some(expected),
            "{name} {level}"
        );
    }
}

#[test]
fn processors_are_named_as_asked_only_when_they_are_the_same() {
    let mut conditions = RunConditions::default();
    conditions.settings.processors = Some([1, 2].into_iter().collect());
    let on = |words: &[u64]| Witness {
        processors: words.to_vec(),
        ..witness()
    };
    let read = |level: &str, words: &[u64]| observed("cpu_set", level, &conditions, &on(words));
    assert_eq!(read("2,1", &[6, 0]).as_deref(), Some("2,1"));
    assert_eq!(read("all", &[6]).as_deref(), Some("all"));
    assert_eq!(read("2,1", &[7]).as_deref(), Some("0-2"));
}

#[test]
fn policy_and_niceness_are_those_of_the_witness() {
    let seen = Witness {
        policy: libc::SCHED_BATCH,
        niceness: -3,
        ..witness()
    };
    let none = RunConditions::default();
    let read = |name: &str, level: &str| observed(name, level, &none, &seen);
    assert_eq!(read("scheduler_policy", "fifo").as_deref(), Some("batch"));
    assert_eq!(read("niceness", "0").as_deref(), Some("-3"));
}

#[test]
fn a_numa_policy_on_other_nodes_is_another() {
    let mut conditions = RunConditions::default();
    conditions.settings.memory_policy = Some(datamill_probe::MemoryPolicy::Interleave(
        [0, 1].into_iter().collect(),
    ));
    let read = |mode, nodes: &[u64]| {
        let seen = Witness {
            memory_policy: mode,
            memory_nodes: nodes.to_vec(),
            ..witness()
        };
        observed("numa_policy", "interleave", &conditions, &seen)
    };
    let interleave = Some(libc::MPOL_INTERLEAVE);
    assert_eq!(read(interleave, &[3, 0]).as_deref(), Some("interleave"));
    assert_eq!(read(interleave, &[1]).as_deref(), Some("interleave:0"));
    assert_eq!(read(None, &[]), None);
}

#[test]
fn variables_that_contradict_each_other_show_no_level() {
    let with = |variables: &[(&str, &str)]| Witness {
        variables: variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..witness()
    };
    let both = with(&[("USER", "abc"), ("LOGNAME", "abc")]);
    let one = with(&[("USER", "abc"), ("LOGNAME", "ab")]);
    assert_eq!(judge_user_name(&both).0.as_deref(), Some("3"));
    assert_eq!(judge_user_name(&one).0, None);
    let same = with(&[("LANG", "C"), ("LC_ALL", "C")]);
    assert_eq!(judge_locale("C", "here", &same).0.as_deref(), Some("C"));
    let half = with(&[("LANG", "C")]);
    assert_eq!(judge_locale("C", "here", &half).0, None);
}
