//! Texts of Rust, which have a length and no zero behind them.

mod compiled;

use compiled::source::{build, changed};
use compiled::{TARGETS, those_here};

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
