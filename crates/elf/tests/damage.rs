//! Files that were damaged.

mod compiled;

use compiled::TARGETS;
use datamill_elf::{Trouble, read_table};

/// A generator of numbers with a fixed seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

const SOURCE: &str = "
int table[4] = {1, 2, 3, 4}; int *first = table; volatile int heard;
int pick(int k) { switch (k) { case 0: return heard; case 1: heard = 4; return 2; case 2: return 9; case 3: heard = 1; return 7;
  case 4: return table[heard]; default: return *first; } }
int main(void) { int s = 0; for (int i = 0; i < heard; i++) s += pick(i); return s; }
#if __STDC_HOSTED__ == 0
void _start(void) { heard = main(); for (;;) {} }
#endif
";

#[test]
fn a_damaged_file_gives_a_table_or_a_trouble_and_never_a_panic() {
    let mut numbers = Numbers(20);
    let (mut tables, mut troubles) = (0, 0);
    for target in TARGETS.iter().take(3).filter(|target| target.is_here()) {
        let program = target.compile(&[("program.c", SOURCE)], &["-g"]);
        let whole = std::fs::read(program.path()).expect("a program");
        let header = if target.machine == "i386" { 52 } else { 64 };
        for round in 0..400 {
            let mut bytes = whole.clone();
            match round % 4 {
                0 => bytes.truncate(numbers.below(whole.len())),
                // The file's header and its tables, where one byte moves everything.
                1 => {
                    for _ in 0..=numbers.below(3) {
                        bytes[numbers.below(header)] = numbers.next() as u8;
                    }
                }
                2 => {
                    let tail = whole.len() / 4;
                    for _ in 0..=numbers.below(40) {
                        let at = whole.len() - 1 - numbers.below(tail);
                        bytes[at] = numbers.next() as u8;
                    }
                }
                _ => {
                    for _ in 0..=numbers.below(60) {
                        bytes[numbers.below(whole.len())] = numbers.next() as u8;
                    }
                }
            }
            match read_table(&bytes, (round % 8 == 3).then_some(&whole[..])) {
                Ok(_) => tables += 1,
                Err(_) => troubles += 1,
            }
        }
    }
    assert!(
        tables > 100 && troubles > 100,
        "{tables} tables, {troubles} troubles"
    );
}

#[test]
fn what_is_no_linked_program_is_named() {
    assert!(matches!(read_table(b"", None), Err(Trouble::NotElf(_))));
    assert!(matches!(
        read_table(b"#!/bin/sh\necho hello\n", None),
        Err(Trouble::NotElf(_))
    ));
    let program = TARGETS[0].compile(&[("program.c", "int one(void) { return 1; }")], &["-c"]);
    let object = std::fs::read(program.path()).expect("an object file");
    assert_eq!(
        read_table(&object, None),
        Err(Trouble::NotLinked("an object file"))
    );
}
