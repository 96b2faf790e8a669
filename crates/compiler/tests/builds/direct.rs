//! Compilers, linkers and archivers called directly.

use crate::workshop::{
    PARTS, Workshop, has_programs, observed_levels, part_files, parts_in, run_program, stderr_of,
};

const ORDERS: [&str; 3] = ["default", "alphabetical", "reverse"];

#[test]
fn the_compiler_really_works_at_the_level_asked_for() {
    for (level, kind) in [
        ("-O0", "none"),
        ("-O1", "speed"),
        ("-Os", "size"),
        ("-O2", "speed"),
        ("-O3", "speed"),
    ] {
        let workshop = Workshop::new(&format!("level{level}"), Some(level), None);
        let line = format!(
            "for f in main {}; do gcc -g -O1 -c $f.c -Ofast; done",
            PARTS.join(" ")
        );
        workshop.shell(&line);
        workshop.shell("gcc *.o -o program");
        assert_eq!(run_program(workshop.sources.join("program")).trim(), kind);
        assert_eq!(workshop.recorded_levels("program"), [level]);
        assert_eq!(workshop.observed(), observed_levels(&[level]));
        let facts = workshop.facts();
        assert_eq!((facts.compiles, facts.optimization_changed), (5, 5));
        assert_eq!((facts.links, facts.orderable_links), (1, 1));
    }
}

#[test]
fn without_a_level_asked_for_the_build_keeps_its_own() {
    let workshop = Workshop::new("own-level", None, None);
    workshop.shell(&format!("gcc -g -Og main.c {} -o program", part_files("c")));
    assert_eq!(workshop.recorded_levels("program"), ["-Og"]);
    assert_eq!(workshop.facts().optimization_passed["-Og"], 1);
    assert!(workshop.observed().is_empty());
    assert_eq!(workshop.layout_of("program"), PARTS);
}

#[test]
fn functions_lie_in_the_order_asked_for() {
    for order in ORDERS {
        let workshop = Workshop::new(&format!("objects-{order}"), Some("-O0"), Some(order));
        workshop.shell(&format!("gcc -c main.c {}", part_files("c")));
        workshop.shell(&format!("gcc main.o {} -o program", part_files("o")));
        assert_eq!(workshop.layout_of("program"), parts_in(order));
        workshop.shell(&format!("gcc main.c {} -o at_once", part_files("c")));
        assert_eq!(workshop.layout_of("at_once"), parts_in(order));
        workshop.shell(&format!("gcc -shared -fPIC {} -o lib.so", part_files("c")));
        assert_eq!(workshop.layout_of("lib.so"), parts_in(order));
        workshop.shell(&format!("ld -r {} -o partial.o", part_files("o")));
        assert_eq!(workshop.layout_of("partial.o"), parts_in(order));
        assert_eq!(workshop.observed(), observed_levels(&["-O0", order]));
        assert_eq!(
            (workshop.facts().links, workshop.facts().orderable_links),
            (4, 4)
        );
    }
}

#[test]
fn members_of_a_static_library_are_linked_in_the_order_asked_for() {
    for order in ORDERS {
        let workshop = Workshop::new(&format!("archive-{order}"), Some("-O2"), Some(order));
        workshop.shell(&format!("gcc -c main.c {}", part_files("c")));
        workshop.shell(&format!("ar cq libparts.a {}", part_files("o")));
        workshop
            .shell("gcc main.o -Wl,--whole-archive libparts.a -Wl,--no-whole-archive -o program");
        assert_eq!(workshop.layout_of("program"), parts_in(order));
        assert_eq!(workshop.observed(), observed_levels(&["-O2", order]));
    }
}

#[test]
fn adding_to_a_library_that_has_members_does_not_count_as_ordered() {
    let workshop = Workshop::new("appending", None, Some("alphabetical"));
    workshop.shell(&format!("gcc -c {}", part_files("c")));
    workshop.shell("ar rc lib.a plum.o kiwi.o; ar rc lib.a banana.o apple.o");
    let facts = workshop.facts();
    assert_eq!(
        (
            facts.orderable_links,
            facts.links_reordered,
            facts.links_in_order
        ),
        (2, 2, 1)
    );
    assert_eq!(workshop.observed(), observed_levels(&["mixed"]));
    assert_eq!(
        workshop.shell("ar t lib.a"),
        "kiwi.o\nplum.o\napple.o\nbanana.o\n"
    );
}

#[test]
fn one_object_at_a_time_shows_no_order() {
    let workshop = Workshop::new("one-by-one", None, Some("alphabetical"));
    workshop.shell("gcc -c plum.c kiwi.c; ar q lib.a plum.o; ar q lib.a kiwi.o; ranlib lib.a");
    assert_eq!(workshop.facts().links, 2);
    assert_eq!(workshop.observed(), [None]);
}

#[test]
fn cxx_is_compiled_and_linked_alike() {
    let workshop = Workshop::new("cxx", Some("-Os"), Some("reverse"));
    workshop.write_program("cpp");
    workshop.shell(&format!(
        "g++ -g -O3 main.cpp {} -o program",
        part_files("cpp")
    ));
    assert_eq!(workshop.recorded_levels("program"), ["-Os"]);
    assert_eq!(workshop.layout_of("program"), parts_in("reverse"));
    assert_eq!(workshop.observed(), observed_levels(&["-Os", "reverse"]));
}

