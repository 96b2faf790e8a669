//! Position-independent executables.

use crate::program::ProgramKind;
use crate::rewriting::pie::WantedPie;
use crate::rewriting::rewrite::{Rewritten, Wanted};
use crate::rewriting::rewrite_tests::{assert_unchanged, line_of, rewrite};

fn with_pie(kind: ProgramKind, line: &str, on: bool, static_pie: bool) -> Rewritten {
    let pie = WantedPie {
        on,
        static_pie,
        forced_static: false,
    };
    let wanted = Wanted {
        pie: Some(pie),
        ..Wanted::default()
    };
    rewrite(kind, line, wanted)
}

fn on(line: &str) -> String {
    line_of(&with_pie(ProgramKind::Driver, line, true, true))
}

fn off(line: &str) -> String {
    line_of(&with_pie(ProgramKind::Driver, line, false, true))
}

#[test]
fn code_of_executables_is_compiled_for_the_wanted_type() {
    for own in [
        "",
        "-fPIE ",
        "-fpie ",
        "-fno-pie ",
        "-fno-PIE ",
        "-fno-pic ",
        "-fPIC -fpie ",
    ] {
        assert_eq!(on(&format!("{own}-c a.c")), "-c a.c -fPIE");
        assert_eq!(off(&format!("{own}-c a.c")), "-c a.c -fno-pie");
    }
    assert_eq!(on("-E a.c"), "-E a.c -fPIE");
    assert_eq!(off("-c start.S"), "-c start.S -fno-pie");
    assert_eq!(on("-c -- a.c"), "-c -fPIE -- a.c");
}

#[test]
fn executables_are_linked_as_the_wanted_type() {
    for own in [
        "",
        "-pie ",
        "-no-pie ",
        "-nopie ",
        "-Wl,-pie ",
        "-Wl,-no-pie ",
    ] {
        assert_eq!(on(&format!("{own}a.o -o x")), "a.o -o x -pie");
        assert_eq!(off(&format!("{own}a.o -o x")), "a.o -o x -no-pie");
    }
    assert_eq!(on("a.c b.o"), "a.c b.o -fPIE -pie");
    assert_eq!(off("-flto a.o"), "-flto a.o -no-pie");
    assert_eq!(
        off("-Wl,-z,now,-pie,-z,relro a.o"),
        "-Wl,-z,now,-z,relro a.o -no-pie"
    );
}

#[test]
fn code_and_links_of_shared_libraries_stay() {
    for rewritten in [on, off] {
        assert_unchanged(
            rewritten,
            &[
                "-fPIC -DPIC -c a.c -o .libs/a.o",
                "-fpie -fpic -c a.c",
                "-shared -fPIC a.o b.o -o x.so",
                "-shared a.c -o x.so",
                "-Wl,-shared a.o -o x.so",
            ],
        );
    }
    // Code for libraries goes into executables of either type.
    assert_eq!(on("-fPIC a.c -o x"), "-fPIC a.c -o x -pie");
    assert_eq!(off("-fPIC a.c -o x"), "-fPIC a.c -o x -no-pie");
}

#[test]
fn partial_links_questions_and_other_programs_stay() {
    for rewritten in [on, off] {
        assert_unchanged(
            rewritten,
            &[
                "-r a.o b.o -o x.o",
                "-Wl,-r a.o b.o -o x.o",
                "--version",
                "-fPIE",
                "-print-file-name=crt1.o",
            ],
        );
    }
    assert_eq!(on("-r a.c b.c -o x.o"), "-r a.c b.c -o x.o -fPIE");
    let ld = with_pie(ProgramKind::Linker, "crt1.o a.o -o x", true, true);
    assert_eq!(line_of(&ld), "crt1.o a.o -o x");
    assert!(ld.facts.type_left);
}

#[test]
fn values_of_other_options_are_no_types() {
    assert_eq!(on("a.o -o -no-pie"), "a.o -o -no-pie -pie");
    assert_eq!(
        off("-c a.c -include -fPIE"),
        "-c a.c -include -fPIE -fno-pie"
    );
    assert_eq!(off("-c a.c -Xlinker -pie"), "-c a.c -Xlinker -pie -fno-pie");
}

#[test]
fn freestanding_code_and_links_with_their_own_start_up_stay_and_are_told() {
    for is_on in [true, false] {
        for line in [
            "-nostdlib -T kernel.ld a.o -o kernel",
            "-nostartfiles -static a.o -o boot",
        ] {
            let rewritten = with_pie(ProgramKind::Driver, line, is_on, true);
            assert_eq!(line_of(&rewritten), line);
            assert!(rewritten.facts.type_left, "{line}");
        }
    }
    assert_unchanged(
        on,
        &["-mcmodel=kernel -fno-pie -c a.c", "-ffreestanding -c a.c"],
    );
}

#[test]
fn static_executables_become_position_independent_where_that_exists() {
    assert_eq!(on("-static a.o -o x"), "a.o -o x -static-pie");
    assert_eq!(on("-static-pie a.o -o x"), "a.o -o x -static-pie");
    assert_eq!(off("-static-pie a.o -o x"), "-static a.o -o x");
    assert_eq!(off("-static -no-pie a.o -o x"), "-static a.o -o x");
    let left = with_pie(ProgramKind::Driver, "-static a.c -o x", true, false);
    assert_eq!(line_of(&left), "-static a.c -o x -fPIE");
    assert!(left.facts.type_left);
}

#[test]
fn executables_that_added_options_make_static_are_left() {
    let flags = ["-static".into()];
    let wanted = |is_on| Wanted {
        pie: Some(WantedPie {
            on: is_on,
            static_pie: true,
            forced_static: true,
        }),
        flags: &flags,
        ..Wanted::default()
    };
    let left = rewrite(ProgramKind::Driver, "a.o -o x", wanted(true));
    assert_eq!(line_of(&left), "a.o -o x -static");
    assert!(left.facts.type_left);
    let set = rewrite(ProgramKind::Driver, "a.o -o x", wanted(false));
    assert_eq!(line_of(&set), "a.o -o x -static");
    assert!(!set.facts.type_left);
}

#[test]
fn the_executable_that_a_link_makes_is_named() {
    let made = |kind, line| {
        let made = rewrite(kind, line, Wanted::default()).executable;
        made.map(|file| file.into_string().unwrap())
    };
    for (line, executable) in [
        ("a.o -o x", Some("x")),
        ("a.o -ox", Some("x")),
        ("a.c --output=x", Some("x")),
        ("a.c --output x", Some("x")),
        ("a.c", Some("a.out")),
        ("-c a.c -o a.o", None),
        ("-E a.c -o a.i", None),
        ("-shared a.o -o x.so", None),
        ("-r a.o -o x.o", None),
        ("--version -o x", None),
    ] {
        assert_eq!(
            made(ProgramKind::Driver, line).as_deref(),
            executable,
            "{line}"
        );
    }
    for (line, executable) in [
        ("a.o -o x", Some("x")),
        ("a.o -ox", Some("x")),
        ("a.o --output=x", Some("x")),
        ("a.o -omagic --oformat elf64-x86-64", Some("a.out")),
        ("-shared a.o -o x.so", None),
        ("a.o -o x.so -Bshareable", None),
        ("-r a.o -o x.o", None),
        ("--version", None),
    ] {
        assert_eq!(
            made(ProgramKind::Linker, line).as_deref(),
            executable,
            "{line}"
        );
    }
    assert_eq!(made(ProgramKind::Archiver, "rc lib.a a.o"), None);
}
