//! What changes a function's digest, and what does not.

mod compiled;

use std::collections::BTreeSet;

use compiled::{Program, TARGETS, Target, function, function as function_of};
use datamill_elf::FunctionTable;

const SOURCE: &str = r#"
extern void *memset(void *, int, unsigned long);
volatile int heard;
static const int weights[6] = {3, 1, 4, 1, 5, 9};
const char *greeting = "hello";
__attribute__((noinline)) void hear(int x) { heard += x; }
__attribute__((noinline)) void fail(const char *file, int line, const char *why) { heard += file[0] + line + why[0]; }
/*HERE*/
__attribute__((noinline)) int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += weights[i % 6] * heard; return s; }
__attribute__((noinline)) double scale(double x) { return x * 1.5 + 0.25; }
__attribute__((noinline)) int pick(int k) {
  switch (k) {
    case 0: hear(3); return 5; case 1: hear(1); return 7; case 2: hear(9); return 11; case 3: return 1;
    case 4: hear(400); return sum(4); case 5: return sum(3); case 6: hear(2); return 8; default: return 0;
  }
}
__attribute__((noinline)) void check(int x) { if (x > 40) fail(__FILE__, __LINE__, "too large"); hear(x); }
__attribute__((noinline)) const char *greet(int k) { return k ? greeting : "nobody"; }
int main(void) { check(heard); return pick(heard) + (int)scale(heard) + greet(heard)[0]; }
#if __STDC_HOSTED__ == 0
void _start(void) { heard = main(); for (;;) {} }
#endif
"#;

fn build(target: &Target, source: &str) -> Program {
    target.compile(&[("program.c", source)], &[])
}

/// Names of functions whose digests differ.
fn changed(old: &FunctionTable, new: &FunctionTable) -> Vec<String> {
    old.functions
        .iter()
        .filter(|before| {
            new.functions
                .iter()
                .any(|after| after.name == before.name && after.code != before.code)
        })
        .map(|function| function.name.clone())
        .collect()
}

/// Those without the C library linked in, whose linking takes longest.
fn targets() -> impl Iterator<Item = &'static Target> {
    TARGETS[..3].iter().filter(|target| target.is_here())
}

#[test]
fn code_that_only_moves_keeps_its_digest() {
    // In a file of its own: beside them a compiler may address the same data in another way.
    let filler = "__attribute__((used, noinline)) static int filler(int x) { static int seen[77]; seen[x] = x; \
                  return x * 3 + seen[5]; } const int more[99] = {1, 2}; int zeros[1234]; int set[33] = {7};";
    for target in TARGETS.iter().filter(|target| target.is_here()) {
        let old = build(target, SOURCE).table();
        let new = target
            .compile(&[("filler.c", filler), ("program.c", SOURCE)], &[])
            .table();
        assert_eq!(changed(&old, &new), Vec::<String>::new(), "{target:?}");
        assert!(
            new.functions
                .iter()
                .any(|function| function.name == "filler")
        );
        assert_ne!(old.content, new.content);
        for before in &old.data {
            let after = new
                .data
                .iter()
                .find(|after| after.name == before.name)
                .expect("still there");
            // The C library's own tables hold distances between parts of a program.
            if ["weights", "greeting", "heard"].contains(&before.name.as_str()) {
                assert_eq!(
                    before.content, after.content,
                    "{} on {target:?}",
                    before.name
                );
            }
        }
    }
}

#[test]
fn each_kind_of_change_is_seen_in_the_function_that_has_it() {
    let changes = [
        ("a constant", "i % 6", "i % 5", "sum"),
        ("an operator", "x * 1.5 + 0.25", "x * 1.5 - 0.25", "scale"),
        (
            "a constant in memory",
            "x * 1.5 + 0.25",
            "x * 1.75 + 0.25",
            "scale",
        ),
        ("a comparison", "x > 40", "x >= 40", "check"),
        ("an argument", "hear(400)", "hear(401)", "pick"),
        ("a text", "\"too large\"", "\"too big\"", "check"),
        (
            "a callee",
            "case 5: return sum(3)",
            "case 5: hear(3); return 0",
            "pick",
        ),
        (
            "an order of cases",
            "case 0: hear(3); return 5; case 1: hear(1); return 7",
            "case 1: hear(3); return 5; case 0: hear(1); return 7",
            "pick",
        ),
    ];
    for target in targets() {
        let old = build(target, SOURCE).table();
        for (what, from, to, name) in changes {
            let edited = SOURCE.replace(from, to);
            assert_ne!(edited, SOURCE, "{what}");
            let new = build(target, &edited).table();
            assert_eq!(changed(&old, &new), [name], "{what} on {target:?}");
            let (before, after) = (function(&old, name), function(&new, name));
            let kept = |function: &datamill_elf::Function| {
                function
                    .code_without_lines
                    .clone()
                    .unwrap_or_else(|| function.code.clone())
            };
            assert_ne!(kept(before), kept(after), "{what} is not a line number");
        }
    }
}

