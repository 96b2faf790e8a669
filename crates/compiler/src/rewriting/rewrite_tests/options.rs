//! Seeds for symbols, and options that are added.

use std::ffi::OsString;

use crate::program::ProgramKind;
use crate::rewriting::rewrite::{Rewritten, Wanted};
use crate::rewriting::rewrite_tests::{assert_unchanged, line_of, rewrite};

fn seeded(line: &str, seed: u64) -> Rewritten {
    let wanted = Wanted {
        symbol_seed: Some(seed),
        ..Wanted::default()
    };
    rewrite(ProgramKind::Driver, line, wanted)
}

fn seed_of(line: &str, seed: u64) -> String {
    let rewritten = line_of(&seeded(line, seed));
    let (before, value) = rewritten.rsplit_once(" -frandom-seed=0x").unwrap();
    assert!(!before.contains("-frandom-seed"), "{rewritten}");
    value.to_owned()
}

fn flagged(line: &str, flags: &[&str]) -> Rewritten {
    let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
    let wanted = Wanted {
        optimization: Some("-O1"),
        flags: &flags,
        ..Wanted::default()
    };
    rewrite(ProgramKind::Driver, line, wanted)
}

#[test]
fn compilations_get_a_seed_of_their_own() {
    let mut values: Vec<String> = ["-c a.c", "-c b.c", "-c a.c -o b.o", "-S a.c -o a.s"]
        .iter()
        .flat_map(|line| [seed_of(line, 1), seed_of(line, 2)])
        .collect();
    values.sort();
    values.dedup();
    assert_eq!(values.len(), 8);
    assert!(seeded("-c a.c", 1).facts.seeded);
}

#[test]
fn a_seed_does_not_depend_on_the_folder_of_the_trial_or_on_other_options() {
    let value = seed_of("-c src/a.c -o a.o", 1);
    assert_eq!(seed_of("-frandom-seed=7 -g -c src/a.c -oa.o", 1), value);
    assert_eq!(
        seed_of("-c /trial1/src/a.c -o /trial1/a.o", 1),
        seed_of("-c /trial2/src/a.c -o /trial2/a.o", 1)
    );
}

#[test]
fn calls_that_generate_no_code_from_sources_get_no_seed() {
    let line = |line: &str| line_of(&seeded(line, 1));
    assert_unchanged(
        line,
        &["-E a.c", "a.o -o x", "-c a.s", "--version", "-M a.c"],
    );
    assert!(!seeded("a.o -o x", 1).facts.seeded);
    assert!(
        !rewrite(
            ProgramKind::Driver,
            "-frandom-seed=1 -c a.c",
            Wanted::default()
        )
        .facts
        .seeded
    );
}

#[test]
fn options_are_added_behind_those_of_the_build() {
    let line = |line: &str| line_of(&flagged(line, &["-flto", "-fno-inline"]));
    assert_eq!(
        line("-finline -c a.c"),
        "-finline -c a.c -O1 -flto -fno-inline"
    );
    assert_eq!(line("a.o -o x -lm"), "a.o -o x -lm -O1 -flto -fno-inline");
    assert_eq!(line("-c -- a.c"), "-c -O1 -flto -fno-inline -- a.c");
    assert_eq!(line("-E a.c"), "-E a.c -O1 -flto -fno-inline");
    assert_eq!(line("a.s -o x"), "a.s -o x -flto -fno-inline");
    assert_unchanged(line, &["-c a.s", "--version", "-v"]);
}

#[test]
fn only_compilations_that_carry_the_options_count() {
    assert!(flagged("-c a.c", &["-g"]).facts.flagged);
    assert!(!flagged("a.o -o x", &["-g"]).facts.flagged);
    assert!(!flagged("-c a.c", &[]).facts.flagged);
}

#[test]
fn a_call_made_by_another_wrapped_program_keeps_what_it_was_given_once() {
    let flags = ["-I".into(), "x".into()];
    let wanted = Wanted {
        symbol_seed: Some(1),
        flags: &flags,
        ..Wanted::default()
    };
    let outer = rewrite(ProgramKind::Driver, "-c a.c", wanted);
    let nested = Wanted {
        nested: true,
        ..wanted
    };
    let inner = rewrite(ProgramKind::Driver, &line_of(&outer), nested);
    assert_eq!(inner.arguments, outer.arguments);
    assert!(!inner.facts.seeded && !inner.facts.flagged);
    let renamed = line_of(&outer).replace("a.c", "/tmp/by_chance.i");
    assert_eq!(
        line_of(&rewrite(ProgramKind::Driver, &renamed, nested)),
        renamed
    );
}
