//! Texts of Rust, which have a length and no zero behind them.

mod compiled;

use compiled::source::{build, changed};
use compiled::{TARGETS, those_here};
use datamill_elf::FunctionTable;

/// Texts of Rust lie one behind the other.
const PACKED: &str = r#"
__asm__(".section .rodata\n.Lone: .ascii \"hello\"\n.Ltwo: .ascii \"world\"\n.byte 0\n"
        ".text\n.globl _RNvC1a3one\n.type _RNvC1a3one, @function\n_RNvC1a3one:\n"
        " lea .Lone(%rip), %rax\n mov $5, %edx\n ret\n"
        ".size _RNvC1a3one, .-_RNvC1a3one\n"
        ".globl _RNvC1a3two\n.type _RNvC1a3two, @function\n_RNvC1a3two:\n"
        " lea .Ltwo(%rip), %rax\n mov $5, %edx\n ret\n"
        ".size _RNvC1a3two, .-_RNvC1a3two\n");
extern const char *one(void) __asm__("_RNvC1a3one"), *two(void) __asm__("_RNvC1a3two");
int main(void) { return one()[0] + two()[0]; }
"#;

#[test]
fn a_text_of_rust_ends_where_the_next_one_begins() {
    for target in those_here(&[TARGETS[0], TARGETS[3]]) {
        let old = build(&target, PACKED).table();
        let second = build(&target, &PACKED.replace("world", "earth")).table();
        assert_eq!(changed(&old, &second), ["a::two"], "{target:?}");
        let first = build(&target, &PACKED.replace("hello", "hallo")).table();
        assert_eq!(changed(&old, &first), ["a::one"], "{target:?}");
        // The older scheme.
        let older = |source: &str| {
            let named = source.replace("_RNvC1a3one", "_ZN1a3one17h0123456789abcdefE");
            build(
                &target,
                &named.replace("_RNvC1a3two", "_ZN1a3two17h0123456789abcdefE"),
            )
            .table()
        };
        let (old, second) = (older(PACKED), older(&PACKED.replace("world", "earth")));
        assert_eq!(changed(&old, &second), ["a::two"], "{target:?}");
    }
}

/// A text of fifty bytes that a function shows, and of which `/*OTHER*/` of another uses the sixteen in its middle.
const COPIED: &str = r#"
__asm__(".section .rodata\n.Ltext: .ascii \"a rather long message of exactly fifty bytes, that.\"\n.byte 0\n"
        ".text\n.globl _RNvC1a4show\n.type _RNvC1a4show, @function\n_RNvC1a4show:\n"
        " lea .Ltext(%rip), %rax\n mov $50, %edx\n ret\n.size _RNvC1a4show, .-_RNvC1a4show\n"
        ".globl _RNvC1a4copy\n.type _RNvC1a4copy, @function\n_RNvC1a4copy:\n"
        " /*OTHER*/\n ret\n.size _RNvC1a4copy, .-_RNvC1a4copy\n");
extern const char *show(void) __asm__("_RNvC1a4show");
extern void copy(void) __asm__("_RNvC1a4copy");
int main(void) { copy(); return show()[0]; }
"#;

#[test]
fn a_text_of_rust_does_not_end_within_it() {
    for target in those_here(&[TARGETS[0], TARGETS[3]]) {
        for other in ["movups .Ltext+16(%rip), %xmm0", "lea .Ltext+16(%rip), %rcx"] {
            let source = COPIED.replace("/*OTHER*/", other);
            let old = build(&target, &source).table();
            for (from, to) in [("fifty", "sixty"), ("that.", "this.")] {
                let edited = source.replace(from, to);
                assert_ne!(edited, source);
                let changed = changed(&old, &build(&target, &edited).table());
                assert!(
                    changed.contains(&"a::show".to_owned()),
                    "{other}, {to}: {changed:?} on {target:?}"
                );
            }
        }
    }
}

#[test]
fn a_text_of_rust_may_hold_zeros() {
    for target in those_here(&[TARGETS[0], TARGETS[3]]) {
        for (from, to) in [
            ("\\\\000hello", "\\\\000hallo"),
            ("he\\\\000llo", "he\\\\000lla"),
        ] {
            let [old, new] = [from, to].map(|text| {
                let source = PACKED.replace("hello", text).replace("$5", "$9");
                build(&target, &source).table()
            });
            assert_eq!(changed(&old, &new), ["a::one"], "{from} on {target:?}");
        }
    }
}

/// Data of Rust with texts behind pointers, none with a zero at its end.
const POINTED: &str = r#"
__asm__(".section .rodata\n.Lone: .ascii \"alpha\"\n.Ltwo: .ascii \"be\\000ta\"\n.Lend: .ascii \"gamma\"\n.byte 1, 0\n"
        ".section .data.rel.ro,\"aw\"\n.balign 8\n"
        ".globl _RNvC1a5FIRST\n.type _RNvC1a5FIRST, @object\n_RNvC1a5FIRST: .quad .Lone, 5\n.size _RNvC1a5FIRST, 16\n"
        ".globl _RNvC1a4LAST\n.type _RNvC1a4LAST, @object\n_RNvC1a4LAST: .quad .Ltwo, 5, .Lend, 5\n"
        ".size _RNvC1a4LAST, 32\n.text\n");
extern const char *const first[2] __asm__("_RNvC1a5FIRST"), *const last[4] __asm__("_RNvC1a4LAST");
int main(void) { return first[0][0] + last[0][0]; }
"#;

/// Names of data whose digests differ.
fn changed_data(old: &FunctionTable, new: &FunctionTable) -> Vec<String> {
    let pairs = old.data.iter().zip(&new.data);
    pairs
        .inspect(|(before, after)| assert_eq!(before.name, after.name))
        .filter(|(before, after)| before.content != after.content)
        .map(|(before, _)| before.name.clone())
        .collect()
}

#[test]
fn data_of_rust_tell_the_texts_that_their_pointers_lead_to() {
    for target in those_here(&TARGETS[..1]) {
        let old = build(&target, POINTED).table();
        for (from, to, name) in [
            // What follows it is no text.
            ("gamma", "gammb", "a::LAST"),
            ("alpha", "alphb", "a::FIRST"),
            ("be\\\\000ta", "bf\\\\000ta", "a::LAST"),
            ("be\\\\000ta", "be\\\\000tb", "a::LAST"),
        ] {
            let edited = POINTED.replace(from, to);
            assert_ne!(edited, POINTED, "{from}");
            let new = build(&target, &edited).table();
            assert_eq!(changed_data(&old, &new), [name], "{from} to {to}");
        }
    }
}
