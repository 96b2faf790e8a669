//! Whole build systems.

use crate::workshop::{Workshop, has_programs, observed_levels, part_files, parts_in, run_program};

#[test]
fn plain_make_in_parallel() {
    let workshop = Workshop::new("make", Some("-O3"), Some("reverse"));
    let objects = part_files("o");
    let makefile =
        format!("CFLAGS = -g -O2\nprogram: main.o {objects}\n\t$(CC) $(CFLAGS) $^ -o $@\n");
    workshop.write("Makefile", &makefile);
    workshop.shell("make -j4 CFLAGS='-g -O1'");
    assert_eq!(workshop.layout_of("program"), parts_in("reverse"));
    assert_eq!(workshop.recorded_levels("program"), ["-O3"]);
    assert_eq!(workshop.observed(), observed_levels(&["-O3", "reverse"]));
    let facts = workshop.facts();
    assert_eq!(
        (facts.compiles, facts.links, facts.links_reordered),
        (5, 1, 1)
    );
}

#[test]
fn make_with_a_static_library_as_bzip2_has_it() {
    let workshop = Workshop::new("make-archive", Some("-O0"), Some("alphabetical"));
    let objects = part_files("o");
    let makefile = format!(
        "CFLAGS = -g -O2\nAR = ar\n\
         program: libparts.a main.o\n\t$(CC) $(CFLAGS) -o program main.o -Wl,--whole-archive -L. -lparts \
         -Wl,--no-whole-archive\n\
         libparts.a: {objects}\n\trm -f libparts.a\n\t$(AR) cq libparts.a {objects}\n\t\
         ranlib libparts.a\n"
    );
    workshop.write("Makefile", &makefile);
    workshop.shell("make -j2");
    assert_eq!(workshop.layout_of("program"), parts_in("alphabetical"));
    assert_eq!(run_program(workshop.sources.join("program")).trim(), "none");
    assert_eq!(
        workshop.observed(),
        observed_levels(&["-O0", "alphabetical"])
    );
    assert_eq!(workshop.facts().orderable_links, 1);
}

#[test]
fn parallel_calls_leave_whole_lines_in_the_log() {
    let workshop = Workshop::new("parallel", Some("-O1"), None);
    workshop.shell("seq 200 | xargs -P 8 -I{} gcc -c kiwi.c -o kiwi{}.o");
    let facts = workshop.facts();
    assert_eq!((facts.invocations, facts.compiles), (200, 200));
}

#[test]
fn cmake_with_each_generator() {
    for (generator, program) in [("Unix Makefiles", "make"), ("Ninja", "ninja")] {
        if !has_programs(&["cmake", program]) {
            continue;
        }
        for (order, level) in [("reverse", "-Os"), ("alphabetical", "-O3")] {
            let workshop = Workshop::new(
                &format!("cmake-{program}-{order}"),
                Some(level),
                Some(order),
            );
            let sources = part_files("c");
            workshop.write("other.cpp", "int other() { return 1; }\n");
            workshop.write(
                "CMakeLists.txt",
                &format!(
                    "cmake_minimum_required(VERSION 3.10)\nproject(parts C CXX)\n\
                 add_executable(direct main.c {sources} other.cpp)\n\
                 add_library(parts STATIC {sources})\nadd_executable(through main.c)\n\
                 target_link_libraries(through -Wl,--whole-archive parts -Wl,--no-whole-archive)\n"
                ),
            );
            workshop.shell(&format!(
                "cmake -G '{generator}' -DCMAKE_BUILD_TYPE=RelWithDebInfo -S . -B build && \
                 cmake --build build -j4"
            ));
            for binary in ["build/direct", "build/through"] {
                assert_eq!(workshop.layout_of(binary), parts_in(order), "{binary}");
                assert_eq!(workshop.recorded_levels(binary), [level], "{binary}");
            }
            assert_eq!(workshop.observed(), observed_levels(&[level, order]));
        }
    }
}

#[test]
fn autotools_with_libtool() {
    if !has_programs(&["autoreconf", "automake", "libtoolize", "make"]) {
        return;
    }
    let workshop = Workshop::new("autotools", Some("-O1"), Some("reverse"));
    workshop.write(
        "configure.ac",
        "AC_INIT([parts],[1])\nAM_INIT_AUTOMAKE([foreign])\nAM_PROG_AR\nAC_PROG_CC\nLT_INIT\n\
         AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
    );
    let sources = part_files("c");
    workshop.write(
        "Makefile.am",
        &format!(
            "noinst_LTLIBRARIES = libinner.la\nlibinner_la_SOURCES = {sources}\n\
         lib_LTLIBRARIES = libparts.la\nlibparts_la_SOURCES =\nlibparts_la_LIBADD = libinner.la\n\
         bin_PROGRAMS = program direct\nprogram_SOURCES = main.c\nprogram_LDADD = libparts.la\n\
         direct_SOURCES = main.c {sources}\ndirect_CFLAGS = $(AM_CFLAGS)\n"
        ),
    );
    workshop.shell("autoreconf -i && ./configure && make -j4");
    assert_eq!(workshop.layout_of("direct"), parts_in("reverse"));
    assert_eq!(workshop.layout_of(".libs/libparts.so"), parts_in("reverse"));
    assert_eq!(workshop.recorded_levels("direct"), ["-O1"]);
    assert_eq!(workshop.observed(), observed_levels(&["-O1", "reverse"]));
}
