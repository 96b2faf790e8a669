//! Position-independent executables, judged by what binutils read from them.

use crate::workshop::{
    Workshop, has_programs, observed_levels, part_files, run_program, stderr_of,
};

const TYPES: [(&str, &str); 2] = [("on", "DYN"), ("off", "EXEC")];

/// A workshop for a level of the factor.
fn workshop_with(name: &str, pie: &str) -> Workshop {
    Workshop::asking(&format!("pie-{name}-{pie}"), &[("pie", pie)])
}

#[test]
fn a_c_project_with_a_static_library_has_the_type_asked_for() {
    let objects = part_files("o");
    for own in ["", "-fPIE", "-fno-pie", "-fPIC"] {
        for (pie, elf_type) in TYPES {
            let workshop = workshop_with(&format!("archive{own}"), pie);
            let own_type = if own == "-fPIE" { "-pie" } else { "" };
            workshop.write(
                "Makefile",
                &format!(
                    "program: main.o libparts.a\n\t$(CC) {own_type} -o $@ main.o -L. -lparts\n\
                     libparts.a: {objects}\n\t$(AR) rc $@ $^\n"
                ),
            );
            workshop.shell(&format!("make -j2 CFLAGS='-O1 {own}' && ./program"));
            assert_eq!(workshop.elf_type_of("program"), elf_type, "{own} {pie}");
            assert_eq!(workshop.observed(), observed_levels(&[pie]));
            let facts = workshop.facts();
            let read = (facts.pie_executables, facts.fixed_executables);
            assert_eq!(read, if pie == "on" { (1, 0) } else { (0, 1) });
            assert_eq!((facts.unread_executables, facts.executables_left), (0, 0));
        }
    }
}

#[test]
fn the_code_itself_is_generated_for_the_type_asked_for() {
    for (pie, defined) in [("on", "2"), ("off", "__PIE__")] {
        let workshop = workshop_with("code", pie);
        workshop.write("asks.c", "int type = __PIE__;\n");
        workshop.write("asks.S", "#ifdef __PIE__\n.globl two\n#endif\n");
        let printed = workshop.shell("gcc -E -P asks.c; cpp -P asks.c; g++ -x c++ -E -P asks.c");
        let found = printed.matches(&format!("int type = {defined};")).count();
        assert_eq!(found, 3, "{printed}");
        let assembly = workshop.shell("gcc -E -P asks.S");
        assert_eq!(assembly.contains("two"), pie == "on");
    }
}

#[test]
fn a_cxx_project_has_the_type_asked_for() {
    for (pie, elf_type) in TYPES {
        let workshop = workshop_with("cxx", pie);
        workshop.write_program("cpp");
        workshop.write(
            "main.cpp",
            "#include <iostream>\n#include <stdexcept>\nextern \"C\" int part_kiwi(void);\n\
             int main() { try { throw std::runtime_error(\"caught\"); }\n\
             catch (const std::exception &e) { std::cout << e.what() << part_kiwi() << '\\n'; } }\n",
        );
        workshop.shell("g++ -O2 -c main.cpp kiwi.cpp && g++ main.o kiwi.o -o program");
        assert_eq!(run_program(workshop.sources.join("program")), "caught1\n");
        assert_eq!(workshop.elf_type_of("program"), elf_type);
        assert_eq!(workshop.observed(), observed_levels(&[pie]));
    }
}

#[test]
fn shared_libraries_stay_what_they_are() {
    for (pie, elf_type) in TYPES {
        let workshop = workshop_with("shared", pie);
        let sources = part_files("c");
        workshop.shell(&format!(
            "gcc -fPIC -DPIC -c {sources}; gcc -shared *.o -o libparts.so"
        ));
        workshop.shell(&format!("gcc -shared -fPIC {sources} -o libagain.so"));
        workshop.shell("gcc main.c -L. -lparts -Wl,-rpath,$PWD -o program && ./program");
        workshop.shell("ld -r kiwi.o plum.o -o partial.o; gcc -r kiwi.o plum.o -o partial2.o");
        assert_eq!(workshop.elf_type_of("libparts.so"), "DYN");
        assert_eq!(workshop.elf_type_of("program"), elf_type);
        assert_eq!(workshop.observed(), observed_levels(&[pie]));
        let facts = workshop.facts();
        assert_eq!(facts.pie_executables + facts.fixed_executables, 1);
        assert_eq!(facts.unread_executables, 0);
    }
}

