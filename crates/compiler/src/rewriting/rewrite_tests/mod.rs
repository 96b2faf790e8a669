//! Rewriting of whole calls, as sentences.

mod levels;
mod options;
mod order;
mod pie;
mod properties;

use std::ffi::{OsStr, OsString};

use super::link_order::LinkOrder;
use super::rewrite::{Rewritten, Wanted, rewrite_call};
use crate::program::ProgramKind;

const AT_O3: Wanted = Wanted {
    optimization: Some("-O3"),
    link_order: LinkOrder::Default,
    pie: None,
    symbol_seed: None,
    flags: &[],
    nested: false,
};

fn ordered(link_order: LinkOrder) -> Wanted<'static> {
    Wanted {
        link_order,
        ..Wanted::default()
    }
}

fn rewrite(kind: ProgramKind, line: &str, wanted: Wanted) -> Rewritten {
    let words = line.split_whitespace().map(OsString::from).collect();
    rewrite_call(kind, words, wanted)
}

fn line_of(rewritten: &Rewritten) -> String {
    rewritten
        .arguments
        .join(OsStr::new(" "))
        .into_string()
        .unwrap()
}

fn at_o3(line: &str) -> String {
    line_of(&rewrite(ProgramKind::Driver, line, AT_O3))
}

fn assert_unchanged(rewrite_line: fn(&str) -> String, lines: &[&str]) {
    for line in lines {
        assert_eq!(rewrite_line(line), *line);
    }
}