#[test]
fn a_changed_table_changes_the_data_and_no_code() {
    for target in targets() {
        let old = build(target, SOURCE).table();
        let new = build(target, &SOURCE.replace("4, 1, 5, 9}", "4, 2, 5, 9}")).table();
        assert_eq!(changed(&old, &new), Vec::<String>::new());
        let content = |table: &FunctionTable, name: &str| {
            table
                .data
                .iter()
                .find(|object| object.name == name)
                .expect("named data")
                .content
                .clone()
        };
        assert_ne!(content(&old, "weights"), content(&new, "weights"));
        assert_eq!(content(&old, "greeting"), content(&new, "greeting"));
        let retold = build(target, &SOURCE.replace("\"hello\"", "\"hi\"")).table();
        assert_ne!(
            content(&old, "greeting"),
            content(&retold, "greeting"),
            "{target:?}"
        );
        assert!(
            function(&old, "sum")
                .refers_to
                .contains(&"weights".to_owned())
        );
    }
}

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
        for target in [TARGETS[0], TARGETS[2], TARGETS[3]]
            .iter()
            .filter(|target| target.is_here())
        {
            let (old, new) = (build(target, &old), build(target, &new));
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
    for target in [TARGETS[0], TARGETS[2]]
        .iter()
        .filter(|target| target.is_here())
    {
        let old = digests(&build(target, SOURCE));
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
    for target in [TARGETS[0], TARGETS[2]]
        .iter()
        .filter(|target| target.is_here())
    {
        let (old, new) = (
            build(target, &copied(3)).table(),
            build(target, &copied(4)).table(),
        );
        assert_eq!(changed(&old, &new), ["copied"], "{target:?}");
    }
}

#[test]
fn a_comparison_with_an_address_bounds_no_table_by_what_was_compared_before() {
    // The prefix changes nothing, and makes it an instruction that few compilers write.
    let function = |name: &str, prefix: &str| {
        format!(
            r#"asm(".text\n.globl {name}\n.type {name}, @function\n{name}: mov %edi, %eax\n1: inc %ecx\n2: inc %ecx\n"
               "3: inc %ecx\ncmp $5, %esi\nje 9f\n{prefix} cmp $there, %rbx\nja 9f\nand $7, %eax\n"
               "jmp *tab_{name}(,%rax,8)\n8: inc %edx\n9: ret\n.size {name}, .-{name}\n.section .rodata\n.p2align 3\n"
               "tab_{name}: .quad 8b, 9b, 1b, 2b, 3b, 9b, 0\n.text\n");"#
        )
    };
    let source = format!(
        "long there = 1; {} {} int main(void) {{ return there; }}",
        function("common", ""),
        function("rare", ".byte 0x3e\\n")
    );
    let table = TARGETS[3].compile(&[("program.c", &source)], &[]).table();
    let [common, rare] = ["common", "rare"].map(|name| function_of(&table, name).loops);
    assert_eq!((common, rare), (0, 0));
}

#[test]
fn data_tell_what_their_pointers_lead_to() {
    let source = "static const int far[3] = {1, 2, 3}; struct way { const int *to; int (*by)(int); };\n\
                  static int go(int x) { return x * 3; }\n\
                  struct way way = {far, go}; int main(int n) { return way.by(way.to[n & 1]); }";
    for target in TARGETS.iter().filter(|target| target.is_here()) {
        if target.machine == "i386" {
            continue;
        }
        let table = build(target, source).table();
        let way = table.data.iter().find(|data| data.name == "way");
        assert_eq!(
            way.expect("named data").refers_to,
            ["far", "go"],
            "{target:?}"
        );
        let renamed = build(target, &source.replace("go", "walk")).table();
        let content = |table: &FunctionTable| {
            let way = table.data.iter().find(|data| data.name == "way");
            let way = way.expect("named data");
            (way.content.clone(), way.content_without_names.clone())
        };
        let ((first, nameless), (second, other)) = (content(&table), content(&renamed));
        assert_ne!(first, second);
        assert!(nameless.is_some() && nameless == other, "{target:?}");
    }
}

