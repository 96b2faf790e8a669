//! Odd environments, and failures that must not pass in silence.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use datamill_compiler::read_compiler_log;

use crate::workshop::{
    SYSTEM_PATH, WRAPPER, Workshop, has_programs, observed_levels, part_files, parts_in, stderr_of,
};

#[test]
fn an_empty_environment_does_not_hide_the_settings() {
    let workshop = Workshop::new("empty-environment", Some("-Os"), Some("reverse"));
    let gcc = workshop.wrappers.join("bin/gcc");
    // Without PATH, gcc itself finds no linker.
    for path in ["", "PATH=/usr/bin"] {
        workshop.shell(&format!("env -i {path} {} -g -c main.c", gcc.display()));
        assert_eq!(workshop.recorded_levels("main.o"), ["-Os"]);
    }
    workshop.shell(&format!(
        "env -i PATH=/usr/bin {} -g main.c {} -o program",
        gcc.display(),
        part_files("c")
    ));
    assert_eq!(workshop.layout_of("program"), parts_in("reverse"));
    assert_eq!(workshop.recorded_levels("program"), ["-Os"]);
}

#[test]
fn a_wrapper_finds_itself_on_path_behind_links_and_twice() {
    let workshop = Workshop::new("links", Some("-Os"), None);
    workshop.shell("ln -s ../wrappers/bin ../other; ln -s ../wrappers/bin/gcc gcc");
    let other = workshop.dir.join("other");
    let bin = workshop.wrappers.join("bin");
    workshop.shell(&format!(
        "PATH={}:.::{}:{SYSTEM_PATH} timeout 20 gcc -c main.c",
        other.display(),
        bin.display()
    ));
    assert_eq!(workshop.facts().compiles, 1);
}

#[test]
fn settings_that_cannot_be_read_end_the_build() {
    for text in [
        None,
        Some("{"),
        Some("{\"levels\":{\"optimization\":\"-O7\"}}"),
        Some("{\"levels\":{\"x\":\"-O2\"}}"),
        Some("{\"levels\":{},\"x\":1}"),
    ] {
        let workshop = Workshop::new("broken-settings", Some("-O2"), None);
        let file = workshop.wrappers.join("compiler.json");
        match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        assert_fails_with_one_line(&workshop, "compiler.json");
    }
}

#[test]
fn a_log_that_cannot_be_written_ends_the_build() {
    let workshop = Workshop::new("missing-log", Some("-O2"), None);
    fs::remove_file(workshop.wrappers.join("compiler.log")).unwrap();
    assert_fails_with_one_line(&workshop, "compiler.log");
}

fn assert_fails_with_one_line(workshop: &Workshop, file: &str) {
    let output = workshop.try_shell("exec gcc -c main.c");
    assert_eq!(output.status.code(), Some(1));
    let message = stderr_of(&output);
    assert!(
        message.starts_with("datamill: ") && message.contains(file),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(!workshop.sources.join("main.o").exists());
}

#[test]
fn a_program_that_exists_nowhere_else_ends_the_build() {
    let workshop = Workshop::new("no-real-program", Some("-O2"), None);
    workshop.shell("ln -s ../datamill-worker ../wrappers/bin/gcc-0.1");
    let output = workshop.try_shell("exec gcc-0.1 -c main.c");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr_of(&output).contains("no real gcc-0.1"),
        "{}",
        stderr_of(&output)
    );
}

#[test]
fn a_damaged_log_is_refused_with_its_line() {
    let workshop = Workshop::new("damaged-log", Some("-O2"), None);
    workshop.shell("gcc -c main.c; printf '{\"prog' >> ../wrappers/compiler.log");
    let error = read_compiler_log(&workshop.wrappers).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert!(
        error.to_string().contains("compiler.log, line 2"),
        "{error}"
    );
}

#[test]
fn the_status_and_the_messages_of_the_compiler_pass_through() {
    let workshop = Workshop::new("status", Some("-O2"), None);
    workshop.write("wrong.c", "int main(void) { return }\n");
    let output = workshop.try_shell("exec gcc -c wrong.c");
    let errors = stderr_of(&output);
    assert!(errors.contains("wrong.c:1"), "{errors}");
    assert_eq!(output.status.code(), Some(1), "{errors}");
}

#[test]
fn a_compiler_cache_that_calls_the_wrapper_again_reaches_the_compiler_behind_it() {
    let workshop = Workshop::new("cache", Some("-O3"), Some("reverse"));
    // As a cache does: takes the first program of its name on PATH that is not itself.
    let cache = workshop.sources.join("cache/gcc");
    workshop.write("cache/gcc", "#!/bin/sh\nexec gcc -g \"$@\"\n");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).unwrap();
    let bin = workshop.wrappers.join("bin");
    workshop.shell(&format!(
        "PATH={}:$PWD/cache:{SYSTEM_PATH} timeout 20 gcc main.c {} -o program",
        bin.display(),
        part_files("c")
    ));
    assert_eq!(workshop.recorded_levels("program"), ["-O3"]);
    assert_eq!(workshop.facts().compiles, 1);
    assert_eq!(workshop.observed(), observed_levels(&["-O3", "reverse"]));
}

#[test]
fn ccache_works_behind_the_wrapper() {
    if !has_programs(&["ccache"]) {
        return;
    }
    let workshop = Workshop::new("ccache", Some("-O3"), None);
    let bin = workshop.wrappers.join("bin");
    workshop.shell(&format!(
        "export CCACHE_DIR=$PWD/cached PATH={}:/usr/lib/ccache:{SYSTEM_PATH}; \
         for i in 1 2; do timeout 20 gcc -g -O1 -c main.c; done",
        bin.display()
    ));
    assert_eq!(workshop.recorded_levels("main.o"), ["-O3"]);
    assert_eq!(workshop.facts().compiles, 2);
}

#[test]
fn the_binary_under_its_own_name_says_what_it_is_for() {
    let output = std::process::Command::new(WRAPPER).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr_of(&output).starts_with("datamill: "));
}
