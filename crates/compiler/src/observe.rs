//! Which levels the build factors really had.

use datamill_protocol::{CompilerFacts, FactorFacts};

use crate::settings::WrapperSettings;

/// Reads back each build factor that `settings` asks for from what the wrappers logged.
///
/// The observed level is absent when nothing showed one, and differs from the level asked for when
/// a part of the build escaped: `mixed` when the assembler saw compilations that no wrapper did.
pub fn observe_build_factors(
    settings: &WrapperSettings,
    facts: &CompilerFacts,
) -> Vec<FactorFacts> {
    let optimization = settings
        .optimization
        .as_deref()
        .map(|asked| observe_optimization(asked, facts));
    let link_order = settings
        .link_order
        .as_deref()
        .map(|asked| observe_link_order(asked, facts));
    optimization.into_iter().chain(link_order).collect()
}

fn observe_optimization(asked: &str, facts: &CompilerFacts) -> FactorFacts {
    let levels: Vec<&str> = facts
        .optimization_passed
        .keys()
        .map(String::as_str)
        .collect();
    let evidence = if levels.is_empty() {
        "no compilation passed through the wrapper: setup.sh compiles nothing, or calls the compiler \
         by absolute path"
            .to_owned()
    } else {
        let counts: Vec<String> = facts
            .optimization_passed
            .iter()
            .map(|(level, count)| format!("{count} with {level}"))
            .collect();
        format!(
            "{} reached the real compiler, {}; the wrapper changed the level of {}",
            count_of(facts.compiles, "compilation"),
            counts.join(", "),
            facts.optimization_changed
        )
    };
    let (observed, evidence) = match facts.escaped {
        0 => (levels.join(", "), evidence),
        escaped => (
            "mixed".to_owned(),
            format!(
                "{evidence}; {} did not pass through the wrapper but called its assembler, with its \
                 own level",
                count_of(escaped, "compilation")
            ),
        ),
    };
    FactorFacts {
        name: "optimization".to_owned(),
        asked: asked.to_owned(),
        observed: (!levels.is_empty()).then_some(observed),
        evidence,
    }
}

fn observe_link_order(asked: &str, facts: &CompilerFacts) -> FactorFacts {
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
             wrapper changed the order of {}",
            facts.links_in_order, facts.orderable_links, facts.links_reordered
        );
        let all = facts.links_in_order == facts.orderable_links;
        (Some(if all { asked } else { "mixed" }), evidence)
    };
    FactorFacts {
        name: "link_order".to_owned(),
        asked: asked.to_owned(),
        observed: observed.map(str::to_owned),
        evidence,
    }
}

fn count_of(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {}s", noun.replace(" or", "s or")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(optimization: Option<&str>, link_order: Option<&str>) -> WrapperSettings {
        WrapperSettings {
            optimization: optimization.map(str::to_owned),
            link_order: link_order.map(str::to_owned),
        }
    }

    fn observe_one(settings: &WrapperSettings, facts: &CompilerFacts) -> FactorFacts {
        let mut observed = observe_build_factors(settings, facts);
        assert_eq!(observed.len(), 1);
        observed.remove(0)
    }

    fn compiled(levels: &[(&str, u64)]) -> CompilerFacts {
        CompilerFacts {
            compiles: levels.iter().map(|(_, count)| count).sum(),
            optimization_passed: levels.iter().map(|(l, n)| ((*l).to_owned(), *n)).collect(),
            ..CompilerFacts::default()
        }
    }

    fn linked(links: u64, orderable: u64, in_order: u64) -> CompilerFacts {
        CompilerFacts {
            links,
            orderable_links: orderable,
            links_in_order: in_order,
            ..CompilerFacts::default()
        }
    }

    #[test]
    fn factors_that_are_not_asked_for_are_not_observed() {
        let facts = compiled(&[("-O2", 3)]);
        assert!(observe_build_factors(&settings(None, None), &facts).is_empty());
    }

    #[test]
    fn one_level_in_all_compilations_is_the_observed_level() {
        let facts = observe_one(&settings(Some("-O2"), None), &compiled(&[("-O2", 3)]));
        assert_eq!(facts.observed.as_deref(), Some("-O2"));
        assert_eq!(
            (facts.name.as_str(), facts.asked.as_str()),
            ("optimization", "-O2")
        );
    }

    #[test]
    fn mixed_levels_are_listed() {
        let facts = compiled(&[("-O0", 1), ("-O2", 3)]);
        let facts = observe_one(&settings(Some("-O2"), None), &facts);
        assert_eq!(facts.observed.as_deref(), Some("-O0, -O2"));
    }

    #[test]
    fn a_build_that_bypasses_the_wrapper_shows_no_level() {
        let facts = observe_one(&settings(Some("-O2"), None), &CompilerFacts::default());
        assert_eq!(facts.observed, None);
        assert!(facts.evidence.contains("absolute path"));
    }

    #[test]
    fn one_compilation_that_escapes_makes_the_level_mixed() {
        let facts = CompilerFacts {
            escaped: 1,
            ..compiled(&[("-O2", 3)])
        };
        let facts = observe_one(&settings(Some("-O2"), None), &facts);
        assert_eq!(facts.observed.as_deref(), Some("mixed"));
        assert!(facts.evidence.contains("1 compilation did not pass"));
    }

    #[test]
    fn a_build_of_which_all_escapes_shows_no_level_but_how_much_escaped() {
        let facts = CompilerFacts {
            escaped: 2,
            ..CompilerFacts::default()
        };
        let facts = observe_one(&settings(Some("-O2"), None), &facts);
        assert_eq!(facts.observed, None);
        assert!(facts.evidence.contains("2 compilations did not pass"));
    }

    #[test]
    fn an_order_that_every_orderable_link_has_is_the_observed_level() {
        let facts = observe_one(&settings(None, Some("reverse")), &linked(5, 2, 2));
        assert_eq!(facts.observed.as_deref(), Some("reverse"));
    }

    #[test]
    fn one_link_out_of_order_makes_the_level_mixed() {
        let facts = observe_one(&settings(None, Some("reverse")), &linked(5, 3, 2));
        assert_eq!(facts.observed.as_deref(), Some("mixed"));
        assert!(facts.evidence.contains("2 of 3 links"));
    }

    #[test]
    fn links_of_single_objects_show_no_order() {
        let facts = observe_one(&settings(None, Some("alphabetical")), &linked(5, 0, 0));
        assert_eq!(facts.observed, None);
        assert!(facts.evidence.contains("5 links or archives"));
    }

    #[test]
    fn the_default_order_needs_only_some_link() {
        let wanted = settings(None, Some("default"));
        assert_eq!(
            observe_one(&wanted, &linked(1, 0, 0)).observed.as_deref(),
            Some("default")
        );
        assert_eq!(observe_one(&wanted, &linked(0, 0, 0)).observed, None);
    }
}
