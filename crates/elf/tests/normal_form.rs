//! What changes a function's digest, and what does not.

mod compiled;

use compiled::source::{SOURCE, build, changed};
use compiled::{TARGETS, Target, function, function as function_of, those_here};
use datamill_elf::FunctionTable;

/// Those without the C library linked in, whose linking takes longest.
fn targets() -> Vec<Target> {
    those_here(&TARGETS[..3])
}

#[test]
fn code_that_only_moves_keeps_its_digest() {
    // In a file of its own: beside them a compiler may address the same data in another way.
    let filler = "__attribute__((used, noinline)) static int filler(int x) { static int seen[77]; seen[x] = x; \
                  return x * 3 + seen[5]; } const int more[99] = {1, 2}; int zeros[1234]; int set[33] = {7};";
    for target in those_here(&TARGETS) {
        let old = build(&target, SOURCE).table();
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
        let old = build(&target, SOURCE).table();
        for (what, from, to, name) in changes {
            let edited = SOURCE.replace(from, to);
            assert_ne!(edited, SOURCE, "{what}");
            let new = build(&target, &edited).table();
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
        let old = build(&target, SOURCE).table();
        let new = build(&target, &SOURCE.replace("4, 1, 5, 9}", "4, 2, 5, 9}")).table();
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
        let retold = build(&target, &SOURCE.replace("\"hello\"", "\"hi\"")).table();
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
    for target in those_here(&TARGETS) {
        if target.machine == "i386" {
            continue;
        }
        let table = build(&target, source).table();
        let way = table.data.iter().find(|data| data.name == "way");
        assert_eq!(
            way.expect("named data").refers_to,
            ["far", "go"],
            "{target:?}"
        );
        let renamed = build(&target, &source.replace("go", "walk")).table();
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
            build(&target, SOURCE).table(),
            build(&target, &commented).table(),
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
            build(&target, SOURCE).table(),
            build(&target, &SOURCE.replace("sum(", "total(")).table(),
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
        let table = build(&target, SOURCE).table();
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
