//! `compiler_version`: the compiler that stands in for all, of those that are installed.

use datamill_protocol::{CompilerFacts, FactorOffer};

use crate::compilers::{CompilerVersion, find_installed};
use crate::factors::factor::{BuildFactor, offer_unless};
use crate::factors::observation::{MIXED, Observation, count_of, judge_compilations};
use crate::factors::toolbox::Toolbox;
use crate::program::DEFAULT_PATH;
use crate::rewriting::CallWishes;

const NO_GCC_OR_CLANG: &str = "neither gcc nor clang is installed here";

/// The factor.
pub struct CompilerVersionFactor;

impl BuildFactor for CompilerVersionFactor {
    fn name(&self) -> &'static str {
        "compiler_version"
    }

    /// Every gcc and clang in the folders of programs; the host is at what its `cc` is.
    fn offer(&self, tools: &Toolbox) -> FactorOffer {
        let versions = list_versions(tools.search_path());
        let levels: Vec<&str> = versions.iter().map(String::as_str).collect();
        let lack = levels.is_empty().then_some(NO_GCC_OR_CLANG);
        offer_unless(lack, self.name(), &levels)
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        CompilerVersion::parse(level).map(drop).ok_or_else(|| {
            "the family and version of a compiler, such as gcc-12 or clang-16".to_owned()
        })
    }

    fn find_lack(&self, level: &str) -> Option<String> {
        let versions = list_versions(DEFAULT_PATH);
        if versions.iter().any(|known| known == level) {
            return None;
        }
        let there = match versions.is_empty() {
            true => NO_GCC_OR_CLANG.to_owned(),
            false => format!("it has {}", versions.join(", ")),
        };
        Some(format!("no such compiler is installed; {there}"))
    }

    fn is_listed(&self) -> bool {
        true
    }

    fn ask(&self, level: &str, _seed: u64, wishes: &mut CallWishes) {
        wishes.compiler = Some(level.to_owned());
    }

    /// From the programs that the wrappers became, and against it the marks in the executables: code of a
    /// compiler that no wrapper saw has another mark.
    fn observe(&self, asked: &str, facts: &CompilerFacts) -> Observation {
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
}

fn list_versions(search_path: &str) -> Vec<String> {
    find_installed(search_path)
        .iter()
        .map(|installed| installed.version.to_string())
        .collect()
}