#[test]
fn the_linker_under_the_compiler_is_left_alone_and_counted_once() {
    let workshop = Workshop::new("nested", Some("-O3"), Some("alphabetical"));
    workshop.shell(&format!("gcc main.c {} -o program", part_files("c")));
    let facts = workshop.facts();
    assert_eq!(
        (facts.compiles, facts.links, facts.links_in_order),
        (1, 1, 1)
    );
    assert_eq!(facts.programs.values().sum::<u64>(), facts.invocations);
    // Debian's c99 is a script that calls gcc.
    workshop.shell("c99 -c main.c");
    assert_eq!(workshop.facts().compiles, 2);
    assert_eq!(
        workshop.observed(),
        observed_levels(&["-O3", "alphabetical"])
    );
}

#[test]
fn link_time_optimisation_keeps_level_and_success() {
    let workshop = Workshop::new("lto", Some("-O2"), Some("reverse"));
    workshop.shell(&format!("gcc -flto=2 -O0 -g -c main.c {}", part_files("c")));
    workshop.shell(&format!("gcc-ar rcs libparts.a {}", part_files("o")));
    workshop.shell("gcc -flto=2 -O0 -g main.o libparts.a -o program && ./program");
    assert_eq!(workshop.recorded_levels("program"), ["-O2"]);
    assert_eq!(workshop.facts().links, 2);
    assert_eq!(workshop.observed(), observed_levels(&["-O2", "reverse"]));
}

#[test]
fn response_files_are_read_quoted_and_nested() {
    let workshop = Workshop::new("response", Some("-O1"), Some("alphabetical"));
    workshop.write(
        "options",
        "@nested -DLAST=\\\"x\\ y\\\" '-DSECOND=\"a b\"'\n",
    );
    workshop.write("nested", "-O3 -g\n");
    workshop.write("last.c", "int one[sizeof LAST SECOND == 7 ? 1 : -1];\n");
    workshop.shell("gcc @options -c last.c main.c");
    assert_eq!(workshop.recorded_levels("last.o"), ["-O1"]);
    workshop.write("objects", &part_files("o"));
    workshop.shell(&format!(
        "gcc -c {}; gcc main.o @objects -o program",
        part_files("c")
    ));
    assert_eq!(workshop.layout_of("program"), parts_in("alphabetical"));
    assert_eq!(
        workshop.observed(),
        observed_levels(&["-O1", "alphabetical"])
    );
}

#[test]
fn response_files_longer_than_a_command_line_stay_response_files() {
    let workshop = Workshop::new("long-response", Some("-O1"), Some("reverse"));
    let copies: Vec<String> = (0..3000)
        .map(|n| format!("copies/a_rather_long_name_for_an_object_file_{n}.o"))
        .collect();
    workshop.write("empty.c", "");
    workshop.write("copies/list", &copies.join("\n"));
    workshop.write("objects", &format!("{} @copies/list", part_files("o")));
    workshop.shell(&format!("gcc -c main.c empty.c {}", part_files("c")));
    for copy in &copies {
        std::fs::hard_link(
            workshop.sources.join("empty.o"),
            workshop.sources.join(copy),
        )
        .unwrap();
    }
    for line in [
        "gcc main.o @objects -o program",
        "gcc-ar rc lib.a @objects; \
         gcc main.o -Wl,--whole-archive lib.a -Wl,--no-whole-archive -o program",
        "ld -r @objects -o program",
    ] {
        workshop.shell(&format!("rm -f program; {line}"));
        assert_eq!(workshop.layout_of("program"), parts_in("reverse"), "{line}");
    }
    assert_eq!(workshop.facts().links_reordered, 3);
    assert_eq!(workshop.observed(), observed_levels(&["-O1", "reverse"]));
}

#[test]
fn gcc_and_clang_find_their_own_files() {
    for compiler in ["gcc", "g++", "clang"] {
        if !has_programs(&[compiler]) {
            continue;
        }
        let workshop = Workshop::new(
            &format!("own-files-{compiler}"),
            Some("-O2"),
            Some("reverse"),
        );
        for question in [
            "-print-search-dirs",
            "-print-prog-name=cc1",
            "--version",
            "-dumpmachine",
        ] {
            assert_eq!(
                workshop.shell(&format!("{compiler} {question}")),
                workshop.shell(&format!("/usr/bin/{compiler} {question}")),
            );
        }
        assert_eq!((workshop.facts().compiles, workshop.facts().links), (0, 0));
    }
}

#[test]
fn clang_obeys_as_well_and_warns_of_nothing() {
    if !has_programs(&["clang"]) {
        return;
    }
    let workshop = Workshop::new("clang", Some("-Os"), Some("reverse"));
    workshop.write("zero.s", ".section .note.GNU-stack,\"\",@progbits\n");
    let line = format!("clang -Werror -O3 -- main.c {} zero.s", part_files("c"));
    workshop.shell(&line);
    assert_eq!(run_program(workshop.sources.join("a.out")).trim(), "size");
    assert_eq!(workshop.layout_of("a.out"), parts_in("reverse"));
    workshop.shell("clang -Werror -c zero.s; clang -Werror -E main.c -o main.i");
    workshop.shell(&format!("clang -Werror -c main.c {}", part_files("c")));
    let lines = [
        "clang -Werror *.o -o program",
        "clang++ -Werror *.o -o program",
    ];
    for line in lines {
        let output = workshop.try_shell(line);
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}",
            stderr_of(&output)
        );
    }
    assert_eq!(workshop.observed(), observed_levels(&["-Os", "reverse"]));
}
