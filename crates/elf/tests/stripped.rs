//! Programs without symbols, and symbols in a file of their own.

mod compiled;

use compiled::{TARGETS, function};
use datamill_elf::read_path;

const SOURCE: &str = "
volatile int heard;
__attribute__((noinline)) static int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * heard; return s; }
int main(void) { return work(heard); }
";

#[test]
fn a_stripped_program_has_its_functions_by_content_and_says_what_is_lost() {
    for target in [TARGETS[0], TARGETS[2]]
        .iter()
        .filter(|target| target.is_here())
    {
        let program = target.compile(&[("program.c", SOURCE)], &[]);
        let full = program.table();
        program.tool("strip", &["program"]);
        let stripped = program.table();
        assert_eq!(stripped.source, "frames");
        assert!(
            stripped
                .lost
                .iter()
                .any(|line| line.contains("no symbol table"))
        );
        let work = function(&full, "work");
        let same = stripped
            .functions
            .iter()
            .find(|function| function.size == work.size)
            .expect("by its frame");
        assert_eq!(
            (same.instructions, same.loops),
            (work.instructions, work.loops)
        );
        assert!(same.name.starts_with("nameless-") && same.symbol.is_empty());
        assert_eq!(full.content, stripped.content, "names are not content");
    }
}

#[test]
fn names_come_from_the_separate_debug_file_of_the_same_build() {
    let target = TARGETS[0];
    let program = target.compile(&[("program.c", SOURCE)], &["-g", "-Wl,--build-id=sha1"]);
    let full = program.table();
    assert!(
        full.build
            .producers
            .iter()
            .any(|line| line.contains("-O2") && line.contains("GNU C"))
    );
    program.tool(
        "objcopy",
        &["--only-keep-debug", "program", "program.debug"],
    );
    program.tool("strip", &["program"]);
    program.tool("objcopy", &["--add-gnu-debuglink=program.debug", "program"]);
    let table = program.table();
    assert_eq!(table.source, "debug file");
    assert_eq!(function(&table, "work").code, function(&full, "work").code);
    assert_eq!(table.build.debug_link.as_deref(), Some("program.debug"));
    assert_eq!(table.build.libraries, ["libc.so.6"]);

    let other = target.compile(
        &[("program.c", &SOURCE.replace("i * heard", "i + heard"))],
        &["-g"],
    );
    std::fs::copy(other.path(), program.folder.join("program.debug"))
        .expect("another build's file");
    assert_eq!(
        read_path(&program.path()).expect("a program").source,
        "frames",
        "a file of another build is not taken"
    );
}
