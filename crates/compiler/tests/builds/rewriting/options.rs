//! Seeds for symbols, and options that are added, judged by what comes out.

use std::fs;

use crate::workshop::{Workshop, has_programs, observed_levels, part_files};

/// The name that the compiler makes up for a start-up function of a file without public symbols.
const NAMELESS: &str = "struct Noisy { Noisy(); };\nnamespace { Noisy noisy; }\n";

#[test]
fn the_seed_decides_the_names_that_the_compiler_makes_up() {
    let build = |name: &str, level: &str| {
        let workshop = Workshop::asking(&format!("seed-{name}"), &[("symbol_seed", level)]);
        workshop.write("nameless.cpp", NAMELESS);
        workshop.shell("g++ -flto -O1 -c nameless.cpp");
        assert_eq!(workshop.observed(), observed_levels(&[level]));
        let facts = workshop.facts();
        assert_eq!(facts.seeded_compiles, u64::from(level != "default"));
        let sections = workshop.shell("/usr/bin/objdump -h nameless.o");
        let names = sections
            .split_whitespace()
            .filter(|word| word.starts_with(".gnu.lto_"));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let seven = build("seven", "7");
    assert!(!seven.is_empty());
    assert_eq!(build("again", "7"), seven);
    assert_ne!(build("eight", "8"), seven);
    assert_eq!(build("random", "random"), build("one", "1"));
    assert_ne!(
        build("default", "default"),
        build("default-again", "default")
    );
}

#[test]
fn clang_takes_no_seed_and_that_shows() {
    if !has_programs(&["clang"]) {
        return;
    }
    let workshop = Workshop::asking("seed-clang", &[("symbol_seed", "7")]);
    workshop.shell("clang -Werror -c main.c");
    assert_eq!(workshop.facts().seeded_compiles, 0);
    assert_eq!(workshop.observed(), [None]);
    workshop.shell("gcc -c kiwi.c");
    assert_eq!(workshop.observed(), observed_levels(&["mixed"]));
}

#[test]
fn added_options_reach_compilations_and_links_behind_those_of_the_build() {
    let flags = "-DANSWER='4 * 2' -UUNWANTED -fno-inline -Wl,--defsym=marker=42";
    let workshop = Workshop::asking(
        "flags",
        &[("compiler_flags", flags), ("optimization", "-O2")],
    );
    workshop.write(
        "asks.c",
        "#include <stdio.h>\n#ifdef UNWANTED\n#error unwanted\n#endif\n\
         int main(void) { printf(\"%d\\n\", 3 + ANSWER); }\n",
    );
    workshop.shell("gcc -g -DUNWANTED -DANSWER=1 -UANSWER -c asks.c && gcc asks.o -o asks");
    assert_eq!(workshop.shell("./asks"), "11\n");
    let symbols = workshop.shell("/usr/bin/nm asks");
    assert!(symbols.contains("A marker"), "{symbols}");
    let dump = workshop.shell("/usr/bin/readelf --debug-dump=info asks");
    assert!(dump.contains("-O2 -fno-inline"), "{dump}");
    assert_eq!(workshop.facts().flagged_compiles, 1);
    assert_eq!(workshop.observed(), observed_levels(&["-O2", flags]));
}

#[test]
fn link_time_optimisation_can_be_added_to_a_build_that_has_none() {
    let workshop = Workshop::asking("flags-lto", &[("compiler_flags", "-flto=2 -g")]);
    workshop.shell(&format!("gcc -c main.c {}", part_files("c")));
    workshop.shell(&format!("gcc-ar rc libparts.a {}", part_files("o")));
    workshop.shell("gcc main.o libparts.a -o program && ./program");
    let sections = workshop.shell("/usr/bin/objdump -h main.o");
    assert!(sections.contains(".gnu.lto_"), "{sections}");
    assert_eq!(workshop.observed(), observed_levels(&["-flto=2 -g"]));
}

#[test]
fn a_compilation_around_the_wrapper_has_other_options() {
    let workshop = Workshop::asking(
        "flags-around",
        &[("compiler_flags", "-g"), ("symbol_seed", "1")],
    );
    workshop.shell("gcc -c main.c && /usr/bin/gcc -c kiwi.c");
    assert_eq!(workshop.observed(), observed_levels(&["mixed", "mixed"]));
}

#[test]
fn options_of_this_processor_can_be_added() {
    let workshop = Workshop::asking("flags-native", &[("compiler_flags", "-march=native")]);
    let sources = part_files("c");
    workshop.shell(&format!("gcc -O1 main.c {sources} -o program && ./program"));
    assert_eq!(workshop.observed(), observed_levels(&["-march=native"]));
    let log = fs::read_to_string(workshop.wrappers.join("compiler.log")).unwrap();
    assert!(log.contains("\"flagged\":true"), "{log}");
}

#[test]
fn adding_nothing_leaves_the_build_as_it_is() {
    let levels = [("symbol_seed", "default"), ("compiler_flags", "none")];
    let workshop = Workshop::asking("flags-none", &levels);
    workshop.shell("gcc -c main.c -o ours.o && /usr/bin/gcc -c main.c -o theirs.o");
    workshop.shell("cmp ours.o theirs.o");
    assert_eq!(workshop.observed(), observed_levels(&["default", "none"]));
}