#[test]
fn static_executables_have_the_type_asked_for() {
    for (pie, elf_type) in TYPES {
        for own in ["-static", "-static-pie -fPIE"] {
            let workshop = workshop_with(&format!("static{own}").replace(' ', ""), pie);
            workshop.shell(&format!("gcc {own} main.c {} -o program", part_files("c")));
            workshop.shell("./program");
            assert_eq!(workshop.elf_type_of("program"), elf_type, "{own} {pie}");
            assert_eq!(workshop.observed(), observed_levels(&[pie]));
        }
    }
}

#[test]
fn clang_and_gfortran_obey_as_well_and_warn_of_nothing() {
    for (pie, elf_type) in TYPES {
        if has_programs(&["clang"]) {
            let workshop = workshop_with("clang", pie);
            workshop.write("zero.s", ".section .note.GNU-stack,\"\",@progbits\n");
            let sources = part_files("c");
            for line in [
                format!("clang -Werror -c main.c zero.s {sources}"),
                format!("clang -Werror main.o zero.o {} -o program", part_files("o")),
                format!("clang++ -Werror -x c main.c {sources} -o other"),
                format!("clang -Werror -static main.c {sources} -o static"),
                "clang -Werror -E main.c -o main.i".to_owned(),
                "for made in program other static; do ./$made; done".to_owned(),
            ] {
                let output = workshop.try_shell(&line);
                let stderr = stderr_of(&output);
                assert!(
                    output.status.success() && stderr.is_empty(),
                    "{line}: {stderr}"
                );
            }
            for made in ["program", "other", "static"] {
                assert_eq!(workshop.elf_type_of(made), elf_type, "{made} {pie}");
            }
            assert_eq!(workshop.observed(), observed_levels(&[pie]));
        }
        if has_programs(&["gfortran"]) {
            let workshop = workshop_with("fortran", pie);
            workshop.write("a.f90", "program hello\nprint *, 'hello'\nend program\n");
            workshop.shell("gfortran -O1 -c a.f90 && gfortran a.o -o program && ./program");
            assert_eq!(workshop.elf_type_of("program"), elf_type);
            assert_eq!(workshop.observed(), observed_levels(&[pie]));
        }
    }
}

#[test]
fn link_time_optimisation_makes_the_type_asked_for() {
    for (pie, elf_type) in TYPES {
        let workshop = workshop_with("lto", pie);
        workshop.shell(&format!("gcc -flto=2 -c main.c {}", part_files("c")));
        workshop.shell(&format!(
            "gcc -flto=2 main.o {} -o program",
            part_files("o")
        ));
        assert_eq!(workshop.elf_type_of("program"), elf_type);
        assert_eq!(workshop.observed(), observed_levels(&[pie]));
    }
}

#[test]
fn executables_that_the_linker_is_called_for_are_left_and_read() {
    for (pie, _) in TYPES {
        let workshop = workshop_with("direct", pie);
        workshop.write(
            "start.s",
            ".globl _start\n_start: mov $60, %eax\nxor %edi, %edi\nsyscall\n",
        );
        if std::env::consts::ARCH != "x86_64" {
            println!("skipped: the assembly is for x86_64");
            return;
        }
        workshop.shell("gcc -c start.s && ld start.o -o program && ./program");
        workshop.shell("gcc -nostdlib -static start.o -o other && ./other");
        assert_eq!(workshop.elf_type_of("program"), "EXEC");
        let facts = workshop.facts();
        assert_eq!((facts.fixed_executables, facts.executables_left), (2, 2));
        assert_eq!(workshop.observed(), observed_levels(&["off"]));
    }
}

#[test]
fn a_link_around_the_wrapper_is_read_all_the_same() {
    let workshop = workshop_with("around", "off");
    let sources = part_files("c");
    workshop.shell(&format!("gcc main.c {sources} -o program"));
    workshop.shell(&format!(
        "/usr/bin/gcc -fPIE -pie main.c {sources} -o around"
    ));
    assert_eq!(workshop.elf_type_of("around"), "DYN");
    assert_eq!(workshop.observed(), observed_levels(&["mixed"]));
}

