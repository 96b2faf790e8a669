//! Which levels the build factors really had.

use datamill_protocol::{CompilerFacts, FactorFacts};

use super::flags::NO_FLAGS;
use crate::settings::WrapperSettings;

/// An observed level and its evidence.
type Observation = (Option<String>, String);

const MIXED: &str = "mixed";

const NO_COMPILATION: &str = "no compilation passed through the wrapper: setup.sh compiles nothing, \
                              or calls the compiler by absolute path";

/// Reads back each build factor that `settings` asks for from what the wrappers logged, and from the
/// executables that were linked.
///
/// The observed level is absent when nothing showed one, and differs from the level asked for when
/// a part of the build escaped: `mixed` when the assembler saw compilations that no wrapper did.
pub fn observe_build_factors(
    settings: &WrapperSettings,
    facts: &CompilerFacts,
) -> Vec<FactorFacts> {
    type Observe = fn(&str, &CompilerFacts) -> Observation;
    let factors: [(&str, &Option<String>, Observe); 6] = [
        ("optimization", &settings.optimization, observe_optimization),
        ("link_order", &settings.link_order, observe_link_order),
        ("pie", &settings.pie, observe_pie),
        ("symbol_seed", &settings.symbol_seed, observe_symbol_seed),
        ("compiler_flags", &settings.compiler_flags, observe_flags),
        (
            "compiler_version",
            &settings.compiler_version,
            observe_compiler,
        ),
    ];
    let asked = factors
        .into_iter()
        .filter_map(|(name, asked, observe)| Some((name, asked.as_deref()?, observe)));
    asked
        .map(|(name, asked, observe)| {
            let (observed, evidence) = observe(asked, facts);
            FactorFacts {
                name: name.to_owned(),
                asked: asked.to_owned(),
                observed,
                evidence,
            }
        })
        .collect()
}

fn observe_optimization(_asked: &str, facts: &CompilerFacts) -> Observation {
    let levels: Vec<&str> = facts
        .optimization_passed
        .keys()
        .map(String::as_str)
        .collect();
    let counts: Vec<String> = facts
        .optimization_passed
        .iter()
        .map(|(level, count)| format!("{count} with {level}"))
        .collect();
    let evidence = format!(
        "{} reached the real compiler, {}; the wrapper changed the level of {}",
        count_of(facts.compiles, "compilation"),
        counts.join(", "),
        facts.optimization_changed
    );
    judge_compilations(
        facts,
        Some(&levels.join(", ")),
        evidence,
        "with its own level",
    )
}

fn observe_symbol_seed(asked: &str, facts: &CompilerFacts) -> Observation {
    if asked == "default" {
        return observe_untouched(asked, facts);
    }
    let evidence = format!(
        "{} of {} had the seed; clang, for one, has none",
        facts.seeded_compiles,
        count_of(facts.compiles, "compilation")
    );
    let level = level_of_share(asked, facts.seeded_compiles, facts.compiles);
    judge_compilations(facts, level, evidence, "with its own seed")
}

fn observe_flags(asked: &str, facts: &CompilerFacts) -> Observation {
    if asked == NO_FLAGS {
        return observe_untouched(asked, facts);
    }
    let evidence = format!(
        "{} of {} reached the real compiler with these options behind their own",
        facts.flagged_compiles,
        count_of(facts.compiles, "compilation")
    );
    let level = level_of_share(asked, facts.flagged_compiles, facts.compiles);
    judge_compilations(facts, level, evidence, "without these options")
}

/// From the programs that the wrappers became, and against it the marks in the executables: code of a
/// compiler that no wrapper saw has another mark.
fn observe_compiler(asked: &str, facts: &CompilerFacts) -> Observation {
    let made: Vec<&str> = facts.compilers.keys().map(String::as_str).collect();
    let counts: Vec<String> = facts
        .compilers
        .iter()
        .map(|(compiler, count)| format!("{count} by {compiler}"))
        .collect();
    let marks: Vec<String> = facts
        .marks
        .iter()
        .map(|(compiler, count)| format!("{compiler} in {count}"))
        .collect();
    let started = facts.startup_marks.join(", ");
    let mut evidence = format!(
        "{}, {}; {} with marks of compilers in .comment: {}, {} of start-up files",
        count_of(facts.compiles, "compilation"),
        counts.join(", "),
        count_of(facts.marked_executables, "executable"),
        if marks.is_empty() {
            "no more".to_owned()
        } else {
            marks.join(", ")
        },
        if started.is_empty() { "none" } else { &started },
    );
    let is_marked = facts.marks.contains_key(asked);
    let could_be_marked = facts.marked_executables > 0
        && facts.unmarked_compiles == 0
        && !facts.startup_marks.iter().any(|mark| mark == asked);
    let made = made.join(", ");
    let level = if facts.marks.keys().any(|mark| mark != asked) {
        evidence += "; another compiler's code is in what was linked";
        Some(MIXED)
    } else if could_be_marked && !is_marked {
        evidence += "; nothing that was linked has its mark";
        None
    } else {
        Some(made.as_str())
    };
    judge_compilations(facts, level, evidence, "by the compiler that they called")
}

