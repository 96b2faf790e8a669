//! Builds by a compiler that was asked for, judged by what is in the binaries.

use std::fs;

use datamill_compiler::offer_factors;

use crate::workshop::{Workshop, observed_levels};

const MAIN: &str = "int main(void) { return 0; }\n";

/// Levels of `compiler_version` here, the one that `cc` is first.
fn levels() -> Vec<String> {
    let offers = offer_factors();
    let found = offers.iter().find(|offer| offer.name == "compiler_version");
    found.unwrap().levels.clone()
}

/// What a program's compilers left in it, by binutils.
fn marks(workshop: &Workshop, program: &str) -> String {
    workshop.shell(&format!(
        "/usr/bin/objdump -s -j .comment {program} | cut -c 44- | tr -d '\\n'"
    ))
}

/// The mark of a level, as the compiler itself says its version.
fn mark_of(level: &str) -> &'static str {
    if level.starts_with("clang") {
        "clang version"
    } else {
        "GCC:"
    }
}

#[test]
fn every_installed_compiler_builds_whatever_name_is_called() {
    let levels = levels();
    if levels.len() < 2 {
        eprintln!("one compiler is installed here: no other level is tried");
    }
    for level in &levels {
        let workshop =
            Workshop::asking(&format!("version-{level}"), &[("compiler_version", level)]);
        workshop.write(
            "macros.c",
            "int clang = __clang_major__ + 0, gcc = __GNUC__;\n",
        );
        workshop.write("main.c", MAIN);
        workshop.shell("cc -c main.c && gcc main.o -o program && c99 -c main.c");
        let defined = workshop.shell("gcc -dM -E main.c; cc --version | head -1");
        let (family, number) = level.split_once('-').unwrap();
        let macro_line = match family {
            "clang" => format!("__clang_major__ {number}\n"),
            _ => format!("__GNUC__ {}\n", number.split('.').next().unwrap()),
        };
        assert!(defined.contains(&macro_line), "{level}: {defined}");
        assert_eq!(defined.contains("__clang__"), family == "clang", "{level}");
        assert!(
            marks(&workshop, "program").contains(mark_of(level)),
            "{level}"
        );
        assert_eq!(workshop.observed(), observed_levels(&[level]));
        let facts = workshop.facts();
        assert_eq!(facts.compilers.keys().collect::<Vec<_>>(), [level]);
    }
}

#[test]
fn a_compilation_around_the_wrapper_makes_the_level_mixed() {
    let levels = levels();
    let other = levels.iter().find(|level| level.starts_with("clang"));
    let (Some(level), Some(other)) = (levels.first(), other) else {
        eprintln!("skipped: there is no clang here, whose compilations the assembler does not see");
        return;
    };
    let workshop = Workshop::asking("version-around", &[("compiler_version", level)]);
    workshop.write(
        "main.c",
        "int part(void);\nint main(void) { return part(); }\n",
    );
    workshop.write("part.c", "int part(void);\nint part(void) { return 0; }\n");
    workshop.shell(&format!(
        "/usr/bin/{other} -c part.c && cc -c main.c && cc main.o part.o -o program"
    ));
    assert_eq!(workshop.facts().marks.get(other), Some(&1));
    assert_eq!(workshop.observed(), observed_levels(&["mixed"]));
}

#[test]
fn code_of_another_compiler_of_the_same_family_shows() {
    let levels = levels();
    let gcc: Vec<&String> = levels
        .iter()
        .filter(|level| level.starts_with("gcc"))
        .collect();
    let [usual, other, ..] = gcc[..] else {
        eprintln!("skipped: this machine has fewer than two versions of gcc");
        return;
    };
    let workshop = Workshop::asking("version-other", &[("compiler_version", other)]);
    workshop.write("main.c", MAIN);
    workshop.shell(&format!("/usr/bin/{usual} -O1 main.c -o program"));
    assert_eq!(workshop.observed(), [None]);
    workshop.shell("gcc -c main.c && gcc main.o -o mine");
    assert_eq!(workshop.observed(), observed_levels(&["mixed"]));
    workshop.shell("gcc -fno-ident -c main.c");
    assert_eq!(workshop.facts().unmarked_compiles, 1);
}

#[test]
fn a_language_that_the_compiler_lacks_ends_the_build() {
    let levels = levels();
    let Some(level) = levels.iter().find(|level| level.starts_with("clang")) else {
        eprintln!("skipped: there is no clang here, which has no Fortran");
        return;
    };
    let workshop = Workshop::asking("version-fortran", &[("compiler_version", level)]);
    if !workshop.wrappers.join("bin/gfortran").exists() {
        eprintln!("skipped: there is no gfortran here");
        return;
    }
    fs::write(workshop.sources.join("a.f90"), "end\n").unwrap();
    let told = workshop.shell("gfortran -c a.f90 2>&1 || true");
    assert!(told.contains("has no compiler of Fortran here"), "{told}");
}
