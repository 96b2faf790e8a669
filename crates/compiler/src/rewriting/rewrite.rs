//! What becomes of a call: its new arguments, and what there is to log of it.

use std::ffi::OsString;

use super::link_order::{LinkOrder, inspect_order, order_objects};
use super::optimization::{effective_level, set_level};
use super::pie::{WantedPie, makes_executable, set_pie};
use super::symbol_seed::{is_symbol_seed, set_symbol_seed};
use crate::arguments::{
    Argument, DriverCall, Role, Stage, parse_archiver_call, parse_driver_call, parse_linker_call,
};
use crate::build_log::{CallFacts, LinkFacts};
use crate::program::ProgramKind;

/// What is wanted of a call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'a> {
    /// Optimisation level; `None` leaves the call's own.
    pub optimization: Option<&'a str>,
    pub link_order: LinkOrder,
    /// Type of executables; `None` leaves the call's own.
    pub pie: Option<WantedPie>,
    /// Seed for symbols; `None` leaves the call's own, as for a compiler that has none.
    pub symbol_seed: Option<u64>,
    /// Options to add behind the call's own.
    pub flags: &'a [OsString],
    /// Whether another wrapped program makes the call: there is nothing more to count, and links are
    /// in order already.
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
    /// The executable that the call links, as it names it.
    pub executable: Option<OsString>,
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
            let mut rewritten = finish(call.arguments, link);
            // Whoever calls the linker chooses the start-up files as well.
            rewritten.facts.type_left = call.executable.is_some() && wanted.pie.is_some();
            rewritten.executable = call.executable;
            rewritten
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
            Rewritten {
                archive: call.archive.filter(|_| call.archives),
                ..finish(call.arguments, link)
            }
        }
    }
}

fn unchanged(words: Vec<OsString>) -> Rewritten {
    Rewritten {
        arguments: words,
        facts: CallFacts::default(),
        archive: None,
        executable: None,
    }
}

fn rewrite_driver_call(mut call: DriverCall, wanted: Wanted) -> Rewritten {
    if call.stage == Stage::Query {
        return finish(call.arguments, None);
    }
    let compiles = call.has(Role::Source) || call.has(Role::FixedSource);
    let only_assembles = !compiles && call.has(Role::Assembly);
    let generates_code = compiles && call.stage != Stage::Preprocess;
    let links = call.stage == Stage::Link;
    let asked_before = effective_level(&call.arguments);

    // A nested call has them already.
    remove_last(&mut call, wanted.flags);
    if let Some(level) = wanted.optimization
        && !only_assembles
    {
        set_level(&mut call, level);
    }
    let type_left = wanted.pie.is_some_and(|pie| set_pie(&mut call, pie));
    // What makes a nested call, such as a compiler cache, may name files by chance.
    let has_seed = wanted.nested && call.options().any(is_symbol_seed);
    if let Some(seed) = wanted.symbol_seed
        && generates_code
        && !has_seed
    {
        set_symbol_seed(&mut call, seed);
    }
    if !only_assembles || links {
        for flag in wanted.flags {
            call.append(flag, Role::Plain);
        }
    }
    let level = effective_level(&call.arguments);
    if wanted.nested {
        return finish(call.arguments, None);
    }

    let link = links.then(|| order_objects(&mut call.arguments, wanted.link_order));
    let seeded = call.options().any(is_symbol_seed) && wanted.symbol_seed.is_some();
    let flagged = !wanted.flags.is_empty() && ends_with(&call, wanted.flags);
    let unmarked = call.has_option(&["-fno-ident", "-Qn"]);
    let executable = makes_executable(&call).then(|| output_of(&call));
    let mut rewritten = finish(call.arguments, link);
    if generates_code {
        rewritten.facts.level_changed = level != asked_before;
        rewritten.facts.level = Some(level);
        rewritten.facts.seeded = seeded;
        rewritten.facts.flagged = flagged;
        rewritten.facts.unmarked = unmarked;
    }
    rewritten.facts.type_left = type_left;
    rewritten.executable = executable;
    rewritten
}

fn output_of(call: &DriverCall) -> OsString {
    call.output.clone().unwrap_or_else(|| "a.out".into())
}

/// Whether the options of the call end with these words.
fn ends_with(call: &DriverCall, words: &[OsString]) -> bool {
    let options = call.arguments[..call.end_of_options()].iter();
    options.len() >= words.len()
        && options
            .rev()
            .zip(words.iter().rev())
            .all(|(argument, word)| argument.text == *word)
}

fn remove_last(call: &mut DriverCall, words: &[OsString]) {
    if ends_with(call, words) {
        let end = call.end_of_options();
        call.arguments.drain(end - words.len()..end);
    }
}

fn finish(arguments: Vec<Argument>, link: Option<LinkFacts>) -> Rewritten {
    let facts = CallFacts {
        link,
        ..CallFacts::default()
    };
    Rewritten {
        facts,
        ..unchanged(arguments.into_iter().map(|a| a.text).collect())
    }
}
