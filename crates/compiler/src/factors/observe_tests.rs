//! Observed levels, as sentences.

use super::*;

fn settings(optimization: Option<&str>, link_order: Option<&str>) -> WrapperSettings {
    let asked = [("optimization", optimization), ("link_order", link_order)];
    let mut settings = WrapperSettings::default();
    for (name, level) in asked {
        if let Some(level) = level {
            settings.parse_level(name, level).unwrap().unwrap();
        }
    }
    settings
}

fn asking(name: &str, level: &str) -> WrapperSettings {
    let mut settings = WrapperSettings::default();
    settings.parse_level(name, level).unwrap().unwrap();
    settings
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

fn executables(pie: u64, fixed: u64, unread: u64) -> CompilerFacts {
    CompilerFacts {
        pie_executables: pie,
        fixed_executables: fixed,
        unread_executables: unread,
        ..CompilerFacts::default()
    }
}

#[test]
fn the_type_of_the_executables_is_the_observed_level_whatever_was_asked() {
    for asked in ["on", "off"] {
        let observed = |facts| observe_one(&asking("pie", asked), &facts).observed;
        assert_eq!(observed(executables(2, 0, 0)).as_deref(), Some("on"));
        assert_eq!(observed(executables(0, 2, 0)).as_deref(), Some("off"));
        assert_eq!(observed(executables(1, 2, 0)).as_deref(), Some("mixed"));
        assert_eq!(observed(executables(0, 0, 0)), None);
    }
}

#[test]
fn executables_that_are_gone_are_counted_in_the_evidence() {
    let facts = observe_one(&asking("pie", "on"), &executables(2, 0, 3));
    assert_eq!(facts.observed.as_deref(), Some("on"));
    assert!(
        facts.evidence.contains("3 more were gone"),
        "{}",
        facts.evidence
    );
    let facts = observe_one(&asking("pie", "on"), &executables(0, 0, 3));
    assert_eq!(facts.observed, None);
    assert!(
        facts.evidence.contains("3 executables"),
        "{}",
        facts.evidence
    );
}

#[test]
fn executables_whose_type_was_left_are_in_the_evidence() {
    let facts = CompilerFacts {
        executables_left: 1,
        ..executables(0, 1, 0)
    };
    let facts = observe_one(&asking("pie", "on"), &facts);
    assert_eq!(facts.observed.as_deref(), Some("off"));
    assert!(
        facts.evidence.contains("left 1 link as"),
        "{}",
        facts.evidence
    );
}

#[test]
fn seeds_and_options_are_observed_when_all_compilations_have_them() {
    let with = |compiles, having, escaped| CompilerFacts {
        compiles,
        seeded_compiles: having,
        flagged_compiles: having,
        escaped,
        ..CompilerFacts::default()
    };
    for (name, level) in [
        ("symbol_seed", "random"),
        ("symbol_seed", "7"),
        ("compiler_flags", "-fno-inline"),
    ] {
        let observed = |facts| observe_one(&asking(name, level), &facts).observed;
        assert_eq!(observed(with(3, 3, 0)).as_deref(), Some(level));
        assert_eq!(observed(with(3, 2, 0)).as_deref(), Some("mixed"));
        assert_eq!(observed(with(3, 3, 1)).as_deref(), Some("mixed"));
        assert_eq!(observed(with(3, 0, 0)), None);
        assert_eq!(observed(with(0, 0, 0)), None);
        assert_eq!(observed(with(0, 0, 2)), None);
    }
}

#[test]
fn levels_that_ask_for_nothing_need_only_some_compilation() {
    for (name, level) in [("symbol_seed", "default"), ("compiler_flags", "none")] {
        let observed = |facts| observe_one(&asking(name, level), &facts).observed;
        assert_eq!(observed(compiled(&[("-O2", 1)])).as_deref(), Some(level));
        assert_eq!(observed(CompilerFacts::default()), None);
    }
}