/// A level that asks for nothing is what compilations have on either side of the wrapper.
fn observe_untouched(asked: &str, facts: &CompilerFacts) -> Observation {
    if facts.compiles == 0 {
        return (None, NO_COMPILATION.to_owned());
    }
    let evidence = format!(
        "{} passed through the wrapper, left as the build has them",
        count_of(facts.compiles, "compilation")
    );
    (Some(asked.to_owned()), evidence)
}

/// `None` when no compilation has it, as with a compiler that knows no such thing.
fn level_of_share(asked: &str, share: u64, all: u64) -> Option<&str> {
    (share > 0).then_some(if share == all { asked } else { MIXED })
}

/// The level of the compilations that the wrapper saw, unless there are others or none.
fn judge_compilations(
    facts: &CompilerFacts,
    level: Option<&str>,
    mut evidence: String,
    others: &str,
) -> Observation {
    if facts.compiles == 0 {
        evidence = NO_COMPILATION.to_owned();
    }
    if facts.escaped > 0 {
        evidence += &format!(
            "; {} did not pass through the wrapper but called its assembler, {others}",
            count_of(facts.escaped, "compilation"),
        );
    }
    let level = level.filter(|_| facts.compiles > 0);
    let level = level.map(|level| if facts.escaped > 0 { MIXED } else { level });
    (level.map(str::to_owned), evidence)
}

fn observe_pie(_asked: &str, facts: &CompilerFacts) -> Observation {
    let (pie, fixed) = (facts.pie_executables, facts.fixed_executables);
    let mut evidence = match (pie + fixed, facts.unread_executables) {
        (0, 0) => {
            "no link of an executable passed through the wrapper: setup.sh links none, or calls the \
             linker by absolute path"
                .to_owned()
        }
        (0, unread) => format!(
            "of {} that links named, none was there when setup.sh had ended: let it copy what it moves",
            count_of(unread, "executable")
        ),
        (read, unread) => {
            let mut text = format!(
                "{pie} of {} read after setup.sh from where links put them are position-independent",
                count_of(read, "executable")
            );
            if unread > 0 {
                text += &format!("; {unread} more were gone or moved");
            }
            text
        }
    };
    if facts.executables_left > 0 {
        evidence += &format!(
            "; the wrapper left {} as the build has them (static where that cannot be \
             position-independent, with their own start-up code, or by a direct call of the linker)",
            count_of(facts.executables_left, "link"),
        );
    }
    let observed = match (pie, fixed) {
        (0, 0) => None,
        (_, 0) => Some("on"),
        (0, _) => Some("off"),
        _ => Some(MIXED),
    };
    (observed.map(str::to_owned), evidence)
}

fn observe_link_order(asked: &str, facts: &CompilerFacts) -> Observation {
    let (observed, evidence) = if facts.links == 0 {
        let evidence = "no link or archive passed through the wrapper: setup.sh links nothing, or \
                        calls the linker by absolute path";
        (None, evidence.to_owned())
    } else if asked == "default" {
        let evidence = format!(
            "{} passed through the wrapper, their objects left as the build has them",
            count_of(facts.links, "link or archive")
        );
        (Some("default"), evidence)
    } else if facts.orderable_links == 0 {
        let evidence = format!(
            "{} passed through the wrapper, none with two objects that could change places",
            count_of(facts.links, "link or archive")
        );
        (None, evidence)
    } else {
        let evidence = format!(
            "{} of {} links or archives with two objects or more had them in the wanted order; the \
             wrapper changed the order of {}; libraries stay where the build has them, and linkers \
             take members of archives as they need them",
            facts.links_in_order, facts.orderable_links, facts.links_reordered
        );
        let all = facts.links_in_order == facts.orderable_links;
        (Some(if all { asked } else { "mixed" }), evidence)
    };
    (observed.map(str::to_owned), evidence)
}

fn count_of(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {}s", noun.replace(" or", "s or")),
    }
}

#[cfg(test)]
#[path = "observe_tests.rs"]
mod tests;
