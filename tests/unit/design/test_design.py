"""Full factorial designs in random order."""

import hashlib
from collections import Counter

from datamill.design.points.coverage import choose_levels
from datamill.design.points.factorial import choose_factors, count_parameters, count_trials
from datamill.design.trials import build_design
from datamill.experiment.file.parse import parse_experiment

TEXT = """
[experiment]
name = "design"
replicates = 3
seed = 20130421
[[package]]
name = "xz"
path = "xz"
[[package]]
name = "bzip2"
path = "bzip2"
[factors]
optimization = "100%"
link_order = ["default", "alphabetical", "reverse"]
aslr = ["on", "off"]
env_padding = [0, 10928]
"""
LEVELS = ("-O0", "-O1", "-Os", "-O2", "-O3")


def build(text: str = TEXT):
    return build_design(parse_experiment(text, name="experiment.toml"))


def test_every_combination_is_replicated_equally() -> None:
    design = build()
    assert design.points == 2 * 5 * 3 * 2 * 2
    counts = Counter(tuple(trial.levels.values()) for trial in design.trials)
    assert len(counts) == design.points
    assert set(counts.values()) == {3}
    assert len({trial.trial_id for trial in design.trials}) == len(design.trials) == 360


def test_the_size_is_known_without_building_the_design() -> None:
    text = TEXT.replace("replicates = 3", "replicates = 1000000")
    experiment = parse_experiment(text, name="experiment.toml")
    assert count_trials(experiment, choose_factors(experiment)) == 120_000_000


def test_the_same_seed_gives_this_very_order_everywhere() -> None:
    order = " ".join(trial.trial_id for trial in build().trials)
    assert hashlib.sha256(order.encode()).hexdigest()[:16] == "caf59c997846c79b"


def test_another_seed_gives_another_order() -> None:
    other = build(TEXT.replace("20130421", "20130422"))
    assert [trial.trial_id for trial in other.trials] != [trial.trial_id for trial in build().trials]


def test_run_order_is_not_systematic_in_any_factor() -> None:
    trials = build().trials
    half = len(trials) // 2
    for name in ("package", "optimization", "aslr"):
        counts = Counter(trial.levels[name] for trial in trials[:half])
        expected = half / len(counts)
        assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values())


def test_parameters_are_counted_as_a_linear_model_has_them() -> None:
    assert count_parameters([], 2) == 1
    assert count_parameters([2, 5, 3], 1) == 1 + 1 + 4 + 2
    assert count_parameters([2, 5, 3], 2) == 1 + 7 + 1 * 4 + 1 * 2 + 4 * 2
    assert count_parameters([2, 5, 3], 3) == count_parameters([2, 5, 3], 9) == 30


def test_one_package_is_not_a_factor() -> None:
    text = TEXT.replace('[[package]]\nname = "bzip2"\npath = "bzip2"\n', "")
    design = build(text)
    assert design.factors[0].name == "optimization"
    assert {trial.package for trial in design.trials} == {"xz"}


def test_no_coverage_fixes_one_random_level() -> None:
    chosen = {choose_levels("optimization", LEVELS, 0.0, seed) for seed in range(200)}
    assert chosen == {(level,) for level in LEVELS}


def test_coverage_takes_at_least_the_share_asked_for_in_meaningful_order() -> None:
    levels = choose_levels("optimization", LEVELS, 0.75, 7)
    assert len(levels) == 4
    assert list(levels) == [level for level in LEVELS if level in levels]
    assert choose_levels("optimization", LEVELS, 0.6, 7) != LEVELS
    assert len(choose_levels("optimization", LEVELS, 0.6, 7)) == 3
    assert choose_levels("optimization", LEVELS, 1.0, 7) == LEVELS
