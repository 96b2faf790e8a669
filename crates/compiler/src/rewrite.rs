//! What becomes of a call: its new arguments, and what there is to log of it.

use std::ffi::OsString;

use crate::archiver_arguments::parse_archiver_call;
use crate::arguments::{Argument, Role};
use crate::driver_arguments::{DriverCall, Stage, parse_driver_call};
use crate::link_order::{LinkOrder, inspect_order, order_objects};
use crate::linker_arguments::parse_linker_call;
use crate::log::{CallFacts, LinkFacts};
use crate::optimization::{effective_level, set_level};
use crate::program::ProgramKind;

/// What is wanted of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Optimisation level; `None` leaves the call's own.
    pub optimization: Option<&'a str>,
    pub link_order: LinkOrder,
    /// Whether another wrapped program makes the call: everything but the level is done already, and
    /// there is nothing more to count.
    pub nested: bool,
}

/// A call as it is passed on.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub arguments: Vec<OsString>,
    /// Facts of the call, without the program.
    pub facts: CallFacts,
    /// The archive that the call adds to.
    pub archive: Option<OsString>,
}

/// Rewrites the arguments, response files expanded, of a call of a program of this kind.
pub(crate) fn rewrite_call(kind: ProgramKind, words: Vec<OsString>, wanted: Wanted) -> Rewritten {
    match kind {
        ProgramKind::Driver => rewrite_driver_call(parse_driver_call(words, false), wanted),
        ProgramKind::Preprocessor => rewrite_driver_call(parse_driver_call(words, true), wanted),
        ProgramKind::Assembler => unchanged(words),
        _ if wanted.nested => unchanged(words),
        ProgramKind::Linker => {
            let mut call = parse_linker_call(words);
            let link = call
                .links
                .then(|| order_objects(&mut call.arguments, wanted.link_order));
            finish(call.arguments, link, None)
        }
        ProgramKind::Archiver => {
            let mut call = parse_archiver_call(words);
            let link = call.archives.then(|| {
                if call.may_reorder {
                    order_objects(&mut call.arguments, wanted.link_order)
                } else {
                    inspect_order(&call.arguments, wanted.link_order)
                }
            });
            let archive = call.archive.filter(|_| call.archives);
            finish(call.arguments, link, archive)
        }
    }
}

fn unchanged(words: Vec<OsString>) -> Rewritten {
    Rewritten {
        arguments: words,
        facts: CallFacts::default(),
        archive: None,
    }
}

fn rewrite_driver_call(mut call: DriverCall, wanted: Wanted) -> Rewritten {
    let has = |call: &DriverCall, role| call.arguments.iter().any(|a| a.role == role);
    let compiles = has(&call, Role::Source) || has(&call, Role::FixedSource);
    let only_assembles = !compiles && has(&call, Role::Assembly);
    if call.stage == Stage::Query {
        return finish(call.arguments, None, None);
    }
    let asked_before = effective_level(&call.arguments);
    if let Some(level) = wanted.optimization
        && !only_assembles
    {
        set_level(&mut call, level);
    }
    let level = effective_level(&call.arguments);
    let link = (call.stage == Stage::Link && !wanted.nested)
        .then(|| order_objects(&mut call.arguments, wanted.link_order));
    let mut rewritten = finish(call.arguments, link, None);
    if compiles && call.stage != Stage::Preprocess && !wanted.nested {
        rewritten.facts.level_changed = level != asked_before;
        rewritten.facts.level = Some(level);
    }
    rewritten
}

fn finish(
    arguments: Vec<Argument>,
    link: Option<LinkFacts>,
    archive: Option<OsString>,
) -> Rewritten {
    Rewritten {
        arguments: arguments.into_iter().map(|a| a.text).collect(),
        facts: CallFacts {
            link,
            ..CallFacts::default()
        },
        archive,
    }
}
