//! Compilations that go around the wrapper, and what only looks like one.

use crate::workshop::{Workshop, has_programs, observed_levels, run_program};

const ASSEMBLY: &str = ".globl part_zero\npart_zero:\n.section .note.GNU-stack,\"\",@progbits\n";

/// Runs a line after one compilation through the wrapper; returns how many escaped.
fn escaped_in(name: &str, line: &str) -> u64 {
    let workshop = Workshop::new(name, Some("-O2"), None);
    workshop.write("zero.s", ASSEMBLY);
    workshop.write("start.S", ASSEMBLY);
    workshop.shell("gcc -O1 -c main.c");
    workshop.shell(line);
    let facts = workshop.facts();
    assert_eq!(facts.compiles, 1, "{line}");
    let level = if facts.escaped == 0 { "-O2" } else { "mixed" };
    assert_eq!(workshop.observed(), observed_levels(&[level]), "{line}");
    facts.escaped
}

#[test]
fn a_compiler_called_by_absolute_path_is_seen_by_its_assembler() {
    assert_eq!(escaped_in("absolute", "/usr/bin/gcc -O1 -c kiwi.c"), 1);
    let piped = "/usr/bin/gcc -pipe -c kiwi.c plum.c";
    assert_eq!(escaped_in("absolute-pipe", piped), 2);
}

#[test]
fn a_compiler_in_a_folder_first_in_path_is_seen_by_its_assembler() {
    let line = "mkdir own; ln -s /usr/bin/gcc own/gcc; PATH=$PWD/own:$PATH gcc -O1 -c kiwi.c";
    assert_eq!(escaped_in("first-in-path", line), 1);
}

#[test]
fn link_time_optimisation_around_the_wrapper_is_seen() {
    let line = "/usr/bin/gcc -flto -O1 -c kiwi.c; /usr/bin/gcc -flto -O1 -shared kiwi.o -o lib.so";
    assert!(escaped_in("escaped-lto", line) >= 2);
}

#[test]
fn assembling_a_hand_written_file_is_no_escape() {
    let lines = "as zero.s -o zero.o; printf 'all:\\n\\tas zero.s -o made.o\\n' > makefile; make; \
                 /usr/bin/gcc -c zero.s; /usr/bin/gcc -c start.S; echo | as -o none.o -";
    if has_programs(&["make"]) {
        assert_eq!(escaped_in("hand-written", lines), 0);
    }
}

#[test]
fn a_build_that_escapes_as_a_whole_shows_no_level() {
    let workshop = Workshop::new("all-escape", Some("-O2"), None);
    workshop.shell("/usr/bin/gcc -c main.c kiwi.c");
    let facts = workshop.facts();
    assert_eq!((facts.invocations, facts.escaped), (0, 2));
    assert_eq!(workshop.observed(), [None]);
}

#[test]
fn the_assembler_receives_its_arguments_unchanged() {
    let workshop = Workshop::new("assembler", Some("-O2"), Some("reverse"));
    workshop.write("zero.s", ASSEMBLY);
    workshop.shell("as --defsym X=1 zero.s -o ours.o; /usr/bin/as --defsym X=1 zero.s -o theirs.o");
    workshop.shell("cmp ours.o theirs.o");
    assert_eq!(
        workshop.shell("as --version"),
        workshop.shell("/usr/bin/as --version")
    );
    assert_eq!(workshop.facts().invocations, 0);
}

#[test]
fn a_variable_of_the_build_does_not_switch_the_read_back_off() {
    let workshop = Workshop::new("own-variable", Some("-O3"), Some("reverse"));
    workshop
        .shell("export DATAMILL_WRAPPED=1; gcc -O1 -c kiwi.c plum.c; gcc -shared *.o -o lib.so");
    let facts = workshop.facts();
    assert_eq!((facts.compiles, facts.links, facts.escaped), (1, 1, 0));
    assert_eq!(workshop.observed(), observed_levels(&["-O3", "reverse"]));
    workshop.shell("DATAMILL_WRAPPED=1 /usr/bin/gcc -c main.c");
    assert_eq!(workshop.facts().escaped, 1);
}

#[test]
fn fortran_is_compiled_and_linked_alike() {
    if !has_programs(&["gfortran"]) {
        return;
    }
    let workshop = Workshop::new("fortran", Some("-O3"), Some("alphabetical"));
    workshop.write("z.f90", "program hello\ncall a()\nend program\n");
    workshop.write(
        "a.f90",
        "subroutine a()\nprint *, 'hello'\nend subroutine\n",
    );
    workshop.shell("gfortran -g -O1 -c z.f90 a.f90; gfortran z.o a.o -o program");
    assert_eq!(
        run_program(workshop.sources.join("program")).trim(),
        "hello"
    );
    assert_eq!(workshop.recorded_levels("program"), ["-O3"]);
    let facts = workshop.facts();
    assert_eq!((facts.compiles, facts.links, facts.escaped), (1, 1, 0));
    assert_eq!(
        workshop.observed(),
        observed_levels(&["-O3", "alphabetical"])
    );
    workshop.shell("/usr/bin/gfortran -c a.f90");
    assert_eq!(workshop.facts().escaped, 1);
}