#[test]
fn executables_that_are_moved_or_removed_are_counted_as_such() {
    let workshop = workshop_with("moved", "off");
    let sources = part_files("c");
    workshop.shell(&format!(
        "gcc main.c {sources} -o first; mkdir bin; mv first bin"
    ));
    assert_eq!(workshop.observed(), [None]);
    workshop.shell(&format!("cd bin; cp ../*.c .; gcc main.c {sources}"));
    workshop.shell(&format!("gcc main.c {sources} -o second; rm second"));
    let facts = workshop.facts();
    assert_eq!((facts.fixed_executables, facts.unread_executables), (1, 2));
    assert_eq!(workshop.observed(), observed_levels(&["off"]));
}

#[test]
fn without_the_factor_executables_are_read_and_left() {
    let workshop = Workshop::new("pie-not-asked", Some("-O1"), None);
    let sources = part_files("c");
    workshop.shell(&format!(
        "gcc -no-pie main.c {sources} -o fixed; gcc -fPIE -pie main.c {sources} -o free"
    ));
    let facts = workshop.facts();
    assert_eq!((facts.fixed_executables, facts.pie_executables), (1, 1));
    assert_eq!(facts.executables_left, 0);
}

#[test]
fn cmake_with_its_own_ideas_of_position_independence() {
    if !has_programs(&["cmake", "make"]) {
        return;
    }
    for (pie, elf_type) in TYPES {
        let workshop = workshop_with("cmake", pie);
        let sources = part_files("c");
        workshop.write(
            "CMakeLists.txt",
            &format!(
                "cmake_minimum_required(VERSION 3.14)\nproject(parts C)\n\
                 include(CheckPIESupported)\ncheck_pie_supported()\n\
                 add_library(inner STATIC {sources})\nadd_library(outer SHARED {sources})\n\
                 add_executable(one main.c)\ntarget_link_libraries(one inner)\n\
                 set_property(TARGET one PROPERTY POSITION_INDEPENDENT_CODE ON)\n\
                 add_executable(two main.c)\ntarget_link_libraries(two outer)\n\
                 set_property(TARGET two PROPERTY POSITION_INDEPENDENT_CODE OFF)\n"
            ),
        );
        workshop.shell("cmake -S . -B build && cmake --build build -j4 && build/one && build/two");
        for binary in ["build/one", "build/two"] {
            assert_eq!(workshop.elf_type_of(binary), elf_type, "{binary} {pie}");
        }
        assert_eq!(workshop.elf_type_of("build/libouter.so"), "DYN");
        assert_eq!(workshop.observed(), observed_levels(&[pie]));
    }
}

#[test]
fn libtool_compiles_for_libraries_and_executables_apart() {
    if !has_programs(&["autoreconf", "automake", "libtoolize", "make"]) {
        return;
    }
    for (pie, elf_type) in TYPES {
        let workshop = workshop_with("libtool", pie);
        let sources = part_files("c");
        workshop.write(
            "configure.ac",
            "AC_INIT([parts],[1])\nAM_INIT_AUTOMAKE([foreign])\nAM_PROG_AR\nAC_PROG_CC\nLT_INIT\n\
             AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
        );
        workshop.write(
            "Makefile.am",
            &format!(
                "lib_LTLIBRARIES = libparts.la\nlibparts_la_SOURCES = {sources}\n\
                 bin_PROGRAMS = shared archive\nshared_SOURCES = main.c\nshared_LDADD = libparts.la\n\
                 archive_SOURCES = main.c\narchive_LDADD = libparts.la\narchive_LDFLAGS = -static\n"
            ),
        );
        workshop.shell("autoreconf -i && ./configure && make -j4 && ./shared && ./archive");
        for binary in [".libs/shared", "archive"] {
            assert_eq!(workshop.elf_type_of(binary), elf_type, "{binary} {pie}");
        }
        assert_eq!(workshop.elf_type_of(".libs/libparts.so"), "DYN");
        assert_eq!(workshop.observed(), observed_levels(&[pie]));
    }
}
