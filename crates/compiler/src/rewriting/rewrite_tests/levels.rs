//! The optimisation level of driver calls.

use crate::program::ProgramKind;
use crate::rewriting::link_order::LinkOrder;
use crate::rewriting::rewrite::Wanted;
use crate::rewriting::rewrite_tests::{AT_O3, assert_unchanged, at_o3, line_of, ordered, rewrite};

fn level_of(line: &str, optimization: Option<&str>) -> (Option<String>, bool) {
    let wanted = Wanted {
        optimization,
        ..ordered(LinkOrder::Default)
    };
    let facts = rewrite(ProgramKind::Driver, line, wanted).facts;
    (facts.level, facts.level_changed)
}

#[test]
fn every_spelling_of_a_level_is_replaced_by_the_wanted_one() {
    for level in "-O -O0 -O1 -O2 -O3 -Os -Og -Oz -Ofast -O99 --optimize --optimize=2".split(' ') {
        assert_eq!(at_o3(&format!("{level} -c a.c")), "-c a.c -O3", "{level}");
    }
    assert_eq!(at_o3("-O1 -g -c a.c -Os -o a.o -O"), "-g -c a.c -o a.o -O3");
}

#[test]
fn a_call_without_a_level_gets_the_wanted_one() {
    assert_eq!(at_o3("-c a.c"), "-c a.c -O3");
    assert_eq!(at_o3("a.o b.o -flto -o x"), "a.o b.o -flto -o x -O3");
    assert_eq!(at_o3("-E a.c"), "-E a.c -O3");
    assert_eq!(at_o3("-S a.c"), "-S a.c -O3");
    assert_eq!(at_o3("-x c -"), "-x c - -O3");
}

#[test]
fn values_of_other_options_are_not_levels() {
    for option in "-o -Xlinker -Xassembler -Xpreprocessor -Xclang -include -imacros -MF -MT -MQ \
        -T -D -U -I -L -u -z --param -x -aux-info -isystem -iquote -idirafter -specs \
        -dumpbase -wrapper -mllvm -e -Xarch_x86_64 -l --sysroot -B -target"
        .split(' ')
    {
        let line = format!("-c a.c {option} -O2");
        assert_eq!(at_o3(&line), format!("{line} -O3"));
    }
}

#[test]
fn options_that_merely_look_like_levels_stay() {
    for option in "-Wl,-O1 -ObjC -ObjC++ -Wa,-O2 -oO2 -DO2 -fno-O -o-O2".split(' ') {
        assert_eq!(at_o3(&format!("{option} a.c")), format!("{option} a.c -O3"));
    }
}

#[test]
fn the_level_stands_before_a_terminator() {
    assert_eq!(at_o3("-O1 -c -- -O2 a.c"), "-c -O3 -- -O2 a.c");
    assert_eq!(at_o3("-c -O3 -- a.c"), "-c -O3 -- a.c");
}

#[test]
fn questions_to_the_compiler_pass_unchanged_and_count_as_nothing() {
    let lines = [
        "",
        "-v",
        "--version",
        "-O2 --version",
        "-dumpversion",
        "-dumpmachine",
        "-print-search-dirs",
        "-print-file-name=crt1.o",
        "--print-prog-name=ld",
        "-V",
        "-### -O2 a.c",
        "--help",
        "-Q -O2 --help=optimizers",
        "-O2",
        "-Wl,--version",
        "-cc1 -O2 a.c",
        "a.c -O1 -o",
        "@missing -o",
    ];
    assert_unchanged(at_o3, &lines);
    for line in lines {
        let facts = rewrite(ProgramKind::Driver, line, AT_O3).facts;
        assert_eq!((facts.level, facts.link), (None, None), "{line}");
    }
}

#[test]
fn assembling_alone_passes_unchanged() {
    assert_unchanged(
        at_o3,
        &[
            "-c a.s",
            "-c -O1 a.S -o a.o",
            "-x assembler-with-cpp -c a.c",
        ],
    );
    assert_eq!(level_of("-c a.s", Some("-O3")).0, None);
}

#[test]
fn a_factor_that_is_not_asked_for_leaves_the_level_alone() {
    let wanted = ordered(LinkOrder::Default);
    let line = "-O1 -c a.c -Os";
    assert_eq!(line_of(&rewrite(ProgramKind::Driver, line, wanted)), line);
    assert_eq!(level_of(line, None), (Some("-Os".to_owned()), false));
}

#[test]
fn the_level_that_reaches_the_compiler_is_told() {
    for (line, level) in [
        ("-c a.c", "-O0"),
        ("-O -c a.c", "-O1"),
        ("-O2 -O1 -c a.c", "-O1"),
        ("-O9 -c a.c", "-O3"),
        ("--optimize -c a.c", "-O1"),
        ("--optimize=2 a.c", "-O2"),
        ("-Ofast a.cpp", "-Ofast"),
    ] {
        assert_eq!(level_of(line, None).0.as_deref(), Some(level), "{line}");
    }
    assert_eq!(
        level_of("-O -c a.c", Some("-O1")),
        (Some("-O1".to_owned()), false)
    );
    assert_eq!(
        level_of("-O2 -c a.c", Some("-O1")),
        (Some("-O1".to_owned()), true)
    );
}

#[test]
fn only_calls_that_generate_code_count_as_compilations() {
    for line in [
        "-E a.c",
        "-M a.c",
        "-MM -c a.c",
        "-fsyntax-only a.c",
        "a.o b.o -o x",
        "-c a.o",
    ] {
        assert_eq!(level_of(line, Some("-O3")).0, None, "{line}");
    }
    for line in [
        "-c a.c",
        "-S a.c",
        "a.c b.o",
        "-MD -c a.c",
        "-c -x c -",
        "-xc++ -c a",
        "pch.h",
    ] {
        assert!(level_of(line, Some("-O3")).0.is_some(), "{line}");
    }
    let facts = rewrite(ProgramKind::Preprocessor, "a.c out.i", AT_O3).facts;
    assert_eq!((facts.level, facts.link), (None, None));
}

#[test]
fn a_call_made_by_another_wrapped_program_keeps_its_order_and_is_not_counted_again() {
    let nested = Wanted {
        optimization: Some("-O3"),
        link_order: LinkOrder::Alphabetical,
        nested: true,
        ..Wanted::default()
    };
    let driver = rewrite(ProgramKind::Driver, "-O1 b.c a.c -o x", nested);
    assert_eq!(line_of(&driver), "b.c a.c -o x -O3");
    assert_eq!((driver.facts.level, driver.facts.link), (None, None));
    let linker = rewrite(
        ProgramKind::Linker,
        "-O1 /tmp/ccB.o /tmp/ccA.o -o x",
        nested,
    );
    assert_eq!(line_of(&linker), "-O1 /tmp/ccB.o /tmp/ccA.o -o x");
    assert_eq!(linker.facts.link, None);
}