#[test]
fn a_comment_changes_line_numbers_and_nothing_else() {
    let commented = SOURCE.replace("/*HERE*/", "/* three\n new\n lines */\n");
    for target in targets() {
        let (old, new) = (
            build(target, SOURCE).table(),
            build(target, &commented).table(),
        );
        assert_eq!(changed(&old, &new), ["check"], "{target:?}");
        let (before, after) = (function(&old, "check"), function(&new, "check"));
        assert!(before.code_without_lines.is_some());
        assert_eq!(
            before.code_without_lines, after.code_without_lines,
            "{target:?}"
        );
    }
}

#[test]
fn a_renamed_function_keeps_its_digest_and_changes_its_callers() {
    for target in targets() {
        let (old, new) = (
            build(target, SOURCE).table(),
            build(target, &SOURCE.replace("sum(", "total(")).table(),
        );
        assert_eq!(
            function(&old, "sum").code,
            function(&new, "total").code,
            "{target:?}"
        );
        assert_eq!(changed(&old, &new), ["pick"]);
        let (before, after) = (function(&old, "pick"), function(&new, "pick"));
        assert_eq!(before.code_without_names, after.code_without_names);
        let renamed: Vec<String> = before
            .calls
            .iter()
            .map(|name| name.replace("sum", "total"))
            .collect();
        assert_eq!(renamed, after.calls);
    }
}

#[test]
fn loops_calls_and_constants_are_what_the_source_has() {
    for target in targets() {
        let table = build(target, SOURCE).table();
        assert_eq!(function(&table, "sum").loops, 1, "{target:?}");
        assert_eq!(function(&table, "scale").loops, 0);
        assert_eq!(function(&table, "pick").loops, 0);
        let calls: Vec<&String> = function(&table, "pick")
            .calls
            .iter()
            .filter(|name| !name.starts_with("__x86") && *name != "pick.cold")
            .collect();
        assert_eq!(calls, ["hear", "sum"], "{target:?}");
        assert!(
            function(&table, "pick").constants.contains(&400),
            "{target:?}"
        );
        assert!(function(&table, "check").calls.contains(&"fail".to_owned()));
        assert!(function(&table, "main").calls.contains(&"pick".to_owned()));
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
    let wanted = |target: &&Target| target.machine == "x86-64" && target.is_here();
    for target in TARGETS.iter().filter(wanted) {
        let old = build(target, NAMELESS).table();
        let moved = build(target, &NAMELESS.replace("/*SHIFT*/", r".long 1\n")).table();
        assert_eq!(changed(&old, &moved), Vec::<String>::new(), "{target:?}");
        let other = build(target, &NAMELESS.replace("5, 0", "6, 0")).table();
        assert_eq!(changed(&old, &other), ["look"], "{target:?}");
    }
}

/// Texts of Rust lie one behind the other.
const PACKED: &str = r#"
__asm__(".section .rodata\n.Lone: .ascii \"hello\"\n.Ltwo: .ascii \"world\"\n.byte 0\n"
        ".text\n.globl _RNvC1a3one\n.type _RNvC1a3one, @function\n_RNvC1a3one: lea .Lone(%rip), %rax\n ret\n"
        ".size _RNvC1a3one, .-_RNvC1a3one\n"
        ".globl _RNvC1a3two\n.type _RNvC1a3two, @function\n_RNvC1a3two: lea .Ltwo(%rip), %rax\n ret\n"
        ".size _RNvC1a3two, .-_RNvC1a3two\n");
extern const char *one(void) __asm__("_RNvC1a3one"), *two(void) __asm__("_RNvC1a3two");
int main(void) { return one()[0] + two()[0]; }
"#;

#[test]
fn a_text_of_rust_ends_where_the_next_one_begins() {
    let wanted = |target: &&Target| target.machine == "x86-64" && target.is_here();
    for target in TARGETS.iter().filter(wanted) {
        let old = build(target, PACKED).table();
        let second = build(target, &PACKED.replace("world", "earth")).table();
        assert_eq!(changed(&old, &second), ["a::two"], "{target:?}");
        let first = build(target, &PACKED.replace("hello", "hallo")).table();
        assert_eq!(changed(&old, &first), ["a::one"], "{target:?}");
        // The older scheme.
        let older = |source: &str| {
            let named = source.replace("_RNvC1a3one", "_ZN1a3one17h0123456789abcdefE");
            build(
                target,
                &named.replace("_RNvC1a3two", "_ZN1a3two17h0123456789abcdefE"),
            )
            .table()
        };
        let (old, second) = (older(PACKED), older(&PACKED.replace("world", "earth")));
        assert_eq!(changed(&old, &second), ["a::two"], "{target:?}");
    }
}
