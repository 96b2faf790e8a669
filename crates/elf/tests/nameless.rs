//! What constants without a name hold, and how far they go.

mod compiled;

use std::collections::BTreeSet;

use compiled::source::{SOURCE, build, changed};
use compiled::{Program, TARGETS, function, those_here};

/// Digests of the functions of a program without symbols.
fn digests(program: &Program) -> BTreeSet<String> {
    program.tool("strip", &["program"]);
    let functions = program.table().functions;
    functions
        .into_iter()
        .map(|function| function.code)
        .collect()
}

#[test]
fn a_changed_entry_of_a_table_without_a_name_changes_the_function_that_uses_it() {
    // Small numbers look like short texts, and begin with zeros.
    for (from, to) in [
        ("{3, 1, 4, 1, 5, 9}", "{3, 1, 4, 1, 5, 8}"),
        ("{0, 1, 4, 1, 5, 9}", "{0, 1, 4, 1, 5, 8}"),
        ("{65, 0, 4, 1, 5, 9}", "{65, 0, 4, 1, 5, 8}"),
    ] {
        let [old, new] = [from, to].map(|table| SOURCE.replace("{3, 1, 4, 1, 5, 9}", table));
        for target in those_here(&[TARGETS[0], TARGETS[2], TARGETS[3]]) {
            let (old, new) = (build(&target, &old), build(&target, &new));
            let name = function(&old.table(), "sum").code.clone();
            assert_eq!(name, function(&new.table(), "sum").code, "a named table");
            let (old, new) = (digests(&old), digests(&new));
            assert_eq!(new.difference(&old).count(), 1, "{from} on {target:?}");
        }
    }
}

#[test]
fn code_without_symbols_that_only_moves_keeps_its_digest() {
    // What nothing refers to would belong to what lies before it.
    let filler = "int set[33] = {7}; static const int more[99] = {1, 2}; int zeros[1234]; \
                  __attribute__((used, noinline)) static int filler(int x) { static int seen[77]; seen[x] = x; \
                  return x * 3 + seen[5] + set[x] + more[x]; }";
    // Not the C library, of which three functions use data that nothing refers to.
    for target in those_here(&[TARGETS[0], TARGETS[2]]) {
        let old = digests(&build(&target, SOURCE));
        let new = digests(&target.compile(&[("filler.c", filler), ("program.c", SOURCE)], &[]));
        assert_eq!(
            old.difference(&new).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "{target:?}"
        );
    }
}

#[test]
fn a_table_that_is_copied_changes_the_function_that_copies_it() {
    let copied = |last: u32| {
        let table: Vec<String> = (0..47)
            .map(|index| (index * index % 41).to_string())
            .collect();
        format!(
            "volatile int heard; __attribute__((noinline)) int copied(int k) {{ int table[48] = {{{}, {last}}}; \
             table[k & 31] += heard; return table[(k + heard) % 48]; }}\nint main(void) {{ return copied(heard); }}",
            table.join(", ")
        )
    };
    for target in those_here(&[TARGETS[0], TARGETS[2]]) {
        let (old, new) = (
            build(&target, &copied(3)).table(),
            build(&target, &copied(4)).table(),
        );
        assert_eq!(changed(&old, &new), ["copied"], "{target:?}");
    }
}

/// A table without a name at a place that the linker chose; `SHIFT` moves it by four bytes.
const NAMELESS: &str = r#"
__asm__(".section .rodata\n.balign 8\n/*SHIFT*/.Ltable: .long 5, 0\n.Lafter: .long 9, 9\n"
        ".text\n.globl look\n.type look, @function\nlook: lea .Ltable(%rip), %rax\n ret\n.size look, .-look\n"
        ".globl other\n.type other, @function\nother: lea .Lafter(%rip), %rax\n ret\n.size other, .-other\n");
extern const int *look(void), *other(void);
int main(void) { return look()[0] + other()[0]; }
"#;

#[test]
fn how_a_nameless_table_is_aligned_does_not_change_a_digest() {
    for target in those_here(&[TARGETS[0], TARGETS[3]]) {
        let old = build(&target, NAMELESS).table();
        let moved = build(&target, &NAMELESS.replace("/*SHIFT*/", r".long 1\n")).table();
        assert_eq!(changed(&old, &moved), Vec::<String>::new(), "{target:?}");
        let other = build(&target, &NAMELESS.replace("5, 0", "6, 0")).table();
        assert_eq!(changed(&old, &other), ["look"], "{target:?}");
    }
}

/// Three functions, and a table of eight entries, of which the second reads one and the third may take another.
const MIDDLE: &str = r#"
__asm__(".section .rodata\n.balign 16\n.Lt: .long 3, 1, 4, 1, 5, 9, 2, 6\n.Lafter: .long 7, 7\n"
        ".text\n.globl one\n.type one, @function\none: lea .Lt(%rip), %rax\n ret\n.size one, .-one\n"
        ".globl two\n.type two, @function\ntwo: mov .Lt+12(%rip), %eax\n ret\n.size two, .-two\n"
        ".globl three\n.type three, @function\nthree: lea .Lafter(%rip), %rax\n ret\n.size three, .-three\n");
extern const int *one(void), *three(void);
extern int two(void);
int main(void) { return one()[0] + two() + three()[0]; }
"#;

#[test]
fn a_table_does_not_end_where_another_function_reads_an_entry() {
    for target in those_here(&[TARGETS[0], TARGETS[3]]) {
        let old = build(&target, MIDDLE).table();
        let after = |from: &str, to: &str| {
            let edited = MIDDLE.replace(from, to);
            assert_ne!(edited, MIDDLE);
            changed(&old, &build(&target, &edited).table())
        };
        assert_eq!(after("5, 9, 2, 6", "5, 8, 2, 6"), ["one"], "{target:?}");
        assert_eq!(after("4, 1, 5", "4, 2, 5"), ["one", "two"], "{target:?}");
        assert_eq!(after("7, 7", "7, 8"), ["three"], "{target:?}");
    }
}
