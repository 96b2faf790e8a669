//! What holds for any command line.

use std::ffi::OsString;

use crate::program::ProgramKind;
use crate::rewriting::link_order::LinkOrder;
use crate::rewriting::pie::WantedPie;
use crate::rewriting::rewrite::{Wanted, rewrite_call};
use crate::rewriting::rewrite_tests::{AT_O3, ordered};

/// A small generator of command lines (xorshift), so that failures repeat.
struct Lines(u64);

impl Lines {
    const WORDS: &str = "a.o b.o dir/a.o c.c d.cc e.s -O2 -Os -O -o -Xlinker -Wl,-O1 -lm libx.a \
        -Wl,--start-group -Wl,--end-group -x c none -include -g z.lo crt1.o -shared -c -- -l -MF \
        -fPIE -fPIC -pie -no-pie -static -static-pie -Wl,-pie,-z,now -r -fno-inline -frandom-seed=1";

    fn next_line(&mut self) -> Vec<OsString> {
        let words: Vec<&str> = Self::WORDS.split(' ').collect();
        let length = self.draw(12);
        (0..length)
            .map(|_| OsString::from(words[self.draw(words.len())]))
            .collect()
    }

    fn draw(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }
}

const KINDS: [ProgramKind; 4] = [
    ProgramKind::Driver,
    ProgramKind::Preprocessor,
    ProgramKind::Linker,
    ProgramKind::Archiver,
];

#[test]
fn rewriting_twice_is_rewriting_once() {
    let mut lines = Lines(20_130_421);
    let flags = ["-fno-inline", "-lm", "-I", "x"].map(OsString::from);
    for _ in 0..20_000 {
        let line = lines.next_line();
        for kind in KINDS {
            for link_order in [
                LinkOrder::Default,
                LinkOrder::Alphabetical,
                LinkOrder::Reverse,
                LinkOrder::Random(11),
            ] {
                let wanted = Wanted {
                    optimization: Some("-O3"),
                    link_order,
                    pie: Some(WantedPie {
                        on: link_order != LinkOrder::Reverse,
                        static_pie: link_order != LinkOrder::Alphabetical,
                        forced_static: false,
                    }),
                    symbol_seed: Some(3),
                    flags: &flags,
                    nested: false,
                };
                let once = rewrite_call(kind, line.clone(), wanted).arguments;
                let twice = rewrite_call(kind, once.clone(), wanted);
                assert_eq!(twice.arguments, once, "{kind:?} {line:?}");
                assert!(!twice.facts.level_changed, "{kind:?} {line:?}");
                assert!(twice.facts.link.is_none_or(|l| !l.reordered || l.in_order));
            }
        }
    }
}

#[test]
fn ordering_permutes_files_and_moves_nothing_else() {
    let mut lines = Lines(7);
    // After `-x`, a file of any name is a source.
    let files = "a.o b.o dir/a.o c.c d.cc e.s z.lo libx.a crt1.o c none";
    let is_file = |word: &OsString| files.split(' ').any(|file| word == file);
    let mut reordered = 0;
    let orders = [LinkOrder::Alphabetical, LinkOrder::Random(5)];
    for round in 0..20_000 {
        let line = lines.next_line();
        for kind in KINDS {
            let order = orders[round % orders.len()];
            let rewritten = rewrite_call(kind, line.clone(), ordered(order));
            let after = rewritten.arguments;
            assert_eq!(after.len(), line.len());
            reordered += usize::from(after != line);
            for (old, new) in line.iter().zip(&after) {
                assert!(
                    old == new || (is_file(old) && is_file(new)),
                    "{kind:?} {line:?} {after:?}"
                );
            }
            let sorted = |words: &[OsString]| {
                let mut words = words.to_vec();
                words.sort();
                words
            };
            assert_eq!(sorted(&after), sorted(&line));
        }
    }
    assert!(
        reordered > 1000,
        "the lines hardly exercise ordering: {reordered}"
    );
}

#[test]
fn setting_the_level_keeps_all_other_arguments_in_their_order() {
    let mut lines = Lines(42);
    for _ in 0..20_000 {
        let line = lines.next_line();
        let after = rewrite_call(ProgramKind::Driver, line.clone(), AT_O3).arguments;
        let is_level =
            |word: &&OsString| ["-O", "-O2", "-O3", "-Os"].contains(&word.to_str().unwrap());
        let rest = |words: &[OsString]| {
            words
                .iter()
                .filter(|w| !is_level(w))
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(rest(&after), rest(&line), "{line:?} {after:?}");
    }
}
