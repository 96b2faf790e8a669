//! What a build shows of a level, and what all factors judge alike.

use datamill_protocol::CompilerFacts;

/// An observed level and its evidence.
pub(crate) type Observation = (Option<String>, String);

/// The level of a build of which a part had another one.
pub(super) const MIXED: &str = "mixed";

const NO_COMPILATION: &str = "no compilation passed through the wrapper: setup.sh compiles nothing, \
                              or calls the compiler by absolute path";

/// A level that asks for nothing is what compilations have on either side of the wrapper.
pub(super) fn observe_untouched(asked: &str, facts: &CompilerFacts) -> Observation {
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
pub(super) fn level_of_share(asked: &str, share: u64, all: u64) -> Option<&str> {
    (share > 0).then_some(if share == all { asked } else { MIXED })
}

/// The level of the compilations that the wrapper saw, unless there are others or none.
pub(super) fn judge_compilations(
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

/// `1 link`, `2 links`; a noun of two words with `or` has both in the plural.
pub(super) fn count_of(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {}s", noun.replace(" or", "s or")),
    }
}
