//! A program of which tests change a piece, and what that changes.

use datamill_elf::FunctionTable;

use super::{Program, Target};

pub const SOURCE: &str = r#"
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

pub fn build(target: &Target, source: &str) -> Program {
    target.compile(&[("program.c", source)], &[])
}

/// Names of functions whose digests differ.
pub fn changed(old: &FunctionTable, new: &FunctionTable) -> Vec<String> {
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
